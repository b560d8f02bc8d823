package sessions_test

import (
	"os"
	"testing"

	"autopilot/sessions/launch"
	"autopilot/sessions/outcome"
	"autopilot/sessions/repo"
)

// TestWithoutTools: such a session gets no hook, no cap and no memory, asks git
// nothing, and its answer is all its work.
func TestWithoutTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ script, answer, report string }{
		{"result", "done", ""},
		{`report {"a":1}`, "done", `{"a":1}`},
	} {
		p := newPlace(t, "refuse this is no work")
		p.write("reflect", "dump "+p.path("dump")+"\n"+c.script)
		p.spec.Environ = append(p.spec.Environ, "STANDIN_REFLECT_SCRIPT="+p.path("reflect"))
		p.spec.Repo, p.spec.HookCommand = repo.Repo{}, ""
		p.spec.NoTools, p.spec.System, p.spec.Notice, p.spec.Schema = true, "You judge.", " more", `{"type":"object"}`
		res := p.run(t.Context())
		if res.Ending != outcome.Completed || res.Answer != c.answer || string(plain(res).Report) != c.report || res.Measured || len(p.notes) > 0 {
			t.Errorf("%s: result %+v with notes %q, want one that completed", c.script, res, p.notes)
		}
		p.onDisk(res)
		how := p.dumped("dump")[0]
		if how.flag("--system-prompt") != "You judge." || how.flag("--tools") != "" || how.flag("--append-system-prompt") != "" || how.Env[launch.CapVar] != "0" ||
			how.Env["CLAUDE_CODE_DISABLE_CLAUDE_MDS"] != "1" {
			t.Errorf("it was started with %+v", how)
		}
		entries, err := os.ReadDir(p.spec.Folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != "result.json" && e.Name() != "stderr.log" {
				t.Errorf("%s is in the folder", e.Name())
			}
		}
	}
	p := newPlace(t, "empty")
	p.spec.NoTools = true
	p.spec.Environ = append(p.spec.Environ, "STANDIN_REFLECT_SCRIPT="+p.path("script"))
	if res := p.run(t.Context()); res.Ending != outcome.NoWork {
		t.Errorf("an empty answer ends as %s, want no-work", res.Ending)
	}
}

// TestNoRepository: a session can work where nothing is asked of git.
func TestNoRepository(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "write a.txt x")
	p.spec.Repo = repo.Repo{}
	if res := p.run(t.Context()); res.Ending != outcome.Completed || res.Measured || res.Effect() || len(p.notes) > 0 {
		t.Errorf("result %+v with notes %q, want one that completed and was not measured", res, p.notes)
	}
}
