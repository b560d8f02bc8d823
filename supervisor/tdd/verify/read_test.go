package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/sessions/repo"
	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/message"
)

const tasksName = ".taskmaster/tasks/tasks.json"

// place is a repository with a task of two subtasks.
type place struct {
	*testing.T
	Reader
	dir string
}

func newPlace(t *testing.T) place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := place{T: t, dir: dir}
	p.Template = usualTemplate
	p.Tree.Environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}
	p.Tree.Repo = repo.Repo{Top: dir, GitDir: filepath.Join(dir, ".git")}
	p.git("init", "-q", "-b", "main")
	p.git("config", "user.name", "t")
	p.git("config", "user.email", "t@example.org")
	p.git("config", "gc.auto", "0")
	p.status("pending", "pending", "pending")
	p.write("README", "hello\n")
	p.write("x_test.go", "package x\n")
	p.git("add", ".")
	p.at("2026-03-01T09:00:00Z", "the project") // before the run began
	p.git("switch", "-qc", "work")
	return p
}

func (p place) git(args ...string) string { p.Helper(); return p.run(nil, args...) }

func (p place) run(environ []string, args ...string) string {
	p.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = p.dir, append(p.Tree.Environ, environ...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// at commits what is staged, at a time.
func (p place) at(when, text string) string {
	p.Helper()
	p.run([]string{"GIT_COMMITTER_DATE=" + when, "GIT_AUTHOR_DATE=" + when}, "commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", text)
	return p.git("rev-parse", "HEAD")
}

func (p place) write(name, text string) {
	p.Helper()
	file := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		p.Fatal(err)
	}
}

// status writes the task file.
func (p place) status(task, one, two string) {
	p.Helper()
	p.write(tasksName, fmt.Sprintf(`{"master":{"tasks":[{"id":1,"title":"Greeter","status":%q,"subtasks":[
 {"id":1,"title":"Say hello","status":%q,"description":"prints hello"},
 {"id":2,"title":"Shout","status":%q}]}]}}`, task, one, two))
}

// told is a message for a subtask, or for the whole task.
func told(id, title string) message.Commit {
	c := message.Commit{
		Type: "feat", Scope: "x", TaskID: id, TaskTitle: title, Phase: "COMMIT", Tag: "master",
		Results: &tdd.Results{Passed: 1, Total: 1}, Mark: "Autopilot-Run: " + runID + " " + id,
	}
	if !strings.Contains(id, ".") {
		c.Type, c.Phase, c.Results, c.Mark = "chore", "FINALIZE", nil, "Autopilot-Run: "+runID+" finalize-2"
	}
	return c
}

// made are the commits of a whole run, with one of somebody else in between.
func (p place) made() {
	p.Helper()
	p.status("pending", "done", "pending")
	p.write("x.go", "package x\n")
	p.write("x_test.go", "package x // one\n")
	p.git("add", ".")
	p.at("2026-03-01T10:01:00Z", told("1.1", "Say hello").Text(usualTemplate)+"Signed-off-by: t\n")
	p.write("x_test.go", "package x // two\n")
	p.git("add", ".")
	p.at("2026-03-01T10:02:00Z", "by hand")
	p.status("pending", "done", "done")
	p.git("add", ".")
	p.at("2026-03-01T10:03:00Z", told("1.2", "Shout").Text(usualTemplate))
	p.status("done", "done", "done")
	p.git("add", ".")
	p.at("2026-03-01T10:04:00Z", told("1", "Greeter").Text(usualTemplate))
}

// known is what would be kept of the run.
func known(id, subtask string) *Run {
	if id != runID {
		return nil
	}
	r := &Run{TaskID: "1", Tag: "master"}
	if subtask != "1" {
		r.Counts = &tdd.Results{Passed: 1, Total: 1}
	}
	return r
}

// seen is a report in short.
func seen(r Report) []string {
	var out []string
	for _, c := range r.Commits {
		id := ""
		if c.Claim != nil {
			id = c.Claim.TaskID
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Verdict, id, said(c.Findings))))
	}
	return out
}

