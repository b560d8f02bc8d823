package peers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const front = "---\nschema-version: 1\nstatus: active\nsession: main-1\n---\n"

func TestWithDeviation(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"no section", front + "\n# State\n", front + "\n# State\n\n## Deviations\n\nNEW\n"},
		{"no section, no line end", front + "\n# State", front + "\n# State\n\n## Deviations\n\nNEW\n"},
		{"only a frontmatter", front, front + "\n\n## Deviations\n\nNEW\n"},
		{"only a frontmatter, no line end", strings.TrimSpace(front), front + "\n\n## Deviations\n\nNEW\n"},
		{"placeholder", front + "\n## Deviations\n\n(none yet)\n", front + "\n## Deviations\n\nNEW\n"},
		{"another placeholder, more behind", front + "\n## Deviations\n\n_(none yet)_\n\n## Next\n- x\n", front + "\n## Deviations\n\nNEW\n\n## Next\n- x\n"},
		{"bullets", front + "\n## Deviations\n\n- a\n- b\n\n## Next\n- x\n", front + "\n## Deviations\n\n- a\n- b\nNEW\n\n## Next\n- x\n"},
		{"bullet without a line end", front + "\n## Deviations\n\n- a", front + "\n## Deviations\n\n- a\nNEW"},
		{"bullets below", front + "## Deviations\n- a\n  - b\n\ntext\n", front + "## Deviations\n- a\n  - b\nNEW\n\ntext\n"},
		{"text", front + "## Deviations\n\n\ntext\n## Next\n", front + "## Deviations\n\nNEW\ntext\n## Next\n"},
		{"empty", front + "## Deviations\n", front + "## Deviations\n\nNEW\n"},
		{"empty, no line end", front + "## Deviations", front + "## Deviations\n\nNEW\n"},
		{"empty, more behind", front + "## Deviations\n\n## Next\n", front + "## Deviations\n\nNEW\n\n## Next\n"},
		{"other headings", front + "### Deviations\n- a\n## Deviations2\n- b\n# Deviations\n", front + "### Deviations\n- a\n## Deviations2\n- b\n# Deviations\n\n## Deviations\n\nNEW\n"},
		{"a heading with more words", front + "##  Deviations so far\n- a\n", front + "##  Deviations so far\n- a\nNEW\n"},
		{"nothing is rewritten", "---\nA:   'x'\n\n# c\n---\nText\n\n\n## Deviations\n- a\n", "---\nA:   'x'\n\n# c\n---\nText\n\n\n## Deviations\n- a\nNEW\n"},
	}
	for _, tt := range tests {
		got, err := withDeviation(tt.text, "NEW")
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
		got, err = withDeviation(crlf(tt.text), "NEW")
		if err != nil {
			t.Errorf("%s with CRLF: %v", tt.name, err)
		}
		if diff := cmp.Diff(crlf(tt.want), got); diff != "" {
			t.Errorf("%s with CRLF (-want +got):\n%s", tt.name, diff)
		}
	}
	for _, text := range []string{"", "# State\n", "\n" + front, "---\nstatus: active\n"} {
		if got, err := withDeviation(text, "NEW"); err == nil {
			t.Errorf("%q became %q, want an error", text, got)
		}
	}
}

func FuzzWithDeviation(f *testing.F) {
	f.Add(front + "\n# State\n")
	f.Add(front + "\n## Deviations\r\n\r\n- a")
	f.Add("---\r\na: b\r\n---\r\n## Deviations\r\n")
	f.Add("---\n\n---x\n## Deviations\n(none yet)")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := withDeviation(text, "- [T] NEW")
		if err != nil {
			return
		}
		if strings.Count(got, "NEW") != strings.Count(text, "NEW")+1 {
			t.Fatalf("%q became %q", text, got)
		}
		again, err := withDeviation(got, "- [T] NEW")
		if err != nil || strings.Count(again, "## Deviations") != strings.Count(got, "## Deviations") {
			t.Fatalf("%q became %q and then %q, %v", text, got, again, err)
		}
	})
}

func TestAppendDeviation(t *testing.T) {
	t.Parallel()
	repo, at := t.TempDir(), noon()
	if ok, err := AppendDeviation(repo, at, "x"); ok || err != nil || names(t, repo) != "" {
		t.Errorf("without STATE.md: %v, %v, made %q", ok, err, names(t, repo))
	}
	target := filepath.Join(t.TempDir(), "kept elsewhere.md")
	write(t, target, front+"\n# State\n")
	if err := os.Chmod(target, 0o640); err != nil {
		t.Fatal(err)
	}
	symlink(t, target, filepath.Join(repo, ".claude", "STATE.md"))
	message := "went on\r\nbeside \x1b[1mdeep\x00 with ghp_" + strings.Repeat("x", 30) + strings.Repeat(" é", 400)
	if ok, err := AppendDeviation(repo, at, message); !ok || err != nil {
		t.Fatalf("AppendDeviation = %v, %v", ok, err)
	}
	got := read(t, target)
	begin := front + "\n# State\n\n## Deviations\n\n- [2026-03-04T12:00:00.000Z] went on beside deep with [redacted] é é"
	if !strings.HasPrefix(got, begin) || len([]rune(got)) > len(front)+600 || !strings.HasSuffix(got, "…\n") {
		t.Errorf("STATE.md = %q", got)
	}
	info, err := os.Lstat(filepath.Join(repo, ".claude", "STATE.md"))
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(target); err != nil || info.Mode() != 0o640 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
	if got := names(t, filepath.Join(repo, ".orchestrator")) + names(t, filepath.Dir(target)); got != "kept elsewhere.md" {
		t.Errorf("files = %q", got)
	}
	if ok, err := AppendDeviation(repo, at, " \n\x00"); ok || err == nil {
		t.Errorf("an empty message: %v, %v", ok, err)
	}
}

