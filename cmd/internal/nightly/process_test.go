package nightly

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/supervisor"
	"autopilot/supervisor/notice"
	"autopilot/supervisor/schedule/host"
)

const (
	talkVar = "NIGHTLY_TEST_TALK" // folder of the log
	planVar = "NIGHTLY_TEST_PLAN" // file with what a run does
)

// TestMain lets the test binary be the process that a unit starts.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(talkVar) != "":
		os.Exit(talk(os.Getenv(talkVar)))
	case os.Getenv(planVar) != "":
		os.Exit(execute(os.Getenv(planVar)))
	}
	os.Exit(m.Run())
}

// plan is what the command of a schedule does in a test, call by call.
type plan struct {
	Root, Name string
	Again      time.Duration
	Until      time.Duration // the window closes so long after the process has begun; 0 is when the schedule says
	Calls      []call
}

type call struct {
	Code int
	Say  string // on stderr
	Run  bool   // a run is registered
	Left *left  // how that run is left; nil is before it has written anything
	In   string // in that work tree; empty for the current one
	Hold string // before the end it is waited until this file is gone
}

// left is how a run is left.
type left struct {
	Ended     *int // with an exit code; nil is dead
	Barren    bool // it had done nothing that could be continued
	ResumedBy string
	Alive     bool
}

func (l left) save(id, folder string) error {
	st := supervisor.NewState(supervisor.Options{RunID: id, Source: job.Stories{}}, time.Now(), "")
	if !l.Alive {
		st.PID, st.Start = 1<<30, 1
	}
	st.ResumedBy, st.Finished = l.ResumedBy, l.Ended != nil
	if l.Ended != nil {
		st.Record.ExitCode = *l.Ended
		st.Record.Termination = &ledger.Termination{Status: ledger.Interrupted, Resumable: !l.Barren}
	}
	return st.Save(folder)
}

// seen is what the process under test did.
type seen struct {
	Args    []string       `json:",omitempty"`
	Process []string       `json:",omitempty"`
	Environ []string       `json:",omitempty"`
	Dir     string         `json:",omitempty"`
	TTY     bool           `json:",omitempty"`
	Stdin   string         `json:",omitempty"`
	Notice  *notice.Notice `json:",omitempty"`
}

