package reap_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/probe/proctree"
	"autopilot/sessions/reap"
)

const (
	partVar   = "REAP_TEST_PART"
	scriptVar = "REAP_TEST_SCRIPT"
	markVar   = "REAP_TEST_MARK"
	patience  = 30 * time.Second
)

// TestMain lets copies of the test binary be supervisors, which adopt orphans and
// sweep up after sessions: in this process that would hit other tests' children.
func TestMain(m *testing.M) {
	part, arg, _ := strings.Cut(os.Getenv(partVar), " ")
	switch part {
	case "":
		os.Exit(m.Run())
	case "sweep":
		os.Exit(sweepOne())
	case "leave":
		os.Exit(leaveOne())
	case "note":
		os.Exit(noteSignals(arg))
	case "marked":
		os.Exit(printMarked())
	case "guard":
		os.Exit(guardOne(arg))
	}
	fmt.Fprintln(os.Stderr, "unknown part", part)
	os.Exit(99)
}

// self is a command that runs a copy of the test binary in a part.
func self(part string, env ...string) *exec.Cmd {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), append(env, partVar+"="+part)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// session is a command that runs a script as a session's main process.
func session(script, mark string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", script)
	cmd.Env = append(os.Environ(), partVar+"=", markVar+"="+mark)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// swept is what a supervisor says about a sweep.
type swept struct {
	Ended, Again int
	Left         []int
	Ours, Kept   bool // still alive
	Others       int  // children that it should not have, zombies among them
}

// sweepOne is a supervisor with two children of its own that runs a session and
// sweeps up after it, twice.
func sweepOne() int {
	ours, kept := exec.Command("sleep", "300"), exec.Command("sleep", "300")
	kept.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	for _, cmd := range []*exec.Cmd{ours, kept} {
		if err := cmd.Start(); err != nil {
			return 1
		}
		defer func() { _ = cmd.Process.Kill() }()
	}
	s := reap.NewSweeper(kept.Process.Pid)
	if err := session(os.Getenv(scriptVar), os.Getenv(markVar)).Run(); err != nil {
		fmt.Fprintln(os.Stderr, "session:", err)
		return 1
	}
	m := reap.Marker{Name: markVar, Value: os.Getenv(markVar)}
	v := swept{}
	v.Ended, v.Left = s.Sweep(m, patience)
	v.Again, _ = s.Sweep(m, patience)
	kids, err := proctree.ChildrenOf(os.Getpid())
	if err != nil {
		return 1
	}
	for _, pid := range kids {
		p, err := proctree.Read(proctree.Root, pid)
		switch {
		case err != nil:
		case pid == ours.Process.Pid:
			v.Ours = !p.Dead()
		case pid == kept.Process.Pid:
			v.Kept = !p.Dead()
		default:
			v.Others++
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(v); err != nil {
		return 1
	}
	return 0
}

// newMark is a value that no other test has, also when the tests run twice at a
// time.
func newMark(t *testing.T) string {
	t.Helper()
	return t.TempDir()
}

func poll(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); {
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen within %v", patience)
		}
		<-time.After(2 * time.Millisecond)
	}
}

// gone reports whether a process has ended; whoever has to collect it may not
// have done so.
func gone(pid int) bool {
	p, err := proctree.Read(proctree.Root, pid)
	return err != nil || p.Dead()
}

// pidsIn waits for so many process ids in a file.
func pidsIn(t *testing.T, file string, n int) []int {
	t.Helper()
	var pids []int
	poll(t, func() bool {
		data, err := os.ReadFile(file)
		if err != nil {
			return n == 0
		}
		pids = nil
		for _, word := range strings.Fields(string(data)) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				return false
			}
			pids = append(pids, pid)
		}
		return len(pids) >= n
	})
	t.Cleanup(func() {
		for _, pid := range pids {
			if proctree.HasEnv(pid, "REAP_TEST_FILE", file) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	return pids
}

func TestSweep(t *testing.T) {
	t.Parallel()
	const stay = `sh -c 'echo $$ >> $P; exec sleep 300'`
	tests := []struct {
		name, script string
		left         int // processes that the session leaves behind
	}{
		{"nothing", "true", 0},
		{"background", stay + ` &`, 1},
		{"nohup", `nohup ` + stay + ` >/dev/null 2>&1 &`, 1},
		{"own session", `setsid ` + stay + ` &`, 1},
		{"daemon", `(setsid sh -c '` + `(sh -c "echo \$\$ >> $P; exec sleep 300" &) &` + `' &)`, 1},
		{"cleared environment", `env -i P="$P" setsid ` + stay + ` &`, 1},
		{"cleared environment, forked twice", `(env -i P="$P" setsid sh -c '(sh -c "echo \$\$ >> \$P; exec sleep 300" &)' &)`, 1},
		{"ignores signals", `sh -c 'trap "" INT TERM HUP QUIT; echo $$ >> $P; exec sleep 300' &`, 1},
		{"stopped", `setsid sh -c 'echo $$ >> $P; kill -STOP $$' &`, 1},
		{"a tree", `setsid sh -c 'echo $$ >> $P; sh -c "echo \$\$ >> $P; exec sleep 300" & setsid sh -c "echo \$\$ >> $P; exec sleep 300" & wait' &`, 3},
		{"many", `for i in 1 2 3 4 5 6 7 8; do setsid ` + stay + ` & ` + stay + ` & done`, 16},
		{"ended already", `setsid sh -c 'echo $$ >> $P' &
			while [ ! -s $P ] || [ -e /proc/$(cat $P) ] && ! grep -q ") Z" /proc/$(cat $P)/stat; do sleep 0.01; done`, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pids")
			notes := strings.Count(tt.script, ">> $P") + strings.Count(tt.script, `>> \$P`)
			if tt.name == "many" {
				notes = 16
			}
			wait := fmt.Sprintf("\nwhile [ \"$(cat $P 2>/dev/null | wc -l)\" -lt %d ]; do sleep 0.01; done\nsleep 0.1", notes)
			cmd := self("sweep", scriptVar+"=P="+file+"\nexport P\n"+tt.script+wait, markVar+"="+newMark(t), "REAP_TEST_FILE="+file)
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			var got swept
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(swept{Ended: tt.left, Ours: true, Kept: true}, got); diff != "" {
				t.Errorf("sweep (-want +got):\n%s", diff)
			}
			for _, pid := range pidsIn(t, file, notes) {
				if !gone(pid) {
					t.Errorf("process %d of the session is alive", pid)
				}
			}
		})
	}
}

// TestSweepOfWhatForks is a process that starts others as fast as it can, for a
// second, in sessions of their own and without an environment; and one that is
// another process each time one looks.
func TestSweepOfWhatForks(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"many": `setsid sh -c 'while [ ! -e $D/enough ]; do env -i setsid sleep 300.123 & : > $D/begun; done' &`,
		"one after the other": `echo 'D=$1; : > $D/begun; [ -e $D/enough ] || exec env -i PATH="$PATH" setsid --fork sh $D/hop $D' > $D/hop
			setsid --fork sh $D/hop $D`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			script = "D=" + dir + "\nexport D\n" + script + "\nwhile [ ! -e $D/begun ]; do sleep 0.01; done"
			timer := time.AfterFunc(time.Second, func() { _ = os.WriteFile(filepath.Join(dir, "enough"), nil, 0o600) })
			defer timer.Stop()
			out, err := self("sweep", scriptVar+"="+script, markVar+"="+newMark(t)).Output()
			if err != nil {
				t.Fatal(err)
			}
			var got swept
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			if got.Left != nil || got.Again != 0 || got.Others != 0 || !got.Ours || !got.Kept {
				t.Errorf("got %+v, want everything ended but the supervisor's own", got)
			}
		})
	}
}

