package meter

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"autopilot/cmd/internal/board"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/journal"
	"autopilot/metrics/ledger"
	"autopilot/metrics/samples"
	"autopilot/metrics/statedir"
	"autopilot/metrics/telemetry"
	"autopilot/probe"
	"autopilot/probe/tier"
	"autopilot/supervisor"
)

const (
	// fresh is how old a sample of a run may be to stand for the machine now.
	fresh = 2 * samples.Every
	// onGreen is a number of sub-agents to judge a machine with, of which only the tier is
	// wanted.
	onGreen = 1
)

// Source gathers the facts of a machine. It may be used by several goroutines at once.
type Source struct {
	Std  outside.Stdio // its environment says where things are
	Root string        // state root, absolute
	// Ledgers are folders of ledgers by the path of their work tree, for those that are not
	// where the settings of the repository say.
	Ledgers map[string]string
	// Probe measures the machine where no run has done so lately; nil for nobody.
	Probe func(context.Context) probe.Snapshot
	// Schedules are those of the machine; nil for none.
	Schedules func() []telemetry.Schedule
	// Look is what is on; nil is that of package board.
	Look func(context.Context, board.Options) board.Overview

	mu     sync.Mutex
	seen   board.Cache
	tally  telemetry.Tally
	read   map[string]int64  // bytes of each ledger that were counted
	places map[string]string // folders of ledgers by path of the work tree
}

// NewSource is a source for the machine that this process runs on.
func NewSource(std outside.Stdio) (*Source, error) {
	root, err := statedir.Root(std.Getenv, runtime.GOOS)
	if err != nil {
		return nil, &outside.Error{Code: outside.ExitUsage, Err: err, Way: outside.HintOf(err)}
	}
	return &Source{Std: std, Root: root, Probe: job.TakeSnapshot}, nil
}

// Facts gathers the facts of this moment. What cannot be read counts as a problem.
func (s *Source) Facts(ctx context.Context) telemetry.Facts {
	s.mu.Lock()
	defer s.mu.Unlock()
	look := s.Look
	if look == nil {
		look = board.Look
	}
	now := time.Now()
	o := look(ctx, board.Options{Root: s.Root, Environ: s.Std.Environ, Now: now, Cache: &s.seen})
	projects, err := statedir.Projects(s.Root)
	var paths []string
	for _, p := range projects {
		paths = append(paths, p.Path)
	}
	x := Extra{Names: shortNames(paths), States: map[board.Ref]supervisor.State{}}
	for _, p := range projects {
		s.count(p.Path, x.Names[p.Path])
	}
	x.Repositories, x.Since = s.tally.Repositories(), s.tally.Since()
	for _, r := range o.Active {
		if r.Ref == (board.Ref{}) {
			continue
		}
		if st, err := supervisor.LoadState(s.folder(r.Ref)); err == nil {
			x.States[r.Ref] = st
		}
	}
	x.Machine = s.machine(ctx, now, x.States)
	if s.Schedules != nil {
		x.Schedules = s.Schedules()
	}
	f := Facts(o, x)
	if err != nil {
		f.Problems++
	}
	f.At = now
	return f
}

// folder is the folder of a run.
func (s *Source) folder(ref board.Ref) string {
	return statedir.Project{Dir: filepath.Join(s.Root, "projects", ref.Project)}.RunDir(ref.Run)
}

// count counts what was added to the ledgers of a work tree since the last look.
func (s *Source) count(path, name string) {
	dir := s.place(path)
	if dir == "" {
		return
	}
	s.tally.Know(name)
	s.each(filepath.Join(dir, ledger.RunsFile), func(line []byte) {
		var r ledger.Run
		if json.Unmarshal(line, &r) == nil {
			s.tally.Run(name, r)
		}
	})
	s.each(filepath.Join(dir, ledger.SessionsFile), func(line []byte) {
		var r struct {
			ID     string `json:"session_id"`
			Ending string `json:"ending"`
			Status string `json:"status"` // of a record that another program wrote
		}
		if json.Unmarshal(line, &r) != nil {
			return
		}
		if r.Ending == "" {
			r.Ending = r.Status
		}
		s.tally.Session(name, r.ID, r.Ending)
	})
}

// place is the folder of the ledgers of a work tree, or nothing when it has none.
func (s *Source) place(path string) string {
	dir, known := s.Ledgers[path]
	if !known {
		dir, known = s.places[path]
	}
	if !known {
		cfg, err := job.Resolve(s.Std, path, nil)
		if err != nil { // broken settings are somebody else's to tell
			return ""
		}
		if dir = cfg.MetricsDir; !filepath.IsAbs(dir) {
			dir = filepath.Join(path, dir)
		}
		if s.places == nil {
			s.places = map[string]string{}
		}
		s.places[path] = dir
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

// each calls fn for the lines of a ledger that it was not called for yet, and for all when
// the ledger has become shorter, which journal.ReadFrom sees to. The first time it is read as
// a stream: it may be large.
func (s *Source) each(path string, fn func(line []byte)) {
	size := journal.Size(path)
	from, known := s.read[path]
	if known && size == from {
		return
	}
	if s.read == nil {
		s.read = map[string]int64{}
	}
	if !known {
		if journal.Each(path, func(_ int, line []byte) error { fn(line); return nil }) == nil {
			s.read[path] = size
		}
		return
	}
	for {
		lines, next, err := journal.ReadFrom(path, from)
		if err != nil {
			return
		}
		for _, line := range lines {
			fn(line)
		}
		s.read[path] = next
		if next == from {
			return
		}
		from = next
	}
}

// machine is how the machine is: as a run has seen it lately, or as it is measured now.
func (s *Source) machine(ctx context.Context, now time.Time, states map[board.Ref]supervisor.State) telemetry.Machine {
	var last samples.Sample
	for ref := range states {
		lines, err := journal.Tail(filepath.Join(s.folder(ref), samples.Name), 1)
		var x samples.Sample
		if err == nil && len(lines) == 1 && json.Unmarshal(lines[0], &x) == nil && x.At.After(last.At) {
			last = x
		}
	}
	if age := now.Sub(last.At); age >= 0 && age < fresh {
		return telemetry.Machine{AvailableBytes: bytesOf(last.AvailableGB), SwapBytes: bytesOf(last.SwapGB), Peers: last.Peers, Tier: last.Tier}
	}
	if s.Probe == nil {
		return telemetry.Machine{}
	}
	v := s.Probe(ctx)
	return telemetry.Machine{
		AvailableBytes: bytesOf(v.RAMAvailableGB), SwapBytes: bytesOf(v.SwapUsedGB), Peers: v.Peers, Tier: string(tier.Judge(v.Signals, onGreen).Tier),
	}
}

// bytesOf turns GB, which are 2^30 bytes, into bytes.
func bytesOf(gb *float64) *float64 {
	if gb == nil {
		return nil
	}
	v := *gb * (1 << 30)
	return &v
}
