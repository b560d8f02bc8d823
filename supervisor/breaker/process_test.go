package breaker

import (
	"testing"
	"time"
)

func TestOneProbeAmongProcesses(t *testing.T) {
	t.Parallel()
	s, now := opened(t)
	later := now.Add(6 * time.Minute)
	all := make([]*process, 6)
	for i := range all {
		all[i] = start(t, s.Path, later)
	}
	for _, p := range all {
		p.line(t) // ready
	}
	for _, p := range all {
		p.send(t)
	}
	var prober *process
	got := map[string]int{}
	for _, p := range all {
		said := p.line(t)
		got[said]++
		if said == "called" {
			prober = p
		}
	}
	if got["called"] != 1 || got["refused"] != 5 {
		t.Fatalf("six processes: %v, want one call and five refusals", got)
	}

	if err := prober.in.Close(); err != nil {
		t.Fatal(err)
	}
	if said := prober.line(t); said != "done" {
		t.Fatalf("the probe said %q", said)
	}
	if err := prober.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := s.States(later)[0].Position; got != Closed {
		t.Errorf("after the probe it is %s, want %s", got, Closed)
	}
}

func TestProbeOfAProcessThatWasKilled(t *testing.T) {
	t.Parallel()
	s, now := opened(t)
	later := now.Add(6 * time.Minute)
	p := start(t, s.Path, later)
	p.line(t)
	p.send(t)
	if said := p.line(t); said != "called" {
		t.Fatalf("the probe said %q", said)
	}
	p.kill()

	if err := s.call(t, later.Add(2*time.Minute-time.Second), nil); !isOpen(err) {
		t.Errorf("while the probe may still run: %v, want a refusal", err)
	}
	if err := s.call(t, later.Add(2*time.Minute), nil); err != nil {
		t.Errorf("after its time: %v, want a call", err)
	}
	if got := s.States(later.Add(2 * time.Minute))[0].Position; got != Closed {
		t.Errorf("after the second probe it is %s, want %s", got, Closed)
	}
}
