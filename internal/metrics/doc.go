// Package metrics answers GET /metrics for Prometheus.
//
// Nothing is counted here: a scrape reads the server through its operator, in
// one pass over the tubes that goes in short steps between turns of the loop,
// and makes metrics of what it has read. So the hot path knows no metric, and
// the series of a tube end with the tube.
//
// What each metric means is in docs/metrics.md, which a test holds to what is
// exported, and so are the alert rules and the dashboard in deploy/.
package metrics
