package admin

import (
	"net/http"
	"runtime"

	"golang.org/x/sys/unix"
)

// niceness is how far operators' work gives way to the queue's. On a machine whose
// processors are busy it gets what they leave over, and a tenth at least.
const niceness = 10

// apart has each request answered by a thread of its own that the system serves
// after all others. What an operator asks for can be much work, and must not take
// the processor from the loop.
func apart(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ended := make(chan any, 1)
		go func() {
			defer func() { ended <- recover() }()
			// It is not unlocked, so that the thread ends with the goroutine: its
			// priority cannot be raised again.
			runtime.LockOSThread()
			_ = unix.Setpriority(unix.PRIO_PROCESS, 0, niceness) // of this thread; it works without that too
			next.ServeHTTP(w, r)
		}()
		if fault := <-ended; fault != nil {
			panic(fault) // as if it had been answered here
		}
	})
}
