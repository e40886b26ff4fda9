// Package remote is a running server as somebody at a shell sees it: its numbers,
// its tubes, the jobs at their fronts, and what can be done to them. It speaks
// the protocol and nothing else, so that it works with beanstalkd as with haricot.
// It is given connections and knows no addresses.
package remote
