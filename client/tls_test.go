//go:build unix

package client_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/haricotq/haricot/client"
)

// certificate makes one for localhost, and the pool that trusts it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	parsed, err := x509.ParseCertificate(der)
	must(t, err)
	trust := x509.NewCertPool()
	trust.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, trust
}

// TestTLS talks to each server through a proxy that ends TLS before it.
func TestTLS(t *testing.T) {
	eachServer(t, func(t *testing.T, s *target) {
		ctx := patient(t)
		own, trust := certificate(t)
		pr := startProxy(t, s)
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		front := &proxy{server: s.path, ln: tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{own}}), conns: make(map[net.Conn]struct{})}
		front.wg.Go(front.accept)
		t.Cleanup(func() {
			_ = ln.Close()
			front.cut()
			front.wg.Wait()
		})
		_, port, err := net.SplitHostPort(ln.Addr().String())
		must(t, err)
		dialer := client.Dialer{TLS: &tls.Config{RootCAs: trust}, Timeout: 5 * time.Second}
		p := newPool(t, client.Config{Servers: []string{"tls:localhost:" + port}, Dialer: dialer})
		for range 3 {
			_, err = p.Put(ctx, "x", make([]byte, 30000))
			must(t, err)
			job, err := p.Reserve(ctx, "x")
			must(t, err)
			if len(job.Body) != 30000 {
				t.Errorf("%d bytes", len(job.Body))
			}
			must(t, job.Delete(ctx))
			time.Sleep(60 * time.Millisecond) //nolint:forbidigo // after 50 ms the socket is looked at, which must not take TLS's own bytes for a fault
		}
		if n := front.connections(); n != 1 {
			t.Errorf("%d connections, want one for large puts and reserves alike", n)
		}
		if _, err := (&client.Dialer{}).DialContext(ctx, "tls:localhost:"+port); err == nil {
			t.Error("a certificate that nobody vouches for was taken")
		}
		dialer.Timeout = 200 * time.Millisecond // beanstalkd waits for the end of a line
		if _, err := dialer.DialContext(ctx, "tls:"+pr.address()); err == nil {
			t.Error("a server without TLS was taken for one")
		}
	})
}
