// Command bench measures the built program and prints each figure beside
// something that does the same work without it, measured in the same run: on a
// shared machine only the ratio means something.
//
// With names as arguments (start, iteration, decoder, memory, idle, append, probe,
// hook, gate, stop, tdd, stories) it measures only those.
//
// It needs bin/autopilot, which 'make build' makes, and git. It starts only
// processes of its own and ends them.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	binary, err := filepath.Abs(filepath.Join("bin", "autopilot"))
	if err != nil {
		return err
	}
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("%w; run 'make build' first", err)
	}
	base, err := os.MkdirTemp("", "autopilot-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(base)
	b, err := newBench(binary, base)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 2, 8, 2, ' ', 0)
	b.out = w
	fmt.Fprintf(w, "figure\tvalue\tbeside\tvalue\tratio\taim\n")
	measures := []struct {
		name string
		run  func() error
	}{
		{"start", b.startUp},
		{"iteration", b.iteration},
		{"decoder", b.decoder},
		{"memory", b.memory},
		{"idle", b.idle},
		{"append", b.append},
		{"probe", b.probe},
		{"hook", b.hook},
		{"gate", b.gate},
		{"stop", b.stopHook},
		{"tdd", b.testDriven},
		{"stories", b.stories},
	}
	for _, m := range measures {
		if len(os.Args) > 1 && !slices.Contains(os.Args[1:], m.name) {
			continue
		}
		if err := m.run(); err != nil {
			return err
		}
		_ = w.Flush()
	}
	return nil
}

// row prints one figure beside another.
func (b *bench) row(f figure) {
	r, beside, other := "-", "-", "-"
	if f.ratio > 0 {
		r = fmt.Sprintf("%.2f", f.ratio)
	}
	if f.beside != "" {
		beside, other = f.beside, f.other
	}
	fmt.Fprintf(b.out, "%s\t%s\t%s\t%s\t%s\t%s\n", f.what, f.value, beside, other, r, f.aim)
}

// figure is one measured value beside another.
type figure struct {
	what, value   string
	beside, other string // what stands beside it, and its value
	ratio         float64
	aim           string
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }

func mb(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/(1<<20)) }
