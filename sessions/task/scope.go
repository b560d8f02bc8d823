package task

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"autopilot/sessions/launch"
	"autopilot/sessions/task/internal/record"
)

// scope finds the task lists of Claude Code that belong to a project.
type scope struct {
	config  folder
	place   Place
	finding *finding
	// transcripts are the sessions of the project, unless one in particular is meant.
	transcripts map[string]bool
}

// teamList is the folder of a list, and the session whose list it is.
type teamList struct {
	name    string
	session string
}

// lists are the lists that count, in order of priority. They need not exist.
func (s *scope) lists() []teamList {
	var out []teamList
	add := func(name, session string) {
		name = listName(name)
		if name != "" && !slices.ContainsFunc(out, func(l teamList) bool { return l.name == name }) {
			out = append(out, teamList{name: name, session: session})
		}
	}
	add(s.place.ListID, "")
	own := []string{s.place.Session}
	if s.place.Session == "" {
		own = s.sessions()
	}
	for _, id := range own {
		add(id, id)
	}
	for _, team := range s.teams() {
		add(team, "")
	}
	return out
}

// sessions are those of the project, the one whose transcript changed last first.
func (s *scope) sessions() []string {
	type session struct {
		id   string
		last int64
	}
	// A project may have hundreds of transcripts, and few of them have tasks.
	have, err := s.folders()
	s.fault(taskFolder, err)
	s.transcripts = map[string]bool{}
	var all []session
	for _, slug := range s.slugs() {
		entries, err := s.config.entries(filepath.Join("projects", slug))
		if err != nil {
			s.fault(filepath.Join("projects", slug), err)
			continue
		}
		for _, e := range entries {
			id, ok := strings.CutSuffix(e.Name(), ".jsonl")
			if !ok || id == "" || !e.Type().IsRegular() {
				continue
			}
			s.transcripts[id] = true
			if !have[listName(id)] {
				continue
			}
			if info, err := e.Info(); err == nil {
				all = append(all, session{id: id, last: info.ModTime().UnixNano()})
			}
		}
	}
	slices.SortFunc(all, func(a, b session) int {
		return cmp.Or(cmp.Compare(b.last, a.last), cmp.Compare(a.id, b.id))
	})
	out := make([]string, len(all))
	for i, one := range all {
		out[i] = one.id
	}
	return out
}

// folders are the names of all lists there are.
func (s *scope) folders() (map[string]bool, error) {
	out := map[string]bool{}
	entries, err := s.config.entries(taskFolder)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && (e.IsDir() || e.Type()&fs.ModeSymlink != 0) {
			out[e.Name()] = true
		}
	}
	return out, err
}

// slugs are the names under which Claude Code keeps the transcripts of the
// repository: of its path as given, and of where that leads.
func (s *scope) slugs() []string {
	var out []string
	for _, dir := range s.tops() {
		out = append(out, launch.FileName(dir, ""))
	}
	return slices.Compact(out)
}

func (s *scope) tops() []string {
	if s.place.Repo == "" {
		return nil
	}
	out := []string{filepath.Clean(s.place.Repo)}
	if real, err := filepath.EvalSymlinks(s.place.Repo); err == nil && real != out[0] {
		out = append(out, real)
	}
	return out
}

// team is the part of a team's configuration that says whose it is.
type team struct {
	LeadSessionID string `json:"leadSessionId"`
	Members       []struct {
		CWD string `json:"cwd"`
	} `json:"members"`
}

// teams are those which a session that counts leads, with or without a list of its
// own, and unless one session is meant those that work inside the repository.
func (s *scope) teams() []string {
	entries, err := s.config.entries("teams")
	if err != nil {
		s.fault("teams", err)
		return nil
	}
	var out []string
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		name := filepath.Join("teams", e.Name(), "config.json")
		data, err := s.config.read(name)
		if err != nil {
			continue
		}
		// Whose team it is that cannot be read nobody can say: it is not held against
		// this project.
		if t, err := parseTeam(data); err == nil && s.owns(t) {
			out = append(out, e.Name())
		}
	}
	slices.Sort(out)
	return out
}

func parseTeam(data []byte) (t team, err error) {
	err = record.Decode(data, &t)
	return t, err
}

func (s *scope) owns(t team) bool {
	if s.place.Session != "" {
		return t.LeadSessionID == s.place.Session
	}
	if s.transcripts[t.LeadSessionID] {
		return true
	}
	for _, m := range t.Members {
		for _, top := range s.tops() {
			if inside(m.CWD, top) {
				return true
			}
		}
	}
	return false
}

func inside(path, top string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	rel, err := filepath.Rel(top, path)
	return err == nil && filepath.IsLocal(rel)
}

// fault notes what keeps us from knowing whose a list is; a missing file does not.
func (s *scope) fault(name string, err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.finding.fault(s.config.path(name), err)
	}
}

// whyEmpty says why there are no tasks; empty are the project's lists without any.
func (s *scope) whyEmpty(empty []string) string {
	at := s.config.path(taskFolder)
	all, err := s.folders()
	others := len(all)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("%s is not there: Claude Code wrote no tasks; %s", at, toolsOff)
	case len(empty) > 0:
		return fmt.Sprintf("Claude Code wrote no tasks into the list %s, or they were deleted: %s", strings.Join(empty, ", "), toolsOff)
	case others == 0:
		return fmt.Sprintf("%s holds no lists: Claude Code wrote no tasks; %s", at, toolsOff)
	case s.place.Session != "":
		return fmt.Sprintf("session %s has no task list; those in %s belong to others: %d", word(s.place.Session), at, others)
	}
	return fmt.Sprintf("no task list belongs to this project; those in %s belong to others: %d", at, others)
}

// listName is the folder of the list that is called so.
func listName(list string) string { return launch.FileName(list, "_-") }
