package taskmaster

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const tagged = `{"master":{"tasks":[{"id":1,"title":"one","subtasks":[{"id":2,"title":"part","status":"done"}]}]},"next":{"tasks":[{"id":1,"title":"two"}]}}`
	for _, tt := range []struct{ name, data, tag, want string }{
		{"a tag", tagged, "next", "next two"},
		{"no tag is master", tagged, "", "master one"},
		{"without tags", `{"tasks":[{"id":1,"title":"old"}]}`, "", "master old"},
		{"without tags, asked for", `{"tasks":[{"id":1,"title":"old"}]}`, "master", "master old"},
	} {
		f, err := Parse("at a commit", []byte(tt.data), tt.tag)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		task, err := f.Task("1")
		if got := f.Tag + " " + task.Title; got != tt.want || err != nil || f.Path != "at a commit" {
			t.Errorf("%s: got %s of %q, %v; want %s", tt.name, got, f.Path, err, tt.want)
		}
	}
	f, err := Parse("x", []byte(tagged), "master")
	if err != nil || f.Status("1.2") != "done" {
		t.Errorf("status of a subtask: got %q, %v; want done", f.Status("1.2"), err)
	}
	for data, want := range map[string]error{tagged: ErrNoTag, `{"tasks":[]}`: ErrNoTag, `[]`: nil, ``: nil} {
		if _, err := Parse("the file", []byte(data), "other"); err == nil || want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), "the file") {
			t.Errorf("%.20q: got %v, want %v with the name of the file", data, err, want)
		}
	}
	if _, err := Parse("the file", make([]byte, MaxBytes+1), ""); err == nil || !strings.Contains(err.Error(), "larger than 64 MiB") {
		t.Errorf("too large: got %v", err)
	}
	if got := Places(); len(got) != 2 || got[0] != tasksFile {
		t.Errorf("places %q", got)
	}
}
