package account

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const day = 24 * time.Hour

func TestLimitHolds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		at, until time.Duration // from noon
		want      bool
	}{
		{"running", -time.Hour, time.Hour, true},
		{"over", -time.Hour, -time.Nanosecond, false},
		{"over now", -time.Hour, 0, false},
		{"of a week, just met", 0, 7 * day, true},
		{"eight days long", 0, 8 * day, true},
		{"longer than eight days", 0, 8*day + time.Second, false},
		{"longer, and met before", -4 * day, 4*day + time.Second, false},
		{"of a year", -time.Hour, 365 * day, false},
		{"a clock that stepped back a little", time.Minute, time.Hour, true},
		{"a clock that was an hour ahead", time.Hour, 2 * time.Hour, false},
		{"a clock that was years ahead", 4 * 365 * day, 4*365*day + time.Hour, false},
		{"for ever", -290 * 365 * day, 290 * 365 * day, false},
	}
	for _, tt := range tests {
		l := Limit{At: noon().Add(tt.at), Until: noon().Add(tt.until)}
		if got := l.holds(noon()); got != tt.want {
			t.Errorf("%s: holds %v, want %v", tt.name, got, tt.want)
		}
	}
	if (Limit{Until: noon().Add(time.Hour)}).holds(noon()) {
		t.Error("a limit that was met at no time holds")
	}
}

func TestLimitBinds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		limit, model string
		want         bool
	}{
		{"", "", true},
		{"", "claude-opus-4-5", true},
		{"opus", "claude-opus-4-5-20251101", true},
		{"opus", "Opus", true},
		{"opus", "opus[1m]", true},
		{"claude-opus-4-5", "opus", true},
		{"opus", "sonnet", false},
		{"opus", "claude-sonnet-4-5", false},
		{"opus", "", false},
	}
	for _, tt := range tests {
		if got := (Limit{Model: tt.limit}).binds(tt.model); got != tt.want {
			t.Errorf("limit for %q, model %q: %v, want %v", tt.limit, tt.model, got, tt.want)
		}
	}
}

func TestModelOf(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"five_hour": "", "seven_day": "", "seven_day_opus": "opus", "seven_day_sonnet": "sonnet", "seven_day_overage_included": "", "overage": "", "": "",
	} {
		if got := ModelOf(kind); got != want {
			t.Errorf("model of %q is %q, want %q", kind, got, want)
		}
	}
}

