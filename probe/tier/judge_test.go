package tier

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestBoundaries(t *testing.T) {
	t.Parallel()
	ram := func(v float64) Signals { return Signals{RAMAvailableGB: &v} }
	swap := func(v float64) Signals { return Signals{SwapUsedGB: &v} }
	peers := func(v float64) Signals { n := int(v); return Signals{Peers: &n} }
	pressure := func(v float64) Signals { return Signals{MemoryPressurePctFree: &v} }

	below := func(v float64) float64 { return math.Nextafter(v, 0) }
	above := func(v float64) float64 { return math.Nextafter(v, math.Inf(1)) }
	tests := []struct {
		signal string
		of     func(float64) Signals
		value  float64
		want   Tier
	}{
		{RAM, ram, 1000, Green},
		{RAM, ram, 6, Green},
		{RAM, ram, below(6), Warn},
		{RAM, ram, 4, Warn},
		{RAM, ram, below(4), Degraded},
		{RAM, ram, 2, Degraded},
		{RAM, ram, below(2), Critical},
		{RAM, ram, 0, Critical},

		{Swap, swap, 0, Green},
		{Swap, swap, below(1), Green},
		{Swap, swap, 1, Warn},
		{Swap, swap, below(2), Warn},
		{Swap, swap, 2, Degraded},
		{Swap, swap, 3, Degraded},
		{Swap, swap, above(3), Critical},
		{Swap, swap, 3.01, Critical},

		{Peers, peers, 0, Green},
		{Peers, peers, 2, Green},
		{Peers, peers, 3, Warn},
		{Peers, peers, 4, Warn},
		{Peers, peers, 5, Degraded},
		{Peers, peers, 6, Degraded},
		{Peers, peers, 7, Critical},

		{MemoryPressure, pressure, 100, Green},
		{MemoryPressure, pressure, 30, Green},
		{MemoryPressure, pressure, below(30), Warn},
		{MemoryPressure, pressure, 15, Warn},
		{MemoryPressure, pressure, below(15), Degraded},
		{MemoryPressure, pressure, 5, Degraded},
		{MemoryPressure, pressure, below(5), Critical},
		{MemoryPressure, pressure, 0, Critical},
	}
	caps := map[Tier]int{Green: 6, Warn: 4, Degraded: 2, Critical: 0}
	for _, tt := range tests {
		name := tt.signal + " " + strconv.FormatFloat(tt.value, 'g', -1, 64)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Judge(tt.of(tt.value), 6)
			if got.Tier != tt.want || got.Signal != tt.signal || got.Cap != caps[tt.want] {
				t.Errorf("got %s by %s, cap %d; want %s by %s, cap %d",
					got.Tier, got.Signal, got.Cap, tt.want, tt.signal, caps[tt.want])
			}
		})
	}
}

