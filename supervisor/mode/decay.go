package mode

import "math"

// Decay says how learnings lose trust with time: by half in every HalfLifeDays since they were last confirmed, but never
// below FloorFactor of their confidence. Without Enabled they keep it.
type Decay struct {
	Enabled      bool
	HalfLifeDays float64 // above 0
	FloorFactor  float64 // 0 to 1
}

// DefaultDecay halves trust every 90 days and stops at a tenth.
func DefaultDecay() Decay {
	return Decay{Enabled: true, HalfLifeDays: 90, FloorFactor: 0.1}
}

// sound replaces numbers that mean nothing by the default ones.
func (d Decay) sound() Decay {
	if !(d.HalfLifeDays > 0) || math.IsInf(d.HalfLifeDays, 0) {
		d.HalfLifeDays = DefaultDecay().HalfLifeDays
	}
	if !(d.FloorFactor >= 0 && d.FloorFactor <= 1) {
		d.FloorFactor = DefaultDecay().FloorFactor
	}
	return d
}
