package sessions_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"autopilot/sessions"
	"autopilot/sessions/hook"
	"autopilot/sessions/launch"
	"autopilot/sessions/ptyrun"
	"autopilot/sessions/reap"
	"autopilot/sessions/repo"
	"autopilot/sessions/standin"
	"autopilot/sessions/vitals"
)

const patience = 30 * time.Second

// TestMain lets the test binary be the stand-in for claude, and the hook.
func TestMain(m *testing.M) {
	switch {
	case filepath.Base(os.Args[0]) == "claude":
		os.Exit(standin.Main(standin.Process{Args: os.Args[1:], Getenv: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
	case len(os.Args) == 3 && os.Args[1] == "hook":
		if err := hook.AgentCap(os.Stdin, os.Stdout, hook.CapFile(os.Args[2]), time.Now()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		os.Exit(0)
	}
	// Sessions mostly wait, so more of them than there are processors may run.
	if err := flag.Set("test.parallel", strconv.Itoa(max(8, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// place is a repository with a stand-in for claude.
type place struct {
	t    *testing.T
	dir  string // for everything
	top  string // of the work tree
	spec sessions.Spec
	// notes are what was said while the session ran.
	notes []string
	beat  func(sessions.Progress)
}

// newPlace makes one whose stand-in follows a script; $D in it is the place's folder.
func newPlace(t *testing.T, script string) *place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, dir: dir, top: filepath.Join(dir, "repo")}
	if err := os.Mkdir(p.top, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "claude")); err != nil {
		t.Fatal(err)
	}
	p.write("script", strings.ReplaceAll(script, "$D", dir))
	p.git("init", "-q", "-b", "main")
	p.git("commit", "-q", "--allow-empty", "-m", "start")
	r, err := repo.Open(t.Context(), p.top)
	if err != nil {
		t.Fatal(err)
	}
	p.spec = sessions.Spec{
		ID: sessions.ID(uuid.NewString()), RunID: "main-2026-09-01-1200-autopilot", Token: "token-" + t.Name(), Dir: p.top, Repo: r,
		Folder: filepath.Join(dir, "state", "session"), Claude: filepath.Join(dir, "claude"), Permission: "acceptEdits",
		Environ:     []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "STANDIN_SCRIPT=" + filepath.Join(dir, "script"), "GORACE=atexit_sleep_ms=0", "GOCOVERDIR=" + dir},
		HookCommand: launch.Quote(self) + " hook",
		Steps:       []sessions.Step{{Prompt: "work"}},
		Limits: sessions.Limits{
			Limits: vitals.Limits{Stall: patience, ToolStall: patience, ExitGrace: patience},
			Ladder: ptyrun.Ladder{Interrupt: patience, Terminate: patience}, Judge: 10 * time.Millisecond,
		},
		Cap:     hook.Change{At: time.Now(), Cap: 4, Tier: "green", Signal: "none"},
		Sweeper: new(reap.Sweeper), // one that adopts orphans would end other tests' sessions
	}
	return p
}

func (p *place) path(name string) string { return filepath.Join(p.dir, name) }

func (p *place) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(p.path(name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// read returns what is in a file, or nothing when it is not there.
func (p *place) read(name string) string {
	data, err := os.ReadFile(p.path(name))
	if err != nil {
		return ""
	}
	return string(data)
}

func (p *place) git(args ...string) {
	p.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = p.top
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

// try runs the session, run wants it to work.
func (p *place) try(ctx context.Context) (sessions.Result, error) {
	p.t.Helper()
	return sessions.Run(ctx, p.spec, func(pr sessions.Progress) {
		if pr.Note != "" {
			p.notes = append(p.notes, pr.Note)
		}
		if p.beat != nil {
			p.beat(pr)
		}
	})
}

func (p *place) run(ctx context.Context) sessions.Result {
	p.t.Helper()
	res, err := p.try(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	return res
}

// noted reports whether a note holds some words.
func (p *place) noted(words string) bool { return strings.Contains(strings.Join(p.notes, "\n"), words) }

// continued is the session after a wait.
func (p *place) continued(res sessions.Result) *place {
	next := *p
	next.spec.Continue, next.spec.ContinuePrompt = &res, "go on"
	return &next
}

// started is what the stand-in's verb dump says about a process.
type started struct {
	ID       string
	Resumed  bool
	Args     []string
	Argument string
	Stdin    string
	CWD      string
	Env      map[string]string
}

// flag is the value of a flag, or nothing.
func (s started) flag(name string) string {
	for i, a := range s.Args {
		if a == name && i+1 < len(s.Args) {
			return s.Args[i+1]
		}
	}
	return ""
}

// dumped reads what the processes told about themselves.
func (p *place) dumped(name string) []started {
	p.t.Helper()
	var all []started
	for line := range strings.Lines(p.read(name)) {
		var s started
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			p.t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// onDisk compares a result with what the session's folder says.
func (p *place) onDisk(res sessions.Result) {
	p.t.Helper()
	data, err := os.ReadFile(sessions.ResultPath(p.spec.Folder))
	if err != nil {
		p.t.Fatal(err)
	}
	var kept sessions.Result
	if err := json.Unmarshal(data, &kept); err != nil {
		p.t.Fatal(err)
	}
	if diff := cmp.Diff(plain(res), plain(kept), ignored()); diff != "" {
		p.t.Errorf("result on disk (-returned +kept):\n%s", diff)
	}
}

// plain writes a report without the blanks of its surroundings.
func plain(res sessions.Result) sessions.Result {
	var v any
	if json.Unmarshal(res.Report, &v) == nil {
		res.Report, _ = json.Marshal(v)
	}
	return res
}

// ignored are the differences that do not count between two results.
func ignored() cmp.Option {
	return cmp.Options{
		cmpopts.IgnoreUnexported(sessions.Result{}), cmpopts.EquateApproxTime(time.Microsecond), cmpopts.EquateEmpty(),
	}
}

// poll waits for a fact. It may be called from other goroutines than the test's.
func poll(t *testing.T, what string, done func() bool) {
	for deadline := time.Now().Add(patience); !done(); {
		if time.Now().After(deadline) {
			t.Errorf("%s: it did not happen within %v", what, patience)
			return
		}
		<-time.After(2 * time.Millisecond)
	}
}

// when calls a function once a file is there, while the session runs. The channel
// is closed when it has returned.
func (p *place) when(file string, do func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		poll(p.t, file, func() bool { return p.read(file) != "" })
		do()
	}()
	p.t.Cleanup(func() { <-done })
	return done
}

func gone(marker string) bool {
	return len(reap.Marked(reap.Marker{Name: launch.SessionVar, Value: marker})) == 0
}