func (p place) verify(revisions string) Report {
	p.Helper()
	r, err := p.Verify(p.Context(), revisions)
	if err != nil {
		p.Fatalf("Verify(%q): %v", revisions, err)
	}
	return r
}

func TestCommitsOfARun(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.made()
	p.Known = known
	before := p.git("for-each-ref") + p.git("status", "--porcelain")
	r := p.verify("main..")
	if d := cmp.Diff([]string{"ok 1.1", "other", "ok 1.2", "ok 1"}, seen(r)); d != "" || !r.OK {
		t.Errorf("ok %v, (-want +got):\n%s", r.OK, d)
	}
	if got := r.Text(); !strings.HasPrefix(got, fmt.Sprintf("ok      %.10s  1.1 say hello\nother   ", r.Commits[0].SHA)) || !strings.Contains(got, "  by hand: it is no commit of a task\n") {
		t.Errorf("text:\n%s", got)
	}
	for revisions, want := range map[string]string{"HEAD": "ok 1", "work~1": "ok 1.2", "work~2..work~1": "ok 1.2", "work~1..": "ok 1"} {
		if got := seen(p.verify(revisions)); len(got) != 1 || got[0] != want {
			t.Errorf("%s: got %q, want %s", revisions, got, want)
		}
	}
	if after := p.git("for-each-ref") + p.git("status", "--porcelain"); after != before {
		t.Error("something was changed")
	}
	p.Known = nil
	if got := p.verify("work~1").Text(); !strings.Contains(got, "1.2 shout (the run is not known here") {
		t.Errorf("without the run:\n%s", got)
	}
}

func TestNothingToVerify(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.made()
	for _, revisions := range []string{"", "nowhere", "main..nowhere", "nowhere..", "main...work", "--all", "^main", "main", "main..main", "work~3..work~2", "HEAD:README"} {
		r, err := p.Verify(t.Context(), revisions)
		if refusal, ok := errors.AsType[*tdd.Refusal](err); !ok || refusal.Kind != tdd.Invalid || refusal.Way == "" {
			t.Errorf("%q: got %+v, %v; want a refusal", revisions, r, err)
		}
	}
}

