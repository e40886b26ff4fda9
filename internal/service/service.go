// Package service is what an operating system expects of a long-running process: the sockets it listens on, opened by itself
// or handed over by systemd, and the user it becomes. It knows nothing of the protocol that is spoken on the sockets.
//
// Addresses are written as beanstalkd's -l takes them: a host name, an IP address, or unix:PATH.
package service
