package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/probe/proctree"
	"autopilot/sessions/guard"
	"autopilot/sessions/launch"
	"autopilot/supervisor"
	"autopilot/supervisor/story"
)

// storyTest is a repository with stories for a cohort, and everything that runs for it.
type storyTest struct {
	t          *testing.T
	base, repo string
	env        []string
	token      string // in the environment of every process of the test
}

// newStoryTest makes a repository with some hundred files and a file of stories. A session
// does what the shell script work says, in which $n is the story and $BASE a folder
// outside of the repository.
func newStoryTest(t *testing.T, work, list string) *storyTest {
	t.Helper()
	base, repo, env := scratch(t, "leave sleep 600\nbash sh $BASE/work.sh\n"+
		`report {"planned":["a"],"completed":["a"],"carried_over":[],"summary":"done","next_steps":[],"needs_person":""}`+"\nresult\n")
	s := &storyTest{t: t, base: base, repo: repo, token: uuid.NewString()}
	s.env = append(env, "BASE="+base, "TMPDIR="+filepath.Join(base, "tmp"), chaosVar+"="+s.token, "GORACE=atexit_sleep_ms=0", "AUTOPILOT_MAX_SESSIONS=30")
	files := map[string]string{
		".gitconfig": "[user]\n\tname = s\n\temail = s@example.org\n[maintenance]\n\tauto = false\n", "work.sh": "n=$(basename $PWD)\n" + work, "stories.yaml": list,
	}
	for i := range 400 {
		files[fmt.Sprintf("repo/src/p%02d/f%03d.txt", i/20, i)] = strings.Repeat(fmt.Sprintf("line of file %d\n", i), 20)
	}
	for name, text := range files {
		path := filepath.Join(base, name)
		s.must(os.MkdirAll(filepath.Dir(path), 0o755))
		s.must(os.WriteFile(path, []byte(text), 0o600))
	}
	s.must(os.Mkdir(filepath.Join(base, "tmp"), 0o700))
	s.git("add", ".")
	s.git("commit", "-q", "-m", "the project")
	t.Cleanup(s.endAll)
	return s
}

func (s *storyTest) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *storyTest) command(args ...string) *exec.Cmd {
	cmd := exec.Command("autopilot", args...)
	cmd.Dir, cmd.Env = s.repo, s.env
	return cmd
}

func (s *storyTest) git(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = s.repo, s.env
	out, err := cmd.CombinedOutput()
	s.must(err)
	return strings.TrimSpace(string(out))
}

// wait polls until done holds.
func (s *storyTest) wait(what string, done func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(90 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("still waiting for %s", what)
		}
	}
}

// processes are all living processes of the test.
func (s *storyTest) processes() []proctree.Process {
	s.t.Helper()
	pids, err := proctree.WithEnv(chaosVar, s.token)
	s.must(err)
	var out []proctree.Process
	for _, pid := range pids {
		if p, err := proctree.Read(proctree.Root, pid); err == nil && !p.Dead() {
			out = append(out, p)
		}
	}
	return out
}

// endAll ends what a test that has failed leaves.
func (s *storyTest) endAll() {
	for end := time.Now().Add(time.Second); len(s.processes()) > 0 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		for _, p := range s.processes() {
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
		}
	}
}

// crew are the processes of autopilot that work for a cohort, by what they are. They are told
// apart by what they were started with: a supervisor knows its guard, and what works for a
// story knows that; no session knows either.
func (s *storyTest) crew() map[string]int {
	s.t.Helper()
	crew := map[string]int{}
	for _, p := range s.processes() {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
		if err != nil || p.Comm != "autopilot" {
			continue
		}
		vars := map[string]string{}
		for kv := range strings.SplitSeq(string(env), "\x00") {
			k, v, _ := strings.Cut(kv, "=")
			vars[k] = v
		}
		_, guarded := vars[guard.Var]
		folder, ofStory := vars[launch.StoryVar]
		switch {
		case vars[launch.SessionVar] != "": // a hook of a session
		case ofStory && guarded:
			crew["supervisor of "+filepath.Base(folder)] = p.PID
		case ofStory:
			crew["guard of "+filepath.Base(folder)] = p.PID
		case guarded:
			crew["coordinator"] = p.PID
		default:
			crew["guard"] = p.PID
		}
	}
	return crew
}