func TestWith(t *testing.T) {
	t.Parallel()
	limit := func(kind string, at, until time.Duration) Limit {
		return Limit{Kind: kind, At: noon().Add(at), Until: noon().Add(until)}
	}
	opus := limit("w", 0, day)
	opus.Model = "opus"
	tests := []struct {
		name string
		all  []Limit
		l    Limit
		want []Limit
	}{
		{"the first", nil, limit("h", 0, time.Hour), []Limit{limit("h", 0, time.Hour)}},
		{"of another kind", []Limit{limit("w", -1, day)}, limit("h", 0, time.Hour), []Limit{limit("w", -1, day), limit("h", 0, time.Hour)}},
		{"of another model", []Limit{opus}, limit("w", 0, 2*day), []Limit{limit("w", 0, 2*day), opus}},
		{"it ends later", []Limit{limit("h", -1, time.Hour)}, limit("h", 0, 2*time.Hour), []Limit{limit("h", 0, 2*time.Hour)}},
		{"it ends earlier, met later", []Limit{limit("h", -1, 2*time.Hour)}, limit("h", 0, time.Hour), []Limit{limit("h", -1, 2*time.Hour), limit("h", 0, time.Hour)}},
		{"it ends earlier, met earlier", []Limit{limit("h", 1, 2*time.Hour)}, limit("h", 0, time.Hour), []Limit{limit("h", 1, 2*time.Hour)}},
		{"the same again", []Limit{limit("h", 0, time.Hour)}, limit("h", 0, time.Hour), []Limit{limit("h", 0, time.Hour)}},
		{"what is over goes", []Limit{limit("x", -time.Hour, 0)}, limit("h", 0, time.Hour), []Limit{limit("h", 0, time.Hour)}},
		{"what makes no sense goes", []Limit{limit("h", -1, 900*day), {Kind: "h", Until: noon().Add(day)}}, limit("h", 0, time.Hour), []Limit{limit("h", 0, time.Hour)}},
		{
			"a clock set back",
			[]Limit{limit("h", day, day+time.Hour), limit("h", 900*day, 900*day+time.Hour)},
			limit("h", 0, time.Hour),
			[]Limit{limit("h", day, day+time.Hour), limit("h", 0, time.Hour)},
		},
	}
	for _, tt := range tests {
		before := slices.Clone(tt.all)
		if diff := cmp.Diff(tt.want, with(tt.all, tt.l)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(before, tt.all); diff != "" {
			t.Errorf("%s: the argument was changed:\n%s", tt.name, diff)
		}
	}
}

func TestLimitsAreBounded(t *testing.T) {
	t.Parallel()
	var all []Limit
	for n := range 3 * most {
		all = with(all, Limit{Kind: fmt.Sprint(n), At: noon(), Until: noon().Add(time.Duration(1+n) * time.Minute)})
	}
	if len(all) != most || all[0].Kind != fmt.Sprint(3*most-1) {
		t.Errorf("%d limits are kept, the first of kind %s", len(all), all[0].Kind)
	}
}

// What holds is the longest of all that were noted and not cleared, whatever else
// happened to the file.
func TestAccountIsASetOfLimits(t *testing.T) {
	t.Parallel()
	dir, runs := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		a := Account{Dir: dir, ID: fmt.Sprint(runs)}
		now := noon()
		var all []Limit
		models := []string{"", "opus", "sonnet"}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(rt, "minutes")) * time.Minute)
			model := rapid.SampledFrom(models).Draw(rt, "model")
			switch back := time.Duration(rapid.IntRange(0, 600).Draw(rt, "back")) * time.Minute; rapid.IntRange(0, 3).Draw(rt, "what") {
			case 0:
				if err := a.ClearModel(model, now.Add(-back)); err != nil {
					rt.Fatal(err)
				}
				all = slices.DeleteFunc(all, func(l Limit) bool {
					return l.At.Before(now.Add(-back)) && (l.Model == "" || l.Model == model)
				})
			default:
				l := Limit{Kind: rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "kind"), Model: model, At: now}
				l.Until = now.Add(time.Duration(rapid.IntRange(1, 8*24*60).Draw(rt, "long")) * time.Minute)
				if err := a.Note(l); err != nil {
					rt.Fatal(err)
				}
				all = append(all, l)
			}
			for _, model := range models {
				var want time.Time
				for _, l := range all {
					if l.Until.After(now) && (l.Model == "" || l.Model == model) && l.Until.After(want) {
						want = l.Until
					}
				}
				if got, ok := a.Until(model, now); !got.Until.Equal(want) || ok != !want.IsZero() {
					rt.Fatalf("for model %q until %v (%v), want %v", model, got.Until, ok, want)
				}
			}
		}
	})
}

func FuzzBrokenFile(f *testing.F) {
	for _, s := range []string{
		"", "{}", "null", `{"version":1,"limits":[{"until":"2026-11-22T13:00:00Z","at":"2026-11-22T11:00:00Z","kind":"five_hour"}]}`,
		`{"version":1,"limits":[{"until":"9999-12-31T23:59:59Z","at":"2026-11-22T11:00:00Z"}]}`, `{"version":2,"limits":[]}`, `{"version":1,"limits":[null,{}]}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, content string) {
		a := Account{Dir: t.TempDir(), ID: "x"}
		write(t, filepath.Join(a.Dir, "x.json"), content)
		if l, ok := a.Until("opus", noon()); ok && l.Until.Sub(noon()) > 8*day+slack {
			t.Errorf("a limit that holds until %v", l.Until)
		}
		note(t, a, Limit{Kind: "\x1b[2Jnew", Until: noon().Add(time.Hour), At: noon()})
		if err := a.Check(); err != nil {
			t.Errorf("after a note: %v", err)
		}
		if l, ok := a.Until("opus", noon()); !ok || l.Until.Before(noon().Add(time.Hour)) || strings.ContainsRune(l.Kind, 0x1b) && l.Until.Equal(noon().Add(time.Hour)) {
			t.Errorf("after a note of an hour: %+v %v", l, ok)
		}
	})
}
