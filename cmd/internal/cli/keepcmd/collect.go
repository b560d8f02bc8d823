package keepcmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/morning"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/journal"
	"autopilot/metrics/ledger"
	"autopilot/metrics/report"
	"autopilot/metrics/statedir"
	"autopilot/sessions/launch"
	"autopilot/supervisor"
	"autopilot/supervisor/keep"
	"autopilot/supervisor/keep/bundle"
	"autopilot/supervisor/story"
)

// subject is the run that is exported.
type subject struct {
	id      string
	folder  string // empty when it is gone
	raw     []byte // state.json, as it was read once
	state   supervisor.State
	bad     error           // why the state is of no use
	members []story.Member  // of a cohort
	lines   map[string]bool // ids of runs whose lines in the ledgers belong to it
}

// findSubject finds a run by its id, the last one for an empty id: its folder, or the line
// that a ledger has of it.
func findSubject(p job.Place, id string) (subject, error) {
	project, found, err := p.FindProject()
	if err != nil {
		return subject{}, outside.Usage("%v", err)
	}
	if id == "" && found {
		if id, err = supervisor.LastWritten(project); err != nil {
			return subject{}, outside.Usage("%v", err)
		}
	}
	if id == "" {
		return subject{}, outside.UsageHint("'autopilot run' makes one", "there is no run in %s yet", p.Repo.Top)
	}
	s := subject{id: id, lines: map[string]bool{id: true}}
	if folder := project.RunDir(id); found && filepath.Base(folder) == id {
		if info, err := os.Lstat(folder); err == nil && info.IsDir() {
			s.folder = folder
			s.load()
		}
	}
	if s.folder == "" && !recorded(p, id) {
		return subject{}, outside.UsageHint("'autopilot runs' lists the runs", "there is no run %s here", id)
	}
	return s, nil
}

// load reads the state once: the run may go on meanwhile.
func (s *subject) load() {
	name := filepath.Join(s.folder, "state.json")
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		s.bad = errors.Join(err, errors.New("there is no state.json"))
		return
	}
	if s.raw, s.bad = os.ReadFile(name); s.bad != nil {
		return
	}
	s.bad = json.Unmarshal(s.raw, &s.state)
	var c story.Cohort
	if err := statedir.LoadJSON(filepath.Join(s.folder, story.File), &c); err == nil {
		s.members = c.Members
	}
	for _, m := range s.members {
		for _, id := range m.Runs {
			s.lines[id] = true
		}
	}
}

// recorded reports whether a ledger has a line of a run.
func recorded(p job.Place, id string) bool {
	found := false
	_ = journal.Each(filepath.Join(p.MetricsDir(), ledger.RunsFile), func(_ int, line []byte) error {
		found = found || runOf(line) == id
		return nil
	})
	return found
}

func runOf(line []byte) string {
	var rec struct {
		ID string `json:"autopilot_run_id"`
	}
	if json.Unmarshal(line, &rec) != nil {
		return ""
	}
	return rec.ID
}

// collection gathers what goes into the archive. What cannot be had is left out by name.
type collection struct {
	std     outside.Stdio
	place   job.Place
	subject subject
	now     time.Time
	broken  error // why the settings cannot be read

	files []bundle.File // the most important ones first
	left  []bundle.Left
}

func (c *collection) leave(name, why string) {
	c.left = append(c.left, bundle.Left{Name: name, Why: why})
}

func (c *collection) data(name string, data []byte) {
	c.files = append(c.files, bundle.File{Name: name, Data: data, Form: bundle.FormOf(name)})
}

func (c *collection) collect(transcripts bool) {
	c.report()
	c.settings()
	c.ledgers()
	c.leave("doctor", "'autopilot doctor' finishes killed runs, which would change what is packed")
	if c.subject.folder == "" {
		c.leave("run", "its folder is gone")
		return
	}
	if c.subject.raw != nil {
		c.data("run/state.json", c.subject.raw)
	}
	c.folder("run", c.subject.folder, "state.json")
	if transcripts {
		c.transcripts("transcripts", c.place.Repo.Top, c.subject.folder)
	}
	for _, m := range c.subject.members {
		for _, id := range m.Runs {
			c.story(m, id, transcripts)
		}
	}
}

func (c *collection) report() {
	const name = "report.md"
	n, err := c.place.Night(false)
	if err == nil {
		var r morning.Run
		if r, err = morning.Find(c.place, n, c.subject.id); err == nil {
			c.data(name, report.Markdown(r.Facts(c.now)))
			return
		}
	}
	c.leave(name, err.Error())
}

func (c *collection) settings() {
	const name = "config.json"
	if c.broken != nil {
		c.leave(name, "the settings cannot be read: "+c.broken.Error())
		return
	}
	data, err := json.Marshal(c.place.Cfg.Settings)
	if err != nil {
		c.leave(name, err.Error())
		return
	}
	c.data(name, data)
}

