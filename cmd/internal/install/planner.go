package install

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxFile bounds what is read. Settings and instructions are far smaller.
const maxFile = 4 << 20

// planner collects changes while it looks at a repository.
type planner struct {
	Changes
	options Options
	root    string // Repo without links
	record  record
	// recorded is set when there is a record, so that it is known what was put in.
	recorded bool
	running  []string // files that will run the command that was given
}

// part is one file that init changes.
type part struct {
	path string
	// marked is set when what is ours can be told from everything else by its
	// markers, so that it counts as ours whoever put it in.
	marked bool
	// runs reports whether the file runs the command that was given. It is nil for
	// one that runs nothing.
	runs func(d doc) bool
	// put returns the file as init wants it. Its notes go on after the file's name.
	put func(now state) (state, []string, error)
	// cut returns the file without what is ours. before is the file as it was
	// before init; nil when nobody knows.
	cut func(now state, before *state) (state, []string, error)
}

// look checks the options and reads the record.
func look(o Options) (*planner, error) {
	if !filepath.IsAbs(o.Repo) {
		return nil, fmt.Errorf("the repository %q is not an absolute path", o.Repo)
	}
	if strings.TrimSpace(o.Command) == "" || strings.ContainsFunc(o.Command, isControl) {
		return nil, fmt.Errorf("%q cannot be the command of a hook", o.Command)
	}
	root, err := filepath.EvalSymlinks(o.Repo)
	if err != nil {
		return nil, fmt.Errorf("look at the repository: %w", err)
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("the repository %s is not a folder", o.Repo)
	}
	p := &planner{options: o, root: root}
	p.repo, p.recordPath = root, o.Record
	if o.Record != "" {
		p.targets = append(p.targets, o.Record)
	}
	return p, p.loadRecord()
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

func (p *planner) loadRecord() error {
	if p.recordPath == "" {
		return nil
	}
	data, err := os.ReadFile(p.recordPath)
	if errors.Is(err, os.ErrNotExist) {
		p.record = record{Version: recordVersion, Command: p.options.Command}
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the record of what was put in: %w", err)
	}
	p.recordNow, p.recorded = state{exists: true, data: data}, true
	if p.record, err = parseRecord(data); err != nil {
		p.Notes = append(p.Notes, fmt.Sprintf("the record %s cannot be used (%v): entries are known by what they say", p.recordPath, err))
		p.record, p.recorded = record{Version: recordVersion, Command: p.options.Command}, false
	}
	return nil
}

// parts are the files that take part, in the order in which they are written.
func (p *planner) parts() []part {
	us := program{p.options.Command, p.record.Command}
	all := []struct {
		left bool
		part part
	}{
		{p.options.NoHooks, settingsPart(us)},
		{p.options.NoMCP, serverPart(us)},
		{p.options.NoConfig, configPart()},
		{p.options.NoInstructions, p.instructions()},
		{p.options.NoIgnore || !p.ignores(), ignorePart()},
	}
	var out []part
	for _, a := range all {
		if !a.left {
			out = append(out, a.part)
		}
	}
	return out
}

// instructions leaves CLAUDE.md alone where it is another name of AGENTS.md,
// which is not only Claude's.
func (p *planner) instructions() part {
	part := sectionPart(p.hasMaster())
	resolved, err := filepath.EvalSymlinks(filepath.Join(p.root, part.path))
	if err != nil || filepath.Base(resolved) != agentsFile {
		return part
	}
	part.put = func(now state) (state, []string, error) {
		return now, []string{"is a link to " + agentsFile + ", which other agents read too: no section was added"}, nil
	}
	return part
}

// start reads the file of a part, and remembers where it is.
func (p *planner) start(part part) (state, error) {
	target, err := p.resolve(part.path)
	if err != nil {
		return state{}, err
	}
	p.targets = append(p.targets, target)
	return p.read(part.path)
}

// read returns a file of the repository. Links have to stay inside.
func (p *planner) read(name string) (state, error) {
	target, err := p.resolve(name)
	if err != nil {
		return state{}, err
	}
	info, err := os.Stat(target)
	if errors.Is(err, os.ErrNotExist) {
		return state{}, nil
	}
	if err != nil {
		return state{}, fmt.Errorf("read %s: %w", name, err)
	}
	if !info.Mode().IsRegular() {
		return state{}, fmt.Errorf("read %s: not a regular file", name)
	}
	if info.Size() > maxFile {
		return state{}, fmt.Errorf("read %s: %d bytes are more than the %d that are read", name, info.Size(), maxFile)
	}
	data, err := os.ReadFile(target)
	if err != nil {
		return state{}, fmt.Errorf("read %s: %w", name, err)
	}
	return state{exists: true, data: data}, nil
}

// resolve follows the links in the path of a file, which itself or whose folder
// may be missing.
func (p *planner) resolve(name string) (string, error) {
	full := p.root
	rest := strings.Split(name, "/")
	for i, element := range rest {
		next := filepath.Join(full, element)
		info, err := os.Lstat(next)
		if errors.Is(err, os.ErrNotExist) {
			return filepath.Join(append([]string{full}, rest[i:]...)...), nil
		}
		if err != nil {
			return "", fmt.Errorf("read %s: %w", name, err)
		}
		if info.Mode()&os.ModeSymlink != 0 {
			if next, err = p.follow(next); err != nil {
				return "", fmt.Errorf("read %s: %w", name, err)
			}
		}
		full = next
	}
	return full, nil
}

func (p *planner) follow(link string) (string, error) {
	target, err := filepath.EvalSymlinks(link)
	name := strings.TrimPrefix(link, p.root+"/")
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("%s is a link to nothing", name)
	}
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(target, p.root+"/") {
		return "", fmt.Errorf("%s is a link that leads out of the repository, to %s", name, target)
	}
	return target, nil
}

