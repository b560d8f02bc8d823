package commit_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/sessions/commit"
)

func TestShowHistory(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.git("config", "log.showSignature", "true")
	w.git("config", "i18n.logOutputEncoding", "ISO-8859-1")
	first := w.git("rev-parse", "HEAD")
	w.git("commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", "sécond\n\nwith a body\n\n\nand more", "--date=2020-01-01T00:00:00Z")
	second := w.git("rev-parse", "HEAD")
	w.git("switch", "-qc", "side", first)
	w.git("commit", "-q", "--allow-empty", "-m", "beside")
	side := w.git("rev-parse", "HEAD")
	w.git("switch", "-q", "work")
	w.git("merge", "-q", "--no-ff", "-m", "merged", "side")

	got, err := w.History(t.Context(), "HEAD", 10)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, a := range got {
		lines = append(lines, fmt.Sprintf("%s %v %s", a.SHA, a.Parents, strings.TrimSpace(a.Message)))
		if want := w.git("log", "-1", "--format=%ct", a.SHA); fmt.Sprint(a.Time.Unix()) != want {
			t.Errorf("%s: time %v, want %s", a.SHA, a.Time, want)
		}
	}
	want := []string{
		fmt.Sprintf("%s [%s %s] merged", w.git("rev-parse", "HEAD"), second, side),
		fmt.Sprintf("%s [%s] sécond\n\nwith a body\n\n\nand more", second, first),
		first + " [] first",
	}
	if d := cmp.Diff(want, lines); d != "" {
		t.Errorf("history (-want +got):\n%s", d)
	}
	if got, err := w.History(t.Context(), "side", 1); err != nil || len(got) != 1 || got[0].SHA != side {
		t.Errorf("one commit: %+v, %v", got, err)
	}
	for _, rev := range []string{"nowhere", "", "-1", "--all", "^HEAD", "HEAD:a", first[:7] + "zz"} {
		if _, err := w.History(t.Context(), rev, 1); !errors.Is(err, commit.ErrNoCommit) {
			t.Errorf("%q: got %v, want ErrNoCommit", rev, err)
		}
	}
}

func TestShowContent(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.git("config", "core.autocrlf", "true")
	first := w.git("rev-parse", "HEAD")
	w.write("a", "two\n")
	w.git("rm", "-q", "b")
	w.git("commit", "-qam", "second")
	for _, tt := range []struct{ rev, path, want string }{
		{first, "a", "a one\n"},
		{"HEAD", "a", "two\n"},
		{first, "b", "b one\n"},
		{"HEAD", "dir/x", "dir/x one\n"},
		{"HEAD", "b", "none"},
		{"HEAD", "dir", "none"},
		{"HEAD", "di*", "none"},
		{"HEAD", "never", "none"},
	} {
		data, found, err := w.Content(t.Context(), tt.rev, tt.path, 100)
		if got := string(data); err != nil || found != (tt.want != "none") || found && got != tt.want {
			t.Errorf("%s of %s: %q, %v, %v; want %q", tt.path, tt.rev, got, found, err, tt.want)
		}
	}
	if _, _, err := w.Content(t.Context(), "HEAD", "a", 3); err == nil || !strings.Contains(err.Error(), "4 bytes, at most 3") {
		t.Errorf("too large: %v", err)
	}
	if _, _, err := w.Content(t.Context(), "nowhere", "a", 3); err == nil {
		t.Error("a commit that is not there: no error")
	}
}

