package top

import (
	"time"

	"github.com/haricotq/haricot/internal/remote"
)

// Sample is a server as it was at a moment.
type Sample struct {
	At                                       time.Time
	ID, Version, Host                        string
	Uptime                                   time.Duration
	Draining                                 bool
	Connections, Producers, Workers, Waiting uint64
	Ready, Urgent, Reserved, Delayed, Buried uint64
	Puts, Reserves, Deletes                  uint64 // since the server began; reserves also where there was no job to get
	Tubes                                    []Tube
}

// Tube is a tube in a sample.
type Tube struct {
	Name                                     string
	Ready, Urgent, Reserved, Delayed, Buried uint64
	Waiting, Watching, Using                 uint64
	Puts, Deletes                            uint64        // since the tube began
	PauseLeft                                time.Duration // of a pause; 0 if there is none
}

// look asks a server for a sample.
func look(s *remote.Server) (*Sample, error) {
	stats, err := s.Stats()
	if err != nil {
		return nil, err
	}
	at := time.Now()
	names, err := s.Tubes()
	if err != nil {
		return nil, err
	}
	all, err := s.TubeStats(names...)
	if err != nil {
		return nil, err
	}
	sample := sampleOf(stats)
	sample.At = at
	for _, stats := range all {
		sample.Tubes = append(sample.Tubes, tubeOf(stats))
	}
	return sample, nil
}

func sampleOf(s remote.Stats) *Sample {
	return &Sample{
		ID: s.Value("id"), Version: s.Value("version"), Host: s.Value("hostname"),
		Uptime: seconds(s.Number("uptime")), Draining: s.Value("draining") == "true",
		Connections: s.Number("current-connections"), Producers: s.Number("current-producers"),
		Workers: s.Number("current-workers"), Waiting: s.Number("current-waiting"),
		Ready: s.Number("current-jobs-ready"), Urgent: s.Number("current-jobs-urgent"), Reserved: s.Number("current-jobs-reserved"),
		Delayed: s.Number("current-jobs-delayed"), Buried: s.Number("current-jobs-buried"),
		Puts: s.Number("total-jobs"), Reserves: s.Number("cmd-reserve") + s.Number("cmd-reserve-with-timeout"),
		Deletes: s.Number("cmd-delete"),
	}
}

func tubeOf(s remote.Stats) Tube {
	return Tube{
		Name:  s.Value("name"),
		Ready: s.Number("current-jobs-ready"), Urgent: s.Number("current-jobs-urgent"), Reserved: s.Number("current-jobs-reserved"),
		Delayed: s.Number("current-jobs-delayed"), Buried: s.Number("current-jobs-buried"),
		Waiting: s.Number("current-waiting"), Watching: s.Number("current-watching"), Using: s.Number("current-using"),
		Puts: s.Number("total-jobs"), Deletes: s.Number("cmd-delete"),
		PauseLeft: seconds(s.Number("pause-time-left")),
	}
}

// tube finds a tube of the sample; nil if it is not there.
func (s *Sample) tube(name string) *Tube {
	for i := range s.Tubes {
		if s.Tubes[i].Name == name {
			return &s.Tubes[i]
		}
	}
	return nil
}

// longest is the most seconds that are believed of a server: more than the protocol can say, and less than a Duration holds.
const longest = 1 << 33

func seconds(n uint64) time.Duration { return time.Duration(min(n, longest)) * time.Second }