// writable refuses a file that its owner has made read-only, although a rename
// could replace it, and one that somebody else owns.
func (p *planner) writable(name string) error {
	target, err := p.resolve(name)
	if err != nil {
		return err
	}
	for _, at := range []string{target, existingDir(target)} {
		info, err := os.Stat(at)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil && info.Mode().Perm()&0o222 == 0 {
			err = syscall.EACCES
		}
		if err == nil {
			err = unix.Access(at, unix.W_OK)
		}
		if err != nil {
			return fmt.Errorf("write %s: %s is read-only: %w", name, at, err)
		}
	}
	return nil
}

// existingDir is the folder of a path, or the nearest one above it that exists.
func existingDir(name string) string {
	dir := filepath.Dir(name)
	for {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// recordFolder remembers the folder of a file when init has to create it.
func (p *planner) recordFolder(name string) {
	folder := path.Dir(name)
	if _, err := os.Stat(filepath.Join(p.root, folder)); errors.Is(err, os.ErrNotExist) {
		p.record.addFolder(folder)
	}
}

func (p *planner) runs(part part, next state) bool {
	if part.runs == nil {
		return false
	}
	_, text := splitMark(next.data)
	d, err := parseDoc(text)
	return err == nil && part.runs(d)
}

// notePath says that what others will get with the repository works only where
// the program is at the same place.
func (p *planner) notePath() {
	if filepath.IsAbs(p.options.Command) && len(p.running) > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("a path of this machine, %q, is written into versioned files: %s", p.options.Command, strings.Join(p.running, ", ")))
	}
}

// noteHooksOff looks into the settings that a person keeps out of version
// control, which can switch off every hook.
func (p *planner) noteHooksOff() {
	local, err := p.read(localSettings)
	if err != nil || local.blank() {
		return
	}
	_, text := splitMark(local.data)
	d, err := parseDoc(text)
	if err != nil {
		return
	}
	if d.switchesHooksOff() {
		p.note(localSettings, []string{hooksOff})
	}
}
