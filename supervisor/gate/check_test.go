package gate_test

import (
	"encoding/json"
	"path"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/ledger"
	"autopilot/supervisor/gate"
)

func TestParseCommand(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in, want, err string
	}{
		{"go test ./...", "go test ./...", ""},
		{"  make check\n", "make check", ""},
		{"cd sub\nmake", "cd sub\nmake", ""},
		{"-x", "-x", ""},
		{"", "", "command is empty"},
		{" \t\n ", "", "command is empty"},
		{"true\x00", "", "command holds a zero byte"},
	}
	for _, tt := range tests {
		got, err := gate.ParseCommand(tt.in)
		want := gate.Check{}
		if tt.err == "" {
			want = gate.Check{Kind: gate.Command, Command: tt.want}
		}
		if got != want || words(err) != tt.err {
			t.Errorf("ParseCommand(%q) = %+v, %v; want %+v, %s", tt.in, got, err, want, tt.err)
		}
	}
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestParseFile(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in, want, err string
	}{
		{"docs/api.md", "docs/api.md", ""},
		{" ./docs//api.md ", "docs/api.md", ""},
		{"docs/", "docs", ""},
		{"docs/*.md", "docs/*.md", ""},
		{"app/[id]/page.tsx", "app/[id]/page.tsx", ""},
		{"a b/ä…", "a b/ä…", ""},
		{"..a/b..", "..a/b..", ""},
		{".gitignore", ".gitignore", ""},
		{"a~", "a~", ""},
		{"", "", "path is empty"},
		{"/etc/passwd", "", "is absolute"},
		{"//x", "", "is absolute"},
		{"../x", "", `holds ".."`},
		{"a/../b", "", `holds ".."`},
		{"a/..", "", `holds ".."`},
		{"..", "", `holds ".."`},
		{".", "", "repository itself"},
		{"./", "", "repository itself"},
		{".git", "", "git's own folder"},
		{".git/HEAD", "", "git's own folder"},
		{"sub/.GIT/HEAD", "", "git's own folder"},
		{"~/x", "", "begins with ~"},
		{"~", "", "begins with ~"},
		{"docs/**/*.md", "", `"**"`},
		{"a\nb", "", "no text"},
		{"a\x00b", "", "no text"},
		{"a\x1b[31m", "", "no text"},
		{"a\xff", "", "no text"},
		{strings.Repeat("a/", 2049), "", "longer than"},
	}
	for _, tt := range tests {
		got, err := gate.ParseFile(tt.in)
		want := gate.Check{}
		if tt.err == "" {
			want = gate.Check{Kind: gate.File, File: tt.want}
		}
		if got != want || (err == nil) != (tt.err == "") || !strings.Contains(words(err), tt.err) {
			t.Errorf("ParseFile(%.50q) = %+v, %v; want %+v, %s", tt.in, got, err, want, tt.err)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	for _, s := range []string{"a", "a/b", "./a", "..", "a/../../b", "/a", "~/a", ".git", "a//..", "[", "\\..", "*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := gate.ParseFile(s)
		if err != nil {
			if words := err.Error(); !utf8.ValidString(words) || strings.ContainsAny(words, "\n\x1b") {
				t.Errorf("error %q is no line", words)
			}
			return
		}
		if again, err := gate.ParseFile(c.File); err != nil || again != c {
			t.Errorf("%q is %+v first and %+v (%v) then", s, c, again, err)
		}
		if joined := path.Join("/top", c.File); !strings.HasPrefix(joined, "/top/") {
			t.Errorf("%q leads to %s", s, joined)
		}
	})
}

func TestName(t *testing.T) {
	t.Parallel()
	tests := []struct {
		check gate.Check
		want  string
	}{
		{gate.Check{Kind: gate.Command, Command: "go test ./..."}, "go test ./..."},
		{gate.Check{Kind: gate.Command, Command: "cd x\n\n\tmake  \x1b[31mall\x1b[0m"}, "cd x make all"},
		{gate.Check{Kind: gate.Command, Command: "curl -H 'token: hunter2hunter2' x"}, "curl -H '[redacted]' x"},
		{gate.Check{Kind: gate.Command, Command: "echo a\xffb\u202e"}, "echo a\uFFFDb"},
		{gate.Check{Kind: gate.Command, Command: strings.Repeat("ä", 500)}, strings.Repeat("ä", 119) + "…"},
		{gate.Check{Kind: gate.File, File: "docs/*.md", Command: "no"}, "docs/*.md"},
	}
	for _, tt := range tests {
		if got := tt.check.Name(); got != tt.want {
			t.Errorf("name of %+v = %q, want %q", tt.check, got, tt.want)
		}
	}
}

func FuzzName(f *testing.F) {
	f.Add("go test\n./...")
	f.Add("\x1b]0;title\x07x\u2028y\u0085z\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		name := gate.Check{Kind: gate.Command, Command: s}.Name()
		if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) || utf8.RuneCountInString(name) > 120 {
			t.Errorf("name of %q = %q, want one short line", s, name)
		}
	})
}

func TestDeliverables(t *testing.T) {
	t.Parallel()
	got := gate.Deliverables([]gate.Result{
		{Check: gate.Check{Kind: gate.Command, Command: "make\ncheck"}, OK: true, Detail: "exit status 0 after 1s"},
		{Check: gate.Check{Kind: gate.File, File: "a.md"}, Detail: "does not exist"},
	})
	want := []ledger.Deliverable{{Name: "make check", OK: true, Proof: "exit status 0 after 1s"}, {Name: "a.md", Proof: "does not exist"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deliverables (-want +got):\n%s", diff)
	}
	if data, err := json.Marshal(gate.Deliverables(nil)); string(data) != "[]" {
		t.Errorf("none in JSON: %s (%v), want an empty list", data, err)
	}
}

func TestResultJSON(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(gate.Result{
		Check: gate.Check{Kind: gate.Command, Command: "make", Given: true}, Detail: "d", Output: "o", Took: 5, TimedOut: true,
	})
	want := `{"kind":"command","command":"make","given":true,"ok":false,"detail":"d","output":"o","took_ns":5,"timed_out":true}`
	if string(data) != want {
		t.Errorf("result in JSON (%v):\n got %s\nwant %s", err, data, want)
	}
}
