package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/server"
)

var update = flag.Bool("update", false, "make openapi.json of openapi.yaml")

func TestDescriptionIsValidAndHasTwoEqualForms(t *testing.T) {
	doc := description(t)
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.1" {
		t.Errorf("the description is of OpenAPI %s, want 3.1.1", doc.OpenAPI)
	}
	plain, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := json.Indent(&text, plain, "", " "); err != nil {
		t.Fatal(err)
	}
	text.WriteByte('\n')
	if *update {
		if err := os.WriteFile("openapi.json", text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(text.Bytes(), documentJSON) {
		t.Error("openapi.json is not what openapi.yaml says; run go test ./internal/api -run Description -update")
	}
}

func TestEveryRouteIsDescribedAndEveryDescriptionIsARoute(t *testing.T) {
	var described, routed []string
	for path, item := range description(t).Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
		}
	}
	for _, r := range routes {
		routed = append(routed, r.method+" "+r.path)
	}
	slices.Sort(described)
	slices.Sort(routed)
	if !slices.Equal(described, routed) {
		t.Errorf("described are\n%s\nbut routes are\n%s", strings.Join(described, "\n"), strings.Join(routed, "\n"))
	}
}

// TestParametersAreThoseOfTheDescription has each call tell which parameters it
// knows, by giving it one that it cannot know.
func TestParametersAreThoseOfTheDescription(t *testing.T) {
	inBubble(t, server.Config{}, func(t *testing.T, s *site) {
		s.put("a", "{}")
		doc := description(t)
		for _, r := range routes {
			operation := doc.Paths.Value(r.path).GetOperation(r.method)
			inQuery := make(map[string]bool)
			for _, p := range operation.Parameters {
				if p.Value.In == openapi3.ParameterInQuery {
					inQuery[p.Value.Name] = true
				}
			}
			members := make(map[string]bool)
			if operation.RequestBody != nil {
				for name := range operation.RequestBody.Value.Content["application/json"].Schema.Value.Properties {
					members[name] = true
				}
			}
			target := strings.NewReplacer("{tube}", "a", "{id}", "1").Replace(r.path)
			kind := ""
			if r.bodies {
				kind = "text/plain"
			}
			if r.path != "/jobs/bulk" {
				compareNames(t, r.method+" "+r.path+", query", known(t, s.ask(r.method, target+"?surely_unknown=1", kind, "")), inQuery)
			}
			if len(members) == 0 {
				continue
			}
			names := make(map[string]bool)
			for _, content := range inEachForm(r.path) {
				maps.Copy(names, known(t, s.ask(r.method, target, "application/json", content)))
			}
			compareNames(t, r.method+" "+r.path+", content", names, members)
		}
	})
}

// inEachForm are contents with an unknown member. What else bulk takes depends
// on the action.
func inEachForm(path string) []string {
	if path != "/jobs/bulk" {
		return []string{`{"surely_unknown": 1}`}
	}
	var list []string
	for _, action := range bulkActions {
		list = append(list, `{"surely_unknown": 1, "action": "`+action+`"}`)
	}
	return list
}

// known are the parameters that a call says it takes.
func known(t *testing.T, a *answer) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	if a.status != 400 {
		t.Fatalf("an unknown parameter gives status %d: %s", a.status, a.text)
	}
	faults, _ := a.at("errors").([]any)
	for _, f := range faults {
		fault := f.(map[string]any)
		if fault["parameter"] != "surely_unknown" {
			continue
		}
		if _, list, ok := strings.Cut(fault["allowed"].(string), "this call takes "); ok && list != "no parameters" {
			for name := range strings.SplitSeq(list, ", ") {
				names[name] = true
			}
		}
		return names
	}
	t.Fatalf("the unknown parameter is not named in %s", a.text)
	return nil
}

