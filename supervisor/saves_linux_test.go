package supervisor

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// watchSaves returns a function that says how often the state of the run has been
// written since the last time it was asked.
func watchSaves(t *testing.T, w *world) func() int {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	// Equal events in a row become one; the names from which files are moved differ.
	if _, err := unix.InotifyAddWatch(fd, w.opts.Folder, unix.IN_MOVED_FROM|unix.IN_MOVED_TO); err != nil {
		t.Fatal(err)
	}
	return func() int {
		n, buf := 0, make([]byte, 1<<16)
		for {
			got, err := unix.Read(fd, buf)
			if errors.Is(err, unix.EAGAIN) {
				return n
			}
			if err != nil {
				t.Fatal(err)
			}
			for at := 0; at < got; {
				if binary.NativeEndian.Uint32(buf[at+4:])&unix.IN_MOVED_TO != 0 {
					n++
				}
				at += unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buf[at+12:]))
			}
		}
	}
}

// TestSaves is how often a run writes its state, which is what it mostly waits for:
// once at the beginning, once for each session, and twice at the end.
func TestSaves(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		play   func(*world)
		saves  int
		during int // of the saves, those while the loop went round for the last time
	}{
		{"four sessions", func(*world) {}, 1 + 4 + 2, 1},
		{"four sessions and no reflection that is due", func(w *world) { w.looks(9, goesWell()) }, 1 + 4 + 2 + 2, 2}, // before the last and at the end
		{"reflections after the first, the third and the last", func(w *world) { w.looks(1, goesWell()) }, 1 + 4 + 2 + 3, 2},
		{"reflections that find nothing to write to", func(w *world) { w.looks(1, goesWell()); w.opts.Reflections = nil }, 1 + 4 + 2 + 3, 2},
		{"waits", func(w *world) {
			w.plays = []play{work(time.Minute), work(time.Minute), work(time.Minute), limitedFor(0, time.Hour), work(time.Minute)}
		}, 1 + 4 + 2 + 2, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, work(time.Minute))
				w.opts.Limits.MaxSessions = 4
				tt.play(w)
				saves := watchSaves(t, w)
				total := 0
				w.opts.Checkpoint = func(s State) error {
					n := saves()
					if total += n; s.Iteration == 4 && !s.Finished && n != tt.during {
						t.Errorf("%d saves for the last session, want %d", n, tt.during)
					}
					return nil
				}
				w.play(t.Context())
				if total += saves(); total != tt.saves {
					t.Errorf("the state was written %d times, want %d", total, tt.saves)
				}
			})
		})
	}
}
