package notice

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var begin = time.Date(2026, 1, 31, 22, 0, 0, 0, time.UTC)

func at(minutes float64) time.Time { return begin.Add(time.Duration(minutes * float64(time.Minute))) }

func TestTooSoonIsSummedUp(t *testing.T) {
	t.Parallel()
	var l Limiter
	r := Rules{Interval: 5 * time.Minute}
	for i, want := range []Decision{Send, Hold, Hold, Hold} {
		if got := l.Offer(r, Notice{Kind: NeedsPerson, Title: fmt.Sprint("q", i)}, at(float64(i))); got != want {
			t.Errorf("notice %d: %s, want %s", i, got, want)
		}
	}
	if got := l.Offer(r, Notice{Kind: Finished, Title: "end"}, at(3)); got != Send {
		t.Errorf("of another kind: %s", got)
	}
	if next, ok := l.Next(r, at(3)); !ok || !next.Equal(at(5)) {
		t.Errorf("next at %v, %v", next, ok)
	}
	if got := l.Due(r, at(4.9), false); got != nil {
		t.Errorf("due too soon: %+v", got)
	}
	want := []Held{{Notice: Notice{Kind: NeedsPerson, Title: "q3"}, More: 2, Also: []string{"q1", "q2"}}}
	if diff := cmp.Diff(want, l.Due(r, at(5), false)); diff != "" {
		t.Errorf("due (-want +got):\n%s", diff)
	}
	if got := l.Due(r, at(60), true); got != nil {
		t.Errorf("given out twice: %+v", got)
	}
	if got := l.Offer(r, Notice{Kind: NeedsPerson, Title: "q4"}, at(9.9)); got != Hold {
		t.Errorf("what was given out counts: %s", got)
	}
}

// What comes when earlier ones may go out, and have not yet, goes with them.
func TestNoOvertaking(t *testing.T) {
	t.Parallel()
	var l Limiter
	r := Rules{Interval: 5 * time.Minute}
	for i, x := range []struct {
		at   float64
		want Decision
	}{{0, Send}, {1, Hold}, {6, Hold}} {
		if got := l.Offer(r, Notice{Kind: NeedsPerson, Title: fmt.Sprint("q", i)}, at(x.at)); got != x.want {
			t.Errorf("%d: %s, want %s", i, got, x.want)
		}
	}
	if due := l.Due(r, at(6), false); len(due) != 1 || due[0].More != 1 {
		t.Errorf("due %+v", due)
	}
}

