package nightly

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"gopkg.in/natefinch/lumberjack.v2"

	"autopilot/metrics/statedir"
)

const (
	logMB      = 10 // size at which a log is put aside
	logsKept   = 5  // of those that were put aside
	tailBytes  = 4 << 10
	flushWait  = time.Second
	copyBuffer = 32 << 10
)

// LogFile is the path of the log of a schedule.
func LogFile(folder, name string) string { return filepath.Join(folder, name+".log") }

// output takes over the standard output and error of this process, and with them those of
// everything that it starts, and copies them into a log that rotates. Only this process
// knows the log, so that rotating it takes nothing from anybody.
//
// Whoever holds the other end and lives longer than this process gets an error when it
// writes; a supervisor does not mind.
type output struct {
	log    *lumberjack.Logger
	reader *os.File
	old    [2]int // what standard output and error were before
	tee    *os.File
	shown  chan []byte   // for tee
	over   chan struct{} // closed when nothing is handed on any more
	copied sync.WaitGroup

	mu     sync.Mutex // for what follows
	buf    [copyBuffer]byte
	tail   []byte
	broken error // the first error of the log
}

// redirect begins to copy. What is printed goes to the old standard output as well when a
// journal or a person reads that.
func redirect(folder, name string, environ func(string) string) (*output, error) {
	o := &output{log: &lumberjack.Logger{Filename: LogFile(folder, name), MaxSize: logMB, MaxBackups: logsKept, Compress: true}}
	if err := statedir.MakeDir(folder); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	if _, err := o.log.Write(nil); err != nil { // it opens on the first write
		return nil, fmt.Errorf("open log: %w", err)
	}
	writer, err := o.pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open log: %w", err), o.log.Close())
	}
	defer func() { _ = unix.Close(writer) }()
	for i, fd := range []int{1, 2} {
		if o.old[i], err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3); err != nil {
			return nil, errors.Join(fmt.Errorf("open log: %w", err), o.reader.Close(), o.log.Close())
		}
	}
	if readElsewhere(environ) {
		o.tee, o.shown, o.over = os.NewFile(uintptr(o.old[0]), "stdout"), make(chan []byte, waiting), make(chan struct{})
		background(o.show)
	}
	for _, fd := range []int{1, 2} {
		if err := dup(writer, fd); err != nil {
			return nil, errors.Join(fmt.Errorf("open log: %w", err), o.restore(), o.reader.Close(), o.log.Close())
		}
	}
	o.copied.Go(o.copy)
	return o, nil
}

// waiting is how many pieces of output may wait for whoever reads them.
const waiting = 256

// background runs f beside the caller, who waits for its end by other means.
func background(f func()) {
	var wg sync.WaitGroup
	wg.Go(f)
}

// pipe makes the pipe that is copied from. Its writing end is one that waits, because
// programs that inherit it expect that.
func (o *output) pipe() (writer int, err error) {
	var ends [2]int
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := unix.Pipe(ends[:]); err != nil {
		return 0, err
	}
	unix.CloseOnExec(ends[0])
	unix.CloseOnExec(ends[1])
	if err := unix.SetNonblock(ends[0], true); err != nil {
		return 0, errors.Join(err, unix.Close(ends[0]), unix.Close(ends[1]))
	}
	o.reader = os.NewFile(uintptr(ends[0]), "output")
	return ends[1], nil
}

// readElsewhere reports whether somebody reads the standard output as it is: the journal of
// systemd, which says so, or a person at a terminal. Cron would send mail.
func readElsewhere(environ func(string) string) bool {
	var st unix.Stat_t
	if unix.Fstat(1, &st) != nil {
		return false
	}
	if environ("JOURNAL_STREAM") == strconv.FormatUint(uint64(st.Dev), 10)+":"+strconv.FormatUint(st.Ino, 10) {
		return true
	}
	_, err := unix.IoctlGetWinsize(1, unix.TIOCGWINSZ)
	return err == nil
}

// copy copies until the last one that could write is gone, or the deadline has passed.
func (o *output) copy() {
	raw, err := o.reader.SyscallConn()
	if err == nil {
		_ = raw.Read(func(fd uintptr) bool { return o.drain(int(fd)) })
	}
	o.caughtUp()
}

// drain copies what is there now, and reports whether it was the end. Reading and handing on
// are one step, so that whoever waits for the lock finds all that was printed before.
func (o *output) drain(fd int) (end bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		n, err := unix.Read(fd, o.buf[:])
		switch {
		case n > 0:
			o.write(o.buf[:n])
		case errors.Is(err, unix.EINTR):
		default:
			return err == nil || !errors.Is(err, unix.EAGAIN)
		}
	}
}

// caughtUp copies what was printed until now.
func (o *output) caughtUp() {
	if raw, err := o.reader.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { o.drain(int(fd)) })
	}
}

// write hands output on to all that want it. A full disk takes from the log, and keeps
// nobody from running: the pipe is always emptied.
func (o *output) write(p []byte) {
	o.tail = append(o.tail, p...)
	if over := len(o.tail) - tailBytes; over > 0 {
		o.tail = append(o.tail[:0], o.tail[over:]...)
	}
	if _, err := o.log.Write(p); err != nil && o.broken == nil {
		o.broken = err
	}
	if o.tee != nil {
		select {
		case o.shown <- bytes.Clone(p):
		default: // who reads it does not keep up; the log has it
		}
	}
}

// show hands on what is shown elsewhere. A terminal that is held, or a journal that is
// stuck, holds only this.
func (o *output) show() {
	defer close(o.over)
	for p := range o.shown {
		if _, err := o.tee.Write(p); err != nil {
			return
		}
	}
}

// mark begins the tail anew.
func (o *output) mark() {
	if o == nil {
		return
	}
	o.caughtUp()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tail = o.tail[:0]
}

// Tail is the end of what was printed since the mark: its last lines, at most n.
func (o *output) Tail(n int) string {
	if o == nil {
		return ""
	}
	o.caughtUp()
	o.mu.Lock()
	defer o.mu.Unlock()
	text := strings.TrimRight(strings.ToValidUTF8(string(bytes.TrimSpace(o.tail)), "?"), "\n")
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// close gives standard output and error back and waits until all that was printed is in the
// log. A process that outlives its run may hold on to the pipe: it is not waited for long.
func (o *output) close() error {
	if o == nil {
		return nil
	}
	err := o.restore()
	_ = o.reader.SetReadDeadline(time.Now().Add(flushWait))
	o.copied.Wait()
	_ = o.reader.Close()
	if o.tee != nil {
		close(o.shown)
		select {
		case <-o.over:
		case <-time.After(flushWait):
		}
	}
	return errors.Join(err, o.broken, o.log.Close())
}

func (o *output) restore() error {
	var errs []error
	for i, fd := range []int{1, 2} {
		errs = append(errs, dup(o.old[i], fd))
		if i > 0 || o.tee == nil {
			_ = unix.Close(o.old[i])
		}
	}
	return errors.Join(errs...)
}

// quiet makes the standard input of this process one that ends at once.
func quiet() error {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer func() { _ = null.Close() }()
	return dup(int(null.Fd()), int(syscall.Stdin))
}
