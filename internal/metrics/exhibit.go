package metrics

import "github.com/prometheus/client_golang/prometheus"

// exhibit makes the metrics of the scrape under way.
type exhibit struct {
	reading *reading
}

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

// Collect makes the metrics, for prometheus.Collector.
func (e *exhibit) Collect(to chan<- prometheus.Metric) {
	r := e.reading
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

func collect[T any](families []family[T], of *T, labels []string, to chan<- prometheus.Metric) {
	for i := range families {
		families[i].collect(of, labels, to)
	}
}