// leaveOne is a supervisor that starts a session and waits to be killed.
func leaveOne() int {
	cmd := session(os.Getenv(scriptVar), os.Getenv(markVar))
	if err := cmd.Start(); err != nil {
		return 1
	}
	fmt.Println(cmd.Process.Pid)
	<-time.After(10 * patience)
	return 1
}

// abandoned runs a script as a session whose supervisor is killed once the
// script has noted so many process ids. It returns them.
func abandoned(t *testing.T, mark, script string, n int) []int {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pids")
	cmd := self("leave", scriptVar+"=P="+file+"\nexport P\n"+script, markVar+"="+mark, "REAP_TEST_FILE="+file)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	pids := pidsIn(t, file, n)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	return pids
}

// noteSignals notes interrupts in a file. It ends soon after the first one,
// unless it is told to stay.
func noteSignals(arg string) int {
	file, stays := strings.CutSuffix(arg, " stay")
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	note := func(name, word string) {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, _ = f.WriteString(word + "\n")
			_ = f.Close()
		}
	}
	note(os.Getenv("P"), strconv.Itoa(os.Getpid()))
	for sig := range signals {
		note(file, sig.String())
		if !stays {
			<-time.After(200 * time.Millisecond) // what the CLI needs to end its tools
			note(file, "done")
			return 0
		}
	}
	return 1
}

