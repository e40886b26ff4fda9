package console

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/client"
	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/queue"
)

// names are the first words of rows.
func names(rows []string) (list []string) {
	for _, row := range rows {
		name, _, _ := strings.Cut(row, " ")
		list = append(list, name)
	}
	return list
}

// TestTubes sorts, filters and leafs through a list of tubes, by links only.
func TestTubes(t *testing.T) {
	s := newSite(t, Config{})
	c := s.dial()
	for i := range 250 {
		s.put(c, fmt.Sprintf("tube-%03d", i), strings.Repeat("x", i), client.WithDelay(time.Hour))
	}
	for range 3 {
		s.put(c, "Stuck", "nobody takes this")
	}
	s.must(c.PauseTube(t.Context(), "tube-007", time.Hour))

	first := s.get("/tubes")
	if rows := first.rows(); len(rows) != rowsPerPage || !strings.HasPrefix(rows[0], "Stuck No workers 3 ") {
		t.Fatalf("the list has %d rows and begins with %q", len(rows), rows[:min(2, len(rows))])
	}
	if !strings.Contains(first.text(), "252 tubes") { // with default
		t.Errorf("the page does not say how many tubes there are: %s", first.text())
	}

	// All pages together have every tube, once.
	var all []string
	for next := "/tubes?sort=name"; next != ""; {
		page := s.get(next)
		all = append(all, names(page.rows())...)
		next = page.link("Next")
	}
	if len(all) != 252 || !slices.IsSorted(all) || len(slices.Compact(all)) != 252 {
		t.Errorf("the pages have %d tubes, sorted: %t", len(all), slices.IsSorted(all))
	}

	// A column's link sorts by its interesting end, and then the other way round.
	bySize := first.link("Size")
	if got := names(s.get(bySize).rows())[0]; got != "tube-249" {
		t.Errorf("%s begins with %s", bySize, got)
	}
	back := s.get(bySize).link("Size")
	if got := names(s.get(back).rows())[0]; got != "default" {
		t.Errorf("%s begins with %s", back, got)
	}
	if again := s.get(back).link("Size"); again != bySize && !strings.Contains(again, "order=down") {
		t.Errorf("the third link is %s", again)
	}

	// A filter has no case, and is kept by the links.
	filtered := s.get("/tubes?filter=TUBE-24")
	if got := names(filtered.rows()); len(got) != 10 {
		t.Errorf("the filter leaves %q", got)
	}
	if link := filtered.link("Ready"); !strings.Contains(link, "filter=TUBE-24") {
		t.Errorf("a link of the filtered list leads to %s", link)
	}
	if none := s.get("/tubes?filter=<i>nothing</i>"); !strings.Contains(none.text(), "No tube has “<i>nothing</i>” in its name") {
		t.Errorf("a list of nothing says %s", none.text())
	}
	if paused := s.get("/tubes?filter=tube-007").rows(); len(paused) != 1 || !strings.Contains(paused[0], "Paused 59m") {
		t.Errorf("a paused tube is shown as %q", paused)
	}
}

// TestEveryColumnSorts asks for each column in both orders.
func TestEveryColumnSorts(t *testing.T) {
	s := newSite(t, Config{})
	fill(s)
	for path, columns := range map[string][]column{"/tubes": tubeColumns, "/connections": connectionColumns} {
		for _, c := range columns {
			up, down := s.get(path+"?order=up&sort="+c.Key).rows(), s.get(path+"?order=down&sort="+c.Key).rows()
			if len(up) < 2 || len(up) != len(down) {
				t.Errorf("%s by %s has %d rows up and %d down", path, c.Key, len(up), len(down))
			}
		}
	}
}

// TestFlow looks at a tube into which ten jobs a second are put.
func TestFlow(t *testing.T) {
	const second = queue.Instant(time.Second)
	var f flows
	look := func(at queue.Instant, puts uint64) flow {
		tube := operator.Tube{Now: 1000*second + at}
		tube.Name, tube.Done[queue.Puts], tube.Done[queue.Deletes] = "stream", puts, puts/10
		return f.note(&tube)
	}
	for _, c := range []struct {
		what string
		got  flow
		want flow
	}{
		{"the first look", look(0, 0), flow{}},
		{"a look just after", look(second, 10), flow{}},
		{"after ten seconds", look(10*second, 100), flow{10, 1, true}},
		{"just after that", look(11*second, 110), flow{10, 1, true}},
		{"and again", look(20*second, 300), flow{20, 2, true}},
		{"a tube that has come again", look(25*second, 3), flow{}},
		{"and from then on", look(35*second, 203), flow{20, 2, true}},
		{"after a long time", look(135*second, 9999), flow{}},
	} {
		if c.got != c.want {
			t.Errorf("%s: the flow is %v, not %v", c.what, c.got, c.want)
		}
	}
	other := operator.Tube{Now: 2000 * second}
	if f.note(&other); len(f.seen) != 1 {
		t.Errorf("%d tubes are remembered where nobody has looked at the others for long", len(f.seen))
	}
}
