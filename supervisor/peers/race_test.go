package peers

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const helperEnv = "PEERS_TEST_HELPER"

// TestMain lets the test binary play the other processes.
func TestMain(m *testing.M) {
	switch os.Getenv(helperEnv) {
	case "":
		os.Exit(m.Run())
	case "race":
		helpRace(os.Args[1])
	case "churn":
		helpChurn(os.Args[1], os.Args[2])
	case "exit":
	}
}

// helpRace announces itself in each repository that stdin names, at the instant that a file appears
// there, and prints who has it.
func helpRace(id string) {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		repo := in.Text()
		fmt.Println("ready")
		for !exists(filepath.Join(repo, "go")) {
			time.Sleep(100 * time.Microsecond)
		}
		_, err := Announce(Self{SessionID: id, Mode: "deep", Repo: repo, LockWanted: true}, "", time.Now())
		held, isHeld := errors.AsType[*HeldError](err)
		switch {
		case err == nil:
			fmt.Println(id)
		case isHeld:
			fmt.Println(held.Peer.SessionID)
		default:
			fmt.Println(err)
		}
	}
}

// helpChurn takes, refreshes and gives back everything as fast as it can, until it is killed.
func helpChurn(repo, registry string) {
	for n := 0; ; n++ {
		p, err := Announce(Self{SessionID: "churn", Mode: "deep", Repo: repo, LockWanted: true, RegistryWanted: true}, registry, time.Now())
		if err == nil {
			err = errors.Join(p.Beat(time.Now()), p.Withdraw())
		}
		if err == nil {
			_, err = AppendDeviation(repo, time.Now(), "churn")
		}
		if err != nil && !strings.Contains(err.Error(), "256 KiB") {
			fmt.Println(err)
			return
		}
		if n == 0 {
			fmt.Println("at work")
		}
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T, role string, args ...string) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), helperEnv+"="+role)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &process{cmd: cmd, in: in, out: bufio.NewReader(out)}
}

func (p *process) line(t *testing.T) string {
	t.Helper()
	s, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("read from helper: %v", err)
	}
	return strings.TrimSuffix(s, "\n")
}

func TestOneOfManyProcessesGetsTheLock(t *testing.T) {
	t.Parallel()
	var all []*process
	for i := range 8 {
		all = append(all, start(t, "race", fmt.Sprintf("p%d", i)))
	}
	before := map[string]string{
		"none":  "",
		"dead":  lockText("dead", "deep", time.Now().Add(-5*time.Hour)),
		"ahead": lockText("dead", "deep", time.Now().AddDate(9, 0, 0)),
	}
	for round := range 10 {
		for name, text := range before {
			repo := t.TempDir()
			if text != "" {
				write(t, lockPath(repo), text)
				changed(t, lockPath(repo), time.Now().Add(-5*time.Hour))
			}
			for _, p := range all {
				if _, err := fmt.Fprintln(p.in, repo); err != nil {
					t.Fatal(err)
				}
			}
			for _, p := range all {
				p.line(t)
			}
			write(t, filepath.Join(repo, "go"), "")
			winners := map[string]int{}
			for _, p := range all {
				winners[p.line(t)]++
			}
			r, err := parseLock([]byte(read(t, lockPath(repo))))
			if err != nil || winners[r.sessionID] != len(all) {
				t.Errorf("%s, round %d: the lock is of %s (%v), but they say %v", name, round, r.sessionID, err, winners)
			}
			if got := names(t, filepath.Dir(lockPath(repo))); got != "session.lock" {
				t.Errorf("%s, round %d: files = %q", name, round, got)
			}
		}
	}
}

// A holder that wakes up while its lock is taken over either keeps it or is told; never do two
// have it.
func TestBeatWhileTakenOver(t *testing.T) {
	t.Parallel()
	for range 100 {
		repo, now := t.TempDir(), time.Now()
		old := announce(t, Self{SessionID: "old", Mode: "deep", Repo: repo, LockWanted: true}, "", now.Add(-5*time.Hour))
		var beat, took error
		var wg sync.WaitGroup
		wg.Go(func() { beat = old.Beat(now) })
		wg.Go(func() {
			_, took = Announce(Self{SessionID: "new", Mode: "deep", Repo: repo, LockWanted: true}, "", now)
		})
		wg.Wait()
		r, err := parseLock([]byte(read(t, lockPath(repo))))
		if err != nil || (beat == nil) == (took == nil) {
			t.Fatalf("heartbeat: %v, take over: %v, lock: %+v, %v", beat, took, r, err)
		}
		if want := map[bool]string{true: "old", false: "new"}[beat == nil]; r.sessionID != want {
			t.Fatalf("the lock is of %s, want %s", r.sessionID, want)
		}
	}
}

// Whatever the instant at which a process is killed, what it leaves is whole and blocks others no
// longer than a lock holds.
func TestKilledAtAnyInstant(t *testing.T) {
	t.Parallel()
	repo, dir := t.TempDir(), t.TempDir()
	write(t, filepath.Join(repo, stateName), "---\nstatus: idle\n---\n\n# State\n")
	for n := range 25 {
		p := start(t, "churn", repo, dir)
		if got := p.line(t); got != "at work" {
			t.Fatalf("helper says %q", got)
		}
		time.Sleep(time.Duration(n*317) * time.Microsecond) // no matter where in its work that is
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.cmd.Wait()

		now := time.Now()
		data, err := os.ReadFile(lockPath(repo))
		if err == nil {
			if r, perr := parseLock(data); perr != nil || r.sessionID != "churn" || !r.alive(now, now) {
				t.Fatalf("lock left: %v, %s", perr, data)
			}
		}
		if data, err := os.ReadFile(filepath.Join(dir, "churn.json")); err == nil {
			if _, err := parseEntry(data); err != nil {
				t.Fatalf("entry left: %v, %s", err, data)
			}
		}
		if ok, err := AppendDeviation(repo, now, "next"); !ok || err != nil {
			t.Fatalf("after a writer of STATE.md was killed: %v, %v", ok, err)
		}
		later := now.Add(5 * time.Hour)
		next, err := Announce(Self{SessionID: "next", Repo: repo, LockWanted: true}, "", later)
		if err != nil {
			t.Fatal(err)
		}
		if err := next.Withdraw(); err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(names(t, filepath.Dir(lockPath(repo))), ".state.lock.autopilot", ""); strings.Contains(got, "session.lock") {
			t.Fatalf("files = %q", got)
		}
	}
}
