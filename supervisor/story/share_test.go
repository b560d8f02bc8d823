package story

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"autopilot/probe/tier"
)

func TestShares(t *testing.T) {
	t.Parallel()
	three := []string{"w waiting", "a running", "d done", "b running", "c running"}
	tests := []struct {
		name     string
		list     []string
		limit    int
		critical bool
		want     []Share
	}{
		{"nobody runs", []string{"a waiting", "b done"}, 6, false, nil},
		{"one has all", []string{"a running"}, 6, false, []Share{{"a", 6, false}}},
		{"even", three, 6, false, []Share{{"a", 2, false}, {"b", 2, false}, {"c", 2, false}}},
		{"the first have the rest", three, 5, false, []Share{{"a", 2, false}, {"b", 2, false}, {"c", 1, false}}},
		{"fewer than stories", three, 2, false, []Share{{"a", 1, false}, {"b", 1, false}, {"c", 0, false}}},
		{"nothing", three, 0, false, []Share{{"a", 0, false}, {"b", 0, false}, {"c", 0, false}}},
		{"less than nothing", three, -5, false, []Share{{"a", 0, false}, {"b", 0, false}, {"c", 0, false}}},
		{"critical", three, 6, true, []Share{{"a", 0, false}, {"b", 0, true}, {"c", 0, true}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Shares(cohortOf(Worktree, 3, tt.list...), tt.limit, tt.critical)); diff != "" {
				t.Errorf("shares (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSharesAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var c Cohort
		for i := range rapid.IntRange(0, 12).Draw(t, "stories") {
			c.Members = append(c.Members, Member{
				Story: Story{ID: fmt.Sprint(i)}, Status: rapid.SampledFrom([]Status{Waiting, Running, Running, Done, Failed}).Draw(t, "status"),
			})
		}
		limit := rapid.IntRange(0, 40).Draw(t, "limit")
		shares := Shares(c, limit, false)
		sum, least, most := 0, limit, 0
		for _, s := range shares {
			sum, least, most = sum+s.Cap, min(least, s.Cap), max(most, s.Cap)
			if s.Hold {
				t.Fatalf("%s is held on a machine that is not critical", s.ID)
			}
		}
		if len(shares) > 0 && (sum != limit || most-least > 1) {
			t.Fatalf("shares %+v of %d", shares, limit)
		}
		if diff := cmp.Diff(shares, Shares(c, limit, false)); diff != "" {
			t.Fatalf("shares change by themselves:\n%s", diff)
		}
	})
}

func TestDamper(t *testing.T) {
	t.Parallel()
	type at struct {
		seconds int
		tier    string
		cap     int
		want    string
		wantCap int
	}
	tests := []struct {
		name  string
		steps []at
	}{
		{"first at once", []at{{0, "degraded", 2, "degraded", 2}}},
		{"worse at once", []at{{0, "green", 6, "green", 6}, {1, "warn", 4, "warn", 4}, {2, "critical", 0, "critical", 0}}},
		{"better after a minute", []at{{0, "critical", 0, "critical", 0}, {5, "green", 6, "critical", 0}, {64, "green", 6, "critical", 0}, {65, "green", 6, "green", 6}}},
		{"a break begins anew", []at{
			{0, "warn", 4, "warn", 4}, {10, "green", 6, "warn", 4}, {60, "warn", 4, "warn", 4}, {61, "green", 6, "warn", 4}, {120, "green", 6, "warn", 4}, {121, "green", 6, "green", 6},
		}},
		{"step by step", []at{
			{0, "critical", 0, "critical", 0}, {10, "degraded", 2, "critical", 0}, {40, "green", 6, "critical", 0}, {70, "green", 6, "degraded", 2}, {99, "green", 6, "degraded", 2}, {100, "green", 6, "green", 6},
		}},
		{"only as far as it held", []at{{0, "critical", 0, "critical", 0}, {10, "green", 6, "critical", 0}, {40, "warn", 4, "critical", 0}, {70, "green", 6, "warn", 4}, {130, "green", 6, "green", 6}}},
		{"no more than is planned", []at{{0, "warn", 1, "warn", 1}, {1, "green", 1, "warn", 1}, {61, "green", 1, "green", 1}}},
		{"what is no tier", []at{{0, "green", 6, "green", 6}, {1, "purple", 6, "critical", 0}, {2, "", 6, "critical", 0}}},
		{"clock set back", []at{{1000, "warn", 4, "warn", 4}, {1010, "green", 6, "warn", 4}, {0, "green", 6, "warn", 4}, {59, "green", 6, "warn", 4}, {60, "green", 6, "green", 6}}},
		{"the cap changes within a tier", []at{{0, "green", 6, "green", 6}, {1, "green", 8, "green", 8}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var d Damper
			for _, s := range tt.steps {
				d = d.Next(noon().Add(time.Duration(s.seconds)*time.Second), s.tier, s.cap)
				if d.Tier != s.want || d.Cap != s.wantCap {
					t.Fatalf("after %d s of %s: got %s with %d, want %s with %d", s.seconds, s.tier, d.Tier, d.Cap, s.want, s.wantCap)
				}
			}
		})
	}
}

// A damper that goes on with what a cohort's file says is not better than that for a minute.
func TestDamperGoesOn(t *testing.T) {
	t.Parallel()
	d := Damper{Tier: "degraded", Cap: 2}.Next(noon(), "green", 6)
	if d.Tier != "degraded" || d.Cap != 2 {
		t.Errorf("got %s with %d, want degraded with 2", d.Tier, d.Cap)
	}
	if d = d.Next(noon().Add(Settle), "green", 6); d.Tier != "green" {
		t.Errorf("got %s a minute later, want green", d.Tier)
	}
}

// The damped tier is the worst that was measured in the last minute, said in another way
// than in the code: it looks at all measurements.
func TestDamperIsTheWorstOfAMinute(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type seen struct {
			at   time.Time
			rank int
		}
		var d Damper
		var past []seen
		now, planned := noon(), rapid.IntRange(1, 9).Draw(t, "planned")
		for range rapid.IntRange(1, 40).Draw(t, "measurements") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second)
			raw := rapid.SampledFrom([]tier.Tier{tier.Green, tier.Green, tier.Warn, tier.Degraded, tier.Critical}).Draw(t, "tier")
			past = append(past, seen{now, raw.Rank()})
			d = d.Next(now, string(raw), raw.Cap(planned))
			// A tier holds from its measurement up to the next one that is better.
			want := raw.Rank()
			for i := len(past) - 2; i >= 0; i-- {
				if now.Sub(past[i+1].at) < Settle {
					want = max(want, past[i].rank)
				}
			}
			got := tier.Tier(d.Tier)
			if got.Rank() != want {
				t.Fatalf("got %s, want rank %d, of %v", got, want, past)
			}
			if got.Rank() < raw.Rank() || d.Cap > raw.Cap(planned) || d.Cap != got.Cap(planned) {
				t.Fatalf("got %s with %d, measured %s with %d", d.Tier, d.Cap, raw, raw.Cap(planned))
			}
		}
	})
}

// Whatever the clock did before, a quiet minute is enough.
func TestDamperComesToRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var d Damper
		now := noon()
		tiers := []string{"green", "warn", "degraded", "critical"}
		for range rapid.IntRange(0, 20).Draw(t, "measurements") {
			now = now.Add(time.Duration(rapid.IntRange(-5000, 100).Draw(t, "seconds")) * time.Second)
			d = d.Next(now, rapid.SampledFrom(tiers).Draw(t, "tier"), 6)
		}
		now = now.Add(-time.Duration(rapid.IntRange(0, 1<<20).Draw(t, "back")) * time.Second)
		last := rapid.SampledFrom(tiers).Draw(t, "last")
		d = d.Next(now, last, 6)
		if d = d.Next(now.Add(Settle), last, 6); d.Tier != last {
			t.Fatalf("got %s after a minute of %s", d.Tier, last)
		}
	})
}