// noneLeft wants that nothing of the cohort lives, holds a lock or lies about.
func (s *storyTest) noneLeft() {
	s.t.Helper()
	s.wait("the end of all processes", func() bool { return len(s.processes()) == 0 })
	s.must(filepath.WalkDir(s.base, func(path string, d fs.DirEntry, err error) error {
		switch lock := strings.HasSuffix(path, ".lock"); {
		case lock && (strings.Contains(d.Name(), "autopilot") || d.Name() == ".lock"):
			if h, held, err := statedir.Peek(path); err != nil || held {
				s.t.Errorf("%s is held by %v (%v)", path, h, err)
			}
		case lock && strings.Contains(path, "/.git/"), filepath.Base(filepath.Dir(path)) == "open":
			s.t.Errorf("%s is left", path)
		}
		return err
	}))
	if left, err := os.ReadDir(filepath.Join(s.base, "tmp")); err != nil || len(left) > 0 {
		s.t.Errorf("temporary files are left: %v, %v", left, err)
	}
}

// usage is what a process takes of the machine.
type usage struct {
	pss, rss, own int64 // KiB: its share, all of it, and what it alone has written
	files         int   // open descriptors
}

// usageOf takes the fewest descriptors of some looks: a file that is being read is no leak.
func (s *storyTest) usageOf(pid int) usage {
	s.t.Helper()
	u := usage{files: 1 << 30}
	for range 5 {
		names, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		s.must(err)
		u.files = min(u.files, len(names))
		time.Sleep(7 * time.Millisecond)
	}
	n := s.numbers(pid, "smaps_rollup")
	u.pss, u.rss, u.own = n["Pss:"], n["Rss:"], n["Private_Dirty:"]
	return u
}

// numbers reads a file of names and numbers about a process.
func (s *storyTest) numbers(pid int, file string) map[string]int64 {
	s.t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	s.must(err)
	out := map[string]int64{}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 1 {
			out[f[0]], _ = strconv.ParseInt(f[1], 10, 64)
		}
	}
	return out
}

const (
	manyStories = 10
	manyTurns   = 300
)

// TestTenStories has ten stories at work at the same time, and reads from the kernel what
// autopilot itself takes of the machine: a coordinator, ten supervisors and a guard of
// each. Then the coordinator is made to look at everything many times over, which must
// leave no trace in any of them.
func TestTenStories(t *testing.T) {
	t.Parallel()
	var list strings.Builder
	for i := range manyStories {
		fmt.Fprintf(&list, "- {id: s%d, goal: write s%d.txt, verify: [\"test -e $BASE/done.s%d\"]}\n", i, i, i)
	}
	// The work trees of the odd ones hold nothing in the end.
	s := newStoryTest(t, "touch $BASE/begun.$n\nwhile [ ! -e $BASE/go ]; do sleep 0.5; done\n"+
		"case $n in *[02468]) echo $n > $n.txt; git add $n.txt; git commit -qm $n;; esac\ntouch $BASE/done.$n\n", list.String())
	var log bytes.Buffer
	cmd := s.command("run", "--multi-story", "--stories", "../stories.yaml", "--max-stories", strconv.Itoa(manyStories), "--snapshot", "../green.json", "--allow-nested")
	cmd.Stdout, cmd.Stderr = &log, &log
	s.must(cmd.Start())
	s.wait("ten sessions", func() bool {
		begun, err := filepath.Glob(filepath.Join(s.base, "begun.*"))
		return err == nil && len(begun) == manyStories
	})
	c := s.crew()
	if len(c) != 2*manyStories+2 {
		t.Fatalf("processes: %v", c)
	}
	s.turn(c["coordinator"], 20)
	before, filesBefore := s.take(c), s.countFiles()
	began, _ := proctree.Read(proctree.Root, c["coordinator"])
	s.turn(c["coordinator"], manyTurns)
	if p, err := proctree.Read(proctree.Root, c["coordinator"]); err == nil {
		t.Logf("a turn takes the coordinator %v of processor time", (p.CPU-began.CPU)/manyTurns)
	}
	after, filesAfter := s.take(c), s.countFiles()
	s.bounds(before, before)
	s.bounds(before, after)
	if filesAfter > filesBefore+manyTurns/2 { // each supervisor makes some once
		t.Errorf("%d files lay about, and %d after %d turns", filesBefore, filesAfter, manyTurns)
	}
	s.must(os.WriteFile(filepath.Join(s.base, "go"), nil, 0o600))
	if err := cmd.Wait(); err != nil || !strings.Contains(log.String(), "10 stories: 10 done") {
		t.Errorf("the run ended with %v:\n%s", err, &log)
	}
	s.noneLeft()
	if got := strings.Count(s.git("worktree", "list"), "[autopilot/"); got != manyStories/2 {
		t.Errorf("%d work trees are left, want those that hold commits, %d:\n%s", got, manyStories/2, s.git("worktree", "list"))
	}
	s.t.Logf("%d files in the state folders at the end, %d while ten were at work", s.countFiles(), filesAfter)
}