func compareNames(t *testing.T, what string, got, want map[string]bool) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s takes %v, described is %v", what, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// TestQueriesOfBulkAreThoseOfASearch compares the parameters of both.
func TestQueriesOfBulkAreThoseOfASearch(t *testing.T) {
	doc := description(t)
	search := make(map[string]bool)
	for _, p := range doc.Paths.Value("/jobs").Get.Parameters {
		search[p.Value.Name] = true
	}
	delete(search, "limit")
	delete(search, "cursor")
	delete(search, "body_limit")
	query := make(map[string]bool)
	for name := range doc.Components.Schemas["Query"].Value.Properties {
		query[name] = true
	}
	compareNames(t, "bulk", query, search)
}

// TestSchemasAreTheTypes compares the members of each answer with those of its
// schema, and which are always there.
func TestSchemasAreTheTypes(t *testing.T) {
	doc := description(t)
	for name, value := range map[string]any{
		"Tube": tube{}, "TubeList": tubeList{}, "Counts": counts{}, "Rates": rates{}, "Finding": finding{}, "Histogram": histogram{},
		"Bucket": bucket{}, "Job": job{}, "JobList": jobList{}, "Holder": holder{}, "Created": created{}, "Outcome": outcome{},
		"Connection": connection{}, "ConnectionList": connectionList{}, "Holding": holding{}, "JobCounts": jobCounts{}, "Stats": stats{},
		"Store": store{}, "Loop": loop{}, "Sample": sample{}, "Problem": problem{}, "Fault": fault{},
	} {
		schema := doc.Components.Schemas[name]
		if schema == nil {
			t.Errorf("%s is not described", name)
			continue
		}
		all, always := make(map[string]bool), make(map[string]bool)
		members(reflect.TypeOf(value), false, all, always)
		described, required := make(map[string]bool), make(map[string]bool)
		for member := range schema.Value.Properties {
			described[member] = true
		}
		for _, member := range schema.Value.Required {
			required[member] = true
		}
		compareNames(t, name, all, described)
		compareNames(t, name+" at least", always, required)
	}
	codes := doc.Components.Schemas["Finding"].Value.Properties["code"].Value.Enum
	for i, code := range operator.Findings {
		if i >= len(codes) || codes[i] != code {
			t.Fatalf("the codes of findings are %v, described are %v", operator.Findings, codes)
		}
	}
}

// members collects the names of a type in JSON.
func members(kind reflect.Type, optional bool, all, always map[string]bool) {
	for i := range kind.NumField() {
		field := kind.Field(i)
		tag, omitted := strings.CutSuffix(field.Tag.Get("json"), ",omitempty")
		if field.Anonymous {
			members(field.Type.Elem(), true, all, always)
			continue
		}
		all[tag] = true
		if !omitted && !optional {
			always[tag] = true
		}
	}
}

func TestDescriptionIsServed(t *testing.T) {
	inBubble(t, server.Config{}, func(t *testing.T, s *site) {
		if a := s.get("/openapi.yaml"); !bytes.Equal(a.text, documentYAML) || a.header.Get("Content-Type") != "application/yaml" {
			t.Errorf("openapi.yaml is served as %q: %.80s", a.header.Get("Content-Type"), a.text)
		}
		if a := s.get("/openapi.json"); a.at("openapi") != "3.1.1" {
			t.Errorf("openapi.json is served as %.80s", a.text)
		}
	})
}

// TestDescriptionBites shows that an answer with a member too many or too few,
// or of another kind, does not pass.
func TestDescriptionBites(t *testing.T) {
	for text, right := range map[string]bool{
		`{"connection": 1, "address": "", "held_for": 0.5}`:             true,
		`{"connection": 1, "address": "", "held_for": 0.5, "more": 1}`:  false,
		`{"connection": 1, "address": ""}`:                              false,
		`{"connection": 1, "address": "", "held_for": "half a second"}`: false,
		`{"connection": -1, "address": "", "held_for": 0.5}`:            false,
	} {
		if err := fits("Holder", []byte(text)); (err == nil) != right {
			t.Errorf("%s: %v", text, err)
		}
	}
}
