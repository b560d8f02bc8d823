package vitals_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"autopilot/probe/proctree"
	"autopilot/sessions/outcome"
	"autopilot/sessions/vitals"
)

// child is a process that works or waits while the clock of the test is made up.
type child struct {
	t   *testing.T
	pid int
}

// shell runs a script until the end of the test.
func shell(t *testing.T, script string) child {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Stdin, cmd.Stdout = os.Stdin, nil
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	return child{t, cmd.Process.Pid}
}

func (c child) tree() []int {
	table, err := proctree.Take(proctree.Root)
	if err != nil {
		c.t.Fatal(err)
	}
	pids := []int{c.pid}
	for _, d := range table.Descendants(c.pid) {
		pids = append(pids, d.PID)
	}
	return pids
}

func (c child) cpu() time.Duration {
	table, err := proctree.Take(proctree.Root)
	if err != nil {
		c.t.Fatal(err)
	}
	return table.CPU(c.tree()...)
}

// works lets the processes run until they have used so much more, then stops
// them, and returns what they used.
func (c child) works(enough time.Duration) time.Duration {
	c.t.Helper()
	before := c.cpu()
	c.signal(syscall.SIGCONT)
	poll(c.t, func() bool { return c.cpu()-before >= enough })
	c.signal(syscall.SIGSTOP)
	poll(c.t, func() bool {
		for _, pid := range c.tree() {
			if p, err := proctree.Read(proctree.Root, pid); err == nil && p.State != 'T' {
				return false
			}
		}
		return true
	})
	return c.cpu() - before
}

func (c child) asleep() bool {
	for _, pid := range c.tree() {
		if p, err := proctree.Read(proctree.Root, pid); err != nil || p.State != 'S' {
			return false
		}
	}
	return true
}

func (c child) signal(sig syscall.Signal) {
	c.t.Helper()
	if err := syscall.Kill(-c.pid, sig); err != nil {
		c.t.Fatal(err)
	}
}

func poll(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen within 30s")
		}
		<-time.After(5 * time.Millisecond)
	}
}

// TestProcessor gives a silent process a share of a processor in each window of
// made-up time: more than a tenth is work, less is what an idle CLI needs for
// its timers.
func TestProcessor(t *testing.T) {
	t.Parallel()
	const loop = `while :; do :; done`
	tests := []struct {
		name   string
		script string
		work   time.Duration // in each window; 0 waits for nothing
		window time.Duration
		want   outcome.Stop
	}{
		{"asleep", `sleep 300 & wait`, 0, 30 * time.Second, outcome.StopHung},
		{"busy", loop, 240 * time.Millisecond, 2 * time.Second, outcome.StopNone},
		{"a busy descendant", `(` + loop + `) & wait`, 240 * time.Millisecond, 2 * time.Second, outcome.StopNone},
		{"ready, but the machine gives it nothing", loop, 0, 30 * time.Second, outcome.StopNone},
		{"only its timers", loop, 100 * time.Millisecond, 10 * time.Second, outcome.StopHung},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := shell(t, tt.script)
			if tt.want == outcome.StopHung && tt.work == 0 { // it has still to start
				poll(t, func() bool { return len(c.tree()) == 2 && c.asleep() })
			}
			if tt.work > 0 { // before the clock runs: it is no sign of life
				c.works(20 * time.Millisecond)
			}
			limit := 4 * tt.window
			clock := vitals.New(c.pid, start(), vitals.Limits{Stall: limit}, nil)
			at, stop := start().Add(limit/3), outcome.StopNone
			for range 5 {
				if stop, _ = clock.Look(at, vitals.Signs{Started: start()}); stop != outcome.StopNone {
					break
				}
				if tt.work > 0 {
					used := c.works(tt.work)
					if busy := used > tt.window/10; busy != (tt.want == outcome.StopNone) {
						t.Fatalf("it used %v of %v; the machine is too busy for this test", used, tt.window)
					}
				}
				at = at.Add(tt.window)
			}
			if stop != tt.want {
				t.Errorf("got %q after %v, want %q", stop, at.Sub(start()), tt.want)
			}
		})
	}
}

// TestBurst is one burst of work between two looks that are close together: over
// the window it is nothing.
func TestBurst(t *testing.T) {
	t.Parallel()
	c := shell(t, `while :; do :; done`)
	c.works(10 * time.Millisecond)
	limit := 40 * time.Second
	clock := vitals.New(c.pid, start(), vitals.Limits{Stall: limit}, nil)
	for at := limit / 3; at < 2*limit; at += time.Second {
		if at > 15*time.Second && at < 17*time.Second {
			c.works(150 * time.Millisecond)
		}
		stop, _ := clock.Look(start().Add(at), vitals.Signs{Started: start()})
		if stop == outcome.StopNone {
			continue
		}
		if at > limit+time.Second {
			t.Errorf("noticed after %v, want %v: the burst was taken for work", at, limit)
		}
		return
	}
	t.Error("a process that did nothing but one burst was taken for alive")
}

// TestWorkerThatEnded is a descendant that did all the work between two looks
// and has ended at the second.
func TestWorkerThatEnded(t *testing.T) {
	t.Parallel()
	c := shell(t, `sh -c 'while :; do :; done' & echo; read x; wait`)
	var worker int
	poll(t, func() bool {
		if tree := c.tree(); len(tree) == 2 {
			worker = tree[1]
			return true
		}
		return false
	})
	const limit = 8 * time.Second
	clock := vitals.New(c.pid, start(), vitals.Limits{Stall: limit}, nil)
	c.works(400 * time.Millisecond)
	look := func(at time.Duration) outcome.Stop {
		stop, _ := clock.Look(start().Add(at), vitals.Signs{Started: start()})
		return stop
	}
	if stop := look(limit / 3); stop != outcome.StopNone {
		t.Fatalf("got %q after a third of the limit", stop)
	}
	if err := syscall.Kill(worker, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	poll(t, func() bool {
		p, err := proctree.Read(proctree.Root, worker)
		return err != nil || p.Dead()
	})
	c.signal(syscall.SIGCONT) // lets the shell collect it
	poll(t, func() bool { return len(c.tree()) == 1 })
	look(limit/3 + 2500*time.Millisecond)
	if stop := look(limit + 500*time.Millisecond); stop != outcome.StopNone {
		t.Errorf("got %q although a worker came to its end in between", stop)
	}
}
