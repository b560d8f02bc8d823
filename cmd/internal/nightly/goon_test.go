package nightly

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/awake"
)

// cut has a night begin, and kills it there.
func (w *world) cut(c call) {
	w.Helper()
	c.Hold = filepath.Join(w.dir, "hold")
	if err := os.WriteFile(c.Hold, nil, 0o600); err != nil {
		w.Fatal(err)
	}
	before, done := len(w.saw()), w.held()
	cmd := w.start(c)
	w.await("the run", func() bool { return len(w.saw()) > before && w.held() > done })
	if err := cmd.Process.Kill(); err != nil {
		w.Fatal(err)
	}
	_ = cmd.Wait()
}

// held counts the calls that have done all they do and are held now, or were.
func (w *world) held() int {
	w.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, "plan.held"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.Fatal(err)
	}
	return len(data)
}

// rewrite replaces a pattern in the history.
func (w *world) rewrite(pattern, by string) {
	w.Helper()
	path := HistoryFile(w.plan.Root, w.entry.Name)
	text, err := os.ReadFile(path)
	if err != nil {
		w.Fatal(err)
	}
	changed := regexp.MustCompile(pattern).ReplaceAll(text, []byte(by))
	if bytes.Equal(changed, text) {
		w.Fatalf("no %s in %s", pattern, text)
	}
	if err := os.WriteFile(path, changed, 0o600); err != nil {
		w.Fatal(err)
	}
}

// tree is another work tree of the same repository.
func (w *world) tree() string {
	w.Helper()
	beside := filepath.Join(w.dir, "beside")
	for _, args := range [][]string{{"commit", "-q", "--allow-empty", "-m", "first"}, {"worktree", "add", "-q", beside}} {
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b.invalid"}, args...)...)
		cmd.Dir, cmd.Env = w.entry.Dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			w.Fatalf("%v: %s", err, out)
		}
	}
	return beside
}

// began are the arguments of what was begun, without the times.
func (w *world) began() (all []string) {
	w.Helper()
	for _, s := range w.saw() {
		if s.Args == nil {
			continue
		}
		var words []string
		for i := 0; i < len(s.Args); i++ {
			if s.Args[i] == "--until" {
				i++
				continue
			}
			words = append(words, s.Args[i])
		}
		all = append(all, strings.Join(words, " "))
	}
	return all
}

func (w *world) told() (titles []string) {
	w.Helper()
	for _, s := range w.saw() {
		if s.Notice != nil {
			titles = append(titles, strings.TrimPrefix(s.Notice.Title, "schedule nightly: "))
		}
	}
	return titles
}

const (
	asAgreed = "run a goal --max-sessions 2"
	killedIt = "the last one was killed"
)

// TestANightThatWasKilledGoesOn has everything killed that belongs to a night, as a power cut
// does, and then somebody come again in its window.
func TestANightThatWasKilledGoesOn(t *testing.T) {
	t.Parallel()
	dead := call{Run: true, Left: &left{}}
	for name, tt := range map[string]struct {
		first call
		tweak func(w *world) // after it was killed
		want  []string       // begun after the first; RUN stands for its id
		why   string         // in the log
	}{
		"a run":                   {first: dead, want: []string{"resume RUN"}, why: "was cut off"},
		"before a run began":      {first: call{}, want: []string{asAgreed}, why: "before a run began"},
		"before its state":        {first: call{Run: true}, want: []string{asAgreed}, why: "before a run began"},
		"before its first step":   {first: call{Run: true, Left: &left{Ended: code(143), Barren: true}}, want: []string{asAgreed}, why: "before it had done anything"},
		"ended for lost guard":    {first: call{Run: true, Left: &left{Ended: code(143)}}, want: []string{"resume RUN"}, why: "was cut off"},
		"recorded as killed":      {first: call{Run: true, Left: &left{Ended: code(137)}}, want: []string{"resume RUN"}, why: "was cut off"},
		"had ended in order":      {first: call{Run: true, Left: &left{Ended: code(0)}}, why: "has ended with exit status 0"},
		"a person is needed":      {first: call{Run: true, Left: &left{Ended: code(4)}}, why: "has ended with exit status 4"},
		"a person went on":        {first: call{Run: true, Left: &left{Ended: code(137), ResumedBy: "another"}}, why: "run another has gone on"},
		"no window":               {first: dead, tweak: func(w *world) { w.rewrite(`,"until":"[^"]*"`, "") }, why: "no window is open"},
		"its window is over":      {first: dead, tweak: func(w *world) { w.rewrite(`"until":"[^"]*"`, `"until":"2026-01-01T00:00:00Z"`) }, why: "no window is open"},
		"it does not come to one": {first: dead, tweak: func(w *world) { w.entry.Args = []string{"sync"} }, why: "it was no run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.cut(tt.first)
			if tt.tweak != nil {
				tt.tweak(w)
			}
			id := "RUN"
			for _, id = range runs(w.plan.Root) {
			}
			if got := w.run(call{Code: 3, Run: true}); (got == 3) != (tt.want != nil) {
				t.Errorf("exit %d", got)
			}
			began := w.began()[1:]
			for i := range began {
				began[i] = strings.ReplaceAll(began[i], id, "RUN")
			}
			if diff := cmp.Diff(tt.want, began, cmp.Transformer("", func(s []string) string { return strings.Join(s, "\n") })); diff != "" {
				t.Errorf("begun: -want +got\n%s", diff)
			}
			if !strings.Contains(w.log(), tt.why) {
				t.Errorf("no %q in the log:\n%s", tt.why, w.log())
			}
			if told := w.told(); len(told) != 1 || told[0] != killedIt {
				t.Errorf("told %q", told)
			}
			if h := w.history(); h[0].State != Ended || *h[0].Code != 137 {
				t.Errorf("the first: %+v", h[0])
			}
		})
	}
}

