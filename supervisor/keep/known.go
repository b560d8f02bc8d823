package keep

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	goneMark  = ".gc-"
	packed    = ".gz"
	tempAge   = time.Minute // that a temporary file of statedir has before it counts as left
	tempTail  = 12          // digits, at least, in its name
	leastSize = 4 << 10     // bytes of a file that is worth compressing
)

// written are the files that this program writes into the folder of a run, as patterns.
func written() []string {
	return []string{
		"state.json", "setup.json", "activity.jsonl", "reflections.jsonl", "machine.jsonl", "cohort.json", "stop.json", "mode.json",
		"test-results/*.json", "test-results/*.md",
		"sessions/*/settings.json", "sessions/*/cap.json", "sessions/*/gate.json", "sessions/*/result.json", "sessions/*/progress.json",
		"sessions/*/desk/*.json", "sessions/*/desk/autopilot-log.jsonl",
		"reflections/*/settings.json", "reflections/*/cap.json", "reflections/*/result.json", "reflections/*/progress.json",
		"stories/*/task.json", "stories/*/spend.json", "stories/*/allotment.json", "stories/*/beat", "stories/*/queue.json", "stories/*/setup.done", "stories/*/autopilot.lock",
	}
}

// loose are those of them that nothing reads once a run has ended for good.
func loose() []string {
	return []string{
		"sessions/*/stderr.log", "sessions/*/answer.txt", "reflections/*/stderr.log", "reflections/*/answer.txt", "reflections/*/prompt.txt", "stories/*/output.log",
	}
}

// ofProject are the entries that this program makes in the folder of a project.
func ofProject() []string {
	return []string{
		"project.json", "current-run.json", "installed.json", "queue.json", "breakers.json", "notices.json", "answer.log", "answer.log.1", "open", "runs", "locks", "episodes", "completion", "gates", "outbox", "tdd",
	}
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// known reports whether a file in the folder of a run is one that this program writes: as it
// is, with its lock, while it is written, or as what a journal has set aside.
func known(name string) bool {
	if isTemp(path.Base(name)) {
		return true
	}
	if plain, ok := strings.CutSuffix(name, packed); ok && matches(loose(), plain) {
		return true
	}
	if plain, stamp, ok := strings.Cut(name, ".torn-"); ok && !strings.Contains(stamp, "/") {
		name = plain
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".lock"), ".tmp")
	return matches(written(), name) || matches(loose(), name)
}

// isTemp knows the temporary files of package statedir: a dot, a name and a long number.
func isTemp(name string) bool {
	base := strings.TrimRight(name, "0123456789")
	return strings.HasPrefix(base, ".") && len(base) > 1 && len(name)-len(base) >= tempTail
}

// inventory is what there is in a folder.
type inventory struct {
	bytes   int64
	touched time.Time
	strange []string // relative; symlinks and what is no regular file among them
	loose   []File
	temp    []string // relative
	tempLen int64
	left    []string // of a killed gc, relative
	odd     map[string]bool
	err     error
}

// takeInventory walks through the folder of a run. It follows no symlink.
func takeInventory(folder string, now time.Time) inventory {
	inv := inventory{odd: map[string]bool{}}
	names := map[string]int64{}
	inv.err = filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // it went meanwhile
			}
			return err
		}
		if d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		inv.add(filepath.ToSlash(rel), d, names, now)
		return nil
	})
	for name, size := range names {
		_, both := names[name+packed]
		if matches(loose(), name) && size > 0 && (size >= leastSize || both) {
			inv.loose = append(inv.loose, File{Name: name, Bytes: size})
		}
	}
	slices.SortFunc(inv.loose, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return inv
}

func (inv *inventory) add(rel string, d fs.DirEntry, names map[string]int64, now time.Time) {
	info, err := d.Info()
	if err != nil {
		return // it went meanwhile
	}
	if !info.Mode().IsRegular() {
		inv.odd[rel] = true
		inv.strange = append(inv.strange, rel)
		return
	}
	inv.bytes += info.Size()
	if info.ModTime().After(inv.touched) {
		inv.touched = info.ModTime()
	}
	names[rel] = info.Size()
	switch {
	case strings.HasPrefix(path.Base(rel), goneMark):
		inv.left = append(inv.left, rel)
	case !known(rel):
		inv.strange = append(inv.strange, rel)
	case isTemp(path.Base(rel)) && now.Sub(info.ModTime()) > tempAge:
		inv.temp = append(inv.temp, rel)
		inv.tempLen += info.Size()
	}
}

// exists reports whether there is something at a path, also where that cannot be told.
func exists(name string) bool {
	_, err := os.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}
