package message

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const usualPattern = "{tag}/task-{id}-{slug}"

func TestBranch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ pattern, tag, id, title, want string }{
		{usualPattern, "analytics", "42", "User metrics", "analytics/task-42-user-metrics"},
		{usualPattern, "master", "1.1", "  Add: the (new) API!! ", "master/task-1.1-add-the-new-api"},
		{usualPattern, "master", "1", "日本語の題", "master/task-1"},
		{usualPattern, "master", "1", "", "master/task-1"},
		{usualPattern, "", "1", "x", "task-1-x"},
		{usualPattern, "team/Q3 plan", "1", "x", "team/q3-plan/task-1-x"},
		{usualPattern, "-rf ..@{-1}~^:?*[\\", "1", "x", "rf-.@-1/task-1-x"},
		{usualPattern, ".hidden./x.lock/.LOCK", "1", "x", "hidden/x/lock/task-1-x"},
		{usualPattern, "größe", "1", "Größe", "größe/task-1-gr-e"},
		{usualPattern, "a//b/", "1", "x", "a/b/task-1-x"},
		{usualPattern, "a\nb\x00\x7f\xff", "1", "x", "a-b/task-1-x"},
		{usualPattern, "$(rm)`x`;'\"&|", "1", "x", "rm-x/task-1-x"},
		{usualPattern, "t", "AUTH-7/2", "x", "t/task-auth-7-2-x"},
		{"{slug}-{id}", "t", "1", "", "1"},
		{"{id}_{slug}", "t", "1", "", "1"},
		{"{id}", "t", "HEAD", "x", "task-head"},
		{"{id}", "t", "@", "x", "task"},
		{"{id}", "t", "...", "x", "task"},
		{"{id}.lock", "t", "1", "x", "1"},
		{"{id}-{slug}", "t", "1", "{tag} and {id}", "1-tag-and-id"},
		{usualPattern, "t", "1", strings.Repeat("twelve chars ", 9), "t/task-1-twelve-chars-twelve-chars-twelve-chars-twelve"},
		{"{id}-{slug}", "t", "1", strings.Repeat("a", 49) + " b", "1-" + strings.Repeat("a", 49)},
		{"{id}-{slug}", "t", "1", strings.Repeat("a", 50) + " b", "1-" + strings.Repeat("a", 50)},
		{"{id}-{slug}", "t", "1", strings.Repeat("x", 200_000), "1-" + strings.Repeat("x", 50)},
		{"{tag}-{id}", strings.Repeat("ä", 200_000), "1", "x", strings.Repeat("ä", 50) + "-1"},
	} {
		if got := Branch(tt.pattern, tt.tag, tt.id, tt.title); got != tt.want {
			t.Errorf("%s of %.40q %q %.40q: got %q, want %q", tt.pattern, tt.tag, tt.id, tt.title, got, tt.want)
		}
	}
}

func TestFlat(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"a/task-1": "a-task-1", "a/b/c": "a-b/c", "a": "a"} {
		if got := Flat(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestCheckPattern(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		usualPattern:                     "",
		"{id}":                           "",
		"ai/{id}":                        "",
		"Feature+{id}@x":                 "",
		"{tag}":                          `"{tag}" has no {id}`,
		"{taskId}-{id}":                  "unknown placeholder {taskId}; there are {tag}, {id}, {slug}",
		"{id":                            "has a brace that is not part of a placeholder",
		"/{id}":                          "makes names such as /1, which is no good name of a branch; 1 would be one",
		"{id}/":                          "1 would be one",
		"-{id}":                          "1 would be one",
		"a..{id}":                        "a.1 would be one",
		"a//{id}":                        "a/1 would be one",
		"{id}.lock":                      "1 would be one",
		"task {id}":                      "task-1 would be one",
		"{id}~1":                         "1-1 would be one",
		"{tag}/.{id}":                    "tag/1 would be one",
		"{id}\n":                         "is not one line of text",
		strings.Repeat("x", 61) + "{id}": "it has 61 characters beside its placeholders",
	} {
		got := fmt.Sprint(CheckPattern(pattern))
		if want == "" && got != "<nil>" || !strings.Contains(got, want) {
			t.Errorf("%.40q: got %s, want %q", pattern, got, want)
		}
	}
}

// git runs in no repository and without the machine's configuration.
func git(dir string, args ...string) (string, error) {
	c := exec.Command("git", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES="+dir)
	out, err := c.CombinedOutput()
	return string(out), err
}

// Git accepts every name, as it is, and so it does the flat one.
func TestGitTakesEveryName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	odd := rapid.StringMatching(`[-./@{}~^:?*\[\]\\ a-zA-Z0-9é\x00-\x1f]{0,20}(\.lock|HEAD|@|@\{-1\})?(/|\.\.|-)?.{0,5}`)
	text := rapid.OneOf(rapid.String(), odd, rapid.SampledFrom([]string{"", "HEAD", "@", "-", ".lock", "a.lock/b", "refs/heads/x", strings.Repeat("長", 500)}))
	pattern := rapid.SampledFrom([]string{usualPattern, "{id}", "{slug}/{id}", "{tag}{id}", "x/{slug}.{id}.{tag}"})
	rapid.Check(t, func(t *rapid.T) {
		name := Branch(pattern.Draw(t, "pattern"), text.Draw(t, "tag"), text.Draw(t, "id"), text.Draw(t, "title"))
		for _, n := range []string{name, Flat(name)} {
			if out, err := git(dir, "check-ref-format", "--branch", n); err != nil || out != n+"\n" {
				t.Fatalf("%q: %s, %v", n, out, err)
			}
			for part := range strings.SplitSeq(n, "/") {
				if len(part) > partLength {
					t.Fatalf("%q has %d bytes", part, len(part))
				}
			}
		}
	})
}

// Git takes the lines at the end of a message for trailers, and keeps the message as
// it is.
func TestGitReadsTheMessage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := skeleton()
	c.Body += "\n# a title\n---\nRun: other"
	c.Mark = "Run: r 1.1"
	want := c.Text(usualTemplate)
	for _, args := range [][]string{
		{"init", "-q"},
		{"-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "-q", "--allow-empty", "-m", want},
	} {
		if out, err := git(dir, args...); err != nil {
			t.Fatalf("git %v: %s %v", args, out, err)
		}
	}
	if got, err := git(dir, "log", "--format=%B"); err != nil || got != want+"\n" {
		t.Errorf("message is %q, %v, want %q", got, err, want)
	}
	if got, err := git(dir, "log", "--format=%(trailers:key=Run,valueonly,separator=%x2C)"); err != nil || got != "r 1.1\n" {
		t.Errorf("mark is %q, %v", got, err)
	}
	if got, err := git(dir, "log", "--format=%(trailers:key=Tests,valueonly,separator=%x2C)"); err != nil || got != "3 passing\n" {
		t.Errorf("results are %q, %v", got, err)
	}
}
