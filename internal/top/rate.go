package top

import "time"

// rate is how often something happens in a second, or unknown.
type rate float64

const unknown rate = -1

// rateOf is the rate at which a counter went from one value to another. A counter that went back is another one.
func rateOf(before, now uint64, took time.Duration) rate {
	if now < before || took <= 0 {
		return unknown
	}
	return rate(float64(now-before) / took.Seconds())
}

// view is a sample with the rates since the one before.
type view struct {
	*Sample
	puts, reserves, deletes rate
	rows                    []row // of all tubes
}

// row is a tube with its rates.
type row struct {
	*Tube
	puts, deletes rate
}

// compare makes a view of a sample and the one before, if there is one. A server that has been started anew has other counters.
func compare(before, now *Sample) *view {
	v := &view{Sample: now, puts: unknown, reserves: unknown, deletes: unknown, rows: make([]row, len(now.Tubes))}
	for i := range now.Tubes {
		v.rows[i] = row{&now.Tubes[i], unknown, unknown}
	}
	if before == nil || before.ID != now.ID || now.Uptime < before.Uptime {
		return v
	}
	took := now.At.Sub(before.At)
	v.puts = rateOf(before.Puts, now.Puts, took)
	v.reserves = rateOf(before.Reserves, now.Reserves, took)
	v.deletes = rateOf(before.Deletes, now.Deletes, took)
	tubes := make(map[string]*Tube, len(before.Tubes))
	for i := range before.Tubes {
		tubes[before.Tubes[i].Name] = &before.Tubes[i]
	}
	for i := range v.rows {
		r := &v.rows[i]
		if b := tubes[r.Name]; b != nil {
			r.puts, r.deletes = rateOf(b.Puts, r.Puts, took), rateOf(b.Deletes, r.Deletes, took)
		}
	}
	return v
}