// turn has the coordinator look at everything so many times more, and each time waits until
// it has read the files of its stories.
func (s *storyTest) turn(coordinator, times int) {
	s.t.Helper()
	for range times {
		before := s.numbers(coordinator, "io")["syscr:"]
		s.must(syscall.Kill(coordinator, syscall.SIGUSR1))
		s.wait("a turn of the coordinator", func() bool { return s.numbers(coordinator, "io")["syscr:"] >= before+4*manyStories })
	}
}

func (s *storyTest) take(crew map[string]int) map[string]usage {
	s.t.Helper()
	out := map[string]usage{}
	for name, pid := range crew {
		out[name] = s.usageOf(pid)
	}
	return out
}

// countFiles counts the files in the state folders, which are not in the work trees.
func (s *storyTest) countFiles() (n int) {
	s.must(filepath.WalkDir(filepath.Join(s.base, ".local", "state", "autopilot"), func(_ string, d fs.DirEntry, err error) error {
		if n++; err == nil && d.Name() == "worktrees" {
			return fs.SkipDir
		}
		return nil
	}))
	return n
}

func mib(kib int64) float64 { return float64(kib) / 1024 }

// bounds wants that everything stays within half as much again as was measured, and that
// what was done many times has left nothing.
func (s *storyTest) bounds(before, after map[string]usage) {
	s.t.Helper()
	memory := int64(1)
	info, ok := debug.ReadBuildInfo()
	if ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		memory = 6 // times as much
	}
	sum, most := usage{}, map[string]usage{}
	for name, u := range after {
		kind, _, _ := strings.Cut(name, " of ")
		m := most[kind]
		most[kind] = usage{max(m.pss, u.pss), max(m.rss, u.rss), max(m.own, u.own), max(m.files, u.files)}
		sum = usage{sum.pss + u.pss, sum.rss + u.rss, sum.own + u.own, sum.files + u.files}
		if b := before[name]; u.files > b.files+2 || u.own > b.own+memory*(3<<10) {
			s.t.Errorf("%s had %d files open and had written to %.1f MiB, and has %d and %.1f after %d turns", name, b.files, mib(b.own), u.files, mib(u.own), manyTurns)
		}
	}
	check := func(what string, u, limit usage) {
		s.t.Logf("%-11s PSS %.1f, RSS %.1f, written %.1f MiB, %d descriptors", what, mib(u.pss), mib(u.rss), mib(u.own), u.files)
		if u.pss <= 0 || u.pss > memory*limit.pss || u.rss > memory*limit.rss || u.files > limit.files {
			s.t.Errorf("%s: PSS %.1f, RSS %.1f MiB, %d descriptors: too much", what, mib(u.pss), mib(u.rss), u.files)
		}
	}
	check("coordinator", most["coordinator"], usage{pss: 15 << 10, rss: 44 << 10, files: 36})
	check("supervisor", most["supervisor"], usage{pss: 9 << 10, rss: 38 << 10, files: 26})
	check("guard", most["guard"], usage{pss: 6 << 10, rss: 33 << 10, files: 17})
	check("all", sum, usage{pss: 150 << 10, rss: 770 << 10, files: 470})
}