func TestAppendDeviationToOddFiles(t *testing.T) {
	t.Parallel()
	big := front + "\n" + strings.Repeat("x", maxState-len(front)-30) + "\n"
	tests := []struct {
		name string
		put  func(t *testing.T, name string)
		says string
	}{
		{"folder", mkdir, "not a regular file"},
		{"pipe", pipe, "not a regular file"},
		{"large", func(t *testing.T, name string) { write(t, name, big) }, "more than 256 KiB"},
		{"huge", func(t *testing.T, name string) { write(t, name, big+strings.Repeat("x", 10<<20)) }, "larger than 1 MiB"},
		{"no frontmatter", func(t *testing.T, name string) { write(t, name, "# State\n") }, "no frontmatter"},
		{"link to nothing", func(t *testing.T, name string) { symlink(t, "nothing", name) }, ""},
	}
	for _, tt := range tests {
		repo := t.TempDir()
		name := filepath.Join(repo, ".claude", "STATE.md")
		tt.put(t, name)
		was, err := os.Lstat(name)
		if err != nil {
			t.Fatal(err)
		}
		ok, err := AppendDeviation(repo, noon(), "x")
		if ok || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, %v, want %q", tt.name, ok, err, tt.says)
		}
		if now, err := os.Lstat(name); err != nil || !os.SameFile(was, now) || was.Size() != now.Size() {
			t.Errorf("%s: it was changed", tt.name)
		}
		if got := names(t, filepath.Join(repo, ".orchestrator")); got != "" {
			t.Errorf("%s: left %q", tt.name, got)
		}
	}
}

func TestAppendDeviationBesideAWriter(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	ended := exec.CommandContext(t.Context(), os.Args[0])
	ended.Env = append(os.Environ(), helperEnv+"=exit")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	lock := func(pid int, host string) string {
		return asJSON(map[string]any{"pid": pid, "host": host, "acquiredAt": "2026-03-04T12:00:00.000Z", "holder": "pid-x"})
	}
	tests := []struct {
		name, lock string
		waits      bool
	}{
		{"one at work", lock(os.Getpid(), host), true},
		{"one that has ended", lock(ended.Process.Pid, host), false},
		{"no process", lock(0, host), false},
		{"one of another machine", lock(ended.Process.Pid, "not-"+host), true},
		{"torn", `{"pid": 1`, false},
		{"empty", ``, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			repo := t.TempDir()
			name := filepath.Join(repo, ".orchestrator", "state.lock")
			write(t, filepath.Join(repo, stateName), front)
			write(t, name, tt.lock)
			ok, err := appendDeviation(repo, noon(), "x", time.Millisecond)
			if ok == tt.waits || (err == nil) == tt.waits {
				t.Errorf("appendDeviation = %v, %v, want to wait in vain: %v", ok, err, tt.waits)
			}
			if tt.waits {
				if !strings.Contains(fmt.Sprint(err), "has been held by pid") || read(t, name) != tt.lock || read(t, filepath.Join(repo, stateName)) != front {
					t.Errorf("error %v, lock %s", err, read(t, name))
				}
				if err := os.Remove(name); err != nil {
					t.Fatal(err)
				}
				if ok, err := AppendDeviation(repo, noon(), "x"); !ok || err != nil {
					t.Errorf("when it is free: %v, %v", ok, err)
				}
			}
			if got := names(t, filepath.Dir(name)); got != "" {
				t.Errorf("left %q", got)
			}
		})
	}
}

func TestAppendDeviationLosesNothing(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	write(t, filepath.Join(repo, stateName), front)
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for i := range 5 {
				if ok, err := appendDeviation(repo, noon(), fmt.Sprintf("writer %d line %d", w, i), deadline); !ok || err != nil {
					t.Errorf("AppendDeviation = %v, %v", ok, err)
				}
			}
		})
	}
	wg.Wait()
	if got := strings.Count(read(t, filepath.Join(repo, stateName)), "] writer "); got != 30 {
		t.Errorf("%d lines, want 30", got)
	}
}

func TestRewriteLooksAgain(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "STATE.md")
	write(t, name, "a")
	calls := 0
	ok, err := rewrite(name, func(text string) (string, error) {
		if calls++; calls == 1 {
			write(t, name, "b") // by somebody who takes no lock
		}
		return text + "+", nil
	})
	if !ok || err != nil || read(t, name) != "b+" {
		t.Errorf("rewrite = %v, %v, file %q, want what was written meanwhile kept", ok, err, read(t, name))
	}
	ok, err = rewrite(name, func(text string) (string, error) {
		write(t, name, text+"c")
		return text + "+", nil
	})
	if ok || err == nil || strings.Contains(read(t, name), "++") {
		t.Errorf("rewrite of what always changes = %v, %v, file %q", ok, err, read(t, name))
	}
}
