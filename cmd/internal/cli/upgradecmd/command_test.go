package upgradecmd

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/outside"
)

// ran is what a command printed and how it ended.
type ran struct {
	out, err string
	code     int
}

// world is what a command runs in.
type world struct {
	current, base, self string
	env                 []string
}

func (w world) run(t *testing.T, args ...string) ran {
	t.Helper()
	var out, words bytes.Buffer
	std := outside.Stdio{In: strings.NewReader(""), Out: &out, Err: &words, Environ: w.env, Self: w.self}
	root := &cobra.Command{Use: "autopilot", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(versionCommand(std), upgradeCommand(std, w.current, w.base))
	root.SetArgs(args)
	code := outside.Report(std, root.ExecuteContext(t.Context()))
	return ran{out.String(), words.String(), code}
}

// site serves latest.txt and counts how often it is asked.
func site(t *testing.T, latest string) (url string, asked func() int) {
	t.Helper()
	hits := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits <- struct{}{}
		_, _ = w.Write([]byte(latest))
	}))
	t.Cleanup(server.Close)
	return server.URL, func() int { return len(hits) }
}

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, current, latest string
		code                  int
		state                 State
		want                  string
	}{
		{"newest", "1.2.3", "1.2.3\n", 0, Newest, "autopilot 1.2.3 is the newest version\n"},
		{"a newer one", "1.9.0", "1.10.0\n", 3, Newer, "autopilot 1.10.0 is there, this is 1.9.0\nto upgrade: "},
		{"a candidate of the newest", "1.10.0-rc.1", "1.10.0", 3, Newer, "autopilot 1.10.0 is there, this is 1.10.0-rc.1\n"},
		{"ahead", "2.0.0", "1.10.0\n", 0, Ahead, "autopilot 2.0.0 comes after the newest release, 1.10.0\n"},
		{"without a version", "devel", "1.10.0\n", 0, Unknown, "this autopilot was built without a version (devel); the newest release is 1.10.0\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url, _ := site(t, tt.latest)
			w := world{current: tt.current}
			if got := w.run(t, "upgrade", "--check", "--from", url); got.code != tt.code || !strings.HasPrefix(got.out, tt.want) || got.err != "" {
				t.Errorf("got %+v, want exit status %d and %q", got, tt.code, tt.want)
			}
			got := w.run(t, "upgrade", "--check", "--json", "--from", url)
			var a Answer
			if err := json.Unmarshal([]byte(got.out), &a); err != nil {
				t.Fatalf("%v in %q", err, got.out)
			}
			want := Answer{State: tt.state, Current: tt.current, Latest: strings.TrimSpace(tt.latest), From: url}
			if a != want || got.code != tt.code {
				t.Errorf("got %+v and exit status %d, want %+v and %d", a, got.code, want, tt.code)
			}
		})
	}
}

func TestWhereIsAsked(t *testing.T) {
	t.Parallel()
	flag, _ := site(t, "3.0.0")
	env, _ := site(t, "2.0.0")
	built, _ := site(t, "1.0.0")
	all := world{current: "9.0.0", base: built, env: []string{URLVar + "=" + env}}
	for _, tt := range []struct {
		name string
		got  ran
		want string
	}{
		{"the flag", all.run(t, "upgrade", "--check", "--from", flag), "3.0.0"},
		{"the variable", all.run(t, "upgrade", "--check"), "2.0.0"},
		{"what was built in", world{current: "9.0.0", base: built}.run(t, "upgrade", "--check"), "1.0.0"},
	} {
		if !strings.Contains(tt.got.out, "newest release, "+tt.want+"\n") {
			t.Errorf("%s: got %+v, want %s", tt.name, tt.got, tt.want)
		}
	}
}

func TestNothingIsAskedOrDoneUnasked(t *testing.T) {
	t.Parallel()
	url, asked := site(t, "9.9.9")
	w := world{current: "1.0.0", base: url, env: []string{URLVar + "=" + url}}
	if got := w.run(t, "upgrade"); got.code != 2 || !strings.Contains(got.err, "replaces nothing") || !strings.Contains(got.err, "install.sh --from "+url) {
		t.Errorf("upgrade: %+v, want exit status 2 and how to upgrade", got)
	}
	if got := w.run(t, "version"); got.code != 0 || !strings.HasPrefix(got.out, "autopilot ") || strings.Count(got.out, "\n") != 1 {
		t.Errorf("version: %+v", got)
	}
	if n := asked(); n != 0 {
		t.Errorf("the server was asked %d times without --check", n)
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	hostile, _ := site(t, "9.9.9\x1b[2J evil")
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	tests := []struct {
		name string
		args []string
		code int
		want string
	}{
		{"nobody said where", nil, 2, "nobody said where"},
		{"an empty flag", []string{"--from", ""}, 2, "nobody said where"},
		{"plain http", []string{"--from", "http://192.0.2.1/x"}, 2, "plain http"},
		{"a password", []string{"--from", "https://me:hidden@192.0.2.1/x"}, 2, "password"},
		{"an argument", []string{"now"}, 2, "takes no argument"},
		{"hostile", []string{"--from", hostile}, 1, "not a version"},
		{"nobody there", []string{"--from", closed.URL}, 1, "refused"},
	}
	for _, tt := range tests {
		for _, asJSON := range []bool{false, true} {
			args := append([]string{"upgrade", "--check"}, tt.args...)
			if asJSON {
				args = append(args, "--json")
			}
			got := world{current: "1.0.0"}.run(t, args...)
			if got.code != tt.code || got.out != "" || !strings.Contains(got.err, tt.want) {
				t.Errorf("%s: %+v, want exit status %d and %q", tt.name, got, tt.code, tt.want)
			}
			if strings.ContainsAny(got.err, "\x1b") || strings.Contains(got.err, "evil") || strings.Contains(got.err, "hidden") {
				t.Errorf("%s: what should not be repeated is: %q", tt.name, got.err)
			}
		}
	}
}

func TestVersionJSON(t *testing.T) {
	t.Parallel()
	got := world{}.run(t, "version", "--json")
	var fields map[string]string
	if err := json.Unmarshal([]byte(got.out), &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"version", "commit", "date", "go", "os", "arch"} {
		if _, ok := fields[name]; !ok {
			t.Errorf("no %s in %s", name, got.out)
		}
	}
}

func TestAdvice(t *testing.T) {
	t.Parallel()
	prefix, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	prefix = filepath.Join(prefix, "it's here")
	for _, name := range []string{"bin/autopilot", "share/autopilot/manifest", "share/autopilot/install.sh"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(prefix, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(prefix, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	quoted := strings.ReplaceAll(prefix, "'", `'\''`)
	for self, want := range map[string]string{
		prefix + "/bin/autopilot": "to upgrade: sh '" + quoted + "/share/autopilot/install.sh' --prefix '" + quoted + "' --from URL",
		"/usr/bin/autopilot":      "to upgrade: install the newer package, as this one was installed",
		"/srv/go/bin/autopilot":   "to upgrade: sh install.sh --from URL, with install.sh of the newer version",
	} {
		if got := advice(outside.Stdio{Self: self}, ""); got != want {
			t.Errorf("advice for %s = %q, want %q", self, got, want)
		}
	}
	link := filepath.Join(t.TempDir(), "autopilot")
	if err := os.Symlink(prefix+"/bin/autopilot", link); err != nil {
		t.Fatal(err)
	}
	if got := advice(outside.Stdio{Self: link}, "/a b"); !strings.HasSuffix(got, quoted+"' --from '/a b'") {
		t.Errorf("advice by a link = %q", got)
	}
}
