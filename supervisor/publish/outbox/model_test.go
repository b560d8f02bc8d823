package outbox

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"autopilot/supervisor/publish"
)

// target is a place that takes, fails and refuses as it is told.
type target struct {
	next  func() error
	taken map[string][]int // numbers by subject, each once
	keys  map[string]string
	fault string
}

func (s *target) Send(_ context.Context, key string, u publish.Update) (publish.Receipt, error) {
	var n int
	if _, err := fmt.Sscan(u.Body, &n); err != nil {
		return publish.Receipt{}, err
	}
	if was, ok := s.keys[key]; ok && was != u.Body {
		s.fault = "one key for " + was + " and " + u.Body
	}
	s.keys[key] = u.Body
	if err := s.next(); err != nil {
		return publish.Receipt{}, err
	}
	s.taken[u.Subject] = append(s.taken[u.Subject], n)
	return publish.Receipt{}, nil
}

func (*target) Preview(string, publish.Update) string { return "" }

// In any order of puts, deliveries and answers nothing goes back in time at the target,
// nothing is taken twice, and whatever was put last of a subject, and every final update
// without a final one after it, has been taken in the end.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	dir, run := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		o, now, n := Outbox{Dir: filepath.Join(dir, fmt.Sprint(run))}, noon(), 0
		s := &target{taken: map[string][]int{}, keys: map[string]string{}}
		find := func(publish.Target) (publish.Sender, error) { return s, nil }
		last, final := map[string]int{}, map[string]int{}
		check := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		actions := map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				n++
				u := of(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "subject"), n, rapid.IntRange(0, 3).Draw(t, "final") == 0)
				check(o.Put(issue(), u))
				last[u.Subject] = n
				if u.Final {
					final[u.Subject] = n
				}
			},
			"deliver": func(t *rapid.T) {
				s.next = func() error {
					return rapid.SampledFrom([]error{nil, nil, errAway, limited(now.Add(time.Hour)), denied()}).Draw(t, "answer")
				}
				_, err := o.Deliver(context.Background(), find, Options{Now: now, Force: rapid.Bool().Draw(t, "force")})
				check(err)
			},
			"wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(-30, 120).Draw(t, "minutes")) * time.Minute)
			},
			"retry": func(t *rapid.T) {
				st, err := o.Status(now)
				check(err)
				for _, e := range st.Refused {
					_ = o.Retry(e.ID) // of an older one it is refused
				}
			},
		}
		for range rapid.IntRange(1, 12).Draw(t, "steps") { // every one waits for the disk
			actions[rapid.SampledFrom([]string{"put", "put", "deliver", "wait", "retry"}).Draw(t, "action")](t)
		}
		s.next = func() error { return nil }
		for range 4 { // from here everything works, and a person has mended what was to be mended
			st, err := o.Status(now)
			check(err)
			for _, e := range st.Refused {
				_ = o.Retry(e.ID)
			}
			now = now.Add(48 * time.Hour)
			_, err = o.Deliver(context.Background(), find, Options{Now: now, Force: true})
			check(err)
		}
		if s.fault != "" {
			t.Fatal(s.fault)
		}
		for subject, want := range last {
			got := s.taken[subject]
			if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
				t.Fatalf("%s: taken in the order %v", subject, got)
			}
			if len(got) == 0 || got[len(got)-1] != want {
				t.Fatalf("%s: taken %v, want %d last", subject, got, want)
			}
			// A final one that was refused may be overtaken; it stays visible then.
			if f := final[subject]; f != 0 && !slices.Contains(got, f) {
				st, err := o.Status(now)
				check(err)
				if !slices.ContainsFunc(st.Refused, func(e Entry) bool { return e.Update.Body == fmt.Sprint(f) }) {
					t.Fatalf("%s: the final update %d is lost; taken %v", subject, f, got)
				}
			}
		}
	})
}