// named links the test binary under another name, which is what the process is
// called.
func named(t *testing.T, name string) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), name)
	if err := os.Link(path, link); err != nil {
		data, rerr := os.ReadFile(path)
		if rerr != nil {
			t.Fatal(rerr)
		}
		if err := os.WriteFile(link, data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return link
}

func TestEndMarked(t *testing.T) {
	t.Parallel()
	mark := newMark(t)
	note := filepath.Join(t.TempDir(), "note")
	// The main process, a tool that ignores interrupts, one that lost its
	// environment, and a descendant of a process that has lost its parent.
	script := partVar + `="note ` + note + `" ` + named(t, "claude") + ` &
		setsid sh -c 'trap "" INT; echo $$ >> $P; while :; do sleep 1; done' &
		setsid sh -c 'echo $$ >> $P; env -i P="$P" sh -c "echo \$\$ >> \$P; exec sleep 300"' &
		wait`
	pids := abandoned(t, mark, script, 4)
	others := bystanders(t, mark)
	ended, left := reap.EndMarked(reap.Marker{Name: markVar, Value: mark}, patience, patience)
	if ended < len(pids) || left != nil {
		t.Errorf("%d ended and %v are left, want %d or more and none", ended, left, len(pids))
	}
	for _, pid := range pids {
		if !gone(pid) {
			t.Errorf("process %d of %v is alive", pid, pids)
		}
	}
	if got, err := os.ReadFile(note); string(got) != "interrupt\ndone\n" {
		t.Errorf("the main process noted %q (%v), want an interrupt, and time to end", got, err)
	}
	for what, pid := range others {
		if gone(pid) {
			t.Errorf("%s was ended", what)
		}
	}
	if ended, left := reap.EndMarked(reap.Marker{Name: markVar, Value: mark}, patience, patience); ended != 0 || left != nil {
		t.Errorf("again: %d ended and %v are left, want none", ended, left)
	}
}

// bystanders are processes that look a little like those of a session.
func bystanders(t *testing.T, mark string) map[string]int {
	t.Helper()
	pids := map[string]int{}
	for what, env := range map[string][]string{
		"a process without a marker":                {},
		"a process of another session":              {markVar + "=other"},
		"a process of a session with a longer name": {markVar + "=" + mark + "2"},
		"a process of a session with a shorter one": {markVar + "=" + mark[:len(mark)-1]},
		"a process with another variable":           {"X" + markVar + "=" + mark, markVar + "X=" + mark},
		"a process with the marker inside a value":  {"X=1 " + markVar + "=" + mark},
	} {
		cmd := exec.Command("sleep", "300")
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		pids[what] = cmd.Process.Pid
	}
	args := exec.Command("sh", "-c", "sleep 300; :", markVar+"="+mark)
	args.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := args.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-args.Process.Pid, syscall.SIGKILL)
		_ = args.Wait()
	})
	pids["a process with the marker in its arguments"] = args.Process.Pid
	return pids
}

// TestEndMarkedThatStays is a main process that does not end on an interrupt.
func TestEndMarkedThatStays(t *testing.T) {
	t.Parallel()
	note, mark := filepath.Join(t.TempDir(), "note"), newMark(t)
	pids := abandoned(t, mark, partVar+`="note `+note+` stay" `+named(t, "claude")+` & wait`, 1)
	ended, left := reap.EndMarked(reap.Marker{Name: markVar, Value: mark}, 100*time.Millisecond, patience)
	if ended == 0 || left != nil || !gone(pids[0]) {
		t.Errorf("%d ended, %v are left, it is gone: %v", ended, left, gone(pids[0]))
	}
	if got, err := os.ReadFile(note); string(got) != "interrupt\n" {
		t.Errorf("it noted %q (%v), want one interrupt", got, err)
	}
}

