package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"autopilot/probe/proctree"
)

const pairs = 15

type bench struct {
	binary string
	repo   string
	env    []string
	claude string
	script string
	out    io.Writer
}

func newBench(binary, base string) (*bench, error) {
	b := &bench{binary: binary, repo: filepath.Join(base, "repo"), claude: filepath.Join(base, "claude"), script: filepath.Join(base, "script")}
	b.env = append(os.Environ(), "HOME="+base, "XDG_STATE_HOME="+filepath.Join(base, "state"), "STANDIN_SCRIPT="+b.script)
	if err := os.Mkdir(b.repo, 0o700); err != nil {
		return nil, err
	}
	stub := "#!/bin/sh\nexec '" + binary + "' standin \"$@\"\n"
	if err := os.WriteFile(b.claude, []byte(stub), 0o700); err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=b", "-c", "user.email=b@example.org", "commit", "-q", "--allow-empty", "-m", "start"}} {
		if out, err := b.command("git", args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("git %v: %w: %s", args, err, out)
		}
	}
	return b, nil
}

func (b *bench) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = b.repo, b.env
	return cmd
}

// timed runs a command to its end and returns how long it took.
func (b *bench) timed(name string, args ...string) (time.Duration, error) {
	cmd := b.command(name, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s %v: %w: %s", name, args, err, errs.String())
	}
	return time.Since(start), nil
}

func (b *bench) runArgs(more ...string) []string {
	return append([]string{"run", "fix the tests", "--claude", b.claude, "--allow-nested"}, more...)
}

// shellLoop does the bare work of n sessions: the same stand-in, one after another.
func (b *bench) shellLoop(n int) (time.Duration, error) {
	loop := fmt.Sprintf(`i=0; while [ $i -lt %d ]; do i=$((i+1)); read id </proc/sys/kernel/random/uuid; echo x | '%s' -p --session-id $id >/dev/null; done`, n, b.claude)
	return b.timed("sh", "-c", loop)
}

func (b *bench) startUp() error {
	for _, c := range []string{"version", "status", "probe"} {
		var ours, bare []time.Duration
		for range pairs {
			d, err := b.timed(b.binary, c)
			if err != nil {
				return err
			}
			ours = append(ours, d)
			if d, err = b.timed("git", "--version"); err != nil {
				return err
			}
			bare = append(bare, d)
		}
		b.row(figure{what: "start to end of '" + c + "'", value: ms(median(ours)), beside: "git --version", other: ms(median(bare)), ratio: float64(median(ours)) / float64(median(bare)), aim: "under 10 ms"})
	}
	return nil
}

// iteration compares the loop with a shell loop over the same stand-in. What a
// run costs once is taken out by the difference of two lengths. Part of the
// overhead is the question to git what the session changed, shown beside it.
func (b *bench) iteration() error {
	const short, long = 1, 41
	if err := os.WriteFile(b.script, []byte("write a.txt x\nresult\n"), 0o600); err != nil {
		return err
	}
	var ours, shell, status []time.Duration
	for range 9 {
		o, err := b.perSession(short, long, func(n int) (time.Duration, error) {
			return b.timed(b.binary, b.runArgs("--max-sessions", strconv.Itoa(n))...)
		})
		if err != nil {
			return err
		}
		s, err := b.perSession(short, long, b.shellLoop)
		if err != nil {
			return err
		}
		g, err := b.timed("git", "status", "--porcelain=v2", "--branch", "--untracked-files=all", "-z")
		if err != nil {
			return err
		}
		ours, shell, status = append(ours, o), append(shell, s), append(status, g)
	}
	o, s, g := median(ours), median(shell), median(status)
	b.row(figure{what: "iteration", value: ms(o), beside: "shell loop, same stand-in", other: ms(s), ratio: float64(o) / float64(s), aim: "-"})
	b.row(figure{what: "overhead of an iteration", value: ms(o - s), beside: "git status alone", other: ms(g), ratio: float64(o-s) / float64(g), aim: "under 2 ms"})
	return nil
}

func (b *bench) perSession(short, long int, run func(int) (time.Duration, error)) (time.Duration, error) {
	a, err := run(short)
	if err != nil {
		return 0, err
	}
	c, err := run(long)
	return (c - a) / time.Duration(long-short), err
}

// memory is the peak of the supervisor with answers of one line each. It is read
// while the session is still there: what a parent is told of a child that ended
// includes the child's own children.
func (b *bench) memory() error {
	for _, size := range []int{1 << 10, 10 << 20} {
		if err := os.WriteFile(b.script, fmt.Appendf(nil, "bare-tool 1ms\nbig %d\nthink 1s\nresult\n", size), 0o600); err != nil {
			return err
		}
		peak, err := b.peak(b.runArgs("--max-sessions", "1")...)
		if err != nil {
			return err
		}
		b.row(figure{what: fmt.Sprintf("peak memory, a line of %d KB", size>>10), value: mb(peak), aim: "under 40 MB"})
	}
	return nil
}

func (b *bench) peak(args ...string) (int64, error) {
	cmd := b.command(b.binary, args...)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	exited := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() { exited <- cmd.Wait() })
	defer wg.Wait()
	var peak int64
	for {
		select {
		case err := <-exited:
			return peak, err
		case <-time.After(20 * time.Millisecond):
			if now, err := highWater(supervisorOf(cmd.Process.Pid)); err == nil {
				peak = max(peak, now)
			}
		}
	}
}

// supervisorOf is the process that works below the guard, which is the one that
// was started.
func supervisorOf(guard int) int {
	kids, err := proctree.ChildrenOf(guard)
	if err != nil || len(kids) == 0 {
		return guard
	}
	return kids[0]
}

// highWater is the largest resident size that a process has had.
func highWater(pid int) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kb, err := strconv.ParseInt(fields[1], 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("no VmHWM for %d", pid)
}

// idle is what a supervisor costs while its session hangs for half a minute.
func (b *bench) idle() error {
	if err := os.WriteFile(b.script, []byte("bare-tool 1ms\nthink 60s\n"), 0o600); err != nil {
		return err
	}
	cmd := b.command(b.binary, b.runArgs("--max-sessions", "1")...)
	if err := cmd.Start(); err != nil {
		return err
	}
	time.Sleep(3 * time.Second) // the start is over
	supervisor := supervisorOf(cmd.Process.Pid)
	before, err := proctree.Read(proctree.Root, supervisor)
	if err != nil {
		return err
	}
	time.Sleep(30 * time.Second)
	after, err := proctree.Read(proctree.Root, supervisor)
	if err != nil {
		return err
	}
	rss, err := residentBytes(supervisor)
	if err != nil {
		return err
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
	b.row(figure{what: "CPU while a session hangs 30 s", value: ms(after.CPU - before.CPU), beside: "one tick", other: "10.00 ms", aim: "none"})
	b.row(figure{what: "memory meanwhile", value: mb(rss), aim: "under 20 MB"})
	return nil
}

func residentBytes(pid int) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0, fmt.Errorf("statm of %d has %d fields", pid, len(fields))
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
