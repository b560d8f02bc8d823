package probe

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/shirou/gopsutil/v3/common"
	"github.com/shirou/gopsutil/v3/load"

	"autopilot/probe/peer"
	"autopilot/probe/proctree"
)

// patience bounds a probe whose context has no nearer deadline.
const patience = 5 * time.Second

// Options say where to look and who we are. The zero value looks at this
// machine from this process.
type Options struct {
	// ProcRoot is the folder of the process table and of meminfo; empty means
	// [proctree.Root]. macOS has none.
	ProcRoot string
	// CgroupRoot stands in front of every path at which a control group is
	// mounted; empty in production.
	CgroupRoot string
	// Self is the pid whose descendants are our own sessions, see [peer.Options].
	Self int
}

// source is one thing to read and the fields that stay empty without it.
type source struct {
	signals []string
	read    func(ctx context.Context, o Options) fill
}

// fill enters what was read into the snapshot. It runs only in Take's own
// goroutine, so a source that answers too late changes nothing.
type fill func(*Snapshot)

func sources() []source {
	return []source{
		{[]string{fieldRAM, fieldTotal, fieldSwap}, readMemory},
		{[]string{fieldPeers}, readPeers},
		{[]string{fieldPressure}, readPressure},
		{[]string{fieldPSI}, readPSI},
		{[]string{fieldLoad}, readLoad},
	}
}

// Take looks at the machine. It never fails: what cannot be read, or not before
// ctx ends, is nil in the snapshot and listed in Absent.
func Take(ctx context.Context, o Options) Snapshot {
	return take(ctx, o, sources())
}

func take(ctx context.Context, o Options, sources []source) Snapshot {
	began := time.Now()
	if o.ProcRoot == "" {
		o.ProcRoot = proctree.Root
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// Given by context, so that the library's environment variables have no say.
	reading := context.WithValue(ctx, common.EnvKey, common.EnvMap{common.HostProcEnvKey: o.ProcRoot})

	type answer struct {
		from int
		fill fill
	}
	// A bare goroutine, because waiting for it is what must not happen: reading a
	// process that is stuck in the kernel can take for ever, and nothing but the
	// kernel can end that. The buffer lets a late one end by itself.
	answers := make(chan answer, len(sources))
	for i, src := range sources {
		go func() { answers <- answer{i, src.read(reading, o)} }()
	}
	fills := make([]fill, len(sources))
	for missing := len(sources); missing > 0; {
		select {
		case a := <-answers:
			fills[a.from] = a.fill
			missing--
		case <-ctx.Done():
			missing = 0
		}
	}

	s := Snapshot{TakenAt: began.UTC().Round(0), CPUs: runtime.NumCPU(), Absent: []Absence{}}
	for i, src := range sources {
		if fills[i] == nil {
			s.absent(fmt.Errorf("no answer in time: %w", context.Cause(ctx)), src.signals...)
			continue
		}
		fills[i](&s)
	}
	s.DurationMS = math.Round(float64(time.Since(began))/1e3) / 1e3
	return s
}

func readPeers(ctx context.Context, o Options) fill {
	r, err := peer.Count(ctx, peer.Options{Root: o.ProcRoot, Self: o.Self})
	return func(s *Snapshot) {
		if err != nil {
			s.absent(err, fieldPeers)
			return
		}
		s.Peers, s.PeerSessions = &r.Count, r.Sessions
	}
}

func readLoad(ctx context.Context, _ Options) fill {
	avg, err := load.AvgWithContext(ctx)
	return func(s *Snapshot) {
		if err != nil {
			s.absent(fmt.Errorf("read load average: %w", err), fieldLoad)
			return
		}
		s.Load1m = &avg.Load1
	}
}
