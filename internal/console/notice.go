package console

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
)

// notice is what a page says about what has just been done.
type notice struct {
	Text string
	Bad  bool // it was refused, or went wrong
}

// noticeCookie carries a notice over the redirect that answers a form.
const noticeCookie = "haricot_notice"

// done answers a form: the browser goes on to a page of ours, which says what
// has been done.
func (c *Console) done(w http.ResponseWriter, r *http.Request, to, text string) {
	c.goOn(w, r, to, notice{Text: text})
}

// refused answers a form that was not carried out: as done, with why.
func (c *Console) refused(w http.ResponseWriter, r *http.Request, to, text string) {
	c.goOn(w, r, to, notice{text, true})
}

func (c *Console) goOn(w http.ResponseWriter, r *http.Request, to string, n notice) {
	const longest = 1000 // bytes, of what fits into a cookie
	value := "+" + n.Text[:min(longest, len(n.Text))]
	if n.Bad {
		value = "!" + value[1:]
	}
	http.SetCookie(w, noticeOf(c.sign(value)+base64.RawURLEncoding.EncodeToString([]byte(value)), 60))
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func noticeOf(value string, seconds int) *http.Cookie {
	return &http.Cookie{
		Name: noticeCookie, Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}

// sign proves that a notice is ours: other servers of the same host could set
// the cookie too.
func (c *Console) sign(value string) string {
	mac := hmac.New(sha256.New, []byte(c.config.Token))
	mac.Write([]byte(value))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// takeNotice is the notice that a page has to show, once. A part of a page that
// is fetched to be live leaves it alone.
func (c *Console) takeNotice(w http.ResponseWriter, r *http.Request) *notice {
	cookie, err := r.Cookie(noticeCookie)
	if err != nil || r.Header.Get("HX-Request") != "" {
		return nil
	}
	http.SetCookie(w, noticeOf("", -1))
	length := base64.RawURLEncoding.EncodedLen(sha256.Size)
	if len(cookie.Value) < length {
		return nil
	}
	value, err := base64.RawURLEncoding.DecodeString(cookie.Value[length:])
	if err != nil || len(value) == 0 || !hmac.Equal([]byte(c.sign(string(value))), []byte(cookie.Value[:length])) {
		return nil
	}
	return &notice{Text: strings.ToValidUTF8(string(value[1:]), "…"), Bad: value[0] == '!'}
}
