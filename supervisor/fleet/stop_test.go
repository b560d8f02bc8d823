package fleet_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor"
	"autopilot/supervisor/fleet"
	"autopilot/supervisor/story"
)

// stop stops and returns what was done by run or story.
func (w world) stop(ids []string, all, now bool) map[string]fleet.How {
	w.Helper()
	out := map[string]fleet.How{}
	for _, s := range fleet.Stop(w.Context(), w.options(), ids, all, now) {
		name := s.RunID
		if s.Story != "" {
			name = s.Story
		}
		out[name] = s.How
		if s.Err != nil {
			w.Errorf("stop %s: %v", name, s.Err)
		}
	}
	return out
}

func TestStopAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("app")
	id, folder, _ := w.supervised(p, "main", nil)
	_, otherFolder, other := w.supervised(p, "other", nil)
	if diff := cmp.Diff(map[string]fleet.How{id: fleet.Asked}, w.stop([]string{id, id, "main-2026"}, false, false)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := w.signals(folder); got != "user defined signal 1" {
		t.Errorf("signals %q", got)
	}
	if got := supervisor.StopRequested(folder); !strings.Contains(got, "'autopilot fleet stop' (pid "+strconv.Itoa(os.Getpid())+")") {
		t.Errorf("request %q", got)
	}
	if got := w.list(nil)[0].State; got != fleet.StateStopping {
		t.Errorf("state %q", got)
	}
	w.untouched(otherFolder, other)
}

func TestStopNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, folder, a := w.supervised(w.project("app"), "main", nil)
	if diff := cmp.Diff(map[string]fleet.How{id: fleet.Signalled}, w.stop([]string{strconv.Itoa(a.pid)}, false, true)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := w.signals(folder); got != "terminated" {
		t.Errorf("signals %q", got)
	}
	if supervisor.StopRequested(folder) == "" {
		t.Error("it was not asked, and would go on if it outlived the signal")
	}
}

