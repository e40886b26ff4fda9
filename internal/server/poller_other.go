//go:build !linux

package server

func newPoller(Config) (poller, error) { return newChannelPoller(), nil }
