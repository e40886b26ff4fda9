package load

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// Report is one measurement as a line of JSON. Durations are in microseconds, sizes in bytes.
type Report struct {
	Workload    string              `json:"workload"`
	Server      string              `json:"server"`
	Round       int                 `json:"round"`
	Connections int                 `json:"connections"`
	Window      int                 `json:"window"`
	Body        int                 `json:"body"`
	Jobs        int                 `json:"jobs,omitempty"`
	Tubes       int                 `json:"tubes,omitempty"`
	Rate        int                 `json:"rate,omitempty"`
	Operations  uint64              `json:"operations"`
	Seconds     float64             `json:"seconds"`
	PerSecond   float64             `json:"per_second"`
	CPUEach     float64             `json:"server_cpu_us_each"`
	CPUShare    float64             `json:"server_cpu_percent"`
	OwnEach     float64             `json:"load_cpu_us_each"`
	TookSeconds float64             `json:"took_seconds,omitempty"`
	Resident    int64               `json:"resident_bytes"`
	Each        float64             `json:"resident_bytes_each,omitempty"`
	Disk        int64               `json:"disk_bytes,omitempty"`
	Written     int64               `json:"device_written_bytes,omitempty"`
	Latency     map[string]Quantile `json:"latency_us,omitempty"`
}

// Quantile sums up the latencies of one kind of command, in microseconds.
type Quantile struct {
	Count uint64  `json:"count"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p99_9"`
	Max   float64 `json:"max"`
}

// NewReport makes a report of a result.
func NewReport(workload string, p Plan, server string, round int, r *Result) Report {
	report := Report{
		Workload: workload, Server: server, Round: round,
		Connections: p.Connections, Window: p.Window, Body: p.Body, Jobs: p.Jobs, Tubes: p.Tubes, Rate: p.Rate,
		Operations: r.Operations, Seconds: r.Elapsed.Seconds(), PerSecond: r.PerSecond(),
		CPUEach: CPU.Value(r), CPUShare: Busy.Value(r), OwnEach: micros(r.OwnEach()),
		TookSeconds: r.Took.Seconds(), Resident: r.RSS, Each: r.Each, Disk: r.Disk, Written: r.Written,
		Latency: make(map[string]Quantile, len(r.Latency)),
	}
	for _, l := range r.Latency {
		report.Latency[l.Of] = Quantile{l.Count, micros(l.Mean), micros(l.P50), micros(l.P99), micros(l.P999), micros(l.Max)}
	}
	return report
}

// WriteJSON writes a line.
func (r *Report) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// WriteTable writes the medians of a contest's results, a column for each server, and the ratio of the first to the second if there
// are two.
func WriteTable(w io.Writer, title string, servers []string, results [][]Result) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s\n", title)
	for _, s := range servers {
		fmt.Fprintf(table, "\t%s", s)
	}
	if len(servers) == 2 {
		fmt.Fprint(table, "\tratio")
	}
	fmt.Fprint(table, "\t\n")
	for _, m := range tableMetrics(results) {
		line, known := m.Name, false
		for i := range results {
			v := m.Median(results[i])
			known = known || v != 0
			line += "\t" + Figure(v)
		}
		if len(servers) == 2 {
			line += "\t" + Figure(m.Ratio(results[0], results[1]))
		}
		if known {
			fmt.Fprintf(table, "%s\t\n", line)
		}
	}
	fmt.Fprintln(table)
	return table.Flush()
}

// tableMetrics are the general metrics and three for each kind of latency in the results.
func tableMetrics(results [][]Result) []Metric {
	metrics := []Metric{Throughput, CPU, Busy}
	if len(results) > 0 && len(results[0]) > 0 {
		for _, l := range results[0][0].Latency {
			of := l.Of
			metrics = append(metrics,
				Metric{of + " p50 us", false, func(r *Result) float64 { return micros(r.Find(of).P50) }},
				Metric{of + " p99 us", false, func(r *Result) float64 { return micros(r.Find(of).P99) }},
				Metric{of + " p99.9 us", false, func(r *Result) float64 { return micros(r.Find(of).P999) }},
				Metric{of + " longest us", false, func(r *Result) float64 { return micros(r.Find(of).Max) }})
		}
	}
	return append(metrics, Took, Resident, Each, Disk,
		Metric{"device written MB", false, func(r *Result) float64 { return megabytes(r.Written) }},
		Metric{"load's CPU us each", false, func(r *Result) float64 { return micros(r.OwnEach()) }})
}
