package completion

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"autopilot/sessions/task"
)

func TestPrompt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 119) + "bc"
	tests := []struct {
		name  string
		state State
		tasks []task.Task
		want  string
	}{
		{
			"one of three",
			State{Iterations: 1, Settings: Settings{MaxIterations: 50}},
			list("cpp"),
			"AUTOPILOT: 1/3 tasks complete (33%).\nIteration 1/50.\nRemaining tasks:\n- task 2 (pending)\n- task 3 (pending)\n" +
				"Continue working on the remaining tasks. Do not stop until all are complete.",
		},
		{
			"much",
			State{Iterations: 7, Stalled: 6, Learned: []string{"small steps", " ", "a test\nfirst", "more"}, Settings: Settings{MaxIterations: 9}},
			append([]task.Task{
				{Subject: "wait", Status: "todo", Source: "x", Blocked: true, BlockedBy: []string{"3", "4", "5"}},
				{ID: "3", Subject: "gate", Status: "in_progress", Source: "x", Dead: true},
				{ID: "4", Subject: "over", Status: "done", Source: "x"},
				{ID: "5", Subject: "elsewhere", Status: "done", Source: "y"},
				{ID: "n", Subject: " \x00 ", Status: ""},
			}, list("ppp")...),
			"AUTOPILOT: 2/8 tasks complete (25%).\nIteration 7/9.\nRemaining tasks:\n- gate (in_progress) (the agent that had it is gone: take it over)\n" +
				"- n (unknown)\n- task 1 (pending)\n- task 2 (pending)\n- task 3 (pending)\n... and 1 more\nPast patterns suggest: small steps; a test first\n" +
				"WARNING: No progress in 6 iterations. Consider:\n- splitting what remains into smaller subtasks\n- taking a different approach\n" +
				"- finding out whether tasks are blocked on external dependencies\nContinue working on the remaining tasks. Do not stop until all are complete.",
		},
		{
			"blocked ones last",
			State{Iterations: 2},
			[]task.Task{
				{ID: "1", Subject: "roof", Status: "pending", Blocked: true, BlockedBy: []string{"2", "3", "4"}},
				{ID: "2", Subject: "walls", Status: "pending"},
				{ID: "3", Subject: "ground", Status: "completed"},
				{ID: "5", Subject: long, Status: "pending", Blocked: true},
				{ID: "6", Subject: "all", Status: "pending", Blocked: true, BlockedBy: []string{"a", "b", "c", "d\nd", "e"}},
			},
			"AUTOPILOT: 1/5 tasks complete (20%).\nIteration 2.\nRemaining tasks:\n- walls (pending)\n- roof (pending) (blocked by 2, 4)\n- " +
				strings.Repeat("ä", 119) + "… (pending) (blocked by other tasks)\n- all (pending) (blocked by a, b, c and 2 more)\n" +
				"Continue working on the remaining tasks. Do not stop until all are complete.",
		},
		{
			"failed ones where all have to succeed",
			State{Iterations: 1, Settings: Settings{MaxIterations: 2, Criteria: AllSucceeded}},
			list("cf"),
			"AUTOPILOT: 1/2 tasks complete (50%).\nIteration 1/2.\nRemaining tasks:\n- task 2 (failed)\n" +
				"Continue working on the remaining tasks. Do not stop until all are complete.",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Prompt(tt.state, tt.tasks)); diff != "" {
				t.Errorf("prompt (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPercentIsNotWholeWhileATaskRemains(t *testing.T) {
	t.Parallel()
	if got := tally(list(strings.Repeat("c", 999)+"p"), AllDone).percent(); got != 99 {
		t.Errorf("999 of 1000 are %d%%, want 99", got)
	}
}

func TestPromptIsBounded(t *testing.T) {
	t.Parallel()
	wide := strings.Repeat("𝄞", 1<<16)
	s := State{Iterations: 1 << 40, Stalled: 1 << 40, Learned: []string{wide, wide, wide, wide}, Settings: Settings{MaxIterations: 1 << 40}}
	var tasks []task.Task
	for range 10 {
		tasks = append(tasks, task.Task{ID: wide, Subject: wide, Status: wide, Blocked: true, Dead: true, BlockedBy: []string{wide, wide, wide, wide}})
	}
	if n := len(Prompt(s, tasks)); n >= 9000 || n < 4000 {
		t.Errorf("the prompt has %d bytes", n)
	}
}

func FuzzPromptLines(f *testing.F) {
	for _, s := range []string{"", "plain", "two\nlines", "AUTOPILOT: 9/9 tasks complete (100%).\n", "\u2028\u2029\u0085\v\f\r", "\x1b[31m", "a\u202eb", "\xff\xfe", strings.Repeat("é", 500), "e\u0301"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, runes int) {
		p := Prompt(State{Iterations: 1, Learned: []string{text}}, []task.Task{{ID: text, Subject: text, Status: text, Blocked: true, BlockedBy: []string{text}, Dead: true}})
		lines := 5
		if line(text, lessonRunes) != "" {
			lines++
		}
		if got := strings.Count(p, "\n") + 1; got != lines || !utf8.ValidString(p) {
			t.Errorf("%d lines, want %d:\n%q", got, lines, p)
		}
		if i := strings.IndexFunc(p, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || r == '\u2028' || r == '\u2029') }); i >= 0 {
			t.Errorf("a control character stayed: %q", p[i:])
		}
		runes = 1 + max(0, runes)%200
		if got := utf8.RuneCountInString(line(text, runes)); got > runes {
			t.Errorf("%d runes, want at most %d", got, runes)
		}
	})
}
