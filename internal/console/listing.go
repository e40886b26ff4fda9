package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// listing is how a list is shown: filtered, sorted and one page of it. All of it
// is in the address.
type listing struct {
	Path   string
	Filter string
	Sort   string // the column
	Down   bool   // from the largest to the smallest
	Page   int    // from 1
	// Matched is how many rows there are on all pages.
	Matched int
	usual   string // the column if none is asked for
	falling bool   // the column is from the largest to the smallest if no order is asked for
}

// rowsPerPage is how many rows of a list a page has.
const rowsPerPage = 100

// column is a column by which a list can be sorted.
type column struct {
	Key     string
	Name    string
	Title   string // what it means, where the name does not say it
	Number  bool
	Wide    bool // there is no room for it on a phone
	Falling bool // the interesting end is the largest
}

// readListing reads how a list is to be shown: by its usual column if nothing
// else is asked for.
func readListing(r *http.Request, columns []column, usual string) (listing, error) {
	l := listing{
		Path: r.URL.Path, Filter: strings.TrimSpace(r.FormValue("filter")), Sort: r.FormValue("sort"),
		Page: 1, usual: usual,
	}
	if l.Sort == "" {
		l.Sort = usual
	}
	known := false
	for _, c := range columns {
		if c.Key == l.Sort {
			known, l.Down, l.falling = true, c.Falling, c.Falling
		}
	}
	if !known {
		return l, badRequest("The list cannot be sorted by that.")
	}
	switch r.FormValue("order") {
	case "":
	case "up":
		l.Down = false
	case "down":
		l.Down = true
	default:
		return l, badRequest("The order is up or down.")
	}
	if text := r.FormValue("page"); text != "" {
		page, err := strconv.Atoi(text)
		if err != nil || page < 1 || page > 1_000_000 {
			return l, badRequest("There is no such page of the list.")
		}
		l.Page = page
	}
	return l, nil
}

// upTo is how many rows there are up to the end of the page.
func (l *listing) upTo() int { return l.Page * rowsPerPage }

// Pages is how many pages there are.
func (l *listing) Pages() int { return max(1, (l.Matched+rowsPerPage-1)/rowsPerPage) }

// From is the number of the first row, from 1.
func (l *listing) From() int { return min((l.Page-1)*rowsPerPage+1, l.Matched) }

// To is the number of the last row.
func (l *listing) To() int { return min(l.Page*rowsPerPage, l.Matched) }

// Order is the order as addresses say it.
func (l *listing) Order() string {
	if l.Down {
		return "down"
	}
	return "up"
}

// Turned is the order if it is not the usual one of the column, for forms.
func (l *listing) Turned() string {
	if l.Down == l.falling {
		return ""
	}
	return l.Order()
}

// SortedBy says for a column how the list is sorted, as aria-sort does.
func (l *listing) SortedBy(c column) string {
	switch {
	case l.Sort != c.Key:
		return ""
	case l.Down:
		return "descending"
	default:
		return "ascending"
	}
}

// SortURL is the address of the list sorted by a column: by its interesting end
// first, and the other way round if it is already.
func (l *listing) SortURL(c column) string {
	order := ""
	if l.Sort == c.Key && l.Down == c.Falling {
		order = "down"
		if l.Down {
			order = "up"
		}
	}
	return l.url(c.Key, order, 1)
}

// PageURL is the address of another page of the list.
func (l *listing) PageURL(page int) string { return l.url(l.Sort, l.Order(), page) }

// NextURL is the address of the next page, if there is one.
func (l *listing) NextURL() string {
	if l.Page >= l.Pages() {
		return ""
	}
	return l.PageURL(l.Page + 1)
}

// LastURL is the address of the page before, if there is one.
func (l *listing) LastURL() string {
	if l.Page <= 1 {
		return ""
	}
	return l.PageURL(min(l.Page-1, l.Pages()))
}

func (l *listing) url(sort, order string, page int) string {
	q := url.Values{}
	if l.Filter != "" {
		q.Set("filter", l.Filter)
	}
	if sort != l.usual || order != "" {
		q.Set("sort", sort)
	}
	if order != "" {
		q.Set("order", order)
	}
	if page > 1 {
		q.Set("page", strconv.Itoa(page))
	}
	if len(q) == 0 {
		return l.Path
	}
	return l.Path + "?" + q.Encode()
}

// pageOf is the rows of the list's page, of all rows up to its end.
func pageOf[T any](l *listing, rows []*T) []*T {
	return rows[min(len(rows), (l.Page-1)*rowsPerPage):]
}
