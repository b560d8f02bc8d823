package service_test

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/cmd/internal/service"
)

// manager is a socket as systemd opens one.
func manager(t *testing.T) (name string, hear func() string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "n")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return name, func() string {
		if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 4096)
		n, err := conn.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	name, hear := manager(t)
	m := service.Of([]string{"NOTIFY_SOCKET=" + name})
	m.Ready()
	m.Status("session 2 of 5\nMAINPID=1")
	m.Stopping()
	want := []string{"READY=1", "STATUS=session 2 of 5 MAINPID=1", "STOPPING=1"}
	if diff := cmp.Diff(want, []string{hear(), hear(), hear()}); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestWatchdogBeatsWhileThereIsLife(t *testing.T) {
	t.Parallel()
	name, hear := manager(t)
	// The process that the manager knows is another one, as under a guard.
	m := service.Of([]string{"NOTIFY_SOCKET=" + name, "WATCHDOG_USEC=30000", "WATCHDOG_PID=1"})
	var alive atomic.Bool
	alive.Store(true)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	asked := make(chan struct{})
	go func() {
		defer close(done)
		m.Watch(ctx, func() bool {
			if !alive.Load() {
				select {
				case asked <- struct{}{}:
				case <-ctx.Done():
				}
			}
			return alive.Load()
		})
	}()
	for range 3 {
		if got := hear(); got != "WATCHDOG=1" {
			t.Fatalf("heard %q, want a sign of life", got)
		}
	}
	alive.Store(false)
	for range 5 {
		<-asked
	}
	m.Ready() // behind all that was sent
	for got := hear(); got != "READY=1"; got = hear() {
		if !strings.HasPrefix(got, "WATCHDOG") {
			t.Fatalf("heard %q", got)
		}
	}
	<-asked
	m.Ready()
	if got := hear(); got != "READY=1" {
		t.Errorf("heard %q while there was no life", got)
	}
	stop()
	<-done
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	for _, environ := range [][]string{nil, {"NOTIFY_SOCKET=" + filepath.Join(t.TempDir(), "gone")}, {"WATCHDOG_USEC=1000"}} {
		m := service.Of(environ)
		m.Ready()
		m.Status("x")
		m.Watch(t.Context(), func() bool { return true }) // would hang if there were a watchdog
	}
}

// TestAbstractSocket has the kind of address that the user's manager may use.
func TestAbstractSocket(t *testing.T) {
	t.Parallel()
	name := "@autopilot-test-" + filepath.Base(t.TempDir()) + t.Name()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Skip("this system has no abstract sockets")
	}
	defer func() { _ = conn.Close() }()
	service.Of([]string{"NOTIFY_SOCKET=" + name}).Ready()
	if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 64)
	n, err := conn.Read(b)
	if err != nil || string(b[:n]) != "READY=1" {
		t.Errorf("heard %q, %v", b[:n], err)
	}
}
