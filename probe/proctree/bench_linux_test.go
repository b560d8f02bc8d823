package proctree

import (
	"os"
	"strconv"
	"testing"

	"autopilot/probe/internal/proctest"
)

func BenchmarkChildrenOf(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ChildrenOf(os.Getpid()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadOne(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(Root, os.Getpid()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	each(b, func(b *testing.B, root string) {
		if _, err := Take(root); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkWithEnv(b *testing.B) {
	each(b, func(b *testing.B, root string) {
		if _, err := withEnv(root, "PROCTREE_MARK", "nobody has this"); err != nil {
			b.Fatal(err)
		}
	})
}

// each runs the benchmark on this machine and on made-up tables.
func each(b *testing.B, run func(b *testing.B, root string)) {
	roots := map[string]string{"live": Root}
	for _, n := range []int{50, 2000} {
		var procs []proctest.Proc
		for i := range n {
			procs = append(procs, proctest.Proc{PID: 100 + i, PPID: 99 + i, Env: os.Environ()})
		}
		roots[strconv.Itoa(n)] = proctest.Tree(b, procs...)
	}
	for name, root := range roots {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				run(b, root)
			}
		})
	}
}
