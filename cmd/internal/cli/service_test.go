package cli_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestUnderAServiceManager runs as a unit does: the manager hears that the run is up, what
// it does and that it lives, the session hears nothing of the manager, and the signal of
// the unit ends it in order.
func TestUnderAServiceManager(t *testing.T) {
	t.Parallel()
	base, repo, env := scratch(t, "dump ../dump\nmark ../marked\nthink 600s\nresult\n")
	socket := filepath.Join(base, "n")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	cmd := exec.Command("autopilot", "run", "fix the tests", "--snapshot", filepath.Join(base, "green.json"))
	cmd.Dir = repo
	cmd.Env = append(env, "NOTIFY_SOCKET="+socket, "WATCHDOG_USEC=200000", "WATCHDOG_PID=1")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	heard := ""
	until := func(wanted string) {
		t.Helper()
		b := make([]byte, 4096)
		for deadline := time.Now().Add(60 * time.Second); !strings.Contains(heard, wanted); {
			if err := conn.SetReadDeadline(deadline); err != nil {
				t.Fatal(err)
			}
			n, err := conn.Read(b)
			if err != nil {
				_ = cmd.Process.Kill()
				t.Fatalf("no %s: %v\n%s%s", wanted, err, heard, out.String())
			}
			heard += string(b[:n]) + "\n"
		}
	}
	until("READY=1\n")
	until("STATUS=")
	until("session 1 of 5")
	until("WATCHDOG=1\nWATCHDOG=1\nWATCHDOG=1\n")
	for deadline := time.Now().Add(60 * time.Second); ; <-time.After(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(base, "marked")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no session")
		}
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	until("STOPPING=1\n")
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d, want 130\n%s", code, out.String())
	}
	dump, err := os.ReadFile(filepath.Join(base, "dump"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		if strings.Contains(string(dump), name) {
			t.Errorf("the session was told %s", name)
		}
	}
}
