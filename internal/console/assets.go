package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"
)

//go:embed static
var static embed.FS

// assets are the files that pages need, by name.
type assets map[string]asset

type asset struct {
	content []byte
	kind    string // its media type
	version string // changes when the content does
}

func readAssets() assets {
	entries, err := static.ReadDir("static")
	if err != nil {
		panic(err) // they are part of the program
	}
	a := make(assets)
	for _, entry := range entries {
		content, err := static.ReadFile("static/" + entry.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(content)
		kind := mime.TypeByExtension(path.Ext(entry.Name()))
		if kind == "" {
			kind = "text/plain; charset=utf-8" // a licence
		}
		a[entry.Name()] = asset{content, kind, hex.EncodeToString(sum[:8])}
	}
	return a
}

// url is the address of a file. It changes with the content, so that browsers
// may keep what they have.
func (a assets) url(name string) string { return "/static/" + name + "?v=" + a[name].version }

// ServeHTTP serves a file.
func (a assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	file, ok := a[r.PathValue("file")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", file.kind)
	h.Set("ETag", `"`+file.version+`"`)
	if r.URL.RawQuery == "v="+file.version {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache")
	}
	if r.Header.Get("If-None-Match") == h.Get("ETag") {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(file.content) // a reader who has gone needs no file
}
