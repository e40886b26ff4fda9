package api

import (
	_ "embed" // for the two forms of the description
	"net/http"
)

// The description of the API. The second form is made of the first by the test
// that compares them.
//
//go:embed openapi.yaml
var documentYAML []byte

//go:embed openapi.json
var documentJSON []byte

// document makes the handler that shows a form of the description.
func document(kind string, text []byte) func(*api, *call) (any, error) {
	return func(_ *api, c *call) (any, error) {
		if err := c.check(); err != nil {
			return nil, err
		}
		c.w.Header().Set("Content-Type", kind)
		c.w.WriteHeader(http.StatusOK)
		_, _ = c.w.Write(text) // the client may have gone
		return streamed{}, nil
	}
}
