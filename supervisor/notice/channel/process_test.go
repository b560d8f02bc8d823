package channel

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// script is a program in a folder of its own, which is all of PATH beside the system's.
func stub(t *testing.T, name, text string) (dir string, env []string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir, []string{"PATH=" + dir + ":/usr/bin:/bin", "OUT=" + dir}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestCommandGetsJSON(t *testing.T) {
	t.Parallel()
	dir, env := stub(t, "tell", `printf '%s\n' "$@" >"$OUT/args"; cat >"$OUT/in"`)
	s := Sender{Environ: env, TryFor: patience}
	if err := send(t, s, parse(t, `command:tell "it's me" --now`), hostile()); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(dir, "args")); got != "it's me\n--now\n" {
		t.Errorf("arguments %q", got)
	}
	var got struct {
		Kind, Title, Text, Command, Repository string
		More                                   int
	}
	if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, "in"))), &got); err != nil {
		t.Fatal(err)
	}
	if got.Kind != "kill-switch" || got.More != 7 || strings.ContainsAny(got.Title+got.Text, "\x1b\x00\r") || strings.Contains(got.Text, "abcdefgh12345678") || !strings.Contains(got.Title, "$(id)") {
		t.Errorf("notice %+v", got)
	}
}

func TestCommandThatFails(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]struct {
		permanent bool
		tries     int
	}{"1": {true, 1}, "127": {true, 1}, "75": {false, 3}} {
		dir, env := stub(t, "tell", `echo x >>"$OUT/tries"; echo "no luck with hunter2" >&2; exit `+code)
		f := failure(t, send(t, Sender{Environ: env, TryFor: patience, Gap: time.Millisecond}, parse(t, "command:tell hunter2"), news()))
		hides(t, "the error", f.Error(), []string{"hunter2"})
		if f.Permanent != want.permanent || !strings.Contains(f.Error(), "exit status "+code+": no luck") {
			t.Errorf("exit %s: permanent %v: %v", code, f.Permanent, f)
		}
		if n := strings.Count(read(t, filepath.Join(dir, "tries")), "x"); n != want.tries {
			t.Errorf("exit %s: %d tries, want %d", code, n, want.tries)
		}
	}
}

// A command that hangs is ended with all that it has started.
func TestCommandThatHangs(t *testing.T) {
	t.Parallel()
	dir, env := stub(t, "tell", `sh -c 'echo $$ >>"$OUT/pids"; exec sleep 1000' & echo $$ >>"$OUT/pids"; wait`)
	s := Sender{Environ: env, TryFor: time.Second, Gap: time.Millisecond}
	f := failure(t, send(t, s, parse(t, "command:tell"), news()))
	if f.Permanent || !strings.Contains(f.Error(), "in time") {
		t.Errorf("permanent %v: %v", f.Permanent, f)
	}
	for _, pid := range strings.Fields(read(t, filepath.Join(dir, "pids"))) {
		gone(t, pid)
	}
}

func gone(t *testing.T, pid string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		data, err := os.ReadFile("/proc/" + pid + "/stat")
		if errors.Is(err, os.ErrNotExist) && isLinux() || err == nil && strings.Contains(string(data), ") Z ") {
			return
		}
		if !isLinux() {
			t.Skip("needs /proc")
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %s still runs: %s", pid, data)
		}
	}
}

func isLinux() bool {
	_, err := os.Stat("/proc/self/stat")
	return err == nil
}

func TestCommandDoesNotReadWhatItIsTold(t *testing.T) {
	t.Parallel()
	_, env := stub(t, "tell", "exit 0")
	if err := send(t, Sender{Environ: env, TryFor: patience}, parse(t, "command:tell"), hostile()); err != nil {
		t.Error(err)
	}
}

func TestSendEndsWithItsContext(t *testing.T) {
	t.Parallel()
	_, env := stub(t, "tell", "sleep 1000")
	ctx, cancel := context.WithCancelCause(t.Context())
	s := Sender{Environ: env, TryFor: time.Hour}
	done := make(chan error, 1)
	go func() { done <- s.Send(ctx, parse(t, "command:tell"), news(), time.Now()) }()
	cancel(errors.New("over"))
	select {
	case err := <-done:
		if err == nil {
			t.Error("it says that it was sent")
		}
	case <-time.After(60 * time.Second):
		t.Fatal("it goes on")
	}
}

func TestDesktop(t *testing.T) {
	t.Parallel()
	dir, env := stub(t, "notify-send", `for a in "$@"; do printf '%s\0' "$a"; done >"$OUT/args"; printf %s "$DBUS_SESSION_BUS_ADDRESS" >"$OUT/bus"`)
	h := hostile()
	h.Notice.Repo = "/srv/shop"
	if err := send(t, Sender{Environ: append(env, "DBUS_SESSION_BUS_ADDRESS=unix:x"), OS: "linux", TryFor: patience}, parse(t, "desktop"), h); err != nil {
		t.Fatal(err)
	}
	args := strings.Split(strings.TrimSuffix(read(t, filepath.Join(dir, "args")), "\x00"), "\x00")
	if len(args) != 5 || args[0] != "--app-name=autopilot" || args[1] != "--urgency=critical" || args[2] != "--" || !strings.HasPrefix(args[3], "autopilot (shop): ") {
		t.Fatalf("arguments %q", args)
	}
	if strings.ContainsAny(args[4], "<>") || strings.Contains(strings.ReplaceAll(args[4], `\\`, ""), `\`) || len(args[4]) > 1000 || read(t, filepath.Join(dir, "bus")) != "unix:x" {
		t.Errorf("text %q", args[4])
	}
}

func TestDesktopOfMacOS(t *testing.T) {
	t.Parallel()
	dir, env := stub(t, "osascript", `for a in "$@"; do printf '%s\0' "$a"; done >"$OUT/args"`)
	if err := send(t, Sender{Environ: env, OS: "darwin", TryFor: patience}, parse(t, "desktop"), hostile()); err != nil {
		t.Fatal(err)
	}
	args := strings.Split(strings.TrimSuffix(read(t, filepath.Join(dir, "args")), "\x00"), "\x00")
	if len(args) != 4 || args[0] != "-e" || args[1] != script || !strings.HasPrefix(args[2], "autopilot") || !strings.Contains(args[3], "rm -rf") {
		t.Errorf("arguments %q", args)
	}
	if slices.ContainsFunc(args[2:], func(s string) bool { return strings.ContainsAny(s, "\x1b\x00") }) {
		t.Errorf("arguments %q", args)
	}
}

func TestNoDesktop(t *testing.T) {
	t.Parallel()
	f := failure(t, send(t, Sender{Environ: []string{"PATH=" + t.TempDir() + ":relative"}, OS: "linux", TryFor: patience}, parse(t, "desktop"), news()))
	if !f.Permanent || f.Error() != "tell desktop: notify-send is not on PATH" {
		t.Error(f)
	}
	_, env := stub(t, "notify-send", "echo 'no bus' >&2; exit 1")
	if f := failure(t, send(t, Sender{Environ: env, OS: "linux", TryFor: patience}, parse(t, "desktop"), news())); !f.Permanent || !strings.Contains(f.Error(), "no bus") {
		t.Error(f)
	}
}