func TestManyAreCounted(t *testing.T) {
	t.Parallel()
	var l Limiter
	r := Rules{Interval: time.Hour}
	for i := range 20 {
		l.Offer(r, Notice{Kind: LimitHit, Title: fmt.Sprint("w", i)}, at(0))
	}
	got := l.Due(r, at(60), false)
	want := []Held{{Notice: Notice{Kind: LimitHit, Title: "w19"}, More: 18, Also: []string{"w14", "w15", "w16", "w17", "w18"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("due (-want +got):\n%s", diff)
	}
}

func TestSameKeyIsSentOnce(t *testing.T) {
	t.Parallel()
	var l Limiter
	a := Notice{Kind: NeedsPerson, RunID: "r1", Key: "q", Title: "x"}
	b := a
	b.RunID = "r2"
	for i, x := range []struct {
		n    Notice
		want Decision
	}{{a, Send}, {a, Drop}, {b, Send}, {b, Drop}} {
		if got := l.Offer(Rules{}, x.n, at(float64(i))); got != x.want {
			t.Errorf("%d: %s, want %s", i, got, x.want)
		}
	}
	if got := l.Offer(Rules{}, a, at(8*24*60)); got != Send {
		t.Errorf("after a week: %s", got)
	}
	for i := range 2000 {
		l.Offer(Rules{}, Notice{Kind: Finished, Key: fmt.Sprint(i)}, at(9*24*60+float64(i)))
	}
	if len(l.Seen) > maxSeen || l.Offer(Rules{}, Notice{Kind: Finished, Key: "1999"}, at(9*24*60+2000)) != Drop {
		t.Errorf("%d keys are kept", len(l.Seen))
	}
}

func TestHourly(t *testing.T) {
	t.Parallel()
	var l Limiter
	r := Rules{Hourly: 2}
	var got []Decision
	for i, k := range []Kind{LimitHit, LimitOver, LimitHit, NeedsPerson} {
		got = append(got, l.Offer(r, Notice{Kind: k, Title: string(k)}, at(float64(i))))
	}
	if diff := cmp.Diff([]Decision{Send, Send, Hold, Hold}, got); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
	if next, ok := l.Next(r, at(4)); !ok || !next.Equal(at(60)) {
		t.Errorf("next at %v, %v", next, ok)
	}
	if due := l.Due(r, at(60), false); len(due) != 1 || due[0].Notice.Kind != NeedsPerson {
		t.Errorf("the urgent one goes first: %+v", due)
	}
	if next, ok := l.Next(r, at(60)); !ok || !next.Equal(at(61)) {
		t.Errorf("next at %v, %v", next, ok)
	}
}

// At the end nobody is there to wait: what is urgent goes out whatever was sent before, the
// rest as far as there is room.
func TestEnd(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hourly int
		want   []Kind
	}{"room": {0, []Kind{NeedsPerson, KillSwitch, LimitHit}}, "none": {3, []Kind{NeedsPerson, KillSwitch}}} {
		var l Limiter
		r := Rules{Interval: time.Hour, Hourly: tc.hourly}
		for range 2 {
			for _, k := range []Kind{LimitHit, KillSwitch, NeedsPerson} {
				l.Offer(r, Notice{Kind: k, Title: "x"}, at(0))
			}
		}
		var got []Kind
		for _, h := range l.Due(r, at(1), true) {
			got = append(got, h.Notice.Kind)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// More than the limit may have gone out at an end; the next one waits until enough of them are
// an hour old.
func TestNextAfterTooMany(t *testing.T) {
	t.Parallel()
	var l Limiter
	r := Rules{Hourly: 2}
	for i, k := range []Kind{Finished, Finished, NeedsPerson} {
		l.Offer(r, Notice{Kind: k, Title: "x"}, at(float64(i)))
	}
	l.Due(r, at(10), true)
	l.Offer(r, Notice{Kind: Budget, Title: "y"}, at(11))
	if next, ok := l.Next(r, at(11)); !ok || !next.Equal(at(61)) {
		t.Errorf("next at %v, %v", next, ok)
	}
	if due := l.Due(r, at(60.5), false); due != nil {
		t.Errorf("due %+v", due)
	}
	if due := l.Due(r, at(61), false); len(due) != 1 {
		t.Errorf("due %+v", due)
	}
}

func TestTrialIsAlwaysSent(t *testing.T) {
	t.Parallel()
	var l Limiter
	r := Rules{Interval: time.Hour, Hourly: 1}
	for range 3 {
		if got := l.Offer(r, Notice{Kind: Trial, Key: "k"}, at(0)); got != Send {
			t.Errorf("a trial: %s", got)
		}
	}
	if got := l.Offer(r, Notice{Kind: Finished}, at(0)); got != Send {
		t.Errorf("after trials: %s", got)
	}
}

// Whatever is offered, and whenever: nothing is lost, nothing is sent more often than the
// rules say, and what is urgent is given out as soon as it may be.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := Rules{Interval: time.Duration(rapid.IntRange(0, 30).Draw(t, "interval")) * time.Minute, Hourly: rapid.IntRange(0, 6).Draw(t, "hourly")}
		var l Limiter
		now, offered, given := begin, 0, 0
		var times []time.Time
		last := map[Kind]time.Time{}
		note := func(k Kind, n int) {
			given += n
			if at, ok := last[k]; ok && now.Sub(at) < r.Interval {
				t.Fatalf("%s again after %v", k, now.Sub(at))
			}
			last[k] = now
			times = append(times, now)
			within := 0
			for _, x := range times {
				if now.Sub(x) < time.Hour {
					within++
				}
			}
			if r.Hourly > 0 && within > r.Hourly {
				t.Fatalf("%d within an hour", within)
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "minutes")) * time.Minute)
			if rapid.Bool().Draw(t, "stored") { // as a file would
				data, err := json.Marshal(l)
				if err != nil {
					t.Fatal(err)
				}
				l = Limiter{}
				if err := json.Unmarshal(data, &l); err != nil {
					t.Fatal(err)
				}
			}
			next, waits := l.Next(r, now)
			due := l.Due(r, now, false)
			if waits && !next.After(now) != (len(due) > 0) {
				t.Fatalf("due at %v, at %v given %d", next, now, len(due))
			}
			for _, h := range due {
				note(h.Notice.Kind, 1+h.More)
			}
			if rapid.Bool().Draw(t, "news") {
				k := rapid.SampledFrom(Kinds()).Draw(t, "kind")
				offered++
				if l.Offer(r, Notice{Kind: k, Title: "x"}, now) == Send {
					note(k, 1)
				}
			}
		}
		for _, h := range l.Due(Rules{}, now, true) {
			given += 1 + h.More
		}
		if given != offered {
			t.Fatalf("%d of %d were given out", given, offered)
		}
	})
}

// A clock that is set back holds nothing for longer.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	var l Limiter
	r := Rules{Interval: 5 * time.Minute, Hourly: 1}
	l.Offer(r, Notice{Kind: NeedsPerson, Title: "a"}, at(600))
	l.Offer(r, Notice{Kind: NeedsPerson, Title: "b"}, at(601))
	if due := l.Due(r, at(0), false); len(due) != 1 {
		t.Errorf("due %+v", due)
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	if slices.Contains(Kinds(), Trial) || len(Kinds()) != 7 {
		t.Errorf("kinds %v", Kinds())
	}
	for _, k := range []Kind{Finished, Budget, LimitHit, LimitOver, Trial, "other"} {
		if k.Urgent() {
			t.Errorf("%s is urgent", k)
		}
	}
	if byUrgency(NeedsPerson, "other") >= 0 || byUrgency("b", "a") <= 0 {
		t.Error("the order of kinds")
	}
}
