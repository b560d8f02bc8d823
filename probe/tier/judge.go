package tier

import (
	"fmt"
	"math"
	"strconv"
)

// The signals by name, in the order in which they win a tie.
const (
	RAM            = "ram"
	Swap           = "swap"
	Peers          = "peers"
	MemoryPressure = "memory_pressure"
)

// None stands for the deciding signal when no signal was present.
const None = "none"

// Signals are the facts that a verdict rests on. A nil field was not measured
// and is null in JSON.
type Signals struct {
	// RAMAvailableGB is the memory that could be handed out without swapping, in GB.
	RAMAvailableGB *float64 `json:"ram_available_gb"`
	// SwapUsedGB is the swap in use, in GB; 0 on a machine without swap.
	SwapUsedGB *float64 `json:"swap_used_gb"`
	// Peers is the number of Claude Code sessions that are not ours.
	Peers *int `json:"peers"`
	// MemoryPressurePctFree is what the system itself calls its share of free
	// memory, in percent; only macOS states it.
	MemoryPressurePctFree *float64 `json:"memory_pressure_pct_free"`
}

// Judgement is the verdict over all signals.
type Judgement struct {
	// Tier is the worst tier among the signals that are present.
	Tier Tier `json:"tier"`
	// Cap is the number of agents that a wave may run at once.
	Cap int `json:"cap"`
	// Signal names the one that decided, or is None.
	Signal string `json:"signal"`
	// Reason says why in one phrase.
	Reason string `json:"reason"`
	// Parts holds every signal in the order ram, swap, peers, memory_pressure.
	Parts []Part `json:"parts"`
}

// Part is the verdict on one signal.
type Part struct {
	Signal string `json:"signal"`
	// Value is the measurement with its unit, empty when absent. Rounding never
	// moves it across a threshold.
	Value string `json:"value,omitempty"`
	// Tier is empty when the signal is absent.
	Tier   Tier   `json:"tier,omitempty"`
	Absent bool   `json:"absent"`
	Reason string `json:"reason"`
}

// Judge weighs the signals. The most restrictive one wins and names the
// verdict; among equals the first in the order of Parts does. The cap is the
// smaller of defaultCap and what the tier allows.
func Judge(s Signals, defaultCap int) Judgement {
	j := Judgement{
		Tier:   Green,
		Signal: None,
		Reason: "nothing could be measured: every signal is absent",
		Parts: []Part{
			ramScale().judge(s.RAMAvailableGB),
			swapScale().judge(s.SwapUsedGB),
			peersScale().judge(asFloat(s.Peers)),
			pressureScale().judge(s.MemoryPressurePctFree),
		},
	}
	for _, p := range j.Parts {
		if p.Absent {
			continue
		}
		if j.Signal == None || p.Tier.Rank() > j.Tier.Rank() {
			j.Tier, j.Signal, j.Reason = p.Tier, p.Signal, p.Reason
		}
	}
	j.Cap = j.Tier.Cap(defaultCap)
	return j
}

// scale is one column of the table: its rungs from the best tier to the worst,
// of which the first that holds decides and the last always holds.
type scale struct {
	signal string
	what   string
	unit   string
	rungs  [4]rung
}

type rung struct {
	tier  Tier
	holds func(v float64) bool
	why   string
}

func ramScale() scale {
	return scale{RAM, "RAM available", " GB", [4]rung{
		{Green, atLeast(6), "at least 6 GB"},
		{Warn, atLeast(4), "below 6 GB"},
		{Degraded, atLeast(2), "below 4 GB"},
		{Critical, always, "below 2 GB"},
	}}
}

func swapScale() scale {
	return scale{Swap, "swap used", " GB", [4]rung{
		{Green, below(1), "below 1 GB"},
		{Warn, below(2), "at least 1 GB"},
		{Degraded, atMost(3), "at least 2 GB"},
		{Critical, always, "above 3 GB"},
	}}
}

func peersScale() scale {
	return scale{Peers, "peers", "", [4]rung{
		{Green, atMost(2), "at most 2"},
		{Warn, atMost(4), "more than 2"},
		{Degraded, atMost(6), "more than 4"},
		{Critical, always, "more than 6"},
	}}
}

func pressureScale() scale {
	return scale{MemoryPressure, "memory free", " %", [4]rung{
		{Green, atLeast(30), "at least 30 %"},
		{Warn, atLeast(15), "below 30 %"},
		{Degraded, atLeast(5), "below 15 %"},
		{Critical, always, "below 5 %"},
	}}
}

func atLeast(limit float64) func(float64) bool { return func(v float64) bool { return v >= limit } }
func atMost(limit float64) func(float64) bool  { return func(v float64) bool { return v <= limit } }
func below(limit float64) func(float64) bool   { return func(v float64) bool { return v < limit } }
func always(float64) bool                      { return true }

func (s scale) judge(v *float64) Part {
	if v == nil {
		return Part{Signal: s.signal, Absent: true, Reason: s.what + ": not measured"}
	}
	if math.IsNaN(*v) || math.IsInf(*v, 0) || *v < 0 {
		return Part{Signal: s.signal, Absent: true, Reason: fmt.Sprintf("%s: %v is no measurement", s.what, *v)}
	}
	r := s.rung(*v)
	value := s.show(*v)
	return Part{
		Signal: s.signal,
		Value:  value,
		Tier:   r.tier,
		Reason: fmt.Sprintf("%s: %s is %s", s.what, value, r.why),
	}
}

func (s scale) rung(v float64) rung {
	for _, r := range s.rungs[:3] {
		if r.holds(v) {
			return r
		}
	}
	return s.rungs[3]
}

// show rounds to two digits unless that would land in another tier: "6 GB is
// below 6 GB" explains nothing.
func (s scale) show(v float64) string {
	rounded := math.Round(v*100) / 100
	if s.rung(rounded).tier != s.rung(v).tier {
		rounded = v
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64) + s.unit
}

func asFloat(n *int) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}