func execute(file string) int {
	var p plan
	if err := statedir.LoadJSON(file, &p); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	note := func(name, text string) {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		if _, err := f.WriteString(text); err != nil {
			panic(err)
		}
		_ = f.Close()
	}
	write := func(s seen) {
		line, err := json.Marshal(s)
		if err != nil {
			panic(err)
		}
		note(file+".seen", string(line)+"\n")
	}
	n := Night{Std: outside.System(), Root: p.Root, Again: p.Again}
	n.Std.TTY, n.Std.InTTY, n.Std.OutTTY = true, true, true
	n.Invoke = func(_ context.Context, std outside.Stdio, args []string) int {
		c := p.Calls[0]
		p.Calls = p.Calls[1:]
		dir, _ := os.Getwd()
		in, err := io.ReadAll(os.Stdin)
		if err != nil {
			in = []byte(err.Error())
		}
		// The guard hands its own standard files to the supervisor: so does this one.
		cmd := exec.Command("sh", "-c", `printf '%s\n' "$0" >&2; env`, c.Say)
		cmd.Env, cmd.Stderr = std.Environ, os.Stderr
		env, err := cmd.Output()
		if err != nil {
			panic(err)
		}
		write(seen{Args: std.Args, Process: os.Environ(), Environ: strings.Split(strings.TrimSpace(string(env)), "\n"), Dir: dir + " " + std.Dir + " " + os.Getenv("ONLY_IN_FILE"), TTY: std.TTY || std.InTTY || std.OutTTY, Stdin: string(in)})
		if strings.Join(args, " ") != strings.Join(std.Args, " ") {
			panic("the guard would start other arguments")
		}
		if c.Run {
			project, err := statedir.OpenProject(p.Root, cmp.Or(c.In, dir))
			if err != nil {
				panic(err)
			}
			id, folder, err := supervisor.Register(project, "main", time.Now())
			if err == nil && c.Left != nil {
				err = c.Left.save(id, folder)
			}
			if err != nil {
				panic(err)
			}
		}
		if c.Hold != "" {
			note(file+".held", "x")
		}
		for c.Hold != "" {
			if _, err := os.Stat(c.Hold); err != nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		return c.Code
	}
	n.Notify = func(_ context.Context, _ outside.Stdio, nt notice.Notice) { write(seen{Notice: &nt}) }
	if p.Until == 0 {
		return n.Exec(context.Background(), p.Name)
	}
	e, err := host.Load(p.Root, p.Name)
	if err != nil {
		panic(err)
	}
	x := &execution{Night: n, entry: e, began: time.Now(), nominal: time.Now(), until: time.Now().Add(p.Until)}
	if x.out, err = redirect(e.Logs, e.Name, n.Std.Getenv); err != nil {
		panic(err)
	}
	defer func() { _ = x.out.close() }()
	return x.begin(context.Background())
}

// talk prints more than one log holds, by itself and through a child, and leaves a child
// behind that holds on to the output.
func talk(folder string) int {
	o, err := redirect(folder, "loud", os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("from stdout")
	fmt.Fprintln(os.Stderr, "from stderr")
	child := exec.Command("sh", "-c", "echo from a child; echo from its stderr >&2; (sleep 600 & echo $! >&3)")
	pid, w, err := os.Pipe()
	if err != nil {
		return 2
	}
	child.Stdout, child.Stderr, child.ExtraFiles = os.Stdout, os.Stderr, []*os.File{w}
	if err := child.Run(); err != nil {
		return 3
	}
	_ = w.Close()
	if os.Getenv("NIGHTLY_TEST_LOUD") != "" {
		line := strings.Repeat("x", 1023) + "\n"
		for range (logMB << 10) + 10 {
			fmt.Print(line)
		}
	}
	fmt.Println("the last line")
	if err := o.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 4
	}
	fmt.Println("after: " + strings.ReplaceAll(o.Tail(2), "\n", "|")[:3])
	var left int
	if _, err := fmt.Fscan(pid, &left); err != nil {
		return 5
	}
	_ = syscall.Kill(left, syscall.SIGKILL)
	return 0
}

func TestOutputGoesIntoALogThatRotates(t *testing.T) {
	t.Parallel()
	for _, journal := range []bool{false, true} {
		folder := filepath.Join(t.TempDir(), "logs")
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), talkVar+"="+folder, "GORACE=atexit_sleep_ms=0")
		var out bytes.Buffer
		if journal {
			file, err := os.Create(filepath.Join(t.TempDir(), "journal"))
			if err != nil {
				t.Fatal(err)
			}
			info, err := file.Stat()
			if err != nil {
				t.Fatal(err)
			}
			st, ok := info.Sys().(*syscall.Stat_t)
			if !ok {
				t.Skip("no inodes here")
			}
			cmd.Env = append(cmd.Env, fmt.Sprintf("JOURNAL_STREAM=%d:%d", st.Dev, st.Ino))
			cmd.Stdout = file
		} else {
			cmd.Env = append(cmd.Env, "NIGHTLY_TEST_LOUD=1", "JOURNAL_STREAM=1:1")
			cmd.Stdout = &out
		}
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %s", err, errs.String())
		}
		logged := allLogs(t, folder)
		for _, want := range []string{"from stdout\n", "from stderr\n", "from a child\n", "from its stderr\n", "the last line\n"} {
			if strings.Count(logged, want) != 1 {
				t.Errorf("journal %v: %q is %d times in the log", journal, want, strings.Count(logged, want))
			}
		}
		if !journal {
			if got := out.String(); got != "after: xxx\n" {
				t.Errorf("the standard output got %q", got)
			}
			if got := strings.Count(logged, "\n"); got != logMB<<10+10+5 {
				t.Errorf("%d lines in the logs", got)
			}
			continue
		}
		f, ok := cmd.Stdout.(*os.File)
		if !ok {
			t.Fatal("no file")
		}
		data, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if got := string(data); !strings.Contains(got, "from a child\n") || !strings.HasSuffix(got, "the last line\nafter: fro\n") {
			t.Errorf("the journal got %q", got)
		}
	}
}

// allLogs reads a log with what was put aside of it. Nobody else may read them.
func allLogs(t *testing.T, folder string) string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(folder, strings.TrimSuffix(e.Name(), ".gz"))); err == nil && strings.HasSuffix(e.Name(), ".gz") {
			continue // the process ended before it could remove the original
		}
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
		f, err := os.Open(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		var r io.Reader = f
		if strings.HasSuffix(e.Name(), ".gz") {
			if r, err = gzip.NewReader(f); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.Copy(&all, r); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info, err)
	}
	return all.String()
}