// TestANightGoesOnSoOften: what is killed each time is given up.
func TestANightGoesOnSoOften(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 1 + mostCuts {
		w.cut(call{Run: true, Left: &left{}})
	}
	if got := w.run(call{Code: 3}); got != 0 || len(w.began()) != 1+mostCuts {
		t.Errorf("exit %d, begun %q", got, w.began())
	}
	if !strings.Contains(w.log(), "does not go on: it was cut off 4 times") {
		t.Errorf("log:\n%s", w.log())
	}
	if got := w.run(call{Code: 3}); got != 0 || len(w.began()) != 1+mostCuts {
		t.Errorf("and later: exit %d, begun %q", got, w.began())
	}
}

// TestARunThatWasKilledGoesOn has the supervisor killed, as when memory is short, under a
// process that lives on.
func TestARunThatWasKilledGoesOn(t *testing.T) {
	t.Parallel()
	was := func(l left) call { return call{Code: 137, Run: true, Left: &l} }
	killed := left{Ended: code(137)}
	for name, tt := range map[string]struct {
		calls []call
		args  []string
		begun int
		code  int
		why   string
	}{
		"once":                     {calls: []call{was(killed), {Code: 0, Run: true, Left: &left{Ended: code(0)}}}, begun: 2},
		"with its manner":          {calls: []call{was(killed), {Code: 0, Run: true, Left: &left{Ended: code(0)}}}, begun: 2, args: []string{"run", "--exit-zero", "--snapshot", "x.json", "g", "--", "--json"}},
		"again and again":          {calls: []call{was(killed), was(killed), was(killed), was(killed), {}}, begun: 4, code: 137, why: "was killed 4 times"},
		"in another tree":          {calls: []call{{Code: 137, Run: true, In: "TREE", Left: &killed}, {}}, begun: 1, code: 137, why: "in another work tree"},
		"a person was faster":      {calls: []call{was(left{Ended: code(137), ResumedBy: "another"}), {}}, begun: 1, code: 137, why: "run another has gone on"},
		"no run, but such a code":  {calls: []call{{Code: 137}, {}}, begun: 1, code: 137},
		"it ended with its code":   {calls: []call{{Code: 4, Run: true, Left: &left{Ended: code(4)}}, {}}, begun: 1, code: 4},
		"was told to end":          {calls: []call{{Code: 143, Run: true, Left: &left{Ended: code(143)}}, {}}, begun: 1, code: 143},
		"killed, then told to end": {calls: []call{was(killed), {Code: 130, Run: true, Left: &left{Ended: code(130)}}, {}}, begun: 2, code: 130},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for i := range tt.calls {
				if tt.calls[i].In != "" {
					tt.calls[i].In = w.tree()
				}
			}
			if tt.args != nil {
				w.entry.Args = tt.args
			}
			if got := w.run(tt.calls...); got != tt.code {
				t.Errorf("exit %d, want %d", got, tt.code)
			}
			began := w.began()
			if len(began) != tt.begun {
				t.Errorf("begun %q, want %d", began, tt.begun)
			}
			for _, again := range began[min(1, len(began)):] {
				if !strings.HasPrefix(again, "resume main-") || tt.args != nil && !strings.HasSuffix(again, " --exit-zero --snapshot x.json") {
					t.Errorf("begun %q", began)
				}
			}
			if told := w.told(); (slices.Index(told, "the run was killed") >= 0) != (tt.begun > 1) {
				t.Errorf("told %q", told)
			}
			if !strings.Contains(w.log(), tt.why) {
				t.Errorf("no %q in the log:\n%s", tt.why, w.log())
			}
			if h := w.history(); len(h) != 1 || h[0].State != Ended || *h[0].Code != tt.code {
				t.Errorf("history: %+v", h)
			}
		})
	}
}

// TestANightThatLostItsMachineGoesOn has the machine shut down in order in the night.
func TestANightThatLostItsMachineGoesOn(t *testing.T) {
	t.Parallel()
	started, known := awake.Started()
	if !known {
		t.Fatal("it is not known when the machine was started")
	}
	for name, tt := range map[string]struct {
		at    time.Time
		code  int
		again bool
	}{
		"told to end, then down":     {at: started.Add(-time.Minute), code: 143, again: true},
		"interrupted, then down":     {at: started.Add(-time.Minute), code: 130, again: true},
		"ended by itself, then down": {at: started.Add(-time.Minute), code: 4},
		"down long after":            {at: started.Add(-time.Hour), code: 143},
		"not down":                   {at: started.Add(time.Minute), code: 143},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if got := w.run(call{Code: tt.code, Run: true, Left: &left{Ended: code(tt.code)}}); got != tt.code {
				t.Fatalf("exit %d", got)
			}
			w.rewrite(`("state":"ended","at":)"[^"]*"`, `$1"`+tt.at.Format(time.RFC3339Nano)+`"`)
			w.run(call{Code: 3, Run: true})
			if began := w.began(); (len(began) == 2) != tt.again {
				t.Errorf("begun %q", began)
			}
			if told := w.told(); tt.again != (len(told) == 1 && told[0] == "the last one ended with the machine") {
				t.Errorf("told %q", told)
			}
		})
	}
}
