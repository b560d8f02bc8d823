//go:build page

package serve_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"autopilot/sessions/launch"
)

// world is a scratch home with a repository, and the program as it is built.
type world struct {
	binary, home, repo string
	environ            []string
}

func newWorld(t *testing.T, script string) world {
	t.Helper()
	dir := t.TempDir()
	w := world{binary: filepath.Join(dir, "bin", "autopilot"), home: filepath.Join(dir, "home"), repo: filepath.Join(dir, "shop")}
	build := exec.Command("go", "build", "-o", w.binary, "autopilot/cmd/autopilot")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v: %s", err, out)
	}
	for _, d := range []string{w.home, w.repo} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		filepath.Join(dir, "bin", "claude"):      "#!/bin/sh\nexec '" + w.binary + "' standin \"$@\"\n",
		filepath.Join(w.home, "script"):          script,
		filepath.Join(w.home, "green.json"):      `{"ram_available_gb": 16, "swap_used_gb": 0, "peers": 0, "memory_pressure_pct_free": null}`,
		filepath.Join(w.home, ".gitconfig"):      "[user]\n\tname = someone\n\temail = someone@example.org\n[init]\n\tdefaultBranch = main\n",
		filepath.Join(dir, "remote", ".gitkeep"): "",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.environ = []string{
		"HOME=" + w.home, "PATH=" + filepath.Dir(w.binary) + ":" + os.Getenv("PATH"), "STANDIN_SCRIPT=" + filepath.Join(w.home, "script"),
		"GIT_CONFIG_NOSYSTEM=1", "LANG=C.UTF-8", "TMPDIR=" + dir,
	}
	for _, args := range [][]string{{"init", "-q"}, {"commit", "-q", "--allow-empty", "-m", "start"}} {
		w.exec(t, "git", args...)
	}
	return w
}

func (w world) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir, c.Env = w.repo, w.environ
	return c
}

func (w world) exec(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := w.command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
	return string(out)
}

// keep runs a command until the test ends, or until it ends by itself.
func (w world) keep(t *testing.T, args ...string) (io.Reader, func() int) {
	t.Helper()
	c := w.command(w.binary, args...)
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	wait := func() int {
		once.Do(func() { _ = c.Wait() })
		return c.ProcessState.ExitCode()
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGINT)
		wait()
		if t.Failed() {
			t.Logf("%v says:\n%s", args, said.String())
		}
	})
	return out, wait
}

// talk adds to the conversation of the session that runs, which the stand-in does not write
// as the real one does.
func (w world) talk(t *testing.T, text string) {
	t.Helper()
	status := w.exec(t, w.binary, "status", "--json")
	id := regexp.MustCompile(`"session_id": ?"([0-9a-f-]{36})"`).FindStringSubmatch(status)
	if id == nil {
		t.Fatalf("no session runs: %s", status)
	}
	line, err := json.Marshal(map[string]any{
		"type": "assistant", "timestamp": time.Now().UTC(), "sessionId": id[1], "message": map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "text", "text": text}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	name := launch.Transcript(w.environ, w.repo, id[1]) + ".jsonl"
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestARealRun has the program as it is built, with a stand-in for claude alone: a run in
// progress is looked at, its held call is decided and it is stopped, all in the browser.
func TestARealRun(t *testing.T) {
	w := newWorld(t, `say I look at the shop first
write shop.txt open
commit open the shop
bash git push --force origin HEAD:refs/heads/work
say the call was held, so I go on
bare-tool 30m
result
`)
	_, ended := w.keep(t, "run", "open the <b>shop</b>", "--proceed-with-time-limit", "--max-sessions", "3", "--snapshot", filepath.Join(w.home, "green.json"), "--allow-nested", "--peer-abort", "1000")
	out, _ := w.keep(t, "serve", "--listen", "127.0.0.1:0", "--json")
	var p struct{ URL, Login string }
	if err := json.NewDecoder(out).Decode(&p); err != nil {
		t.Fatal(err)
	}
	b := browser(t)
	b.do(t, chromedp.Navigate(p.Login), chromedp.WaitVisible(chromedp.CSS("#main")))
	b.shows(t, "A call is held")
	if text := js[string](t, b, "document.body.innerText"); !strings.Contains(text, "1 run on") || !strings.Contains(text, "open the <b>shop</b>") || !strings.Contains(text, "git push --force") {
		t.Errorf("the first page shows %s", text)
	}
	b.do(t, chromedp.Click(chromedp.CSS(".ask a.button")))
	b.shows(t, "session started")
	b.shows(t, "Live.")
	w.talk(t, "I look at <i>the shelves</i> now")
	b.shows(t, "I look at <i>the shelves</i> now")
	b.do(t, chromedp.SendKeys(chromedp.CSS("input[name=reason]"), "not on a Sunday"), chromedp.Click(chromedp.CSS("button[value=deny]")))
	b.shows(t, "is denied")
	if got := w.exec(t, w.binary, "gates", "--all"); !strings.Contains(got, " denied ") {
		t.Errorf("gates: %s, want the denied call", got)
	}
	until(t, "the question is gone", func() bool { return js[int](t, b, "document.querySelectorAll('.ask').length") == 0 })

	b.do(t, chromedp.Click(chromedp.CSS("#stop")))
	b.shows(t, "stopping")
	b.do(t, chromedp.Click(chromedp.CSS("#stop-now")), chromedp.WaitVisible(chromedp.CSS("form #stop-now")), chromedp.Click(chromedp.CSS("form #stop-now")))
	if code := ended(); code < 0 {
		t.Errorf("the run ended with %d", code)
	}
	until(t, "the page shows that the run has ended", func() bool { return js[bool](t, b, "!document.querySelector('#stop-now')") })
	b.quiet(t)
	b.do(t, chromedp.Navigate(p.URL), chromedp.WaitVisible(chromedp.CSS("#main")))
	b.shows(t, "0 runs on")
	path := js[string](t, b, "document.querySelector('#part-past a').pathname")
	if !strings.HasPrefix(path, "/runs/") {
		t.Fatalf("the first run of those that have ended leads to %s", path)
	}
	b.do(t, chromedp.Navigate(strings.TrimSuffix(p.URL, "/")+path+"/report"))
	b.shows(t, "How it ended")
}