const (
	mostKills = 20
	steps     = 3 // of each story, one in a session
	// What git a killed session leaves is in the way of the next, which knows that it is alone.
	killStory = `exec 2>>$BASE/errors
k=$(git log --format=%s | grep -c "^$n ")
exec 9>$BASE/lock.$n
flock -n 9 || echo "$n: two sessions at once" >> $BASE/wrong
echo "$n begin $k $AUTOPILOT_SESSION_ID" >> $BASE/did
[ $k -lt 3 ] || exit 0
d=$(git rev-parse --git-dir)
rm -fv $d/index.lock $d/HEAD.lock $(git rev-parse --git-common-dir)/refs/heads/autopilot/$n.lock >> $BASE/stale
sleep 0.2
(git show HEAD:$n.txt; echo step $((k+1))) > $n.new && mv $n.new $n.txt
git add $n.txt && git commit -qm "$n $((k+1))" && echo "$n done $((k+1)) $(git rev-parse HEAD)" >> $BASE/did
sleep 0.2
`
)

// TestStoriesKilled kills one or several processes of a cohort at random moments, again and
// again, and goes on with what is left until all is done: each step of each story is done
// once and is on its branch, everything is recorded once, and nothing is left.
func TestStoriesKilled(t *testing.T) {
	t.Parallel()
	ids := []string{"a", "b", "c", "d"}
	var list strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&list, "- id: %s\n  goal: write %s.txt\n  verify: ['test $(git log --format=%%s | grep -c \"^%s \") -ge %d']\n", id, id, id, steps)
	}
	list.WriteString("  after: [a]\n")
	s := &killTest{storyTest: newStoryTest(t, killStory, list.String()), finished: map[string]string{}}
	s.run()
	s.noneLeft()
	s.checkWork(ids)
	s.checkRecords()
}

type killTest struct {
	*storyTest
	kills    int
	finished map[string]string // runs by story, when it was said to be done
}

// run starts, kills and continues until a run says that all is done.
func (s *killTest) run() {
	s.t.Helper()
	fresh := []string{"run", "--multi-story", "--stories", "../stories.yaml", "--max-stories", "3"}
	args, more := fresh, 0
	for end := time.Now().Add(2 * time.Minute); ; {
		code, out := s.once(append(slices.Clone(args), "--snapshot", "../green.json", "--allow-nested"), end)
		s.t.Logf("%s %s ended with %d: %s", time.Now().UTC().Format("15:04:05.000"), strings.Join(args[:min(2, len(args))], " "), code, inShort(out))
		switch {
		case code == 0 && strings.Contains(out, "work-done"), strings.Contains(out, "its goals are reached"):
			s.remember()
			s.t.Logf("%d kills; %d locks of git were stale", s.kills, strings.Count(s.read("stale"), "\n"))
			return
		case code == 2 && strings.Contains(out, "there is no run"):
			args = s.last(fresh)
		default:
			args = []string{"resume"}
		}
		if s.kills >= mostKills || time.Now().After(end) {
			if more++; more > 100 || time.Now().After(end.Add(time.Minute)) {
				s.t.Fatalf("the stories are not done\n%s", s.read("errors"))
			}
			time.Sleep(100 * time.Millisecond) // a coordinator that has lost its guard ends
		}
	}
}

