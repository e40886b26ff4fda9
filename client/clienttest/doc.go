// Package clienttest helps to test programs that use package client.
//
// [NewServer] starts a real server inside the test, without a port and in less than
// a millisecond. In a bubble of testing/synctest it lives in fake time, so that delays,
// times to run and retries pass at once:
//
//	synctest.Test(t, func(t *testing.T) {
//		server := clienttest.NewServer(t)
//		pool := server.Pool(t, client.Config{})
//		...
//	})
//
// [NewScript] is for what no real server can be brought to do: it expects certain
// commands and gives certain replies, and fails the test if anything is different or
// left over.
//
// The server is haricot's and needs a Unix system; scripts work everywhere. Package
// client's promise of compatibility holds for this package too.
package clienttest
