//go:build unix

package clienttest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/haricotq/haricot/client"
	"github.com/haricotq/haricot/client/clienttest"
)

// welcome is what is to be tested: it puts a job.
func welcome(ctx context.Context, pool *client.Pool, name string) error {
	_, err := pool.Put(ctx, "emails", []byte("Welcome, "+name))
	return err
}

// A test runs the code against a real server and looks at what is in the tube. In a
// real test, tb is the test's T.
func ExampleNewServer() {
	record(func(tb testing.TB) {
		ctx := context.Background()
		pool := clienttest.NewServer(tb).Pool(tb, client.Config{})
		if err := welcome(ctx, pool, "Ada"); err != nil {
			tb.Fatal(err)
		}
		job, err := pool.Reserve(ctx, "emails")
		if err != nil {
			tb.Fatal(err)
		}
		fmt.Printf("%s\n", job.Body)
	})
	// Output: Welcome, Ada
}

// A script has the server do what a real one seldom does.
func ExampleNewScript() {
	record(func(tb testing.TB) {
		pool := clienttest.NewScript(tb, `
			> use emails
			< USING emails
			> put 1024 0 60 12
			> Welcome, Ada
			< OUT_OF_MEMORY
		`).Pool(tb, client.Config{})
		fmt.Println(welcome(context.Background(), pool, "Ada"))
	})
	// Output: beanstalk put at clienttest: the server is out of memory
}