// guardOne starts a supervisor that starts a session, and ends everything when
// the supervisor is gone.
func guardOne(file string) int {
	s := reap.NewSweeper()
	supervisor := exec.Command("sh", "-c", os.Getenv(scriptVar)+"\nwait")
	supervisor.Env = append(os.Environ(), partVar+"=")
	if err := supervisor.Start(); err != nil {
		return 1
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(5 * time.Millisecond) {
		if data, err := os.ReadFile(file); err == nil && len(strings.Fields(string(data))) == 3 {
			break
		}
	}
	_ = supervisor.Process.Kill()
	_ = supervisor.Wait()
	v := swept{}
	v.Ended, v.Left = s.EndAll(reap.Marker{Name: markVar, Value: os.Getenv(markVar)}, patience, patience)
	v.Again, _ = s.EndAll(reap.Marker{Name: markVar, Value: os.Getenv(markVar)}, patience, patience)
	kids, err := proctree.ChildrenOf(os.Getpid())
	if err != nil {
		return 1
	}
	v.Others = len(kids)
	if err := json.NewEncoder(os.Stdout).Encode(v); err != nil {
		return 1
	}
	return 0
}

// TestEndAll is a guard whose supervisor was killed: it finds also what has
// neither a marker nor a parent of the run.
func TestEndAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, note := filepath.Join(dir, "pids"), filepath.Join(dir, "note")
	script := "P=" + file + "\nexport P\n" + partVar + `="note ` + note + `" setsid ` + named(t, "claude") + ` &
		(env -i P="$P" setsid sh -c 'echo $$ >> $P; exec sleep 300' &)
		(env -i P="$P" setsid sh -c 'trap "" INT TERM; echo $$ >> $P; while :; do sleep 1; done' &)`
	other := newMark(t)
	outside := abandoned(t, other, `setsid sh -c 'echo $$ >> $P; exec sleep 300' & wait`, 1)
	out, err := self("guard "+file, scriptVar+"="+script, markVar+"="+newMark(t), "REAP_TEST_FILE="+file).Output()
	if err != nil {
		t.Fatal(err)
	}
	var got swept
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if got.Ended < 3 || got.Left != nil || got.Again != 0 || got.Others != 0 {
		t.Errorf("got %+v, want three ended or more and nothing left", got)
	}
	for _, pid := range pidsIn(t, file, 3) {
		if !gone(pid) {
			t.Errorf("process %d is alive", pid)
		}
	}
	if said, err := os.ReadFile(note); string(said) != "interrupt\ndone\n" {
		t.Errorf("the main process noted %q (%v), want an interrupt, and time to end", said, err)
	}
	if gone(outside[0]) {
		t.Error("a process of another run was ended")
	}
	reap.EndMarked(reap.Marker{Name: markVar, Value: other}, 0, patience)
}

// TestSweepByMarker is how it is done where orphans are not adopted.
func TestSweepByMarker(t *testing.T) {
	t.Parallel()
	mark := newMark(t)
	pids := abandoned(t, mark, `setsid sh -c 'echo $$ >> $P; env -i P="$P" sh -c "echo \$\$ >> \$P; exec sleep 300"; :' & echo $$ >> $P; wait`, 3)
	others := bystanders(t, mark)
	ended, left := new(reap.Sweeper).Sweep(reap.Marker{Name: markVar, Value: mark}, patience)
	if ended != 3 || left != nil {
		t.Errorf("%d ended and %v are left, want 3 and none", ended, left)
	}
	for _, pid := range pids {
		if !gone(pid) {
			t.Errorf("process %d is alive", pid)
		}
	}
	for what, pid := range others {
		if gone(pid) {
			t.Errorf("%s was ended", what)
		}
	}
}

func printMarked() int {
	cmd := exec.Command("sleep", "300")
	if err := cmd.Start(); err != nil {
		return 1
	}
	defer func() { _ = cmd.Process.Kill() }()
	fmt.Println(slices.Equal(reap.Marked(reap.Marker{Name: markVar, Value: os.Getenv(markVar)}), []int{cmd.Process.Pid}))
	return 0
}

// TestMarkedLeavesUsOut is a supervisor that was started with the marker in its
// own environment.
func TestMarkedLeavesUsOut(t *testing.T) {
	t.Parallel()
	out, err := self("marked", markVar+"="+newMark(t)).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(out); got != "true\n" {
		t.Errorf("got %q, want only the child to be marked", got)
	}
	if err := syscall.Kill(1<<30, 0); !errors.Is(err, syscall.ESRCH) {
		t.Fatalf("signal to nobody: %v", err)
	}
	if got := reap.Marked(reap.Marker{Name: markVar, Value: "nobody has this"}); len(got) != 0 {
		t.Errorf("got %v, want nobody", got)
	}
}
