package outbox

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

func TestKillBetweenSendingAndRemoving(t *testing.T) {
	t.Parallel()
	p, o := newPlace(t), newOutbox(t)
	taken, release := make(chan struct{}, 1), make(chan struct{})
	p.fault = func(n int, _ string, _ http.ResponseWriter, r *http.Request) bool {
		if n == 1 { // it has the update, and its answer does not arrive any more
			taken <- struct{}{}
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
		return false
	}
	put(t, o, p.Target, numbered(1))
	h := start(t, "deliver", o.Dir)
	h.begin(t)
	<-taken
	h.kill()
	close(release)
	if got := status(t, o); len(got.Pending) != 1 {
		t.Fatalf("after the kill %+v, want it still waiting", got)
	}
	res, err := o.Deliver(t.Context(), hooks, Options{})
	if err != nil || len(res.Sent) != 1 {
		t.Fatalf("second delivery: %+v, %v", res, err)
	}
	list, most := p.arrived()
	if len(list) != 1 || most != 2 {
		t.Errorf("arrived %v, %d times; want one key twice", list, most)
	}
}

func TestTwoProcessesDoNotSendTwice(t *testing.T) {
	t.Parallel()
	p, o := newPlace(t), newOutbox(t)
	const updates = 25
	for n := range updates {
		put(t, o, p.Target, numbered(n))
	}
	var all []*process
	for range 3 {
		all = append(all, start(t, "deliver", o.Dir))
	}
	for _, h := range all {
		h.begin(t)
	}
	for _, h := range all {
		if err := h.cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	list, most := p.arrived()
	if len(list) != updates || most != 1 {
		t.Errorf("%d arrived, at most %d times; want %d, once each", len(list), most, updates)
	}
}

func TestKillsAtAnyTime(t *testing.T) {
	t.Parallel()
	p, o := newPlace(t), newOutbox(t)
	const updates, every = 60, 4
	var h *process
	kills := make(chan struct{}, 1)
	p.fault = func(n int, _ string, _ http.ResponseWriter, _ *http.Request) bool {
		if n%every == 0 {
			select {
			case kills <- struct{}{}:
			default:
			}
		}
		return false
	}
	for n := range updates {
		u := numbered(n)
		u.Subject = "s" + strconv.Itoa(n%10)
		u.Final = true // so that none stands for another; a run each
		u.RunID = strconv.Itoa(n)
		if n >= 10 {
			u.Subject = "t" + strconv.Itoa(n)
		}
		put(t, o, p.Target, u)
	}
	deadline := time.After(2 * time.Minute)
	for round := 0; len(status(t, o).Pending) > 0; round++ {
		h = start(t, "deliver", o.Dir)
		h.begin(t)
		ended := make(chan error, 1)
		go func() { ended <- h.cmd.Wait() }()
		select {
		case <-kills:
			<-time.After(time.Duration(round*317%3000) * time.Microsecond) // somewhere behind the answer
			_ = h.cmd.Process.Kill()
			<-ended
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
		case <-deadline:
			t.Fatal("it does not come to an end")
		}
	}
	list, most := p.arrived()
	if len(list) != updates || most > 3 {
		t.Errorf("%d updates arrived, at most %d times; want %d", len(list), most, updates)
	}
	if st := status(t, o); len(st.Taken) != updates || st.Broken != 0 || len(st.Refused) != 0 {
		t.Errorf("after it %d receipts, %d broken, %d refused", len(st.Taken), st.Broken, len(st.Refused))
	}
}

func TestKillWhilePutting(t *testing.T) {
	t.Parallel()
	p, o := newPlace(t), newOutbox(t)
	last := map[int]int{} // the last one acknowledged, by subject
	for round := range 8 {
		o := Outbox{Dir: filepath.Join(o.Dir, strconv.Itoa(round))}
		h := start(t, "put", o.Dir, p.Ref)
		clear(last)
		note := func(line string) {
			n, err := strconv.Atoi(line)
			if err != nil {
				t.Fatalf("helper said %q", line)
			}
			last[n%7] = n
		}
		for range 5 + round {
			line, err := h.out.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			note(line[:len(line)-1])
		}
		for _, line := range h.kill() {
			note(line)
		}
		st := status(t, o)
		if st.Broken != 0 {
			t.Errorf("%d broken files", st.Broken)
		}
		for subject, n := range last {
			found := false
			for _, e := range st.Pending {
				got, err := strconv.Atoi(e.Update.Body)
				found = found || err == nil && e.Update.Subject == "s"+strconv.Itoa(subject) && got >= n
			}
			if !found {
				t.Errorf("round %d: update %d of s%d is lost", round, n, subject)
			}
		}
		if len(st.Pending) > 7 {
			t.Errorf("round %d: %d wait, want at most one of each subject", round, len(st.Pending))
		}
	}
}

func TestFilesAreForTheUserAlone(t *testing.T) {
	t.Parallel()
	p, o := newPlace(t), newOutbox(t)
	put(t, o, p.Target, numbered(1))
	if _, err := o.Deliver(t.Context(), hooks, Options{}); err != nil {
		t.Fatal(err)
	}
	put(t, o, p.Target, numbered(2))
	files := 0
	err := filepath.WalkDir(o.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := os.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		} else {
			files++
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil || files < 3 {
		t.Errorf("%d files, %v", files, err)
	}
}
