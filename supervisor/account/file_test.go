package account

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestNoteAndUntil(t *testing.T) {
	t.Parallel()
	a, now := Of(t.TempDir(), []string{"HOME=/home/someone"}, false), noon()
	five := Limit{Kind: "five_hour", Until: now.Add(3 * time.Hour), By: "run-1", At: now}
	opus := Limit{Kind: "seven_day_opus", Model: "opus", Until: now.Add(50 * time.Hour), By: "run-2", At: now.Add(time.Second)}
	note(t, a, five, opus)

	tests := []struct {
		model string
		after time.Duration
		want  Limit
	}{
		{"claude-sonnet-4-5", time.Minute, five},
		{"", time.Minute, five},
		{"claude-opus-4-5", time.Minute, opus},
		{"claude-sonnet-4-5", 3 * time.Hour, Limit{}},
		{"claude-opus-4-5", 3 * time.Hour, opus},
		{"claude-opus-4-5", 50 * time.Hour, Limit{}},
		{"claude-opus-4-5", -time.Hour, Limit{}},
	}
	for _, tt := range tests {
		got, ok := a.Until(tt.model, now.Add(tt.after))
		if diff := cmp.Diff(tt.want, got); diff != "" || ok != (tt.want != Limit{}) {
			t.Errorf("model %q after %v: %v (-want +got):\n%s", tt.model, tt.after, ok, diff)
		}
	}
	other := Of(filepath.Dir(a.Dir), []string{"HOME=/home/other"}, false)
	if l, ok := other.Until("", now); ok {
		t.Errorf("another account has %v", l)
	}
	if err := a.Check(); err != nil {
		t.Error(err)
	}
}

func TestNoteRefuses(t *testing.T) {
	t.Parallel()
	a, now := Of(t.TempDir(), nil, false), noon()
	for name, l := range map[string]Limit{
		"no end":       {Kind: "five_hour", At: now},
		"no beginning": {Kind: "five_hour", Until: now.Add(time.Hour)},
		"of a month":   {Kind: "overage", Until: now.Add(30 * day), At: now},
	} {
		if err := a.Note(l); err == nil {
			t.Errorf("a limit with %s was noted", name)
		}
	}
	note(t, a, Limit{Kind: "five_hour", Until: now, At: now})
	note(t, Account{}, Limit{Kind: "five_hour", Until: now.Add(time.Hour), At: now})
	if entries, err := os.ReadDir(filepath.Dir(a.Dir)); err != nil || len(entries) != 0 {
		t.Errorf("something was written: %v %v", entries, err)
	}
}

func TestClear(t *testing.T) {
	t.Parallel()
	now := noon()
	tests := []struct {
		name  string
		clear func(Account) error
		want  []string
	}{
		{"nothing was met before", func(a Account) error { return a.Clear(now) }, []string{"late", "week", "opus", "sonnet"}},
		{"a limit for all models", func(a Account) error { return a.Clear(now.Add(time.Minute)) }, []string{"late", "opus", "sonnet"}},
		{"also one for the model", func(a Account) error { return a.ClearModel("claude-opus-4-5", now.Add(time.Minute)) }, []string{"late", "sonnet"}},
		{"everything for all models", func(a Account) error { return a.Clear(now.Add(2 * time.Hour)) }, []string{"opus", "sonnet"}},
	}
	for _, tt := range tests {
		a := Of(t.TempDir(), nil, false)
		note(
			t, a,
			Limit{Kind: "week", Until: now.Add(day), At: now},
			Limit{Kind: "opus", Model: "opus", Until: now.Add(day - 1), At: now},
			Limit{Kind: "sonnet", Model: "sonnet", Until: now.Add(day - 2), At: now},
			Limit{Kind: "late", Until: now.Add(2 * day), At: now.Add(time.Hour)},
		)
		if err := tt.clear(a); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, kinds(t, a)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// A limit that was met again after an answer stands with its own end.
func TestClearLeavesTheLaterOfAKind(t *testing.T) {
	t.Parallel()
	a, now := Of(t.TempDir(), nil, false), noon()
	note(
		t, a,
		Limit{Kind: "five_hour", Until: now.Add(4 * time.Hour), At: now},
		Limit{Kind: "five_hour", Until: now.Add(2 * time.Hour), At: now.Add(time.Hour)},
	)
	if l, ok := a.Until("", now.Add(time.Hour)); !ok || !l.Until.Equal(now.Add(4*time.Hour)) {
		t.Errorf("before an answer: %v %v", l, ok)
	}
	if err := a.Clear(now.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if l, ok := a.Until("", now.Add(time.Hour)); !ok || !l.Until.Equal(now.Add(2*time.Hour)) {
		t.Errorf("after an answer: %v %v", l, ok)
	}
}

func TestNothingThere(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "state")
	for _, a := range []Account{Of(root, nil, false), {}} {
		if l, ok := a.Until("opus", noon()); ok {
			t.Errorf("a limit out of nowhere: %v", l)
		}
		if err := errors.Join(a.Clear(noon()), a.ClearModel("opus", noon()), a.Check()); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(root); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a look has created the folder: %v", err)
	}
}

func TestBrokenFile(t *testing.T) {
	t.Parallel()
	now := noon()
	whole := Of(t.TempDir(), nil, false)
	note(t, whole, Limit{Kind: "five_hour", Until: now.Add(time.Hour), At: now})
	data, err := os.ReadFile(whole.path())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"torn":            string(data[:len(data)/2]),
		"empty":           "",
		"zeros":           strings.Repeat("\x00", len(data)),
		"another version": strings.Replace(string(data), `"version": 1`, `"version": 2`, 1),
		"another type":    `{"version":1,"limits":"none"}`,
		"a broken time":   strings.Replace(string(data), "2026", "year", 1),
	} {
		a := Of(t.TempDir(), nil, false)
		write(t, a.path(), content)
		if l, ok := a.Until("", now); ok {
			t.Errorf("%s: %v holds", name, l)
		}
		if err := a.Check(); err == nil || !strings.Contains(err.Error(), a.path()) {
			t.Errorf("%s: check says %v, want an error that names the file", name, err)
		}
		if err := a.Clear(now.Add(time.Hour)); err != nil {
			t.Errorf("%s: clear says %v", name, err)
		}
		note(t, a, Limit{Kind: "seven_day", Until: now.Add(day), At: now})
		if l, ok := a.Until("", now); !ok || l.Kind != "seven_day" {
			t.Errorf("%s: after a note %v %v", name, l, ok)
		}
		if err := a.Check(); err != nil {
			t.Errorf("%s: after a note check says %v", name, err)
		}
	}
}

func TestUnwritableFolder(t *testing.T) {
	t.Parallel()
	now := noon()
	limit := Limit{Kind: "five_hour", Until: now.Add(time.Hour), At: now}

	inTheWay := Of(t.TempDir(), nil, false)
	write(t, inTheWay.Dir, "no folder")
	if err := inTheWay.Note(limit); err == nil {
		t.Error("a file in the place of the folder: no error")
	}
	if l, ok := inTheWay.Until("", now); ok {
		t.Errorf("a file in the place of the folder: %v holds", l)
	}

	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	a := Of(t.TempDir(), nil, false)
	note(t, a, limit)
	if err := os.Chmod(a.Dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(a.Dir, 0o700) })
	if err := a.Note(Limit{Kind: "seven_day", Until: now.Add(day), At: now}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("note says %v, want that it is not permitted", err)
	}
	if l, ok := a.Until("", now); !ok || l.Kind != "five_hour" {
		t.Errorf("%v %v, want the limit that could be noted", l, ok)
	}
}