func TestMostRestrictiveWins(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		in         Signals
		defaultCap int
		tier       Tier
		cap        int
		signal     string
		reason     string
	}{
		{
			name: "a crowded machine with plenty of memory", in: signals(8, 0, 7, nil),
			defaultCap: 6, tier: Critical, cap: 0, signal: Peers, reason: "peers: 7 is more than 6",
		},
		{
			name: "all green names the first signal", in: signals(8, 0, 1, new(50.0)),
			defaultCap: 6, tier: Green, cap: 6, signal: RAM, reason: "RAM available: 8 GB is at least 6 GB",
		},
		{
			name: "a tie goes to the first in order", in: signals(8, 1.5, 3, new(20.0)),
			defaultCap: 6, tier: Warn, cap: 4, signal: Swap, reason: "swap used: 1.5 GB is at least 1 GB",
		},
		{
			name: "a worse signal later in order beats a bad one", in: signals(5, 0, 0, new(4.5)),
			defaultCap: 6, tier: Critical, cap: 0, signal: MemoryPressure, reason: "memory free: 4.5 % is below 5 %",
		},
		{
			name: "the planned cap is kept where it is smaller", in: signals(5, 0, 0, nil),
			defaultCap: 3, tier: Warn, cap: 3, signal: RAM, reason: "RAM available: 5 GB is below 6 GB",
		},
		{
			name: "a plan of none stays none", in: signals(8, 0, 0, nil),
			defaultCap: 0, tier: Green, cap: 0, signal: RAM, reason: "RAM available: 8 GB is at least 6 GB",
		},
		{
			name: "a negative plan is none", in: signals(8, 0, 0, nil),
			defaultCap: -2, tier: Green, cap: 0, signal: RAM, reason: "RAM available: 8 GB is at least 6 GB",
		},
		{
			name: "nothing measured", in: Signals{},
			defaultCap: 6, tier: Green, cap: 6, signal: None, reason: "nothing could be measured: every signal is absent",
		},
		{
			name: "an absent signal does not hide a present one", in: Signals{Peers: new(5)},
			defaultCap: 6, tier: Degraded, cap: 2, signal: Peers, reason: "peers: 5 is more than 4",
		},
		{
			name: "rounding does not cross a threshold", in: Signals{RAMAvailableGB: new(5.9999)},
			defaultCap: 6, tier: Warn, cap: 4, signal: RAM, reason: "RAM available: 5.9999 GB is below 6 GB",
		},
		{
			name: "what is no number is absent", in: Signals{RAMAvailableGB: new(math.NaN()), Peers: new(-1)},
			defaultCap: 6, tier: Green, cap: 6, signal: None, reason: "nothing could be measured: every signal is absent",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Judge(tt.in, tt.defaultCap)
			want := Judgement{Tier: tt.tier, Cap: tt.cap, Signal: tt.signal, Reason: tt.reason, Parts: got.Parts}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("judgement (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPartsAndJSON(t *testing.T) {
	t.Parallel()
	got, err := json.MarshalIndent(Judge(Signals{RAMAvailableGB: new(3.25), SwapUsedGB: new(-1.0), Peers: new(0)}, 6), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want := `{
 "tier": "degraded",
 "cap": 2,
 "signal": "ram",
 "reason": "RAM available: 3.25 GB is below 4 GB",
 "parts": [
  {
   "signal": "ram",
   "value": "3.25 GB",
   "tier": "degraded",
   "absent": false,
   "reason": "RAM available: 3.25 GB is below 4 GB"
  },
  {
   "signal": "swap",
   "absent": true,
   "reason": "swap used: -1 is no measurement"
  },
  {
   "signal": "peers",
   "value": "0",
   "tier": "green",
   "absent": false,
   "reason": "peers: 0 is at most 2"
  },
  {
   "signal": "memory_pressure",
   "absent": true,
   "reason": "memory free: not measured"
  }
 ]
}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("json (-want +got):\n%s", diff)
	}
}

func TestSignalsJSONIsNullWhenAbsent(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(Signals{Peers: new(3)})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"ram_available_gb":null,"swap_used_gb":null,"peers":3,"memory_pressure_pct_free":null}`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCapOfNoTier(t *testing.T) {
	t.Parallel()
	if got := Tier("amber").Cap(6); got != 0 {
		t.Errorf("cap of an unknown tier: got %d, want 0", got)
	}
	if got := Tier("").Rank(); got != -1 {
		t.Errorf("rank of the zero tier: got %d, want -1", got)
	}
}

// More room never gives a worse verdict, one signal more never gives a better
// one, and the value shown falls in the tier it explains.
func TestProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := signals(
			rapid.Float64Range(0, 10).Draw(t, "ram"),
			rapid.Float64Range(0, 5).Draw(t, "swap"),
			rapid.IntRange(0, 10).Draw(t, "peers"),
			new(rapid.Float64Range(0, 100).Draw(t, "pressure")),
		)
		planned := rapid.IntRange(0, 12).Draw(t, "planned")
		before := Judge(s, planned)

		if before.Cap > planned {
			t.Fatalf("cap %d exceeds the plan of %d", before.Cap, planned)
		}
		for _, p := range before.Parts {
			if p.Tier.Rank() > before.Tier.Rank() {
				t.Fatalf("%s is %s, worse than the verdict %s", p.Signal, p.Tier, before.Tier)
			}
		}

		better := s
		better.RAMAvailableGB = new(*s.RAMAvailableGB + rapid.Float64Range(0, 5).Draw(t, "more ram"))
		better.SwapUsedGB = new(*s.SwapUsedGB * rapid.Float64Range(0, 1).Draw(t, "less swap"))
		better.Peers = new(rapid.IntRange(0, *s.Peers).Draw(t, "fewer peers"))
		better.MemoryPressurePctFree = nil
		if after := Judge(better, planned); after.Tier.Rank() > before.Tier.Rank() {
			t.Fatalf("more room made it worse: %s after %s", after.Tier, before.Tier)
		}

		shown, err := strconv.ParseFloat(strings.TrimSuffix(before.Parts[0].Value, " GB"), 64)
		if err != nil {
			t.Fatal(err)
		}
		if got := ramScale().rung(shown).tier; got != before.Parts[0].Tier {
			t.Fatalf("%v GB is shown as %s, which would be %s", *s.RAMAvailableGB, before.Parts[0].Value, got)
		}
	})
}

func signals(ram, swap float64, peers int, pressure *float64) Signals {
	return Signals{RAMAvailableGB: &ram, SwapUsedGB: &swap, Peers: &peers, MemoryPressurePctFree: pressure}
}
