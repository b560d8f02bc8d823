package runs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"autopilot/metrics/smalldisk"
	"autopilot/metrics/statedir"
	"autopilot/supervisor/tdd"
)

// runSystemHelper saves a run on a small disk of its own until that is full.
func runSystemHelper(name string, args []string) error {
	if name != "full" {
		return fmt.Errorf("no helper %q", name)
	}
	dir := args[0]
	if err := smalldisk.Mount(dir, "96k"); err != nil {
		return err
	}
	now := time.Date(2025, 10, 7, 14, 30, 0, 0, time.UTC)
	s := Store{Dir: filepath.Join(dir, "store")}
	st := first(ID("dev", "1", now), now)
	if err := s.Create(st); err != nil {
		return err
	}
	if err := fillUp(s, st, now); err != nil {
		return err
	}
	// Nothing is left at all: not even the state can be replaced.
	filler := filepath.Join(dir, "filler")
	if err := fill(filler); err != nil {
		return err
	}
	before, err := s.Peek()
	if err != nil {
		return err
	}
	after := before
	after.Outbox = nil
	happen(&after, now, tdd.Activity{Event: tdd.EventError, Error: strings.Repeat("x", 10_000)})
	var full *statedir.FullError
	if err := s.Save(after); !errors.As(err, &full) || errors.As(err, new(*UnsettledError)) {
		return fmt.Errorf("save on a full disk: %w", err)
	}
	if got, err := s.Peek(); err != nil || !reflect.DeepEqual(got, before) {
		return fmt.Errorf("after it the state is %v, %w", got.Seq, err)
	}
	if err := s.PutResults(st.RunID, "baseline", tdd.Run{Files: []string{strings.Repeat("x", 10_000)}}); !errors.As(err, &full) {
		return fmt.Errorf("put results on a full disk: %w", err)
	}
	if err := s.Create(first(ID("dev", "2", now), now)); err == nil {
		return errors.New("a second run was created")
	}
	// Space is found, and the run goes on where it was.
	if err := os.Remove(filler); err != nil {
		return err
	}
	st, err = s.Load()
	if err != nil {
		return err
	}
	fmt.Println("seq", st.Seq)
	events, err := s.events(st.RunID)
	if err != nil || int64(len(events)) != st.Seq {
		return fmt.Errorf("%d events of %d, %w", len(events), st.Seq, err)
	}
	for i, a := range events {
		if a.Seq != int64(i+1) {
			return fmt.Errorf("event %d has number %d", i+1, a.Seq)
		}
	}
	return nil
}

// fillUp saves until the disk is full. Acknowledged is what is found afterwards.
func fillUp(s Store, st tdd.State, now time.Time) error {
	for range 1000 {
		acked := st.Seq
		st.Outbox = nil
		happen(&st, now, tdd.Activity{Event: tdd.EventError, Error: strings.Repeat("x", 1500)})
		err := s.Save(st)
		if err == nil {
			continue
		}
		full, ok := errors.AsType[*statedir.FullError](err)
		if !ok || !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(full.Path, s.Dir) {
			return fmt.Errorf("after %d events save said %w", acked, err)
		}
		got, perr := s.Peek()
		if perr != nil {
			return perr
		}
		if _, saved := errors.AsType[*UnsettledError](err); saved {
			acked++
		}
		if got.Seq != acked || acked < 10 {
			return fmt.Errorf("state has %d events, want %d", got.Seq, acked)
		}
		fmt.Println("full:", err)
		return nil
	}
	return errors.New("the disk is never full")
}

func fill(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, size := range []int{4096, 1} {
		for err == nil {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return err
		}
		err = nil
	}
	return nil
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	t.Logf("%s", smalldisk.Run(t, helperEnv+"=full"))
}
