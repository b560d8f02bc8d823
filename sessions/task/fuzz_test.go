package task

import (
	"strings"
	"testing"
)

// fuzzTasks runs a parser over anything: it must not panic, and what it returns is
// clean whatever it was given.
func fuzzTasks(f *testing.F, source string, parse func([]byte) ([]Task, error)) {
	f.Helper()
	for _, a := range adapters() {
		if a.source == source {
			for _, s := range []string{a.healthy, a.none, a.flawed, a.subject("a\x00\xff\u202e")} {
				f.Add([]byte(s))
			}
		}
	}
	f.Add([]byte(`[{"id":{},"subject":1e9,"status":["x"],"blockedBy":[null,1]},null,"a",true]`))
	f.Add([]byte("- [ ] a\n```\n<!--\n### T-001: b\n**Status**: [x] | **Dependencies**: T-001,T-001\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tasks, err := parse(data)
		if err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
		for _, task := range tasks {
			if source == TeamTasks { // the reader knows the name of the file
				task.ID, task.Subject = task.ID+"1", task.Subject+"1"
			}
			sane(t, task)
			for _, id := range task.BlockedBy {
				if id == "" || word(id) != id {
					t.Errorf("got a blocker %q", id)
				}
			}
		}
		settle([]list{{tasks: tasks}, {tasks: tasks}}, func() []LiveSession { return nil })
	})
}

func FuzzParseTeamTask(f *testing.F)  { fuzzTasks(f, TeamTasks, parseTeamTask) }
func FuzzParseSwarm(f *testing.F)     { fuzzTasks(f, SwarmTasks, parseSwarm) }
func FuzzParseChecklist(f *testing.F) { fuzzTasks(f, FileChecklist, parseChecklist) }
func FuzzParseIncrement(f *testing.F) { fuzzTasks(f, SpecWeave, ParseIncrement) }
func FuzzParseMarkdown(f *testing.F)  { fuzzTasks(f, Markdown, parseMarkdown) }
func FuzzParseIssues(f *testing.F)    { fuzzTasks(f, GitHubIssues, parseIssues) }

func FuzzParseTagged(f *testing.F) {
	fuzzTasks(f, TaskMaster, func(data []byte) ([]Task, error) {
		tasks, _, err := parseTagged(data, masterTag)
		return tasks, err
	})
}

func FuzzParseSmallFiles(f *testing.F) {
	f.Add([]byte(`{"sessionId":"s","cwd":"/w","procStart":"1","leadSessionId":"s","members":[{"cwd":"/w"}],"status":"active","currentTag":"x"}`))
	f.Add([]byte(`{"status":5,"procStart":7,"members":[null]}`))
	f.Add([]byte("\ufeff{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, _, ok := parseSession(data); ok == (s.ID == "") {
			t.Errorf("got session %+v, %v", s, ok)
		}
		if tag, _ := parseMasterState(data); tag == "" {
			t.Error("got no tag")
		}
		if state, err := parseMetadata(data); (state == "") != (err != nil) {
			t.Errorf("got state %q and %v", state, err)
		}
		if team, err := parseTeam(data); err != nil && strings.TrimSpace(err.Error()) == "" {
			t.Errorf("got %+v and no words", team)
		}
	})
}

func FuzzOneLine(f *testing.F) {
	for _, s := range []string{"", " a  b ", "a\nb", "a\x00b\xff", "é\u202e\u2028x", "a ", " "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := oneLine(s)
		if got != oneLine(got) || strings.ContainsAny(got, "\n\r\t\x00\x1b\u2028") || strings.TrimSpace(got) != got || strings.Contains(got, "  ") {
			t.Errorf("oneLine(%q) = %q", s, got)
		}
	})
}