func TestLies(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		lie  func(p place) // makes the commit that follows on the project
		want string
	}{
		{"honest", func(p place) { p.at("2026-03-01T10:01:00Z", told("1.1", "Say hello").Text(usualTemplate)) }, "ok 1.1"},
		{"another subtask", func(p place) { p.at("2026-03-01T10:01:00Z", told("1.2", "Shout").Text(usualTemplate)) }, `broken 1.2 !status: 1.2 is "pending", not done`},
		{"a subtask that is not there", func(p place) { p.at("2026-03-01T10:01:00Z", told("1.9", "Say hello").Text(usualTemplate)) }, `broken 1.9 !task: task 1 has no subtask 1.9 under the tag master`},
		{"a task that is not there", func(p place) { p.at("2026-03-01T10:01:00Z", told("7.1", "Say hello").Text(usualTemplate)) }, `broken 7.1 !task: .taskmaster/tasks/tasks.json has no task 7 under the tag master; it has 1; !run: the run is one of task 1`},
		{"another title", func(p place) { p.at("2026-03-01T10:01:00Z", told("1.1", "Say goodbye").Text(usualTemplate)) }, `broken 1.1 !title: the message says "Say goodbye", the task is "Say hello"`},
		{"another tag", func(p place) {
			c := told("1.1", "Say hello")
			c.Tag = "next"
			p.at("2026-03-01T10:01:00Z", c.Text(usualTemplate))
		}, `broken 1.1 !task: .taskmaster/tasks/tasks.json has no tag "next"; it has master; !run: the run is one of task 1 under the tag master`},
		{"other numbers", func(p place) {
			c := told("1.1", "Say hello")
			c.Results.Passed = 7
			p.at("2026-03-01T10:01:00Z", c.Text(usualTemplate))
		}, "broken 1.1 !tests: the message says 7 passing, the run has kept 1 passing"},
		{"a line twice", func(p place) {
			p.at("2026-03-01T10:01:00Z", told("1.1", "Say hello").Text(usualTemplate)+"Tests: 9 passing\n")
		}, "broken 1.1 !message: read the message: it has 2 lines Tests"},
		{"no task file any more", func(p place) {
			p.git("rm", "-qf", tasksName)
			p.at("2026-03-01T10:01:00Z", told("1.1", "Say hello").Text(usualTemplate))
		}, "broken 1.1 !task: the commit removes " + tasksName},
		{"no JSON", func(p place) {
			p.write(tasksName, "{")
			p.git("add", ".")
			p.at("2026-03-01T10:01:00Z", told("1.1", "Say hello").Text(usualTemplate))
		}, "broken 1.1 !task: load tasks: " + tasksName},
		{"no work", func(p place) {
			p.git("rm", "-qf", "--cached", "x.go")
			p.git("checkout", "-q", "HEAD", "x_test.go")
			p.at("2026-03-01T10:01:00Z", told("1.1", "Say hello").Text(usualTemplate))
		}, "broken 1.1 !work: nothing beside the task file was changed"},
		{"no work, behind what others did before the run", func(p place) {
			p.git("stash", "-q")
			p.write("README", "more\n")
			p.git("add", ".")
			p.at("2026-03-01T09:59:59Z", "before the run")
			p.git("stash", "pop", "-q", "--index")
			p.git("rm", "-qf", "--cached", "x.go")
			p.git("checkout", "-q", "HEAD", "x_test.go")
			p.at("2026-03-01T10:01:00Z", told("1.1", "Say hello").Text(usualTemplate))
		}, "broken 1.1 !work: nothing beside the task file was changed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.Known = known
			p.status("pending", "done", "pending")
			p.write("x.go", "package x\n")
			p.write("x_test.go", "package x // one\n")
			p.git("add", ".")
			tt.lie(p)
			r := p.verify("HEAD")
			if got := seen(r)[0]; !strings.HasPrefix(got, tt.want) || r.OK != (tt.want[:2] == "ok") {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// Where git has nothing to do with the task file, that is said and no rule is broken.
func TestTaskFileThatIsNotVersioned(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.git("rm", "-q", "--cached", tasksName)
	p.write(".gitignore", ".taskmaster\n")
	p.git("add", ".")
	p.at("2026-03-01T09:30:00Z", "ignored")
	p.write("x_test.go", "package x // one\n")
	p.git("add", ".")
	p.at("2026-03-01T10:01:00Z", told("1.1", "Say hello").Text(usualTemplate))
	m := &model{replies: []string{agreed}}
	p.Known, p.Model = known, m
	if got := seen(p.verify("HEAD")); got[0] != "ok 1.1 task: the task file is not versioned: task, title and status are not checked" {
		t.Errorf("got %s", got)
	}
	if len(m.asked) != 1 || !strings.Contains(m.asked[0].Prompt, "| prints hello\n") {
		t.Errorf("asked %v", m.asked)
	}
}

func TestFirstCommitAndTestFiles(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.git("checkout", "-q", "--orphan", "new")
	p.status("pending", "done", "pending")
	p.git("rm", "-q", "--cached", "x_test.go")
	p.git("add", tasksName)
	p.at("2026-03-01T10:01:00Z", told("1.1", "Say hello").Text(usualTemplate))
	p.Known = known
	for pattern, want := range map[string]string{"": "ok 1.1 work: no changed file is recognised as one of tests", "READ*": "ok 1.1"} {
		p.TestPattern = pattern
		if got := seen(p.verify("HEAD")); got[0] != want {
			t.Errorf("pattern %q: got %s, want %s", pattern, got, want)
		}
	}
}

func TestVerifyAsks(t *testing.T) {
	t.Parallel()
	const refused = `{"aligned":"no","reasoning":"It\ndoes\u001b[2J nothing.","missing":["a greeting"]}`
	for _, tt := range []struct {
		reply string
		err   error
		ok    bool
		text  string
	}{
		{agreed, nil, true, "        fake says yes: It does.\n"},
		{`{"aligned":"partly","reasoning":"Some.","missing":[]}`, nil, true, "        fake says partly: Some.\n"},
		{refused, nil, false, "        fake says no: It does[2J nothing.; missing: a greeting\n"},
		{"", errors.New("it is down, API_KEY=verysecretvalue"), true, "        no opinion: ask fake: it is down, [redacted]\n"},
	} {
		p := newPlace(t)
		p.made()
		m := &model{replies: []string{tt.reply}, err: tt.err}
		p.Model, p.Known = m, known
		r := p.verify("main..")
		if r.OK != tt.ok || strings.Count(r.Text(), tt.text) != 2 || len(m.asked) != 2 || (r.Unanswered() > 0) != (tt.err != nil) {
			t.Errorf("%s: ok %v, asked %d, unanswered %d\n%s", tt.reply, r.OK, len(m.asked), r.Unanswered(), r.Text())
		}
		if first := m.asked[0].Prompt; !strings.Contains(first, "1.1: Say hello\n") || !strings.Contains(first, "| +package x // one\n") || strings.Contains(first, "tasks.json b/") {
			t.Errorf("asked:\n%s", first)
		}
	}
	// A commit that breaks a rule is not worth the money.
	p := newPlace(t)
	p.at("2026-03-01T10:01:00Z", told("1.1", "Say hello").Text(usualTemplate))
	m := &model{replies: []string{agreed}}
	p.Model = m
	if r := p.verify("HEAD"); r.OK || len(m.asked) != 0 {
		t.Errorf("ok %v, asked %d", r.OK, len(m.asked))
	}
}

func TestVerifyEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.made()
	why := errors.New("a person wants it")
	ctx, cancel := context.WithCancelCause(t.Context())
	p.Model = &model{replies: []string{""}, err: errors.New("interrupted"), before: func() { cancel(why) }}
	if _, err := p.Verify(ctx, "work~1"); !errors.Is(err, why) {
		t.Errorf("got %v, want the cause", err)
	}
}

// What counts is the task as it was when the commit was made.
func TestTaskFileOfThatCommit(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.made()
	p.Known = known
	p.git("switch", "-qc", "later")
	p.status("pending", "pending", "pending")
	p.git("add", ".")
	p.at("2026-03-02T10:00:00Z", "once more")
	p.write(tasksName, "{}")
	if got := seen(p.verify("later~1")); got[0] != "ok 1" {
		t.Errorf("got %s, want ok", got[0])
	}
	// The commit before it in the run has set nothing of the task itself.
	p.git("switch", "-qfc", "early", "work~1")
	p.at("2026-03-01T10:04:00Z", told("1", "Greeter").Text(usualTemplate))
	if got := seen(p.verify("early")); got[0] != `broken 1 !status: 1 is "pending", not done` {
		t.Errorf("got %s, want that it is not done", got[0])
	}
}

// What the run itself has committed before is not the work of the next subtask.
func TestNoWorkInTheNextCommit(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.made()
	p.Known = known
	p.git("switch", "-qc", "lazy", "work~3") // at the commit of 1.1
	p.status("pending", "done", "done")
	p.git("add", ".")
	p.at("2026-03-01T10:03:00Z", told("1.2", "Shout").Text(usualTemplate))
	if got := seen(p.verify("lazy~1..lazy")); got[0] != "broken 1.2 !work: nothing beside the task file was changed" {
		t.Errorf("got %s", got[0])
	}
}
