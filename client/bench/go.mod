module github.com/haricotq/haricot/client/bench

go 1.26.0

require (
	github.com/beanstalkd/go-beanstalk v0.2.0
	github.com/haricotq/haricot v0.0.0
)

require golang.org/x/sys v0.50.0 // indirect

replace github.com/haricotq/haricot => ../..
