package outbox

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/publish"
)

// Targets that stall keep nothing from the others, not even from those after them.
func TestStallingTargetsStarveNobody(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	stalled := []publish.Target{{Service: publish.Webhook, Ref: "https://a.example/x"}, {Service: publish.Webhook, Ref: "https://b.example/x"}, {Service: publish.Webhook, Ref: "$C"}}
	others := []publish.Target{{Service: publish.Webhook, Ref: "$D"}, issue(), {Service: publish.Jira, Ref: "P-1"}, {Service: publish.File, Ref: "x.md"}}
	for _, to := range append(stalled, others...) {
		put(t, o, to, of("a", 1, false))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var sent sync.WaitGroup
	sent.Add(len(others))
	find := func(to publish.Target) (publish.Sender, error) {
		for _, s := range stalled {
			if s == to {
				return &fake{hook: func(ctx context.Context) { <-ctx.Done() }, errs: []error{context.Canceled}}, nil
			}
		}
		return &fake{hook: func(context.Context) { sent.Done() }}, nil
	}
	go func() {
		sent.Wait() // it is the stalled ones that are waited for now
		cancel()
	}()
	res, err := o.Deliver(ctx, find, Options{Now: noon(), Limit: time.Hour})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	if len(res.Sent) != len(others) || len(res.Kept) != len(stalled) {
		t.Errorf("%d sent, want %d; kept %+v", len(res.Sent), len(others), res.Kept)
	}
}

// One lane works in order: never two calls of one service at once.
func TestOneCallOfAServiceAtATime(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	for n := range 6 {
		put(t, o, publish.Target{Service: publish.GitHub, Owner: "o", Project: "p", Number: 1 + n%3}, of("s"+string(rune('0'+n)), n, false))
	}
	var mu sync.Mutex
	f := &fake{hook: func(context.Context) {
		if !mu.TryLock() {
			t.Error("two calls at once")
			return
		}
		runtime.Gosched()
		mu.Unlock()
	}}
	if res := deliver(t, o, f.senders, Options{Now: noon()}); len(res.Sent) != 6 {
		t.Errorf("result %+v", res)
	}
}

// What a call that was cut off is making may not be found yet: the target is left alone
// for a while, by force and for a newer update too.
func TestCallThatWasCutOff(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"caller", "limit"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			o, now := newOutbox(t), noon()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			f := &fake{errs: []error{&publish.SendError{Service: publish.GitHub, Err: errors.New("the answer did not come in time")}}}
			f.hook = func(ctx context.Context) {
				f.hook = nil
				if who == "caller" {
					cancel()
				}
				<-ctx.Done()
			}
			put(t, o, issue(), of("a", 1, true))
			_, err := o.Deliver(ctx, f.senders, Options{Now: now, Limit: 50 * time.Millisecond})
			if errors.Is(err, context.Canceled) != (who == "caller") || len(f.sent) != 1 {
				t.Fatalf("error %v after %v", err, f.sent)
			}
			put(t, o, issue(), of("a", 2, true))
			res := deliver(t, o, f.senders, Options{Now: now.Add(settling / 2), Force: true})
			if len(f.sent) != 1 || len(res.Kept) != 1 || !strings.Contains(res.Kept[0].Why, "cut off") || res.Kept[0].Until.Before(now.Add(settling)) {
				t.Fatalf("calls %v, kept %+v; want the target left alone", f.sent, res.Kept)
			}
			deliver(t, o, f.senders, Options{Now: now.Add(settling + 30*time.Second), Force: true})
			if diff := cmp.Diff([]string{"1", "2"}, f.sent); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
		})
	}
}

// An answer that came is no call that was cut off.
func TestAnswerAtTheLastMoment(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{errs: []error{&publish.SendError{Service: publish.GitHub, Status: 502, Err: errors.New("bad gateway")}}, hook: func(context.Context) { cancel() }}
	put(t, o, issue(), of("a", 1, true))
	_, _ = o.Deliver(ctx, f.senders, Options{Now: noon()})
	f.hook = nil
	if res := deliver(t, o, f.senders, Options{Now: noon(), Force: true}); len(res.Sent) != 1 {
		t.Errorf("result %+v", res)
	}
}

func TestOnlySomeTargets(t *testing.T) {
	t.Parallel()
	o, f := newOutbox(t), &fake{}
	other := publish.Target{Service: publish.Jira, Ref: "P-1"}
	put(t, o, issue(), of("a", 1, false))
	put(t, o, other, of("a", 2, false))
	res := deliver(t, o, f.senders, Options{Now: noon(), Force: true, Only: func(to publish.Target) bool { return to == other }})
	if diff := cmp.Diff([]string{"2"}, f.sent); diff != "" || len(res.Sent) != 1 || len(res.Kept) != 0 {
		t.Errorf("result %+v, sent (-want +got):\n%s", res, diff)
	}
	if res = deliver(t, o, f.senders, Options{Now: noon()}); len(res.Sent) != 1 {
		t.Errorf("without a choice: %+v", res)
	}
}

func TestBatchedIsSaid(t *testing.T) {
	t.Parallel()
	o, f := newOutbox(t), &fake{}
	put(t, o, issue(), of("a", 1, false))
	deliver(t, o, f.senders, Options{Now: noon()})
	put(t, o, issue(), of("a", 2, false))
	put(t, o, publish.Target{Service: publish.GitHub, Owner: "o", Project: "q", Number: 1}, of("a", 2, false))
	f.errs = []error{errAway}
	res := deliver(t, o, f.senders, Options{Now: noon().Add(time.Minute)})
	if len(res.Kept) != 2 || res.Kept[0].Batched == res.Kept[1].Batched {
		t.Errorf("kept %+v, want one for its batch and one that failed", res.Kept)
	}
}
