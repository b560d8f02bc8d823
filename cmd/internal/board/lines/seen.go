package lines

import (
	"os"
	"syscall"
	"time"
)

const (
	// racy is how long after a change a file may change again without its time telling:
	// clocks of file systems tick in steps.
	racy       = 50 * time.Millisecond
	racyCoarse = 2 * time.Second // where times are whole seconds
)

// Stamp tells a file, or a folder with its entries, from what it was before; zero for one
// that is not there.
type Stamp struct {
	inode uint64
	size  int64
	mtime int64 // nanoseconds since 1970
}

// StampOf is the stamp of what is at a path now.
func StampOf(path string) Stamp {
	info, err := os.Stat(path)
	if err != nil {
		return Stamp{}
	}
	s := Stamp{size: info.Size(), mtime: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode = st.Ino
	}
	return s
}

// None reports whether nothing was there.
func (s Stamp) None() bool { return s == Stamp{} }

// Age is how long before a moment the file was changed.
func (s Stamp) Age(at time.Time) time.Duration { return time.Duration(at.UnixNano() - s.mtime) }

// Settled reports whether a change after the moment at would show. A stamp that was taken
// later than at may be settled though it hides a change.
func (s Stamp) Settled(at time.Time) bool {
	if s.None() {
		return true
	}
	wait := racy
	if s.mtime%int64(time.Second) == 0 {
		wait = racyCoarse
	}
	return s.Age(at) > wait
}

// Bytes appends the stamp to a list of them that is compared as a whole.
func (s Stamp) Bytes(to []byte) []byte {
	for _, v := range []uint64{s.inode, uint64(s.size), uint64(s.mtime)} {
		for range 8 {
			to = append(to, byte(v))
			v >>= 8
		}
	}
	return to
}

// Seen is a file as it was when it was read last. Its zero value is one that was never read.
type Seen struct {
	stamp Stamp
	sure  bool // a change since then would show
}

// Stamp is what the file was at the last call of Changed.
func (s *Seen) Stamp() Stamp { return s.stamp }

// Changed reports whether a file may be another than at the last call. It is to be asked
// before the file is read.
func (s *Seen) Changed(path string) bool {
	at := time.Now()
	now := StampOf(path)
	same := s.sure && s.stamp == now
	s.stamp, s.sure = now, now.Settled(at)
	return !same
}
