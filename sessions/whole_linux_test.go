package sessions_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"autopilot/metrics/testprogram"
	"autopilot/sessions"
	"autopilot/sessions/outcome"
	"autopilot/sessions/reap"
)

// The tests of this file are not parallel: they count what this process has, or
// change its environment, or adopt orphans.

// wrapGit puts a git into PATH that notes each call in a file and does not answer
// while another file is there. It returns the two.
func wrapGit(t *testing.T) (calls, hang string) {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	calls, hang = filepath.Join(dir, "calls"), filepath.Join(dir, "hang")
	script := fmt.Sprintf("#!/bin/sh\necho $1 >> %s\nwhile [ -e %s ]; do sleep 0.02; done\nexec %s \"$@\"\n", calls, hang, git)
	testprogram.Write(t, filepath.Join(dir, "git"), []byte(script))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return calls, hang
}

// TestGitIsAskedSeldom: in a large repository each question takes seconds.
func TestGitIsAskedSeldom(t *testing.T) {
	tests := []struct {
		name, script string
		follows      bool // another session that ended a moment ago
		want         string
		ending       outcome.Ending
	}{
		{"no tool was used", "say nothing", false, "status", outcome.NoWork},
		{"no tool, and the state before is known", "say nothing", true, "", outcome.NoWork},
		{"a tool that changes nothing", "bash true", false, "status status", outcome.Completed},
		{"a file is written", "write a.txt x", false, "status status", outcome.Completed},
		{"something is committed", "write a.txt x\nbash $GIT add a.txt && $GIT -c user.name=a -c user.email=a@b commit -q -m x", false, "status status diff rev-list", outcome.Completed},
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t, strings.ReplaceAll(tt.script, "$GIT", git)+"\nresult\nlinger 200ms")
			if tt.follows {
				first := p.run(t.Context())
				p.spec.Previous = &first
				p.spec.ID, p.spec.Folder = sessions.ID(uuid.NewString()), p.path("state/second")
			}
			calls, _ := wrapGit(t)
			res := p.run(t.Context())
			data, err := os.ReadFile(calls)
			if err != nil && tt.want != "" {
				t.Fatal(err)
			}
			if got := strings.Join(strings.Fields(string(data)), " "); got != tt.want || res.Ending != tt.ending || !res.Measured {
				t.Errorf("git was asked for %q, want %q; got %s (%s), measured %v", got, tt.want, res.Ending, res.Cause, res.Measured)
			}
		})
	}
}

// TestKillWhileGitHangs: at once means at once.
func TestKillWhileGitHangs(t *testing.T) {
	p := newPlace(t, "write a.txt x\nmark $D/marks\nhang")
	_, hang := wrapGit(t)
	kill, killNow := context.WithCancel(t.Context())
	p.spec.Kill = kill
	late := time.AfterFunc(patience/3, func() {
		t.Errorf("the session is not over %v after the kill", patience/3)
		_ = os.Remove(hang)
	})
	defer late.Stop()
	p.when("marks", func() {
		if err := os.WriteFile(hang, nil, 0o600); err != nil {
			t.Error(err)
		}
		killNow()
	})
	res := p.run(t.Context())
	_ = os.Remove(hang)
	if res.Ending != outcome.Cancelled {
		t.Errorf("got %s (%s), want cancelled", res.Ending, res.Cause)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestNothingLeaks(t *testing.T) {
	scripts := []string{"write a.txt x", "write a.txt x\nhold sleep 300\nleave sleep 300", "crash", "retry 401 authentication_failed 1\nhang", "refuse no"}
	once := func(i int) {
		p := newPlace(t, scripts[i%len(scripts)])
		p.run(t.Context())
	}
	for i := range scripts {
		once(i)
	}
	files, routines := openFiles(t), runtime.NumGoroutine()
	for i := range 20 {
		once(i)
	}
	poll(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= routines })
	if got := openFiles(t); got > files {
		t.Errorf("%d files are open after 20 sessions, %d before", got, files)
	}
}

// TestSweeperThatAdopts ends also what has lost its environment.
func TestSweeperThatAdopts(t *testing.T) {
	p := newPlace(t, "write a.txt x\nleave exec env -i sleep 300.5\nleave exec sleep 300.5\nbash (setsid env -i sleep 300.5 >/dev/null 2>&1 &)\nresult")
	p.spec.Sweeper = reap.NewSweeper()
	res := p.run(t.Context())
	if res.Ending != outcome.Completed || res.Swept != 3 || len(res.Left) != 0 {
		t.Errorf("got %s (%s), %d swept and %v left; want three and none", res.Ending, res.Cause, res.Swept, res.Left)
	}
}