// TestStopNowWithoutARequest: a request that cannot be written does not keep a run from
// being told, but from being asked.
func TestStopNowWithoutARequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, folder, _ := w.supervised(w.project("app"), "main", nil)
	if err := os.Mkdir(filepath.Join(folder, "stop.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	got := fleet.Stop(t.Context(), w.options(), []string{id}, false, false)
	if len(got) != 1 || got[0].Err == nil || got[0].How != "" {
		t.Errorf("asked: %+v", got)
	}
	if diff := cmp.Diff(map[string]fleet.How{id: fleet.Signalled}, w.stop([]string{id}, false, true)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := w.signals(folder); got != "terminated" {
		t.Errorf("signals %q", got)
	}
}

// TestStopSparesTheNextOwnerOfAPid: the process that has the pid now is not the run's.
func TestStopSparesTheNextOwnerOfAPid(t *testing.T) {
	t.Parallel()
	for _, end := range []bool{false, true} {
		w := newWorld(t)
		p := w.project("app")
		_, strange, a := w.supervised(w.project("strange"), "strange", nil)
		id, folder := w.run(p, "main", func(s *supervisor.State) { s.PID, s.Start = a.pid, a.start-1 })
		_, boss := w.run(p, "boss", func(s *supervisor.State) { s.Start-- })
		w.cohort(boss, member("one", story.Running, func(m *story.Member) { m.PID, m.Start = a.pid, a.start+1 }))
		if diff := cmp.Diff(map[string]fleet.How{id: fleet.NotOn, "one": fleet.NotOn}, w.stop([]string{id, "one"}, false, end)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		if why := supervisor.StopRequested(folder); why != "" {
			t.Error(why)
		}
		w.untouched(strange, a)
	}
}

func TestStopRefusesAsAWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, folder, a := w.supervised(w.project("app"), "main", nil)
	same, _, b := w.supervised(w.project("twin"), "main", nil)
	if id != same {
		t.Fatalf("%s and %s", id, same)
	}
	feature, featureFolder, _ := w.supervised(w.project("app"), "feature", nil)
	w.run(w.project("app"), "feature-2", func(s *supervisor.State) { s.Start++ })
	longer, _ := w.run(w.project("app"), "feature", func(s *supervisor.State) { s.Start++ })
	if !strings.HasPrefix(longer, feature) {
		t.Fatalf("%s does not begin with %s", longer, feature)
	}
	here, there := id+" in "+w.dir+"/app, pid "+strconv.Itoa(a.pid), id+" in "+w.dir+"/twin, pid "+strconv.Itoa(b.pid)
	tests := []struct {
		id      string
		several bool
		names   []string
	}{
		{"nothing", false, []string{here, there, feature}},
		{"", false, []string{here, there, feature}},
		{id + "-2", false, []string{here, there, feature}},
		{strconv.Itoa(os.Getpid()), false, []string{here, there, feature}},
		{strconv.Itoa(a.pid)[:1], false, []string{here, there, feature}},
		{id, true, []string{here, there}},
		{"ma", true, []string{here, there}},
		{"feature", true, []string{feature, longer, "feature-2-2026"}},
	}
	for _, tt := range tests {
		got := fleet.Stop(t.Context(), w.options(), []string{feature, tt.id}, false, true)
		if len(got) != 1 || got[0].How != fleet.Refused || got[0].RunID != tt.id {
			t.Fatalf("%q: got %+v", tt.id, got)
		}
		err, ok := errors.AsType[*fleet.IDError](got[0].Err)
		if !ok || err.ID != tt.id || err.Several != tt.several {
			t.Fatalf("%q: %v", tt.id, got[0].Err)
		}
		for _, n := range tt.names {
			if !strings.Contains(err.Error(), n) {
				t.Errorf("%q: %v does not name %s", tt.id, err, n)
			}
		}
		if tt.several && len(err.Candidates) != len(tt.names) {
			t.Errorf("%q: candidates %q", tt.id, err.Candidates)
		}
	}
	if got := fleet.Stop(t.Context(), w.options(), []string{"x", "y"}, false, false); len(got) != 2 {
		t.Errorf("two bad ids: %+v", got)
	}
	// A whole id means its run even where another begins with it, and a pid tells twins apart.
	if diff := cmp.Diff(map[string]fleet.How{feature: fleet.Asked}, w.stop([]string{feature}, false, false)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	w.signals(featureFolder)
	w.stop([]string{strconv.Itoa(b.pid)}, false, true)
	w.untouched(folder, a)
}

// staff is a cohort with processes: its coordinator and two stories.
type staff struct {
	world
	boss, bossFolder string
	folders          map[string]string
	actors           map[string]actor
	ids              map[string]string
}

func newStaff(t *testing.T, change func(*supervisor.State)) staff {
	t.Helper()
	s := staff{world: newWorld(t), folders: map[string]string{}, actors: map[string]actor{}, ids: map[string]string{}}
	app := s.project("app")
	if change == nil {
		s.boss, s.bossFolder, s.actors["boss"] = s.supervised(app, "main", nil)
	} else {
		s.boss, s.bossFolder = s.run(app, "main", change)
	}
	var members []story.Member
	for _, name := range []string{"one", "two"} {
		tree := s.project("trees/" + name)
		s.ids[name], s.folders[name], s.actors[name] = s.supervised(tree, name, nil)
		members = append(members, member(name, story.Running, func(m *story.Member) { m.Runs, m.Worktree = []string{s.ids[name]}, tree.Path }))
	}
	members = append(members, member("three", story.Waiting, nil), member("four", story.Done, nil), member("five", story.Running, nil),
		member("six", story.Running, func(m *story.Member) { m.PID = os.Getpid() }))
	s.cohort(s.bossFolder, members...)
	return s
}

func TestStopCohort(t *testing.T) {
	t.Parallel()
	s := newStaff(t, nil)
	if diff := cmp.Diff(map[string]fleet.How{s.boss: fleet.Asked}, s.stop([]string{s.boss}, false, false)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := s.signals(s.bossFolder); got != "user defined signal 1" {
		t.Errorf("signals %q", got)
	}
	for name, folder := range s.folders {
		s.untouched(folder, s.actors[name])
	}
}

func TestStopStory(t *testing.T) {
	t.Parallel()
	s := newStaff(t, nil)
	if diff := cmp.Diff(map[string]fleet.How{"one": fleet.Asked}, s.stop([]string{"one", s.ids["one"], s.boss + "/one"}, false, false)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := s.signals(s.folders["one"]); got != "user defined signal 1" || supervisor.StopRequested(s.folders["one"]) == "" {
		t.Errorf("signals %q", got)
	}
	if got := s.stop([]string{"four"}, false, true); got["four"] != fleet.NotOn {
		t.Errorf("a story that is done: %q", got["four"])
	}
	for _, id := range []string{"five", "six"} { // begun, and no process that is known for sure
		got := fleet.Stop(t.Context(), s.options(), []string{id}, false, true)
		if len(got) != 1 || got[0].How != "" || got[0].Err == nil || !strings.Contains(got[0].Err.Error(), s.boss) {
			t.Errorf("%s: %+v", id, got)
		}
	}
	got := fleet.Stop(t.Context(), s.options(), []string{"three"}, false, false)
	if len(got) != 1 || got[0].How != fleet.NotOn || got[0].Err == nil || !strings.Contains(got[0].Err.Error(), s.boss) {
		t.Errorf("a story that waits: %+v", got)
	}
	s.untouched(s.folders["two"], s.actors["two"])
	s.untouched(s.bossFolder, s.actors["boss"])
}

func TestStopAll(t *testing.T) {
	t.Parallel()
	s := newStaff(t, nil)
	run, runFolder, _ := s.supervised(s.project("another"), "main", nil)
	s.run(s.project("dead"), "dead", func(s *supervisor.State) { s.Start++ })
	if run != s.boss {
		t.Fatal("the runs of two repositories were to have one id")
	}
	got := fleet.Stop(t.Context(), s.options(), nil, true, true)
	if len(got) != 2 || got[0].Err != nil || got[1].Err != nil || got[0].Kind != fleet.KindRun || got[1].Kind != fleet.KindCohort {
		t.Errorf("got %+v", got)
	}
	for _, folder := range []string{runFolder, s.bossFolder} {
		if got := s.signals(folder); got != "terminated" {
			t.Errorf("signals %q", got)
		}
	}
	for name, folder := range s.folders {
		s.untouched(folder, s.actors[name])
	}
}

// TestStopAllWithoutCoordinator: when nobody leads the stories, each is asked.
func TestStopAllWithoutCoordinator(t *testing.T) {
	t.Parallel()
	s := newStaff(t, func(s *supervisor.State) { s.Start++ })
	if diff := cmp.Diff(map[string]fleet.How{"one": fleet.Asked, "two": fleet.Asked}, s.stop(nil, true, false)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, folder := range s.folders {
		s.signals(folder)
	}
}

// TestStopAllSaysWhatItCannotSee: what cannot be read may be on.
func TestStopAllSaysWhatItCannotSee(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("app")
	id, folder, _ := w.supervised(p, "main", nil)
	_, torn := w.register(p, "torn")
	w.text(filepath.Join(torn, "state.json"), "{")
	w.register(p, "young")
	broken := filepath.Join(w.project("broken").Dir, "project.json")
	w.text(broken, "{")
	got := fleet.Stop(t.Context(), w.options(), nil, true, false)
	var asked int
	var words []string
	for _, s := range got {
		if s.Err == nil && s.RunID == id && s.How == fleet.Asked {
			asked++
		}
		if s.Err != nil {
			words = append(words, s.Err.Error())
		}
	}
	all := strings.Join(words, "\n")
	if asked != 1 || len(words) != 3 || !strings.Contains(all, broken) || !strings.Contains(all, torn) || !strings.Contains(all, "just starting") {
		t.Errorf("got %+v", got)
	}
	w.signals(folder)
	if got := fleet.Stop(t.Context(), newWorld(t).options(), nil, true, false); len(got) != 0 {
		t.Errorf("where nothing is: %+v", got)
	}
}

// TestStopStoryByItsGuard: a story that has just been begun has no run to be asked.
func TestStopStoryByItsGuard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, folder := w.run(w.project("app"), "main", nil)
	marks := filepath.Join(w.dir, "guard")
	if err := os.Mkdir(marks, 0o700); err != nil {
		t.Fatal(err)
	}
	guard := begin(t, "autopilot", "supervisor", folderVar+"="+marks)
	w.cohort(folder, member("one", story.Running, func(m *story.Member) { m.PID, m.Start = guard.pid, guard.start }))
	got := fleet.Stop(t.Context(), w.options(), []string{"one"}, false, false)
	if len(got) != 1 || got[0].Err == nil || got[0].How != "" {
		t.Errorf("asked: %+v", got)
	}
	if diff := cmp.Diff(map[string]fleet.How{"one": fleet.Signalled}, w.stop([]string{"one"}, false, true)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := w.signals(marks); got != "terminated" {
		t.Errorf("signals %q", got)
	}
}
