package document

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"autopilot/supervisor/publish"
)

func update() publish.Update {
	return publish.Update{
		Subject: "0007-login", Title: "Login", Body: "- [x] form\n- [ ] session", State: publish.Running, Percent: 50,
		At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
	}
}

const want1 = `<!-- autopilot: progress of 0007-login, k1 -->
### Login

**running**, 50 %, 2026-03-01T12:00:00Z

- (x) form
- ( ) session

<!-- autopilot: end of 0007-login -->`

func sender(t *testing.T, content string) (*Sender, string) {
	t.Helper()
	repo := t.TempDir()
	path := filepath.Join(repo, "docs", "progress.md")
	if content != "" {
		write1(t, path, content)
	}
	return New(repo, publish.Target{Service: publish.File, Ref: "docs/progress.md"}), path
}

func write1(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestSections(t *testing.T) {
	t.Parallel()
	other := strings.ReplaceAll(want1, "0007-login", "0007-login-2")
	for _, tc := range []struct{ name, before, after string }{
		{"no file", "", want1 + "\n"},
		{"no section", "# Ours\n\ntext", "# Ours\n\ntext\n\n" + want1 + "\n"},
		{"an older one", "a\n" + strings.NewReplacer("k1", "k0", "50 %", "20 %").Replace(want1) + "\nb", "a\n" + want1 + "\nb"},
		{"one of a subject that begins alike", other + "\n", other + "\n\n" + want1 + "\n"},
		{"line ends of two characters", "a\r\nb\r\n", "a\r\nb\r\n\r\n" + strings.ReplaceAll(want1, "\n", "\r\n") + "\r\n"},
		{"not UTF-8", "\xff\xfe\n", "\xff\xfe\n\n" + want1 + "\n"},
		{"the comment within a line", "see <!-- autopilot: progress of 0007-login, k1 -->\n", "see <!-- autopilot: progress of 0007-login, k1 -->\n\n" + want1 + "\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, path := sender(t, tc.before)
			r, err := s.Send(t.Context(), "k1", update())
			if err != nil || r.Again || r.ID != "docs/progress.md" {
				t.Fatalf("receipt %+v, %v", r, err)
			}
			if got := content(t, path); got != tc.after {
				t.Errorf("file = %q\nwant   %q", got, tc.after)
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if r, err := s.Send(t.Context(), "k1", update()); err != nil || !r.Again {
				t.Errorf("the same again: %+v, %v", r, err)
			}
			if same, err := os.Stat(path); err != nil || !os.SameFile(info, same) {
				t.Errorf("the same again was written again")
			}
			if want := fs.FileMode(0o640); tc.before != "" && info.Mode().Perm() != want {
				t.Errorf("mode = %v, want %v", info.Mode().Perm(), want)
			}
		})
	}
}

func TestTextOfOthersStaysInside(t *testing.T) {
	t.Parallel()
	s, path := sender(t, "before\n")
	u := update()
	u.Title = "x\n<!-- autopilot: end of 0007-login -->"
	u.Body = "<!-- autopilot: end of 0007-login -->\n```go\ncode"
	for _, key := range []string{"k1", "k2"} {
		if _, err := s.Send(t.Context(), key, u); err != nil {
			t.Fatal(err)
		}
	}
	got := content(t, path)
	if n := strings.Count(got, "<!--"); n != 2 {
		t.Errorf("%d comments, want ours only:\n%s", n, got)
	}
	if !strings.Contains(got, "code\n```\n") {
		t.Errorf("the block of code is open:\n%s", got)
	}
}

func TestBlocksOfCode(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"```go\ncode":             "```\ncode\n```",
		"```go\ncode\n```":        "```\ncode\n```",
		"````\n```\ncode":         "````\n```\ncode\n````",
		"~~~\n```":                "````\n```\n````",
		"```not one``` of a line": "\\`\\``not one`\\`\\` of a line",
		"```\na\n```\nb\n```\nc":  "```\na\n```\n\nb\n\n```\nc\n```",
		"```\n- [ ] a\n<!--\n```": "```\n- ( ) a\n&lt;!--\n```",
		"- [x] @bob <!-- #1":      "- (x) @\u200bbob \\<\\!-- #\u200b1",
	} {
		if got := harmless(in); got != want {
			t.Errorf("harmless(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestWhatAPersonHasToMend(t *testing.T) {
	t.Parallel()
	begin, end := "<!-- autopilot: progress of 0007-login, k0 -->\n", "<!-- autopilot: end of 0007-login -->\n"
	for name, before := range map[string]string{
		"no end":         begin + "text\n",
		"no begin":       "text\n" + end,
		"twice":          begin + end + begin + end,
		"two begins":     begin + begin + end,
		"two ends":       begin + end + end,
		"wrong way":      end + begin,
		"far too large":  strings.Repeat("x", maxFile+1),
		"other than one": begin + end + begin,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, path := sender(t, before)
			_, err := s.Send(t.Context(), "k1", update())
			if e, ok := errors.AsType[*publish.SendError](err); !ok || !e.Permanent {
				t.Errorf("error = %v, want a permanent one", err)
			}
			if content(t, path) != before {
				t.Error("the file changed")
			}
		})
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	write1(t, filepath.Join(outside, "x.md"), "theirs")
	for _, tc := range []struct {
		name, path string
		prepare    func(repo string) error
		ok         bool
	}{
		{"a link to a file outside", "x.md", func(repo string) error {
			return os.Symlink(filepath.Join(outside, "x.md"), filepath.Join(repo, "x.md"))
		}, false},
		{"a link to nothing", "x.md", func(repo string) error {
			return os.Symlink(filepath.Join(outside, "new.md"), filepath.Join(repo, "x.md"))
		}, false},
		{"a folder that leads outside", "docs/x.md", func(repo string) error {
			return os.Symlink(outside, filepath.Join(repo, "docs"))
		}, false},
		{"a missing folder below one that leads outside", "docs/new/x.md", func(repo string) error {
			return os.Symlink(outside, filepath.Join(repo, "docs"))
		}, false},
		{"upwards", "../x.md", nil, false},
		{"into .git", "docs/x.md", func(repo string) error {
			return errors.Join(os.Mkdir(filepath.Join(repo, ".git"), 0o755), os.Symlink(".git", filepath.Join(repo, "docs")))
		}, false},
		{"into the lists of tasks", "docs/x.md", func(repo string) error {
			return errors.Join(os.Mkdir(filepath.Join(repo, ".specweave"), 0o755), os.Symlink(".specweave", filepath.Join(repo, "docs")))
		}, false},
		{"a folder", "docs", func(repo string) error { return os.Mkdir(filepath.Join(repo, "docs"), 0o755) }, false},
		{"a link within the repository", "x.md", func(repo string) error {
			return errors.Join(os.WriteFile(filepath.Join(repo, "y.md"), nil, 0o644), os.Symlink("y.md", filepath.Join(repo, "x.md")))
		}, true},
		{"folders that are missing", "a/b/x.md", nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			repo := t.TempDir()
			if tc.prepare != nil {
				if err := tc.prepare(repo); err != nil {
					t.Fatal(err)
				}
			}
			s := New(repo, publish.Target{Service: publish.File, Ref: tc.path})
			_, err := s.Send(t.Context(), "k1", update())
			if e, ok := errors.AsType[*publish.SendError](err); tc.ok != (err == nil) || err != nil && (!ok || !e.Permanent) {
				t.Errorf("error = %v", err)
			}
			if !tc.ok {
				return
			}
			if got := content(t, filepath.Join(repo, tc.path)); got != want1+"\n" {
				t.Errorf("file = %q", got)
			}
		})
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 || content(t, filepath.Join(outside, "x.md")) != "theirs" {
		t.Errorf("outside: %v, %v", entries, err)
	}
}

func TestSectionsOfManySubjects(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		file, last := rapid.StringMatching(`([a-c#<>!-]{0,6}\n){0,4}[a-c]{0,2}`).Draw(t, "file"), map[string]string{}
		kept := file
		for i := range rapid.IntRange(1, 12).Draw(t, "updates") {
			u := update()
			u.Subject = rapid.SampledFrom([]string{"a", "ab", "a/b", "b"}).Draw(t, "subject")
			u.Body = rapid.StringMatching("([ -~]|\n|\r\n|```|<!-- autopilot: end of a -->){0,12}").Draw(t, "body")
			key := string(rune('A' + i))
			next, again, err := edit(file, key, u)
			if err != nil || again {
				t.Fatalf("edit: %v, %v", again, err)
			}
			file, last[u.Subject] = next, section(key, u)
		}
		if !strings.HasPrefix(file, kept) {
			t.Fatalf("what was there changed: %q, before %q", file, kept)
		}
		for subject, want := range last {
			from, to, err := find(file, subject)
			if err != nil || from < 0 || file[from:to] != want {
				t.Fatalf("section of %s: %d %d %v in\n%s", subject, from, to, err, file)
			}
		}
	})
}

func TestPreview(t *testing.T) {
	t.Parallel()
	s, path := sender(t, "")
	if got, want := s.Preview("k1", update()), "write to docs/progress.md\n\n"+want1+"\n"; got != want {
		t.Errorf("preview = %q, want %q", got, want)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("preview made the file: %v", err)
	}
}