// ledgers are the lines of the run and of those of its stories.
func (c *collection) ledgers() {
	for _, file := range []string{ledger.RunsFile, ledger.SessionsFile} {
		var lines []byte
		err := journal.Each(filepath.Join(c.place.MetricsDir(), file), func(_ int, line []byte) error {
			if c.subject.lines[runOf(line)] {
				lines = append(append(lines, line...), '\n')
			}
			return nil
		})
		switch name := "ledger/" + file; {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			c.leave(name, err.Error())
		case len(lines) == 0:
			c.leave(name, "it has no line of the run")
		default:
			c.data(name, lines)
		}
	}
}

// folder takes the files of a run's folder that this program writes.
func (c *collection) folder(prefix, folder string, but ...string) {
	names := map[string]bool{}
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(folder, name)
		if err != nil || rerr != nil {
			c.leave(path.Join(prefix, filepath.ToSlash(rel)), errors.Join(err, rerr).Error())
			return nil
		}
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir() || slices.Contains(but, rel) || passing(rel):
		case !d.Type().IsRegular():
			c.leave(path.Join(prefix, rel), "it is no regular file; links are not followed")
		case !keep.Written(rel):
			c.leave(path.Join(prefix, rel), "it is not a file of this program")
		default:
			names[keep.Unpacked(rel)] = true
		}
		return nil
	})
	if err != nil {
		c.leave(prefix, err.Error())
	}
	list := make([]string, 0, len(names))
	for n := range names {
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b string) int { // what is about the run as a whole first
		if d := strings.Count(a, "/") - strings.Count(b, "/"); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for _, n := range list {
		c.files = append(c.files, bundle.File{Name: path.Join(prefix, n), Path: filepath.Join(folder, filepath.FromSlash(n)), Form: bundle.FormOf(n)})
	}
}

// passing reports whether a file means nothing beyond the moment.
func passing(rel string) bool {
	base := path.Base(rel)
	return strings.HasSuffix(base, ".lock") || strings.HasSuffix(base, ".tmp") || base == "beat" || strings.HasPrefix(base, ".")
}

// story takes a run of a story, which is in a project of its own.
func (c *collection) story(m story.Member, id string, transcripts bool) {
	prefix := path.Join("stories", m.ID, id)
	folder, why := c.storyFolder(m, id)
	if folder == "" {
		c.leave(prefix, why)
		return
	}
	c.folder(prefix, folder)
	if transcripts && m.Worktree != "" {
		c.transcripts(path.Join("transcripts", m.ID), m.Worktree, folder)
	}
}

// storyFolder finds the folder of a story's run. Where its work tree is gone, the project
// that has a run of that id is taken, when it is the only one.
func (c *collection) storyFolder(m story.Member, id string) (folder, why string) {
	projects, _ := statedir.Projects(c.place.State) // one that cannot be read has none of ours
	var found []string
	for _, p := range projects {
		dir := p.RunDir(id)
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || dir == c.subject.folder {
			continue
		}
		if p.Path == filepath.Clean(m.Folder) || m.Worktree != "" && p.Path == filepath.Clean(m.Worktree) {
			return dir, ""
		}
		if s, err := supervisor.LoadState(dir); err == nil && s.Record.ParentRunID != nil {
			found = append(found, dir)
		}
	}
	switch len(found) {
	case 0:
		return "", "its folder is gone"
	case 1:
		return found[0], ""
	}
	return "", "several runs of other projects have its id"
}

// transcripts takes the conversations of the sessions of a run.
func (c *collection) transcripts(prefix, tree, folder string) {
	entries, err := os.ReadDir(filepath.Join(folder, "sessions"))
	if err != nil {
		c.leave(prefix, err.Error())
		return
	}
	for _, e := range entries {
		if uuid.Validate(e.Name()) != nil {
			continue
		}
		name, file := path.Join(prefix, e.Name()+".jsonl"), launch.Transcript(c.std.Environ, tree, e.Name())+".jsonl"
		info, err := os.Lstat(file)
		switch {
		case err != nil:
			c.leave(name, "Claude Code has no conversation of this session here")
		case !info.Mode().IsRegular():
			c.leave(name, "it is no regular file; links are not followed")
		default:
			c.files = append(c.files, bundle.File{Name: name, Path: file, Form: bundle.Lines})
		}
	}
}

// time is that of the files in the archive.
func (c *collection) time() time.Time {
	if t := c.subject.state.UpdatedAt; !t.IsZero() {
		return t
	}
	return c.now
}

func (c *collection) info() map[string]any {
	info := map[string]any{
		"run_id": c.subject.id, "exported_at": c.now.UTC().Format(time.RFC3339), "version": outside.Version(), "go": runtime.Version(), "system": runtime.GOOS + "/" + runtime.GOARCH,
		"state": "complete",
	}
	switch s := c.subject; {
	case s.folder == "":
		info["state"] = "its folder is gone"
	case s.bad != nil:
		info["state"] = fmt.Sprintf("its state cannot be read: %v", s.bad)
	case s.state.Alive():
		info["state"] = "it was on while the archive was made"
	case !s.state.Finished:
		info["state"] = "its supervisor is gone, and its records are not written"
	}
	return info
}
