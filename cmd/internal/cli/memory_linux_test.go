//go:build !race

package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/ledger"
	"autopilot/probe/proctree"
)

const (
	bigAnswer   = 10 << 20
	answerLimit = 16 << 20 // bytes of an answer that are kept
	peakWanted  = 64 << 10 // KiB that a supervisor may have had in memory: the program itself, and an answer at its limit twice for a moment
)

// TestMemory runs sessions whose answers are lines of 10 MiB and reads from the
// kernel how much memory the supervisor had at its peak. The measure does not
// include the stand-in, which is a process of its own.
func TestMemory(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, script string
		want         bigResult
	}{
		{"one line", fmt.Sprintf("big %d", bigAnswer), bigResult{AnswerLen: 4}},
		{"five lines", strings.TrimSpace(strings.Repeat(fmt.Sprintf("big %d\n", bigAnswer), 5)), bigResult{AnswerLen: 4}},
		{"the result as well", fmt.Sprintf("big %d result", bigAnswer), bigResult{AnswerLen: bigAnswer}},
		{"a result beyond the limit", fmt.Sprintf("big %d result", 2*bigAnswer), bigResult{AnswerLen: answerLimit, AnswerCut: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			peak, rec, result := bigRun(t, tt.script)
			if rec.ExitCause != "max-sessions-reached" || len(rec.Endings) != 1 || rec.Endings[0].Ending != "completed" {
				t.Errorf("run ended by %s with %+v, want one completed session", rec.ExitCause, rec.Endings)
			}
			if diff := cmp.Diff(tt.want, result); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			t.Logf("peak %.1f MiB", float64(peak)/1024)
			if peak <= 0 || peak >= peakWanted {
				t.Errorf("the supervisor had %d KiB in memory, want less than %d", peak, peakWanted)
			}
		})
	}
}

type bigResult struct {
	AnswerLen int64 `json:"answer_bytes"`
	AnswerCut bool  `json:"answer_cut"` // the answer was longer and is not kept whole
}

// bigRun runs one session and returns the supervisor's peak in KiB, read when the
// session has printed everything and has not exited yet.
func bigRun(t *testing.T, script string) (peak int64, rec ledger.Run, result bigResult) {
	t.Helper()
	base, repo, env := scratch(t, "bare-tool 1ms\n"+script+"\nresult\nmark ../printed\nbash while [ ! -e ../go ]; do sleep 0.01; done\n")
	var out, log bytes.Buffer
	cmd := exec.Command("autopilot", "run", "fix the tests", "--max-sessions", "1", "--json", "--snapshot", "../green.json", "--allow-nested")
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = repo, env, &out, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	deadline := time.Now().Add(60 * time.Second)
	for {
		if _, err := os.Stat(filepath.Join(base, "printed")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			t.Fatalf("nothing was printed: %v\n%s", <-ended, &log)
		}
		time.Sleep(5 * time.Millisecond)
	}
	below, err := proctree.ChildrenOf(cmd.Process.Pid) // what was started only guards the supervisor
	if err != nil || len(below) != 1 {
		t.Fatalf("children of the guard = %v, %v, want the supervisor", below, err)
	}
	peak = peakOf(t, below[0])
	if err := os.WriteFile(filepath.Join(base, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatalf("run: %v\n%s", err, &log)
	}
	if err := json.Unmarshal(out.Bytes(), &rec); err != nil {
		t.Fatalf("record: %v\n%s", err, &out)
	}
	results, err := filepath.Glob(filepath.Join(base, ".local/state/autopilot/projects/*/runs/*/sessions/*/result.json"))
	if err != nil || len(results) != 1 {
		t.Fatalf("results = %v, %v, want one", results, err)
	}
	data, err := os.ReadFile(results[0])
	if err == nil {
		err = json.Unmarshal(data, &result)
	}
	if err != nil {
		t.Fatal(err)
	}
	return peak, rec, result
}

// peakOf is the largest resident size that a process has had, in KiB.
func peakOf(t *testing.T, pid int) int64 {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("the kernel does not tell VmHWM")
	return 0
}
