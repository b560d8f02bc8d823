package install

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	leftoverAge = time.Minute // a younger one may belong to a process that lives

	// The number in the name is random, of 63 bits. It is smaller than this once in
	// ninety thousand; a version, or a date with its time, which a person puts
	// behind a name, is smaller.
	leftoverNumber = 1e14
)

// removeLeftovers removes the temporary files that a process killed inside the
// replacement of one of our files has left beside it. What cannot be removed is
// harmless and stays. A state folder holds only what is ours; a person's folder
// does not, so the whole name has to be right here.
func (c Changes) removeLeftovers(now time.Time) {
	for _, target := range c.targets {
		dir, base := filepath.Split(target)
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || !isLeftover(e.Name(), base) {
				continue
			}
			if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > leftoverAge {
				_ = os.Remove(filepath.Join(dir, e.Name()))
			}
		}
	}
}

// isLeftover reports whether a name is that of a temporary file for base: a dot,
// base and a long number.
func isLeftover(name, base string) bool {
	digits, ok := strings.CutPrefix(name, "."+base)
	n, err := strconv.ParseInt(digits, 10, 64)
	return ok && err == nil && n >= leftoverNumber && strconv.FormatInt(n, 10) == digits
}
