package servecmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"autopilot/cmd/internal/board"
	"autopilot/cmd/internal/cli/servecmd"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/serve"
	"autopilot/sessions/launch"
)

const patience = 60 * time.Second

// output is a stream that a test reads while a command writes.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// served is a command that runs.
type served struct {
	out, bad *output
	home     string
	stop     func() error
}

func std(t *testing.T, environ ...string) (outside.Stdio, *output, *output) {
	t.Helper()
	out, bad := &output{}, &output{}
	home := t.TempDir()
	return outside.Stdio{
		Out: out, Err: bad, Dir: home, Environ: append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, environ...),
	}, out, bad
}

// start runs the command until the test ends, and waits for what it says first.
func start(t *testing.T, with servecmd.With, args ...string) served {
	t.Helper()
	s, out, bad := std(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		c := servecmd.Command(s, with)
		c.SetArgs(args)
		c.SilenceUsage, c.SilenceErrors = true, true
		done <- c.ExecuteContext(ctx)
	})
	var once sync.Once
	var ended error
	stop := func() error {
		once.Do(func() { cancel(); ended = <-done; wg.Wait() })
		return ended
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("serve %v: %v", args, err)
		}
	})
	for deadline := time.Now().Add(patience); !strings.HasSuffix(out.String(), "}\n") && !strings.Contains(out.String(), "Ctrl-C"); time.Sleep(time.Millisecond) {
		select {
		case err := <-done:
			t.Fatalf("serve %v ended: %v", args, err)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("serve %v says nothing", args)
		}
	}
	return served{out, bad, s.Getenv("HOME"), stop}
}

// fails runs a command that is refused, and returns how.
func fails(t *testing.T, s outside.Stdio, args ...string) (words string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := servecmd.Command(s, nil)
	c.SetArgs(args)
	c.SilenceUsage, c.SilenceErrors = true, true
	err := c.ExecuteContext(ctx)
	if err == nil {
		t.Fatalf("serve %v is not refused", args)
	}
	code = outside.Report(outside.Stdio{Out: io.Discard, Err: io.Discard}, err)
	return err.Error() + "; " + outside.HintOf(err), code
}

type place struct {
	URL      string `json:"url"`
	Login    string `json:"login"`
	Token    string `json:"token"`
	File     string `json:"token_file"`
	Socket   string `json:"socket"`
	ReadOnly bool   `json:"read_only"`
	PID      int    `json:"pid"`
}

func (s served) place(t *testing.T) place {
	t.Helper()
	var p place
	if err := json.Unmarshal([]byte(s.out.String()), &p); err != nil {
		t.Fatalf("%v: %s", err, s.out)
	}
	return p
}

func get(t *testing.T, c *http.Client, url, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func TestServe(t *testing.T) {
	t.Parallel()
	with := func(root string) serve.Parts {
		return serve.Parts{Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "root "+root) })}
	}
	s := start(t, with, "--listen", "localhost:0")
	url := regexp.MustCompile(`^the page is at (http://127\.0\.0\.1:\d+/login\?token=([A-Za-z0-9_-]{43}))\n`).FindStringSubmatch(s.out.String())
	if url == nil {
		t.Fatalf("it says %s", s.out)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	if status, body := get(t, &http.Client{Jar: jar}, url[1], ""); status != 200 || !strings.Contains(body, "No run has ended yet.") {
		t.Errorf("the page: status %d, %s", status, body)
	}
	base, _, _ := strings.Cut(url[1], "login")
	if status, _ := get(t, http.DefaultClient, base, ""); status != 401 {
		t.Errorf("without the token: status %d, want 401", status)
	}
	if status, body := get(t, http.DefaultClient, base+"metrics", url[2]); status != 200 || body != "root "+filepath.Join(s.home, ".local", "state", "autopilot") {
		t.Errorf("metrics: status %d, %s", status, body)
	}
	if err := s.stop(); err != nil {
		t.Errorf("the end: %v", err)
	}
	if strings.Contains(s.bad.String(), url[2]) {
		t.Errorf("the log has the token: %s", s.bad)
	}
}

func TestTokenFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	first := start(t, nil, "--listen", "127.0.0.1:0", "--token-file", file, "--json", "--read-only")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(string(data))
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 || len(token) != 43 {
		t.Errorf("the file: %v, %v, %d characters, want mode 0600 and 43", info.Mode(), err, len(token))
	}
	p := first.place(t)
	if strings.Contains(first.out.String(), token) || p.File != file || !p.ReadOnly || p.PID != os.Getpid() {
		t.Errorf("it says %s, want where the token is and not the token", first.out)
	}
	second := start(t, nil, "--listen", "127.0.0.1:0", "--token-file", file, "--json")
	for _, url := range []string{p.URL, second.place(t).URL} {
		if status, _ := get(t, http.DefaultClient, url+"api/overview.json", token); status != 200 {
			t.Errorf("%s: status %d, want 200", url, status)
		}
	}
}

func TestTokenFileIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	long := strings.Repeat("a", 40)
	for path, why := range map[string]string{
		write("open", long, 0o644): "can be read by others (0644)", write("group", long, 0o640): "can be read by others", write("short", "secret", 0o600): "has 6 characters", write("empty", "", 0o600): "has 0 characters",
		write("two", long+" "+long, 0o600): "has spaces", write("long", strings.Repeat("a", 5000), 0o600): "from 32 to 1024", dir: "is not a regular file", filepath.Join(dir, "none", "token"): "no such file",
	} {
		s, _, _ := std(t)
		words, code := fails(t, s, "--listen", "127.0.0.1:0", "--token-file", path)
		if code != outside.ExitUsage || !strings.Contains(words, why) || strings.Contains(words, long) {
			t.Errorf("%s: exit %d, %s, want 2 and %s", path, code, words, why)
		}
	}
}

func TestSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "run", "s")
	s := start(t, nil, "--listen", "unix:"+path, "--json")
	if p := s.place(t); p.Socket != path || p.Token != "" || p.URL != "" {
		t.Errorf("it says %s", s.out)
	}
	c := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	if status, body := get(t, c, "http://localhost/", ""); status != 200 || strings.Contains(body, "Log out") {
		t.Errorf("status %d, %s, want the page without a login", status, body)
	}
	if status, _ := get(t, c, "http://evil.example/", ""); status != 403 {
		t.Errorf("a foreign name: status %d, want 403", status)
	}
	other, _, _ := std(t)
	if words, code := fails(t, other, "--listen", "unix:"+path); code != outside.ExitUsage || !strings.Contains(words, "another page listens") {
		t.Errorf("a second one: exit %d, %s", code, words)
	}
	c.CloseIdleConnections()
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is still there")
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	for _, c := range []struct {
		args []string
		why  string
	}{
		{[]string{"--listen", "0.0.0.0:80"}, "not a loopback address"},
		{[]string{"--listen", ":0"}, "not a loopback address"},
		{[]string{"--listen", "example.org:80"}, "not a loopback address"},
		{[]string{"--listen", "8080"}, "is no address"},
		{[]string{"--listen", "unix:"}, "needs a path"},
		{[]string{"--listen", taken.Addr().String()}, "address already in use"},
		{[]string{"--listen", "unix:/srv/x/s", "--open"}, "are for a port"},
		{[]string{"--listen", "unix:/srv/x/s", "--token-file", "/srv/x/t"}, "are for a port"},
		{[]string{"now"}, "takes no argument"},
	} {
		s, _, _ := std(t)
		if words, code := fails(t, s, c.args...); code != outside.ExitUsage || !strings.Contains(words, c.why) {
			t.Errorf("%v: exit %d, %s, want 2 and %s", c.args, code, words, c.why)
		}
	}
}

func TestInsideASession(t *testing.T) {
	t.Parallel()
	s, _, _ := std(t, launch.RunVar+"=main-2026-01-31-2200-autopilot")
	words, code := fails(t, s, "--listen", "127.0.0.1:0")
	if code != outside.ExitUsage || !strings.Contains(words, "is not for a session of autopilot") {
		t.Errorf("exit %d, %s, want 2 and why", code, words)
	}
	// A page that only shows passes this point, and is refused for its address.
	if words, _ := fails(t, s, "--listen", "0.0.0.0:0", "--read-only"); !strings.Contains(words, "not a loopback address") {
		t.Errorf("read-only: %s", words)
	}
}

func TestReadOnlyHasNoActor(t *testing.T) {
	t.Parallel()
	with := func(string) serve.Parts { return serve.Parts{Actor: nobody{t}} }
	s := start(t, with, "--listen", "127.0.0.1:0", "--json", "--read-only")
	p := s.place(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL+"runs/a/b/stop", strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.Token)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("status %d, want 403", res.StatusCode)
	}
}

type nobody struct{ t *testing.T }

func (n nobody) Stop(context.Context, board.Ref, bool) (string, error) {
	n.t.Error("stopped")
	return "", nil
}

func (n nobody) Approve(context.Context, board.Ref, string) (string, error) {
	n.t.Error("approved")
	return "", nil
}

func (n nobody) Deny(context.Context, board.Ref, string, string) (string, error) {
	n.t.Error("denied")
	return "", nil
}

func (n nobody) Answer(context.Context, board.Ref, string, string) (string, error) {
	n.t.Error("answered")
	return "", nil
}

// TestOpen has a stand-in for the program that opens a browser, which keeps what it was given.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	name := map[string]string{"darwin": "open"}[runtime.GOOS]
	if name == "" {
		name = "xdg-open"
	}
	script := "#!/bin/sh\necho \"$@\" >'" + dir + "/args'\ncat \"$1\" >'" + dir + "/page.new'\nls -l \"$1\" >'" + dir + "/mode'\nmv '" + dir + "/page.new' '" + dir + "/page'\n"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	s := start(t, nil, "--listen", "127.0.0.1:0", "--open", "--json")
	p := s.place(t)
	var page []byte
	for deadline := time.Now().Add(patience); page == nil; time.Sleep(time.Millisecond) {
		page, _ = os.ReadFile(filepath.Join(dir, "page"))
		if time.Now().After(deadline) {
			t.Fatalf("nothing was opened: %s", s.bad)
		}
	}
	args, err := os.ReadFile(filepath.Join(dir, "args"))
	if err != nil {
		t.Fatal(err)
	}
	mode, err := os.ReadFile(filepath.Join(dir, "mode"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(args), p.Token) || !strings.Contains(string(page), "url="+p.Login+`"`) || !strings.HasPrefix(string(mode), "-rw-------") {
		t.Errorf("opened with %s, which has %s and mode %s; want a file of mode 0600 that leads to %s", args, page, mode, p.Login)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(strings.TrimSpace(string(args))); err == nil {
		t.Error("the file is still there")
	}
}

func TestNothingToOpenWith(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	s := start(t, nil, "--listen", "127.0.0.1:0", "--open")
	for deadline := time.Now().Add(patience); !strings.Contains(s.bad.String(), "open it yourself"); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it says %s", s.bad)
		}
	}
}
