package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"autopilot/metrics/ledger"
	"autopilot/probe/proctree"
)

const (
	chaosVar     = "CHAOS_TEST"
	defaultKills = 200
	longestLife  = 300 * time.Millisecond
)

// TestChaos kills the supervisor at random moments, again and again in one
// repository, each next start cleaning up after the one before, and then counts:
// nothing that was acknowledged may be lost, nothing may be there twice, nothing
// torn, and no process left.
func TestChaos(t *testing.T) {
	t.Parallel()
	kills := defaultKills
	if n, err := strconv.Atoi(os.Getenv("AUTOPILOT_CHAOS")); err == nil {
		kills = n
	}
	c := newChaos(t)
	c.measure()
	for i := range kills {
		c.runAndKill(i)
	}
	c.finish()
	c.checkSessions()
	c.checkRuns(kills)
	c.checkProcesses()
}

type chaos struct {
	t        *testing.T
	repo     string
	env      []string
	token    string
	life     time.Duration     // longest life of a supervisor: time for some sessions
	acked    map[string]string // ending by session, as the log acknowledged it
	sessions map[string]ledger.Session
	runs     map[string]ledger.Run
}

func newChaos(t *testing.T) *chaos {
	t.Helper()
	base := t.TempDir()
	c := &chaos{t: t, repo: filepath.Join(base, "repo"), token: uuid.NewString(), acked: map[string]string{}}
	if err := os.MkdirAll(c.repo, 0o755); err != nil {
		t.Fatal(err)
	}
	script := "mark ../marks\nleave sleep 600\nwrite a.txt x\\nresult\n"
	for name, text := range map[string]string{"standin": script, "green.json": greenMachine} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + base, "STANDIN_SCRIPT=" + filepath.Join(base, "standin"), chaosVar + "=" + c.token, "TMPDIR=" + os.TempDir(), "GORACE=atexit_sleep_ms=0"}
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=c", "-c", "user.email=c@example.org", "commit", "-q", "--allow-empty", "-m", "start"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = c.repo, c.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git: %v\n%s", err, out)
		}
	}
	return c
}

func (c *chaos) command(args ...string) *exec.Cmd {
	cmd := exec.Command("autopilot", args...)
	cmd.Dir, cmd.Env = c.repo, c.env
	return cmd
}

// measure lets one run end by itself, so that a slow machine or build gives each
// later one time to get somewhere.
func (c *chaos) measure() {
	c.t.Helper()
	start := time.Now()
	cmd := c.command("run", "fix the tests", "--max-sessions", "1", "--snapshot", "../green.json", "--allow-nested")
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("%v\n%s", err, out)
	}
	c.life = min(max(longestLife, 3*time.Since(start)/2), 2*longestLife)
}

// runAndKill starts a run and kills it after a random while.
func (c *chaos) runAndKill(i int) {
	c.t.Helper()
	var stderr bytes.Buffer
	cmd := c.command("run", "fix the tests", "--mode", "continuous", "--max-sessions", "1000", "--reflect-every", "0", "--snapshot", "../green.json", "--log-format", "json", "--allow-nested")
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	time.Sleep(rand.N(c.life)) // the random moment is the point
	c.kill(i, cmd.Process.Pid)
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		case <-time.After(time.Second):
			// What was killed was a child of the guard that was about to become git,
			// and the supervisor came after it.
			c.kill(i, cmd.Process.Pid)
		}
	}
	// A git that was killed before it had begun to be git ends the command by itself,
	// before anything is started.
	gitKilled := strings.Contains(stderr.String(), "git rev-parse: signal: killed")
	if code := cmd.ProcessState.ExitCode(); code != -1 && code != 128+int(syscall.SIGKILL) && !gitKilled {
		c.t.Fatalf("run %d ended by itself with %d:\n%s", i, code, stderr.String())
	}
	sc := bufio.NewScanner(&stderr)
	for sc.Scan() {
		var line struct {
			Msg, Ending string
			ID          string `json:"session_id"`
		}
		if json.Unmarshal(sc.Bytes(), &line) == nil && line.Msg == "session ended" {
			c.acked[line.ID] = line.Ending
		}
	}
}

// kill kills the supervisor; every fifth time the guard alone, which makes the
// supervisor end, and every fifth time both.
func (c *chaos) kill(i, guard int) {
	table, err := proctree.Take(proctree.Root)
	if err != nil {
		c.t.Fatal(err)
	}
	if i%5 == 3 || i%5 == 4 {
		_ = syscall.Kill(guard, syscall.SIGKILL)
	}
	if i%5 == 3 {
		return
	}
	killed := false
	for _, p := range table.Children(guard) {
		if p.Comm == "autopilot" && !p.Dead() {
			killed = syscall.Kill(p.PID, syscall.SIGKILL) == nil
		}
	}
	if !killed { // there was no supervisor yet, at most the guard's git
		_ = syscall.Kill(guard, syscall.SIGKILL)
	}
}

