package body

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tinylib/msgp/msgp"
)

func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write(b)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func deflated(t testing.TB, b []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	w.Write(b)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// packed is a map in MessagePack that has something of every kind.
func packed() []byte {
	b := msgp.AppendMapHeader(nil, 7)
	b = msgp.AppendInt(msgp.AppendString(b, "id"), -7)
	b = msgp.AppendUint64(msgp.AppendString(b, "large"), 18446744073709551615)
	b = msgp.AppendArrayHeader(msgp.AppendString(b, "list"), 2)
	b = msgp.AppendNil(msgp.AppendBool(b, true))
	b = msgp.AppendFloat64(msgp.AppendInt(b, 3), 2)
	b = msgp.AppendBytes(msgp.AppendString(b, "bin"), []byte{0, 255})
	b = append(msgp.AppendString(b, "ext"), 0xd4, 5, 9)
	return msgp.AppendMapHeader(msgp.AppendString(b, "none"), 0)
}

func TestFormats(t *testing.T) {
	for _, test := range []struct {
		name, body, format string
		views              string
	}{
		{"nothing", "", "empty", "text hex"},
		{"object", ` {"a": 1}` + "\n", "JSON", "json text hex"},
		{"array", `[1]`, "JSON", "json text hex"},
		{"number", `17`, "text", "text hex"},
		{"almost JSON", `{"a": }`, "text", "text hex"},
		{"sentence", "Hello: it is me, says he", "YAML", "yaml text hex"},
		{"address", "http://example.com/", "text", "text hex"},
		{"mapping", "---\nto: a@b.example\ntries: 3\n", "YAML", "yaml text hex"},
		{"list", "- a\n- b\n", "YAML", "yaml text hex"},
		{"documents", "a: 1\n---\nb: 2\n", "YAML", "yaml text hex"},
		{"not YAML", "a: [1, 2\n", "text", "text hex"},
		{"PHP", `a:1:{s:2:"to";s:1:"b";}`, "PHP serialized", "text hex"},
		{"Ruby", "\x04\x08{\x06:\x06ai\x06", "Ruby Marshal", "hex text"},
		{"pickle", "\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00]\x94.", "Python pickle", "hex text"},
		{"MessagePack", string(packed()), "MessagePack", "msgpack hex text"},
		{"gzip", string(gzipped(t, []byte(`{"a":1}`))), "gzip, in it JSON", "unpacked hex text"},
		{"zlib", string(deflated(t, packed())), "zlib, in it MessagePack", "unpacked hex text"},
		{"bytes", "\x00\x01\x02", "binary", "hex text"},
		{"coloured", "\x1b[1mbold\x1b[0m and more text", "text with control characters", "text hex"},
		{"controls", "\x01\x02\x03abc", "binary", "hex text"},
		{"Latin", "caf\xe9", "binary", "hex text"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := Read([]byte(test.body), true)
			var views []string
			for _, v := range b.Views() {
				views = append(views, string(v))
			}
			if got := strings.Join(views, " "); b.Format() != test.format || got != test.views {
				t.Errorf("format %q, views %q; want %q, %q", b.Format(), got, test.format, test.views)
			}
		})
	}
}

func TestPictures(t *testing.T) {
	for _, test := range []struct {
		name, body string
		view       View
		want       string
	}{
		{
			"order, digits and escapes stay", `{"z":12345678901234567890.10,"a":[],"b":{ },"c":[true,null,"x\u00fc\"}"]}`, JSON,
			"{\n  \"z\": 12345678901234567890.10,\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    true,\n    null,\n    \"x\\u00fc\\\"}\"\n  ]\n}",
		},
		{
			"every kind", string(packed()), MessagePack,
			"{\n  \"id\": -7,\n  \"large\": 18446744073709551615,\n  \"list\": [\n    true,\n    null\n  ],\n  3: 2.0,\n" +
				"  \"bin\": binary 00ff,\n  \"ext\": type 5 09,\n  \"none\": {}\n}",
		},
		{"as it is", "# why\na:  \"x\" \n- b: 1\r\n", YAML, "# why\na:  \"x\" \n- b: 1\\r\n"},
		{"invisible", "a\u202eb\u200b\x1b[0m\r\nc\ttab", Text, "a\\u202eb\\u200b\\x1b[0m\\r\nc\ttab"},
		{"bytes", "caf\xe9 \xf0\x9f\x98\x80", Text, "caf\\xe9 \U0001F600"},
		{
			"rows", "0123456789abcdef\x00<", Hex,
			"00000000  30 31 32 33 34 35 36 37  38 39 61 62 63 64 65 66  0123456789abcdef\n" +
				"00000010  00 3c                                             .<\n",
		},
		{"packed", string(gzipped(t, []byte(`{"a":1}`))), Unpacked, "{\n  \"a\": 1\n}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := Read([]byte(test.body), true).Show(test.view)
			if got := p.String(); got != test.want || p.Cut {
				t.Errorf("got (cut: %t)\n%q\nwant\n%q", p.Cut, got, test.want)
			}
		})
	}
}

func TestMarks(t *testing.T) {
	p := Read([]byte(`{"k":"v","n":-1,"w":false}`), true).Show(JSON)
	var marked []string
	for _, s := range p.Spans {
		if s.Mark != Plain {
			marked = append(marked, string(s.Mark)+" "+s.Text)
		}
	}
	if got := strings.Join(marked, ", "); got != `key "k", string "v", key "n", number -1, key "w", word false` {
		t.Error(got)
	}
	p = Read([]byte("k: v\nn: 7 \nw: true\n# c\n"), true).Show(YAML)
	marked = nil
	for _, s := range p.Spans {
		if s.Mark != Plain {
			marked = append(marked, string(s.Mark)+" "+strings.TrimSpace(s.Text))
		}
	}
	if got := strings.Join(marked, ", "); got != `key k, string v, key n, number 7, key w, word true, aside # c` {
		t.Error(got)
	}
}

