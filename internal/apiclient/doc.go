// Package apiclient calls haricot's JSON API for the commands that need more than
// the protocol has: all jobs of a tube, searches, moves, connections, and changes
// to many jobs at once. docs/api.md describes the API.
package apiclient
