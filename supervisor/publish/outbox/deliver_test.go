package outbox

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/breaker"
	"autopilot/supervisor/publish"
)

// fake is a sender that answers with the next of its errors, and with success after them.
type fake struct {
	errs []error
	sent []string // bodies, taken or not
	keys []string
	hook func(ctx context.Context)
}

func (f *fake) Send(ctx context.Context, key string, u publish.Update) (publish.Receipt, error) {
	if f.hook != nil {
		f.hook(ctx)
	}
	f.sent, f.keys = append(f.sent, u.Body), append(f.keys, key)
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		if err != nil {
			return publish.Receipt{}, err
		}
	}
	return publish.Receipt{URL: "https://host/" + u.Body}, nil
}

func (f *fake) Preview(string, publish.Update) string { return "" }

func (f *fake) senders(publish.Target) (publish.Sender, error) { return f, nil }

func deliver(t *testing.T, o Outbox, s Senders, opt Options) Result {
	t.Helper()
	res, err := o.Deliver(t.Context(), s, opt)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

var errAway = errors.New("connection refused")

func denied() error {
	return &publish.SendError{Service: publish.GitHub, Status: 401, Permanent: true, Err: errors.New("wrong token")}
}

func limited(until time.Time) error {
	return &publish.SendError{Service: publish.GitHub, Status: 429, RetryAt: until, Err: errors.New("too many")}
}

func TestBatches(t *testing.T) {
	t.Parallel()
	o, f, now := newOutbox(t), &fake{}, noon()
	send := func(u publish.Update, after time.Duration, force bool) {
		put(t, o, issue(), u)
		deliver(t, o, f.senders, Options{Now: now.Add(after), Force: force})
	}
	send(of("a", 1, false), 0, false)
	send(of("a", 2, false), time.Minute, false)
	send(of("b", 3, false), time.Minute, false) // another subject
	send(of("a", 4, false), 4*time.Minute, false)
	if diff := cmp.Diff([]string{"1", "3"}, f.sent); diff != "" {
		t.Errorf("within the batch (-want +got):\n%s", diff)
	}
	deliver(t, o, f.senders, Options{Now: now.Add(6 * time.Minute)})
	send(of("a", 5, false), 7*time.Minute, true)
	send(of("a", 6, true), 8*time.Minute, false)
	send(of("a", 7, false), 9*time.Minute, false)
	deliver(t, o, f.senders, Options{Now: now.Add(9 * time.Minute), Batch: -1})
	if diff := cmp.Diff([]string{"1", "3", "4", "5", "6", "7"}, f.sent); diff != "" {
		t.Errorf("after it (-want +got):\n%s", diff)
	}
	// A clock that jumped back does not make it wait for years.
	send(of("a", 8, false), -1000*time.Hour, false)
	if got := f.sent[len(f.sent)-1]; got != "8" {
		t.Errorf("after a jump of the clock %s was last", got)
	}
	st := status(t, o)
	if len(st.Pending) != 0 || len(st.Taken) != 2 || st.Taken[0].Receipt.URL == "" {
		t.Errorf("standing = %+v", st)
	}
	put(t, o, issue(), of("a", 8, false)) // taken last
	if n := len(status(t, o).Pending); n != 0 {
		t.Errorf("what was taken waits again")
	}
}

func TestFailuresWaitLonger(t *testing.T) {
	t.Parallel()
	o, f, now := newOutbox(t), &fake{errs: []error{errAway, errAway, errAway}}, noon()
	put(t, o, issue(), of("a", 1, false))
	for i, least := range []time.Duration{22 * time.Second, 45 * time.Second, 90 * time.Second} {
		res := deliver(t, o, f.senders, Options{Now: now})
		if len(f.sent) != i+1 || len(res.Kept) != 1 || res.Kept[0].Why != "connection refused" {
			t.Fatalf("try %d: %v, %+v", i, f.sent, res)
		}
		deliver(t, o, f.senders, Options{Now: now.Add(least)})
		if len(f.sent) != i+1 {
			t.Fatalf("try %d came again before %v", i, least)
		}
		now = now.Add(least*2 + time.Minute)
	}
	put(t, o, issue(), of("a", 2, false))
	e := status(t, o).Pending[0]
	if e.Tries != 3 || e.NextAt.IsZero() {
		t.Errorf("a newer one asks at once: %+v", e)
	}
	deliver(t, o, f.senders, Options{Now: noon(), Force: true})
	if got := f.sent[len(f.sent)-1]; got != "2" || f.keys[0] == f.keys[3] || f.keys[0] != f.keys[1] {
		t.Errorf("sent %v with keys %v", f.sent, f.keys)
	}
	for tries, want := range map[int]time.Duration{1: firstWait, 2: 2 * firstWait, 6: 32 * firstWait, 7: longestWait, 1000: longestWait} {
		if low, high := wait(tries, 0), wait(tries, 1); low != want*3/4 || high != want*5/4 {
			t.Errorf("wait after %d: %v to %v, want a quarter around %v", tries, low, high, want)
		}
	}
}

func TestRetryAtIsObeyed(t *testing.T) {
	t.Parallel()
	o, now := newOutbox(t), noon()
	f := &fake{errs: []error{limited(now.Add(time.Hour))}}
	put(t, o, issue(), of("a", 1, true))
	deliver(t, o, f.senders, Options{Now: now})
	res := deliver(t, o, f.senders, Options{Now: now.Add(50 * time.Minute), Force: true})
	if len(f.sent) != 1 || len(res.Kept) != 1 || !strings.Contains(res.Kept[0].Why, "too many") || !res.Kept[0].Until.Equal(now.Add(time.Hour)) {
		t.Errorf("sent %v, kept %+v", f.sent, res.Kept)
	}
	deliver(t, o, f.senders, Options{Now: now.Add(61 * time.Minute)})
	if len(f.sent) != 2 {
		t.Errorf("after it: sent %v", f.sent)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	o, f, now := newOutbox(t), &fake{errs: []error{denied(), denied()}}, noon()
	put(t, o, issue(), of("a", 1, true), of("a", 2, false))
	res := deliver(t, o, f.senders, Options{Now: now})
	if len(res.Refused) != 2 || len(f.sent) != 2 {
		t.Fatalf("result %+v after %v", res, f.sent)
	}
	deliver(t, o, f.senders, Options{Now: now.Add(time.Hour), Force: true})
	if len(f.sent) != 2 {
		t.Errorf("what was refused was sent again: %v", f.sent)
	}
	put(t, o, issue(), of("a", 3, false))
	deliver(t, o, f.senders, Options{Now: now.Add(2 * time.Hour)})
	st := status(t, o)
	if diff := cmp.Diff([]string{"a:1!"}, bodies(st.Refused)); diff != "" || !strings.Contains(st.Refused[0].Why, "wrong token") {
		t.Fatalf("refused: a final one stays, the other has a newer one (-want +got):\n%s%s", diff, st.Refused[0].Why)
	}
	if err := o.Retry(st.Refused[0].ID); err == nil || !strings.Contains(err.Error(), "later update") {
		t.Errorf("retry of an older one: %v", err)
	}
	if err := o.Drop(st.Refused[0].ID); err != nil {
		t.Error(err)
	}
	if st := status(t, o); len(st.Refused)+len(st.Pending) != 0 {
		t.Errorf("after the drop %+v", st)
	}
}

func TestRetryByAPerson(t *testing.T) {
	t.Parallel()
	o, f := newOutbox(t), &fake{errs: []error{denied()}}
	put(t, o, issue(), of("a", 1, true))
	deliver(t, o, f.senders, Options{Now: noon()})
	put(t, o, issue(), of("a", 2, false))
	if err := o.Retry(status(t, o).Refused[0].ID); err != nil {
		t.Fatal(err)
	}
	deliver(t, o, f.senders, Options{Now: noon(), Batch: -1})
	if diff := cmp.Diff([]string{"1", "1", "2"}, f.sent); diff != "" || f.keys[0] != f.keys[1] {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestOrderAfterAFailure(t *testing.T) {
	t.Parallel()
	o, f := newOutbox(t), &fake{errs: []error{errAway}}
	put(t, o, issue(), of("a", 1, true), of("a", 2, false))
	deliver(t, o, f.senders, Options{Now: noon(), Batch: -1})
	if len(f.sent) != 1 {
		t.Fatalf("sent %v: the second one overtook the first", f.sent)
	}
	deliver(t, o, f.senders, Options{Now: noon(), Force: true})
	if diff := cmp.Diff([]string{"1", "1", "2"}, f.sent); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestNewerUpdateDuringACall(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"taken": nil, "failed": errAway, "refused": denied()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, f := newOutbox(t), &fake{errs: []error{err}}
			f.hook = func(context.Context) {
				f.hook = nil
				put(t, o, issue(), of("a", 2, false))
			}
			put(t, o, issue(), of("a", 1, false))
			deliver(t, o, f.senders, Options{Now: noon(), Batch: -1})
			if name == "failed" && (len(f.sent) != 1 || status(t, o).Pending[0].Tries != 1) {
				t.Errorf("a newer one is tried at once: sent %v", f.sent)
			}
			deliver(t, o, f.senders, Options{Now: noon().Add(time.Hour)})
			if diff := cmp.Diff([]string{"1", "2"}, f.sent); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
			if st := status(t, o); len(st.Pending)+len(st.Refused) != 0 {
				t.Errorf("left %+v", st)
			}
		})
	}
}

func TestKillBetweenReceiptAndRemoving(t *testing.T) {
	t.Parallel()
	o, f := newOutbox(t), &fake{}
	put(t, o, issue(), of("a", 1, false))
	e := status(t, o).Pending[0]
	deliver(t, o, f.senders, Options{Now: noon()})
	if err := o.write(e); err != nil { // as if it had not been removed
		t.Fatal(err)
	}
	deliver(t, o, f.senders, Options{Now: noon(), Force: true})
	if len(f.sent) != 1 || len(status(t, o).Pending) != 0 {
		t.Errorf("sent %v, want once: the receipt says that it was taken", f.sent)
	}
}

func TestBreakersKeepCallsAway(t *testing.T) {
	t.Parallel()
	o, now := newOutbox(t), noon()
	breakers := &breaker.Set{Path: filepath.Join(o.Dir, "breakers.json")}
	f := &fake{errs: []error{errAway, errAway, errAway, errAway}}
	g := &fake{}
	senders := func(t publish.Target) (publish.Sender, error) {
		if t.Service == publish.Jira {
			return g, nil
		}
		return f, nil
	}
	for n := range 5 {
		put(t, o, issue(), of("s"+string(rune('0'+n)), n, false))
	}
	put(t, o, publish.Target{Service: publish.Jira, Ref: "P-1"}, of("a", 9, false))
	res := deliver(t, o, senders, Options{Now: now, Breakers: breakers})
	if len(f.sent) != 3 || len(g.sent) != 1 || len(res.Kept) != 5 || len(res.Sent) != 1 {
		t.Fatalf("calls %v and %v, result %+v", f.sent, g.sent, res)
	}
	if last := res.Kept[4]; last.Until.Sub(now) < 5*time.Minute || !strings.HasPrefix(last.Why, "github is left alone") {
		t.Errorf("kept = %+v", last)
	}
	if e := status(t, o).Pending[4]; e.Tries != 0 {
		t.Errorf("a call that was not made counts: %+v", e)
	}
	deliver(t, o, senders, Options{Now: now.Add(time.Minute), Breakers: breakers, Force: true})
	if len(f.sent) != 3 {
		t.Errorf("force went through an open breaker: %v", f.sent)
	}
	deliver(t, o, senders, Options{Now: now.Add(10 * time.Minute), Breakers: breakers})
	if len(f.sent) != 4 {
		t.Errorf("calls %v, want one probe that failed", f.sent)
	}
	res = deliver(t, o, senders, Options{Now: now.Add(30 * time.Minute), Breakers: breakers, Force: true})
	if len(res.Sent) != 5 {
		t.Errorf("after it: %+v", res)
	}
}

func TestAnswersThatDoNotOpenABreaker(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	breakers := &breaker.Set{Path: filepath.Join(o.Dir, "breakers.json")}
	f := &fake{errs: []error{denied(), denied(), denied(), denied()}}
	for n := range 5 {
		put(t, o, issue(), of("s"+string(rune('0'+n)), n, false))
	}
	if res := deliver(t, o, f.senders, Options{Now: noon(), Breakers: breakers}); len(res.Refused) != 4 || len(res.Sent) != 1 {
		t.Errorf("result %+v", res)
	}
	f = &fake{errs: []error{limited(noon().Add(10 * time.Minute))}}
	put(t, o, issue(), of("a", 1, true), of("b", 2, true))
	deliver(t, o, f.senders, Options{Now: noon(), Breakers: breakers})
	if len(f.sent) != 1 {
		t.Errorf("calls %v: one limit holds for all of the service", f.sent)
	}
	states := breakers.States(noon())
	if len(states) != 1 || states[0].Position != breaker.Open || states[0].Failures != 0 {
		t.Errorf("breakers = %+v", states)
	}
}

func TestSendersThatCannotBeFound(t *testing.T) {
	t.Parallel()
	o, asked := newOutbox(t), 0
	put(t, o, issue(), of("a", 1, false), of("b", 2, false))
	none := func(publish.Target) (publish.Sender, error) {
		asked++
		return nil, errors.New("GITHUB_TOKEN is not set")
	}
	res := deliver(t, o, none, Options{Now: noon()})
	if len(res.Kept) != 2 || res.Kept[0].Why != "GITHUB_TOKEN is not set" || asked != 1 {
		t.Errorf("asked %d times, kept %+v", asked, res.Kept)
	}
	if e := status(t, o).Pending[0]; e.Tries != 0 {
		t.Errorf("it counts as a failure of the target: %+v", e)
	}
}

func TestCallerThatEnds(t *testing.T) {
	t.Parallel()
	o, f := newOutbox(t), &fake{errs: []error{context.Canceled}}
	ctx, cancel := context.WithCancel(t.Context())
	f.hook = func(context.Context) { cancel() }
	put(t, o, issue(), of("a", 1, false), of("b", 2, false))
	_, err := o.Deliver(ctx, f.senders, Options{Now: noon()})
	if !errors.Is(err, context.Canceled) || len(f.sent) != 1 {
		t.Errorf("error %v after %v", err, f.sent)
	}
	if st := status(t, o); len(st.Pending) != 2 || st.Pending[0].Tries != 0 {
		t.Errorf("left %+v", st.Pending)
	}
}

func TestBusy(t *testing.T) {
	t.Parallel()
	o, f := newOutbox(t), &fake{}
	put(t, o, issue(), of("a", 1, false))
	lock, err := statedir.Acquire(t.Context(), o.path("deliver.lock"), statedir.Holder{})
	if err != nil {
		t.Fatal(err)
	}
	if res := deliver(t, o, f.senders, Options{}); !res.Busy || len(f.sent) != 0 {
		t.Errorf("beside another delivery: %+v", res)
	}
	done := make(chan Result, 1)
	go func() {
		res, err := o.Deliver(t.Context(), f.senders, Options{Force: true})
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if res := <-done; len(res.Sent) != 1 {
		t.Errorf("after waiting: %+v", res)
	}
}

func TestNothingToDoCreatesNothing(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	deliver(t, o, (&fake{}).senders, Options{})
	st := status(t, o)
	if files, _ := filepath.Glob(o.Dir); len(files) != 0 || st.Pending == nil || st.Refused == nil || st.Taken == nil {
		t.Errorf("files %v, standing %+v", files, st)
	}
}

func TestFaultsOnTheWay(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	for name, fault := range map[string]func(w http.ResponseWriter, r *http.Request){
		"it fails":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"it is away": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) },
		"it limits": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(429)
		},
		"it hangs up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"it stalls until the client gives up": func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-hang:
			}
		},
		"it answers after the client gave up": func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			w.WriteHeader(204)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, o, now := newPlace(t), newOutbox(t), time.Now() // as the sender sees it
			broken := map[string]bool{}
			p.fault = func(_ int, key string, w http.ResponseWriter, r *http.Request) bool {
				p.mu.Lock()
				first := !broken[key]
				broken[key] = true
				p.mu.Unlock()
				if first { // each update once
					fault(w, r)
				}
				return first
			}
			breakers := &breaker.Set{Path: filepath.Join(o.Dir, "breakers.json")}
			for n := range 4 {
				put(t, o, p.Target, of("s"+string(rune('0'+n)), n, true))
			}
			limit := time.Minute
			if strings.Contains(name, "gave up") || strings.Contains(name, "gives up") {
				limit = 50 * time.Millisecond
			}
			for round := 0; len(status(t, o).Pending) > 0; round++ {
				if round > 100 {
					t.Fatalf("it does not come to an end: %+v", status(t, o).Pending)
				}
				deliver(t, o, hooks, Options{Now: now, Limit: limit, Breakers: breakers})
				if round > 4 {
					limit = time.Minute // on a slow machine nothing gets through in less
				}
				now = now.Add(10 * time.Minute)
			}
			list, _ := p.arrived()
			if len(list) != 4 || len(status(t, o).Taken) != 4 || len(status(t, o).Refused) != 0 {
				t.Errorf("arrived %v, standing %+v", list, status(t, o))
			}
		})
	}
}
