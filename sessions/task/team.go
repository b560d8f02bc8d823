package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"autopilot/sessions/task/internal/record"
)

const taskFolder = "tasks"

// toolsOff is why a session of today usually leaves its list empty.
const toolsOff = "the task tools are off in print mode unless CLAUDE_CODE_ENABLE_TASKS=1 is set or --allowedTools names TaskCreate"

func (f *finding) readTeams(ctx context.Context, config folder, p Place) {
	sc := scope{config: config, place: p, finding: f}
	var empty []string
	for _, l := range sc.lists() {
		if ctx.Err() != nil {
			f.fault(config.path(taskFolder), fmt.Errorf("not read to the end: %w", context.Cause(ctx)))
			return
		}
		tasks, there := f.readTeam(config, l.name)
		if !there {
			continue
		}
		f.Places = append(f.Places, config.path(filepath.Join(taskFolder, l.name)))
		f.add(list{tasks: tasks, session: l.session}, word(l.name), "")
		if len(tasks) == 0 {
			empty = append(empty, word(l.name))
		}
	}
	if f.Tasks == 0 {
		f.why = sc.whyEmpty(empty)
	}
	if len(f.Places) == 0 {
		f.Places = append(f.Places, config.path(taskFolder))
	}
}

// readTeam reads one list and reports whether there is one. A few readers at a time
// halve the wait where a list has hundreds of files.
func (f *finding) readTeam(config folder, name string) (tasks []Task, there bool) {
	const perReader = 64 // files
	at := filepath.Join(taskFolder, name)
	dir, err := config.open(at)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			f.fault(config.path(at), err)
		}
		return nil, false
	}
	defer func() { _ = dir.Close() }()
	// ReadDir would ask for the type of each file, one after the other.
	names, err := dir.Readdirnames(-1)
	if err != nil {
		f.fault(config.path(at), fmt.Errorf("cannot be listed: %w", fact(err)))
		return nil, true
	}
	r := reader{config: config, at: at, dir: int(dir.Fd()), base: config.path(at) + string(filepath.Separator)}
	files := taskFiles(names)
	var turn atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 4, 1+len(files)/perReader) {
		wg.Go(func() {
			buf := make([]byte, 8<<10)
			for i := int(turn.Add(1)) - 1; i < len(files); i = int(turn.Add(1)) - 1 {
				buf = r.read(&files[i], buf)
			}
		})
	}
	wg.Wait()
	tasks = make([]Task, 0, len(files))
	for i := range files {
		f.fault(r.base+files[i].name, files[i].err)
		tasks = append(tasks, files[i].tasks...)
	}
	if byID := func(a, b Task) int { return byNumber(a.ID, b.ID) }; !slices.IsSortedFunc(tasks, byID) {
		slices.SortStableFunc(tasks, byID)
	}
	return tasks, true
}

// taskFile is a file of a list, and what it holds.
type taskFile struct {
	name  string
	tasks []Task
	err   error
}

// taskFiles are those of a listing that should be tasks, ordered by number.
func taskFiles(names []string) []taskFile {
	names = slices.DeleteFunc(names, func(n string) bool { return n[0] == '.' || !strings.HasSuffix(n, ".json") })
	slices.SortFunc(names, func(a, b string) int { return byNumber(stem(a), stem(b)) })
	out := make([]taskFile, len(names))
	for i, n := range names {
		out[i].name = n
	}
	return out
}

func stem(name string) string { return strings.TrimSuffix(name, ".json") }

// reader reads the files of one list. It asks the kernel itself, relative to the
// open folder: for a thousand files that is less than half the time of os.Root.
type reader struct {
	config folder
	at     string
	dir    int    // descriptor
	base   string // of the paths
}

// read fills in what the file holds. It returns the buffer for the next one.
func (r *reader) read(f *taskFile, buf []byte) []byte {
	var data []byte
	data, buf, f.err = r.bytes(f.name, buf)
	if errors.Is(f.err, unix.ELOOP) { // a link, which may lead to a place inside
		data, f.err = r.config.read(filepath.Join(r.at, f.name))
	}
	if errors.Is(f.err, fs.ErrNotExist) { // deleted since the folder was listed
		f.err = nil
		return buf
	}
	if f.err != nil {
		return buf
	}
	f.tasks, f.err = parseTeamTask(data)
	for i := range f.tasks {
		t := &f.tasks[i]
		if t.ID == "" {
			t.ID = cmp.Or(word(stem(f.name)), "?")
		}
		t.Subject, t.Path = cmp.Or(t.Subject, t.ID), r.base+f.name
	}
	return buf
}

// bytes reads a file into buf, which grows where it has to.
func (r *reader) bytes(name string, buf []byte) (data, grown []byte, err error) {
	var fd int
	for {
		fd, err = unix.Openat(r.dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, buf, fmt.Errorf("cannot be read: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, buf, fmt.Errorf("cannot be read: %w", err)
	}
	if err := readable(st.Mode&unix.S_IFMT == unix.S_IFREG, st.Size); err != nil {
		return nil, buf, err
	}
	for have := 0; ; {
		n, err := unix.Read(fd, buf[have:])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, buf, fmt.Errorf("cannot be read: %w", err)
		}
		if have += n; n == 0 || have < len(buf) { // a short read is the end
			return buf[:have], buf, readable(true, int64(have))
		}
		if err := readable(true, int64(have)); err != nil {
			return nil, buf, err
		}
		buf = append(buf, make([]byte, have)...)
	}
}

// parseTeamTask reads one task file of Claude Code. A task that was deleted gives
// none. The name of the file stands in for what one without id or subject lacks.
func parseTeamTask(data []byte) ([]Task, error) {
	e, err := record.One(data)
	if err != nil {
		return nil, err
	}
	t := ofEntry(e)
	if strings.EqualFold(t.Status, "deleted") {
		return nil, nil
	}
	return []Task{named(t, e.ID.String(), e.Subject, e.Title, e.Description)}, nil
}

// byNumber orders numbers by value and before everything else.
func byNumber(a, b string) int {
	na, nb := digits(a), digits(b)
	if na && nb && len(a) == len(b) {
		return strings.Compare(a, b)
	}
	switch {
	case na && nb:
		x, y := strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y), cmp.Compare(a, b))
	case na != nb:
		return map[bool]int{true: -1, false: 1}[na]
	}
	return cmp.Compare(a, b)
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
