package breaker

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// model is a breaker in plain words. All its times lie on the steps of the window, where
// the window is exact.
type model struct {
	position   Position
	failures   []time.Time // in a row
	until      time.Time
	era        int // changes of the position so far
	probe      int // 0 is none
	probeUntil time.Time
	probes     int
}

type modelTicket struct{ era, probe int }

func (m *model) to(p Position) { m.position, m.era, m.failures, m.probe = p, m.era+1, nil, 0 }

func (m *model) look(now time.Time) {
	if m.position == Open && !now.Before(m.until) {
		m.to(HalfOpen)
	}
}

func (m *model) admit(now time.Time, set Settings) (modelTicket, bool) {
	m.look(now)
	switch {
	case m.position == Open, m.position == HalfOpen && m.probe != 0 && now.Before(m.probeUntil):
		return modelTicket{}, false
	case m.position == HalfOpen:
		m.probes++
		m.probe, m.probeUntil = m.probes, now.Add(set.Probe)
	}
	return modelTicket{m.era, m.probe}, true
}

func (m *model) settle(now time.Time, t modelTicket, v Verdict, set Settings) {
	m.look(now)
	if t != (modelTicket{m.era, m.probe}) {
		return
	}
	m.probe = 0
	switch v.Outcome {
	case Limited:
		m.to(Open)
		m.until = v.RetryAt
	case OK, Answered:
		if m.position == HalfOpen {
			m.to(Closed)
		}
		if v.Outcome == OK {
			m.failures = nil
		}
	case Failed:
		m.failures = append(m.failures, now)
		if m.position == HalfOpen || m.count(now, set) >= set.Threshold {
			m.to(Open)
			m.until = now.Add(set.Reset)
		}
	}
}

func (m *model) count(now time.Time, set Settings) int {
	n := 0
	for _, at := range m.failures {
		if now.Sub(at) < set.Window {
			n++
		}
	}
	return n
}

func TestAgainstTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		set := Settings{
			Threshold: rapid.IntRange(1, 4).Draw(t, "threshold"),
			Reset:     4 * time.Minute, Window: 5 * time.Minute, Probe: time.Minute,
		}
		var r record
		now, m := noon(), &model{position: Closed}
		type flight struct {
			real  ticket
			model modelTicket
		}
		var flying []flight
		finish := func(t *rapid.T) {
			if len(flying) == 0 {
				t.Skip("nothing runs")
			}
			i := rapid.IntRange(0, len(flying)-1).Draw(t, "which")
			f := flying[i]
			flying = append(flying[:i], flying[i+1:]...)
			v := Verdict{Outcome: rapid.SampledFrom([]Outcome{OK, Failed, Failed, Failed, Answered, Limited, Abandoned}).Draw(t, "outcome")}
			if v.Outcome == Limited {
				v.RetryAt = now.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "steps")) * 30 * time.Second)
			}
			o := outcome{Verdict: v}
			if v.Outcome != OK {
				o.err = errAway
			}
			r = r.at(now, set).settle(now, f.real, o, set)
			m.settle(now, f.model, v, set)
		}
		begin := func(t *rapid.T) {
			next, real, refused := r.at(now, set).admit("x", now, set)
			r = next
			plain, ok := m.admit(now, set)
			if (refused == nil) != ok {
				t.Fatalf("admitted: %v, want %v", refused == nil, ok)
			}
			if ok {
				flying = append(flying, flight{real, plain})
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"begin": begin,
			"end":   finish,
			"call": func(t *rapid.T) {
				begin(t)
				finish(t)
			},
			"wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 12).Draw(t, "steps")) * 30 * time.Second)
			},
			"": func(t *rapid.T) {
				m.look(now)
				got := r.view("x", now, set)
				if got.Position != m.position {
					t.Fatalf("position %s, want %s", got.Position, m.position)
				}
				if m.position == Closed && got.Failures != m.count(now, set) {
					t.Fatalf("%d failures count, want %d", got.Failures, m.count(now, set))
				}
				if m.position == Open && !got.Until.Equal(m.until) {
					t.Fatalf("open until %v, want %v", got.Until, m.until)
				}
			},
		})
	})
}
