package service

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"autopilot/sessions/launch"
)

// Variables that only this program may know: who has them can speak for the service.
const (
	socketVar   = "NOTIFY_SOCKET"
	watchdogVar = "WATCHDOG_USEC"
	pidVar      = "WATCHDOG_PID"
)

// Variables are the names of the variables that are kept from sessions.
func Variables() []string { return []string{socketVar, watchdogVar, pidVar} }

// Manager is the service manager. The zero Manager listens to nothing.
type Manager struct {
	socket string
	beat   time.Duration // longest time without a sign of life; 0 for no watchdog
}

// Of finds the service manager of an environment.
func Of(environ []string) Manager {
	m := Manager{socket: launch.Lookup(environ, socketVar)}
	if m.socket == "" {
		return Manager{}
	}
	// The variable that names a process is not looked at: the run may be a child of the
	// process that the manager has started, and the unit allows all of them to speak.
	if us, err := strconv.ParseInt(launch.Lookup(environ, watchdogVar), 10, 64); err == nil && us > 0 {
		m.beat = time.Duration(us) * time.Microsecond
	}
	return m
}

// Ready says that the service is up. Saying it again does no harm.
func (m Manager) Ready() { m.say("READY=1") }

// Status says in a line what the service does.
func (m Manager) Status(line string) {
	m.say("STATUS=" + strings.Join(strings.Fields(line), " "))
}

// Stopping says that the service is about to end.
func (m Manager) Stopping() { m.say("STOPPING=1") }

// Watch gives signs of life until the context ends, as long as alive says so.
func (m Manager) Watch(ctx context.Context, alive func() bool) {
	if m.beat == 0 {
		return
	}
	tick := time.NewTicker(max(m.beat/3, time.Millisecond))
	defer tick.Stop()
	for {
		if alive() {
			m.say("WATCHDOG=1")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// say sends a message, which is lost where nobody takes it.
func (m Manager) say(message string) {
	if m.socket == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: m.socket, Net: "unixgram"})
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = conn.Write([]byte(message))
}