// TestLimits shows bodies that are made to take long or grow.
func TestLimits(t *testing.T) {
	deepPack := append(bytes.Repeat([]byte{0x91}, 100_000), 0xc0)
	zeros := make([]byte, 8<<20)
	for name, body := range map[string][]byte{
		"deep JSON":         []byte(strings.Repeat("[", 9000) + strings.Repeat("]", 9000)),
		"deeper JSON":       []byte(strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)),
		"wide JSON":         []byte("[" + strings.Repeat("0,", 400_000) + "0]"),
		"deep MessagePack":  deepPack,
		"a promise":         {0xdf, 0xff, 0xff, 0xff, 0xff},
		"an empty promise":  append([]byte{0xdd, 0xff, 0xff, 0xff, 0xff}, bytes.Repeat([]byte{0xc0}, 1<<18)...),
		"deep YAML":         []byte("a: " + strings.Repeat("[", 60_000)),
		"dashes":            []byte(strings.Repeat("- ", 60_000) + "a"),
		"laughs":            []byte("a: &a [x,x,x]\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b]\nd: &d [*c,*c,*c]\n"),
		"a bomb":            gzipped(t, zeros),
		"a bomb in a bomb":  gzipped(t, gzipped(t, zeros)),
		"bytes":             bytes.Repeat([]byte{0xff, 0x00}, 1<<18),
		"marks":             bytes.Repeat([]byte("\u202e"), 1<<18),
		"one line of spans": []byte(strings.Repeat("a\x00", 1<<18)),
	} {
		t.Run(name, func(t *testing.T) {
			b := Read(body, true)
			for _, v := range b.Views() {
				p := b.Show(v)
				size := 0
				for _, s := range p.Spans {
					size += len(s.Text)
				}
				if size > pictureMost || len(p.Spans) > spansMost {
					t.Errorf("%s: %d bytes in %d pieces", v, size, len(p.Spans))
				}
			}
			if p := Preview(body, true, 80); utf8.RuneCountInString(p) > 81 {
				t.Errorf("preview %q", p)
			}
		})
	}
}

func TestCut(t *testing.T) {
	b := Read([]byte(`{"a": "\u00`), false)
	if v := b.Views()[0]; v != Text {
		t.Errorf("half a JSON body is shown as %s", v)
	}
	if p := b.Show(Text); !p.Cut {
		t.Error("nothing tells that the body is cut")
	}
	if b := Read([]byte("gr\xc3"), false); b.Format() != "text" {
		t.Errorf("text that ends within a character is %s", b.Format())
	}
	if p := Read(make([]byte, hexMost+1), true).Show(Hex); !p.Cut {
		t.Error("nothing tells that there are more bytes")
	}
}

func TestPick(t *testing.T) {
	b := Read([]byte("plain"), true)
	if b.Pick("hex") != Hex || b.Pick("json") != Text || b.Pick("<script>") != Text {
		t.Error("a view was picked that cannot show the body")
	}
}

func TestPreview(t *testing.T) {
	for _, test := range []struct {
		body  string
		whole bool
		want  string
	}{
		{"", true, ""},
		{"{\n  \"a\": 1\n}\n", true, `{ "a": 1 }`},
		{"a\x00\u202eb", true, `a\x00\u202eb`},
		{"beginning", false, "beginning…"},
		{strings.Repeat("ü", 50), true, strings.Repeat("ü", 40) + "…"},
		{string(packed()), true, `{ "id": -7, "large": 1844674407370955161…`},
		{string(packed()[:19]), false, `{ "id": -7, "large":…`},
		{string(gzipped(t, []byte(`{"a": 1}`))), true, `gzip: {"a": 1}`},
	} {
		if got := Preview([]byte(test.body), test.whole, 40); got != test.want {
			t.Errorf("Preview(%q) = %q, want %q", test.body, got, test.want)
		}
	}
}

func TestEditable(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "a\nb\n": true, "a\r\nb\r\n": true, "ü\t": true,
		"a\r\nb\n": false, "a\rb": false, "\x00": false, "\xff": false, "a\r\r\n": false,
	} {
		if Editable([]byte(text)) != want {
			t.Errorf("Editable(%q) = %t", text, !want)
		}
	}
}

func FuzzBody(f *testing.F) {
	f.Add([]byte(`{"a":[1,"x\"",{}]}`), true)
	f.Add([]byte("a: &x\n  - b\n  - *x\n"), true)
	f.Add(packed(), true)
	f.Add(packed()[:9], false)
	f.Add(gzipped(f, []byte("a: 1")), true)
	f.Add(deflated(f, packed()), true)
	f.Add([]byte("\xc7\x0c\xff123456789012"), true)
	f.Fuzz(func(t *testing.T, bytes []byte, whole bool) {
		b := Read(bytes, whole)
		for _, v := range b.Views() {
			p := b.Show(v)
			if !utf8.ValidString(p.String()) {
				t.Errorf("view %s of %q is not UTF-8: %q", v, bytes, p.String())
			}
		}
		if p := Preview(bytes, whole, 30); !utf8.ValidString(p) || utf8.RuneCountInString(p) > 31 || strings.ContainsAny(p, "\n\x00\x1b") {
			t.Errorf("preview of %q: %q", bytes, p)
		}
		Editable(bytes)
	})
}