func TestShowPatch(t *testing.T) {
	t.Parallel()
	w := work(t)
	first := w.git("rev-parse", "HEAD")
	w.git("config", "diff.external", "false")
	w.git("config", "color.ui", "always")
	w.git("config", "diff.bad.textconv", "false")
	w.write(".gitattributes", "* diff=bad\n")
	w.write("a", "two\n")
	w.write("b", "two\n")
	w.git("add", ".")
	w.git("commit", "-qm", "second")
	text, whole, err := w.Patch(t.Context(), first, "HEAD", 10_000, ".gitattributes", "b", "*")
	if err != nil || whole != len(text) || !strings.Contains(text, "\n-a one\n+two\n") || strings.Contains(text, "diff --git a/b") || strings.Contains(text, "\x1b") {
		t.Errorf("patch %q of %d bytes, %v", text, whole, err)
	}
	cut, again, err := w.Patch(t.Context(), first, "HEAD", 20, ".gitattributes", "b")
	if err != nil || cut != text[:20] || again != whole {
		t.Errorf("cut to 20 bytes: %q of %d, %v", cut, again, err)
	}
	if text, _, err := w.Patch(t.Context(), "", first, 10_000); err != nil || !strings.Contains(text, "+dir/x one") {
		t.Errorf("since the beginning: %q, %v", text, err)
	}
}

func TestTip(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.git("branch", "a/b", "main")
	w.git("tag", "tagged")
	w.git("commit", "-q", "--allow-empty", "-m", "second")
	for _, packed := range []bool{false, true} {
		if packed {
			w.git("pack-refs", "--all")
		}
		for branch, want := range map[string]string{
			"work": w.head(), "a/b": w.git("rev-parse", "main"), "a": "", "nope": "", "": "", "..": "", "work~1": "", "wor*": "", "tagged": "", "HEAD": "", "-q": "",
		} {
			if got, err := w.Tip(t.Context(), branch); got != want || err != nil {
				t.Errorf("Tip(%q) = %q, %v, want %q", branch, got, err, want)
			}
		}
	}
	w.dir, w.Top = t.TempDir(), t.TempDir()
	if got, err := w.Tip(t.Context(), "work"); err == nil {
		t.Errorf("Tip where there is no repository = %q without an error", got)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.git("config", "log.showSignature", "true")
	w.git("config", "i18n.logOutputEncoding", "ISO-8859-1")
	first := w.head()
	long := "sécond\n\nwith a body\n\n\nMark: 2\n"
	w.git("commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", long)
	second := w.head()
	w.git("commit", "-q", "--allow-empty", "--allow-empty-message", "-m", "")
	third := w.head()
	w.git("branch", "-q", "-f", "main", "work~1")
	for _, tc := range []struct {
		from, to string
		want     map[string]string
	}{
		{first, "work", map[string]string{second: long, third: ""}},
		{first, second, map[string]string{second: long}},
		{"", "main", map[string]string{first: "first\n", second: long}},
		{"work", "main", map[string]string{}},
		{"main", "main", map[string]string{}},
	} {
		got, err := w.Messages(t.Context(), tc.from, tc.to)
		if err != nil {
			t.Fatal(err)
		}
		for id, text := range got {
			got[id] = strings.TrimRight(text, "\n") // git log ends it in its own way
		}
		for id, text := range tc.want {
			tc.want[id] = strings.TrimRight(text, "\n")
		}
		same(t, fmt.Sprintf("%.7s..%.7s", tc.from, tc.to), got, tc.want)
	}
	for _, bad := range [][2]string{{"nope", "work"}, {"", "nope"}, {"", ""}, {"", "--all"}, {"--all", "work"}} {
		if got, err := w.Messages(t.Context(), bad[0], bad[1]); err == nil {
			t.Errorf("Messages(%q) = %v without an error", bad, got)
		}
	}
}

func TestMessagesOfManyCommits(t *testing.T) {
	t.Parallel()
	w := work(t)
	var b strings.Builder
	for i := range 5100 {
		fmt.Fprintf(&b, "commit refs/heads/many\ncommitter t <t@example.org> %d +0000\ndata <<E\nMark: %d\nE\n\n", 1_700_000_000+i, i)
	}
	w.write("stream", b.String())
	in, err := os.Open(filepath.Join(w.dir, "stream"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	cmd := exec.Command("git", "fast-import", "--quiet")
	cmd.Dir, cmd.Env, cmd.Stdin = w.dir, w.Environ, in
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got, err := w.Messages(t.Context(), "", "many")
	if err != nil || len(got) != 5000 || !strings.Contains(got[w.git("rev-parse", "many")], "Mark: 5099") {
		t.Errorf("%d messages, %v", len(got), err)
	}
}