// last is the command that continues the last run with a state, when there is one although
// 'resume' finds none.
func (s *killTest) last(otherwise []string) []string {
	var last supervisor.State
	for _, f := range s.ofCoordinators("state.json") {
		st, err := supervisor.LoadState(filepath.Dir(f))
		if err == nil && st.ResumedBy == "" && time.Time(last.Record.StartedAt).Before(time.Time(st.Record.StartedAt)) {
			last = st
		}
	}
	if id := last.Record.AutopilotRunID; id != "" {
		s.t.Errorf("'resume' does not find run %s, whose cohort is not done", id)
		return []string{"resume", id}
	}
	return otherwise
}

// ofCoordinators are the files of that name of all coordinators.
func (s *killTest) ofCoordinators(name string) []string {
	files, err := filepath.Glob(filepath.Join(s.base, ".local/state/autopilot/projects/*-repo/runs/*", name))
	s.must(err)
	return files
}

// once runs a command and kills what it is the turn of, until the command has ended. What it
// has started may still be there, and also its guard when the coordinator alone was killed.
func (s *killTest) once(args []string, end time.Time) (code int, out string) {
	s.t.Helper()
	log, err := os.Create(filepath.Join(s.base, "log-"+time.Now().Format("150405.000")))
	s.must(err)
	defer func() { _ = log.Close() }()
	cmd := s.command(args...)
	cmd.Stdout, cmd.Stderr = log, log // a pipe would be waited for as long as anybody has it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.must(cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	kill := time.After(pause())
	for {
		select {
		case <-ended:
			return cmd.ProcessState.ExitCode(), s.read(filepath.Base(log.Name()))
		case <-kill:
		}
		kill = nil
		if s.kills < mostKills && time.Now().Before(end) {
			if s.kill() && rand.IntN(2) == 0 { // its guard cleans up beside what comes next
				return -1, s.read(filepath.Base(log.Name()))
			}
			kill = time.After(pause())
		}
	}
}

// pause is a random while: the random moment is the point.
func pause() time.Duration { return time.Duration(20+rand.IntN(700)) * time.Millisecond }

