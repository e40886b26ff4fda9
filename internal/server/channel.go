package server

import (
	"net"
	"time"
)

// channelPoller waits for the inbox only: every connection is a stream.
type channelPoller struct{ woken chan struct{} }

func newChannelPoller() *channelPoller {
	return &channelPoller{make(chan struct{}, 1)}
}

func (p *channelPoller) wait(timeout time.Duration) error {
	if timeout < 0 {
		<-p.woken
		return nil
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-p.woken:
	case <-timer.C:
	}
	return nil
}

func (p *channelPoller) wake() {
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

func (p *channelPoller) dispatch(*loop) {}

func (p *channelPoller) listen(net.Listener) (taken bool, err error) { return false, nil }

func (p *channelPoller) stop(*loop) {}

func (p *channelPoller) drop() {}

func (p *channelPoller) close() error { return nil }
