package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestQueueKilled kills a run through a queue of three increments at random moments, with
// a test gate and a webhook that nobody answers, until what is left of it is done by the
// runs that follow: each increment is completed, each task is done once, nothing is lost
// of what is to be told.
func TestQueueKilled(t *testing.T) {
	t.Parallel()
	// A session does the first open task of the increment in progress, and writes down that
	// it did.
	const work = "bash f=$(grep -l '\"active\"' .specweave/increments/*/metadata.json | head -1) && d=$(dirname $f) && n=$(grep -n '\\[ \\]' $d/tasks.md | head -1 | cut -d: -f1) && " +
		"sed -i \"${n}s/\\[ \\]/[x]/\" $d/tasks.md && echo \"$d $n\" >> ../did\nresult\n"
	base, repo, env := scratch(t, work)
	env = append(env, "AUTOPILOT_TEST_COMMAND=echo fine", "AUTOPILOT_SYNC=webhook:http://127.0.0.1:9/hook", "AUTOPILOT_MAX_SESSIONS=30")
	names := []string{"0001-a", "0002-b", "0003-c"}
	tasks := ""
	for i := range 8 {
		tasks += fmt.Sprintf("- [ ] [T%03d] Task %d\n", i+1, i+1)
	}
	for _, n := range names {
		dir := filepath.Join(repo, ".specweave", "increments", n)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{"metadata.json": fmt.Sprintf(`{"id": %q, "status": "backlog"}`, n), "tasks.md": tasks} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command("autopilot", args...)
		cmd.Dir, cmd.Env = repo, env
		return cmd
	}
	if out, err := command("queue", "add", "0001-a", "0002-b", "0003-c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	kills, over := 0, false
	for end := time.Now().Add(2 * time.Minute); !over && time.Now().Before(end); {
		var out bytes.Buffer
		cmd := command("run", "--source", "queue", "--snapshot", "../green.json", "--allow-nested")
		cmd.Stdout, cmd.Stderr = &out, &out
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if kills < 25 {
			time.Sleep(time.Duration(20+rand.IntN(300)) * time.Millisecond) // the random moment is the point
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)             // the guard and the supervisor
			kills++
		}
		err := cmd.Wait()
		exit, failed := errors.AsType[*exec.ExitError](err)
		switch {
		case err == nil:
			over = true
		case failed && !exit.Exited(): // killed
		case failed && exit.ExitCode() == 2 && strings.Contains(out.String(), "the queue is empty"):
			over = true
		default:
			t.Logf("a run ended with %v:\n%s", err, out.String())
		}
	}
	if !over {
		t.Fatal("the queue is not done")
	}
	checkQueue(t, command("queue", "list", "--json"), names)
	did, err := os.ReadFile(filepath.Join(base, "did"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(did)), "\n") // a kill may come before a line is written
	slices.Sort(lines)
	if once := slices.Compact(slices.Clone(lines)); len(once) != len(lines) || len(once) > 3*8 {
		t.Errorf("a task was done twice:\n%s", did)
	}
	for _, n := range names {
		data, err := os.ReadFile(filepath.Join(repo, ".specweave", "increments", n, "metadata.json"))
		if err != nil || !strings.Contains(string(data), `"status": "completed"`) {
			t.Errorf("%s: %s, %v", n, data, err)
		}
	}
	var st struct {
		Pending []struct {
			Update struct{ Subject string }
		}
	}
	out, err := command("sync", "status", "--json").Output()
	if err != nil || json.Unmarshal(out, &st) != nil {
		t.Fatalf("%v: %s", err, out)
	}
	told := map[string]bool{}
	for _, p := range st.Pending {
		told[p.Update.Subject] = true
	}
	for _, n := range names {
		if !told["item/"+n] {
			t.Errorf("nobody will be told of %s: %v", n, told)
		}
	}
	t.Logf("%d kills", kills)
}

func checkQueue(t *testing.T, list *exec.Cmd, names []string) {
	t.Helper()
	var q struct {
		Items []struct{ ID, Status string }
	}
	out, err := list.Output()
	if err != nil || json.Unmarshal(out, &q) != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if len(q.Items) != len(names) {
		t.Fatalf("the queue has %d items, want %d", len(q.Items), len(names))
	}
	for i, it := range q.Items {
		if it.ID != names[i] || it.Status != "done" {
			t.Errorf("%s is %s, want %s done", it.ID, it.Status, names[i])
		}
	}
}
