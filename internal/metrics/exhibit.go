package metrics

import "github.com/prometheus/client_golang/prometheus"

// exhibit has the metrics of the scrape under way. They are made by who serves
// the scrape, in a thread of low priority, since the registry collects in
// goroutines of its own.
type exhibit struct{ metrics []prometheus.Metric }

// Describe tells what there may be, for prometheus.Collector.
func (e *exhibit) Describe(to chan<- *prometheus.Desc) {
	describe(serverFamilies, to)
	describe(durableFamilies, to)
	describe(diskFamilies, to)
	describe(tubeFamilies, to)
}

func describe[T any](families []family[T], to chan<- *prometheus.Desc) {
	for i := range families {
		to <- families[i].desc
	}
}

// Collect hands out the metrics, for prometheus.Collector.
func (e *exhibit) Collect(to chan<- prometheus.Metric) {
	for _, m := range e.metrics {
		to <- m
	}
}

// show makes the metrics of what was read.
func (e *exhibit) show(r *reading) {
	e.metrics = make([]prometheus.Metric, 0, len(serverFamilies)+len(r.tubes)*len(tubeFamilies))
	to := &e.metrics
	collect(serverFamilies, &r.server, nil, to)
	if r.server.durable() {
		collect(durableFamilies, &r.server, nil, to)
	}
	if r.store != nil {
		collect(diskFamilies, r.store, nil, to)
	}
	for i := range r.tubes {
		t := &r.tubes[i]
		collect(tubeFamilies, t, []string{t.Name}, to)
	}
}

func collect[T any](families []family[T], of *T, labels []string, to *[]prometheus.Metric) {
	for i := range families {
		families[i].collect(of, labels, to)
	}
}