func TestModesAndSecrets(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "state")
	const secret = "sk-ant-oat01-abcdefghijkl"
	a := Of(root, []string{"HOME=/home/someone", "CLAUDE_CODE_OAUTH_TOKEN=" + secret}, false)
	note(t, a, Limit{Kind: "five\x1b_hour\n" + secret, Model: "\xffopus" + strings.Repeat("s", 500), By: "run-1", Until: noon().Add(time.Hour), At: noon()})
	seen := 0
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		seen++
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := os.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
		var data []byte
		if !d.IsDir() {
			data, err = os.ReadFile(path)
		}
		if strings.Contains(path+string(data), "abcdefghijkl") {
			t.Errorf("%s tells the secret: %s", path, data)
		}
		return err
	})
	if err != nil || seen < 4 {
		t.Fatalf("%d files, %v", seen, err)
	}
	l, ok := a.Until("opus", noon())
	if !ok || !strings.HasPrefix(l.Kind, "five _hour ") || len([]rune(l.Model)) != maxWord || !utf8.ValidString(l.Model) {
		t.Errorf("noted as %+v, %v", l, ok)
	}
}

func TestCrowd(t *testing.T) {
	t.Parallel()
	const processes = 8
	a := Account{Dir: t.TempDir(), ID: "crowd"}
	all := make([]process, processes)
	for i := range all {
		all[i] = start(t, a.Dir, strconv.Itoa(i))
	}
	for _, p := range all {
		_ = p.in.Close()
	}
	for _, p := range all {
		for running := true; running; {
			select {
			case err := <-p.ended:
				if running = false; err != nil {
					t.Errorf("a process: %v", err)
				}
			default:
				if err := a.Check(); err != nil {
					t.Fatalf("a reader beside them: %v", err)
				}
			}
		}
	}

	got := map[string]time.Time{}
	limits, err := a.load()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range limits {
		if l.Until.After(got[l.Kind]) {
			got[l.Kind] = l.Until
		}
	}
	want := map[string]time.Time{}
	for i := range processes {
		for _, l := range crowdLimits(i, rounds-1) {
			if !strings.HasPrefix(l.Kind, "old") && l.Until.After(want[l.Kind]) {
				want[l.Kind] = l.Until
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after 8 processes (-want +got):\n%s", diff)
	}
	if !slices.IsSortedFunc(limits, func(a, b Limit) int { return b.Until.Compare(a.Until) }) {
		t.Error("the limits are not in order")
	}
}

func BenchmarkUntil(b *testing.B) {
	a := Of(b.TempDir(), nil, false)
	for _, kind := range []string{"five_hour", "seven_day", "seven_day_opus"} {
		if err := a.Note(Limit{Kind: kind, Model: ModelOf(kind), Until: noon().Add(time.Hour), At: noon()}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		a.Until("opus", noon())
	}
}

func BenchmarkNote(b *testing.B) {
	a, n := Of(b.TempDir(), nil, false), 0
	for b.Loop() {
		n++
		l := Limit{Kind: "five_hour", Until: noon().Add(time.Hour + time.Duration(n)), At: noon()}
		if err := a.Note(l); err != nil {
			b.Fatal(err)
		}
	}
}