// finish lets the last run be recovered and loads the ledgers.
func (c *chaos) finish() {
	c.t.Helper()
	if out, err := c.command("status").CombinedOutput(); err != nil {
		c.t.Fatalf("status: %v\n%s", err, out)
	}
	c.sessions, c.runs = map[string]ledger.Session{}, map[string]ledger.Run{}
	each(c.t, filepath.Join(c.repo, ".orchestrator/metrics", ledger.SessionsFile), func(line []byte) {
		var s ledger.Session
		if err := json.Unmarshal(line, &s); err != nil {
			c.t.Fatalf("torn session record: %v: %q", err, line)
		}
		if p := ledger.Problems(line); len(p) > 0 {
			c.t.Errorf("session record: %v", p)
		}
		if _, twice := c.sessions[s.SessionID]; twice {
			c.t.Errorf("session %s is recorded twice", s.SessionID)
		}
		c.sessions[s.SessionID] = s
	})
	each(c.t, filepath.Join(c.repo, ".orchestrator/metrics", ledger.RunsFile), func(line []byte) {
		var r ledger.Run
		if err := json.Unmarshal(line, &r); err != nil {
			c.t.Fatalf("torn run record: %v: %q", err, line)
		}
		if _, twice := c.runs[r.AutopilotRunID]; twice {
			c.t.Errorf("run %s is recorded twice", r.AutopilotRunID)
		}
		c.runs[r.AutopilotRunID] = r
	})
}

func each(t *testing.T, name string, f func([]byte)) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		t.Errorf("%s ends in the middle of a line", name)
	}
	for line := range bytes.Lines(data) {
		if len(bytes.TrimSpace(line)) > 0 {
			f(line)
		}
	}
}

// checkSessions compares the ledger with what was acknowledged and with what the
// stand-in itself noted down when it started.
func (c *chaos) checkSessions() {
	c.t.Helper()
	for id, ending := range c.acked {
		if s, ok := c.sessions[id]; !ok || s.Ending != ending {
			c.t.Errorf("session %s was acknowledged as %s, the ledger says %q", id, ending, s.Ending)
		}
	}
	marks, err := os.ReadFile(filepath.Join(c.repo, "..", "marks"))
	if err != nil {
		c.t.Fatal(err)
	}
	started := map[string]bool{}
	for id := range strings.FieldsSeq(string(marks)) {
		if started[id] {
			c.t.Errorf("session %s ran twice", id)
		}
		started[id] = true
		if _, ok := c.sessions[id]; !ok {
			c.t.Errorf("session %s ran and is not recorded", id)
		}
	}
	for id, s := range c.sessions {
		if s.Ending == "completed" && !started[id] {
			c.t.Errorf("session %s is recorded as completed and never ran", id)
		}
	}
	c.t.Logf("%d sessions ran, %d recorded, %d acknowledged before a kill", len(started), len(c.sessions), len(c.acked))
}

// checkRuns compares the run records with the runs that got as far as naming a
// session, and their numbers with the session records.
func (c *chaos) checkRuns(kills int) {
	c.t.Helper()
	states, err := filepath.Glob(filepath.Join(c.repo, "..", ".local/state/autopilot/projects/*/runs/*/state.json"))
	if err != nil {
		c.t.Fatal(err)
	}
	if len(states) != len(c.runs) {
		c.t.Errorf("%d runs were begun, %d are recorded", len(states), len(c.runs))
	}
	of := map[string]string{}
	for id, r := range c.runs {
		completed := 0
		for _, s := range r.Sessions {
			if other, twice := of[s]; twice {
				c.t.Errorf("session %s belongs to runs %s and %s", s, other, id)
			}
			of[s] = id
			if c.sessions[s].Ending == "completed" {
				completed++
			}
			if c.sessions[s].AutopilotRunID != id {
				c.t.Errorf("session %s of run %s names run %q", s, id, c.sessions[s].AutopilotRunID)
			}
		}
		if completed != r.IterationsCompleted {
			c.t.Errorf("run %s counts %d iterations, its sessions say %d", id, r.IterationsCompleted, completed)
		}
	}
	if len(of) != len(c.sessions) {
		c.t.Errorf("%d sessions are recorded, the runs name %d", len(c.sessions), len(of))
	}
	if len(c.runs) == 0 {
		c.t.Errorf("no run was recorded after %d kills", kills)
	}
	open, err := filepath.Glob(filepath.Join(c.repo, "..", ".local/state/autopilot/projects/*/open/*"))
	if err != nil || len(open) != 0 {
		c.t.Errorf("runs left open: %v (%v)", open, err)
	}
}

// checkProcesses wants that nothing of any run lives.
func (c *chaos) checkProcesses() {
	c.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		pids, err := proctree.WithEnv(chaosVar, c.token)
		if err != nil {
			c.t.Fatal(err)
		}
		alive := 0
		for _, pid := range pids {
			if p, err := proctree.Read(proctree.Root, pid); err == nil && !p.Dead() {
				alive++
			}
		}
		if alive == 0 {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%d processes are left: %v", alive, pids)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
