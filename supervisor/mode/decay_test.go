package mode

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestTrustByDecay(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		decay Decay
		age   int // days
		want  float64
	}{
		{"off", Decay{false, 90, 0.1}, 3600, 0.8},
		{"off without numbers", Decay{}, 3600, 0.8},
		{"a short half-life", Decay{true, 10, 0}, 30, 0.1},
		{"no floor", Decay{true, 10, 0}, 100, 0.8 / 1024},
		{"a high floor", Decay{true, 10, 0.5}, 100, 0.4},
		{"a floor of all", Decay{true, 1, 1}, 100, 0.8},
		{"half a day counts", Decay{true, 0.5, 0}, 1, 0.2},
	}
	for _, tt := range tests {
		l := Learning{Confidence: 0.8, CreatedAt: noon().AddDate(0, 0, -tt.age).Format(time.RFC3339)}
		if got := trust(l, noon(), tt.decay.sound()); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestSoundDecay(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want Decay }{
		{Decay{true, 30, 0.5}, Decay{true, 30, 0.5}},
		{Decay{}, Decay{false, 90, 0}},
		{Decay{true, -1, -1}, DefaultDecay()},
		{Decay{true, math.NaN(), math.NaN()}, DefaultDecay()},
		{Decay{true, math.Inf(1), 1.5}, DefaultDecay()},
	}
	for _, tt := range tests {
		if got := tt.in.sound(); got != tt.want {
			t.Errorf("%v: got %v, want %v", tt.in, got, tt.want)
		}
	}
}

// TestDecayOrdersAndDoesNotExclude keeps an old learning whose trust is far below what is asked of its confidence.
func TestDecayOrdersAndDoesNotExclude(t *testing.T) {
	t.Parallel()
	all := []Learning{
		{Subject: "old", Confidence: 0.9, CreatedAt: "2020-01-01"},
		{Subject: "new", Confidence: 0.31, CreatedAt: "2026-09-01"},
		{Subject: "weak", Confidence: 0.3, CreatedAt: "2026-09-01"},
	}
	for _, tt := range []struct {
		decay Decay
		want  string
	}{
		{DefaultDecay(), "new old"},
		{Decay{Enabled: false}, "old new"},
		{Decay{true, 90, 0.5}, "old new"},
		{Decay{true, 100_000, 0}, "old new"},
	} {
		var got []string
		for _, l := range surface(all, noon(), 5, tt.decay) {
			got = append(got, l.Subject)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%v: got %v, want %s", tt.decay, got, tt.want)
		}
	}
}
