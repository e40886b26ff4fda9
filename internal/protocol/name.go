package protocol

// nameByte marks the bytes that a tube's name may have.
var nameByte = func() (set [256]bool) {
	for _, b := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-+/;.$_()") {
		set[b] = true
	}
	return set
}()

// ValidTube tells whether name can name a tube: 1 to [MaxTubeName] bytes out
// of letters, digits and -+/;.$_(), the first not a hyphen.
func ValidTube(name []byte) bool {
	if len(name) == 0 || len(name) > MaxTubeName || name[0] == '-' {
		return false
	}
	for _, b := range name {
		if !nameByte[b] {
			return false
		}
	}
	return true
}

// leadingName takes spaces and the longest run of a name's bytes. The run may
// still be too long or begin with a hyphen.
func leadingName(text []byte) (name, rest []byte, ok bool) {
	i := 0
	for i < len(text) && text[i] == ' ' {
		i++
	}
	first := i
	for i < len(text) && nameByte[text[i]] {
		i++
	}
	return text[first:i], text[i:], i > first
}
