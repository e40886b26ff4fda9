package main

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/haricotq/haricot/internal/remote"
)

// completeCommand answers a shell: which words may stand where the cursor is. Each is a line, with a tab and an explanation behind
// it where there is one. The line ":files" stands for names of files.
type completeCommand struct {
	Addr  string   `env:"HARICOT_ADDR" default:"127.0.0.1:11300" placeholder:"ADDR" help:"The server that is asked for tubes, unless the words name one."`
	Words []string `arg:"" optional:"" passthrough:"" help:"The words of the command line behind haricot, the last of them as far as it is typed."`
}

// completionPatience is how long a server may take, for somebody who has pressed a key.
const completionPatience = span(time.Second)

// Run answers.
func (c *completeCommand) Run(p *process, parser *kong.Kong) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		words = []string{""}
	}
	q := &completion{app: parser.Model, done: words[:len(words)-1], begun: words[len(words)-1], server: serverFlags{
		Addr: c.Addr, Timeout: completionPatience,
	}}
	for _, candidate := range q.candidates() {
		line := candidate.word
		if candidate.help != "" {
			line += "\t" + candidate.help
		}
		fmt.Fprintln(p.stdout, line)
	}
	return nil
}

// completion is the question which words may come next.
type completion struct {
	app    *kong.Application
	done   []string // the words before
	begun  string   // what is typed of the word
	server serverFlags
}

// candidate is a word that may come.
type candidate struct{ word, help string }

// files is the candidate that stands for all files.
const files = ":files"

// candidates are the words that may come and begin as the word does.
func (c *completion) candidates() []candidate {
	node, flag, at := c.position()
	name, typed, valued := strings.Cut(c.begun, "=")
	var found []candidate
	prefix := ""
	switch {
	case slices.Contains(c.done, "--"):
		return []candidate{{files, ""}} // The command of work, or a body.
	case flag != nil:
		found = c.values(flag.Value)
	case strings.HasPrefix(c.begun, "--") && valued:
		if flag = flagNamed(node, name); flag == nil {
			return nil
		}
		prefix, c.begun = name+"=", typed
		found = c.values(flag.Value)
	case strings.HasPrefix(c.begun, "-"):
		found = flagsOf(node)
	case node.Type == kong.ApplicationNode:
		for _, child := range node.Children {
			if !child.Hidden {
				found = append(found, candidate{child.Name, child.Help})
			}
		}
	case node.Name == "help":
		for _, child := range c.app.Children {
			if !child.Hidden {
				found = append(found, candidate{child.Name, child.Help})
			}
		}
	default:
		found = c.argument(node, at)
	}
	if len(found) == 1 && found[0].word == files {
		return found
	}
	found = slices.DeleteFunc(found, func(f candidate) bool { return !strings.HasPrefix(f.word, c.begun) })
	for i := range found {
		found[i].word = prefix + found[i].word
	}
	return found
}

// position finds the command that the words before lead to, the flag whose value is to come, if one is, and how many arguments
// there are already.
func (c *completion) position() (node *kong.Node, flag *kong.Flag, arguments int) {
	node = c.app.Node
	for _, word := range c.done {
		switch {
		case flag != nil:
			c.note(flag.Name, word)
			flag = nil
		case strings.HasPrefix(word, "-") && word != "-":
			name, value, valued := strings.Cut(word, "=")
			f := flagNamed(node, name)
			switch {
			case f == nil:
			case valued:
				c.note(f.Name, value)
			case !f.IsBool():
				flag = f
			}
		case node.Type == kong.ApplicationNode:
			for _, child := range node.Children {
				if child.Name == word {
					node = child
				}
			}
		default:
			arguments++
		}
	}
	return node, flag, arguments
}

// note keeps the address of the server, for it knows the tubes.
func (c *completion) note(flag, value string) {
	if flag == "addr" {
		c.server.Addr = value
	}
}

func flagNamed(node *kong.Node, word string) *kong.Flag {
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			if word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

func flagsOf(node *kong.Node) []candidate {
	var found []candidate
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			found = append(found, candidate{"--" + f.Name, f.Help})
		}
	}
	return found
}

// argument are the words for a command's argument.
func (c *completion) argument(node *kong.Node, at int) []candidate {
	if len(node.Positional) == 0 {
		return nil
	}
	arg := node.Positional[min(at, len(node.Positional)-1)]
	if at >= len(node.Positional) && !arg.IsCumulative() {
		return nil
	}
	return c.values(arg)
}

// values are the words for a value.
func (c *completion) values(v *kong.Value) []candidate {
	kind := v.Target.Type()
	for kind.Kind() == reflect.Slice || kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	switch {
	case v.Enum != "":
		var found []candidate
		for word := range strings.SplitSeq(v.Enum, ",") {
			found = append(found, candidate{word, ""})
		}
		return found
	case kind == reflect.TypeFor[tubeName]():
		return c.tubes()
	case v.Name == "pattern":
		return c.tubes()
	case slices.Contains([]string{"DIR", "FILE", "data-dir", "file", "map"}, v.Name), strings.Contains(v.Name, "dir"), v.Name == "backup", v.Name == "target":
		return []candidate{{files, ""}}
	}
	return nil
}

// tubes are the tubes that the server has at the moment; none if it does not answer.
func (c *completion) tubes() []candidate {
	var found []candidate
	conn, err := c.server.dial(context.Background())
	if err != nil {
		return nil
	}
	s := remote.New(conn)
	defer s.Close()
	names, err := s.Tubes()
	if err != nil {
		return nil
	}
	slices.Sort(names)
	for _, name := range names {
		if err := new(tubeName).UnmarshalText([]byte(name)); err == nil { // What a server sends may be anything.
			found = append(found, candidate{name, ""})
		}
	}
	return found
}