// kill kills what it is the turn of. It reports whether that was a coordinator.
func (s *killTest) kill() (boss bool) {
	s.t.Helper()
	c := s.crew()
	id := ""
	for name := range c { // in random order
		if rest, ok := strings.CutPrefix(name, "supervisor of "); ok {
			id = rest
		}
	}
	names := [][]string{
		{"coordinator"},
		{"supervisor of " + id},
		{"guard"},
		{"guard of " + id},
		{"guard", "coordinator"},
		{"guard of " + id, "supervisor of " + id},
		slices.Collect(maps.Keys(c)), // everything
	}[s.kills%7]
	var pids []int
	for _, n := range names {
		if c[n] != 0 {
			pids = append(pids, c[n])
		}
	}
	if len(pids) == 0 {
		return false
	}
	s.kills++
	for _, pid := range pids { // none may act on the end of another
		_ = syscall.Kill(pid, syscall.SIGSTOP)
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	s.t.Logf("%s killed %v: %v of %v", time.Now().UTC().Format("15:04:05.000"), names, pids, c)
	s.remember()
	return slices.Contains(names, "coordinator")
}

// remember notes which stories are done, and their runs: no other is begun for them.
func (s *killTest) remember() {
	for _, f := range s.ofCoordinators(story.File) {
		var c story.Cohort
		if data, err := os.ReadFile(f); err != nil || json.Unmarshal(data, &c) != nil {
			s.t.Errorf("%s cannot be read: %v", f, err)
		}
		for _, m := range c.Members {
			was, known := s.finished[m.ID]
			if runs := strings.Join(m.Runs, " "); m.Status == story.Done && !known {
				s.finished[m.ID] = runs
			} else if known && len(runs) > len(was) {
				s.t.Fatalf("%s was done with runs %s and then begun again: %s", m.ID, was, runs)
			}
		}
	}
}

// checkWork compares what the sessions did with what is on the branches.
func (s *killTest) checkWork(ids []string) {
	s.t.Helper()
	if data, err := os.ReadFile(filepath.Join(s.base, "wrong")); !errors.Is(err, fs.ErrNotExist) {
		s.t.Errorf("%s%v", data, err)
	}
	for _, id := range ids {
		subjects := s.git("log", "--reverse", "--format=%s", "--grep=^"+id+" ", "autopilot/"+id)
		if want := fmt.Sprintf("%[1]s 1\n%[1]s 2\n%[1]s 3", id); subjects != want {
			s.t.Errorf("commits of %s: %q, want %q", id, subjects, want)
		}
		if text := s.git("show", "autopilot/"+id+":"+id+".txt"); text != "step 1\nstep 2\nstep 3" {
			s.t.Errorf("%s.txt: %q", id, text)
		}
		commits, seen, begun, idle := s.git("rev-list", "autopilot/"+id), map[string]bool{}, 0, 0
		for l := range strings.Lines(s.read("did")) {
			f := strings.Fields(l)
			switch {
			case f[0] != id:
			case len(f) != 4:
				s.t.Errorf("%s: torn line %q", id, l)
			case f[1] == "begin":
				if begun++; f[2] == strconv.Itoa(steps) {
					idle++
				}
			case seen[f[2]]:
				s.t.Errorf("%s: step %s was done twice", id, f[2])
			case !strings.Contains(commits, f[3]):
				s.t.Errorf("%s: commit %s of step %s is lost", id, f[3], f[2])
			default:
				seen[f[2]] = true
			}
		}
		s.t.Logf("%s: %d sessions, %d of them when all steps were done", id, begun, idle)
	}
}

// checkRecords wants one record of each run and each session, and no two of one story, or of
// the cohort, at the same time.
func (s *killTest) checkRecords() {
	s.t.Helper()
	all := &chaos{t: s.t, repo: s.repo, env: s.env}
	all.finish()
	where := map[string][]ledger.Run{}
	for _, r := range all.runs {
		tree := ""
		if r.ParentRunID != nil {
			tree = *r.WorktreePath
		}
		where[tree] = append(where[tree], r)
	}
	states, err := filepath.Glob(filepath.Join(s.base, ".local/state/autopilot/projects/*/runs/*/state.json"))
	if err != nil || len(states) != len(all.runs) {
		s.t.Errorf("%d runs were begun, %d are recorded: %v", len(states), len(all.runs), err)
	}
	for l := range strings.Lines(s.read("did")) {
		if f := strings.Fields(l); len(f) == 4 && f[1] == "begin" && all.sessions[f[3]].SessionID == "" {
			s.t.Errorf("a session ran and is not recorded: %s", l)
		}
	}
	for tree, list := range where {
		slices.SortFunc(list, func(a, b ledger.Run) int { return time.Time(a.StartedAt).Compare(time.Time(b.StartedAt)) })
		for i := range list[1:] {
			if a, b := list[i], list[i+1]; time.Time(b.StartedAt).Before(time.Time(a.CompletedAt)) {
				s.t.Errorf("in %q run %s began at %v, and %s ended at %v", tree, b.AutopilotRunID, time.Time(b.StartedAt), a.AutopilotRunID, time.Time(a.CompletedAt))
			}
		}
	}
	s.t.Logf("%d coordinators, %d supervisors, %d sessions", len(where[""]), len(all.runs)-len(where[""]), len(all.sessions))
}

func (s *killTest) read(name string) string {
	data, err := os.ReadFile(filepath.Join(s.base, name))
	s.must(err)
	return string(data)
}

// inShort are the lines of a run's output that tell how stories ended, and the last ones.
func inShort(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := max(0, len(lines)-4)
	told := slices.DeleteFunc(slices.Clone(lines[:last]), func(l string) bool { return !strings.Contains(l, "story ended") })
	return strings.Join(append(told, lines[last:]...), "\n    ")
}
