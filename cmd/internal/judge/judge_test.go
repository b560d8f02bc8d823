package judge

import (
	"testing"

	"autopilot/supervisor/suitability"
)

func TestFollow(t *testing.T) {
	t.Parallel()
	const off, advisory, gated = suitability.Off, suitability.Advisory, suitability.AutonomousGated
	tests := []struct {
		dial          suitability.Dial
		suitable      bool
		terminal, yes bool
		want          Answer
	}{
		{off, true, false, false, Start},
		{gated, true, false, false, Start},
		{gated, true, true, false, Start},
		{off, false, true, false, Ask},
		{off, false, false, false, Tell},
		{off, false, true, true, Tell},
		{advisory, false, true, false, Ask},
		{advisory, false, false, false, Tell},
		{gated, false, false, false, Refuse},
		{gated, false, true, false, Ask},
		{gated, false, false, true, Tell},
	}
	for _, tt := range tests {
		got := Follow(suitability.Verdict{Dial: tt.dial, Suitable: tt.suitable}, tt.terminal, tt.yes)
		if got != tt.want {
			t.Errorf("dial %s, suitable %v, terminal %v, yes %v: %s, want %s", tt.dial, tt.suitable, tt.terminal, tt.yes, got, tt.want)
		}
	}
}
