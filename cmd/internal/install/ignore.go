package install

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	ignoreFile   = ".gitignore"
	masterFolder = ".taskmaster"

	ignoreBegin = "# autopilot:begin"
	ignoreEnd   = "# autopilot:end"
	ignoreBlock = ignoreBegin + "\n.taskmaster/state/\n.taskmaster/reports/\n" + ignoreEnd
)

func ignoreMarks() marks { return marks{ignoreBegin, ignoreEnd} }

// ignorePart keeps what Task Master leaves while it works out of version control.
func ignorePart() part {
	return part{path: ignoreFile, marked: true, put: putIgnore, cut: ignoreMarks().cut}
}

func putIgnore(now state) (state, []string, error) {
	_, text := splitMark(now.data)
	_, _, found, err := ignoreMarks().find(text)
	if err == nil && !found && ignoresAll(text) {
		return now, nil, nil
	}
	return ignoreMarks().put(now, ignoreBlock)
}

// ignoresAll reports whether every line of ours is there already, or the whole folder.
// A line may begin with a slash, and need not end with one.
func ignoresAll(text []byte) bool {
	bare := func(line string) string {
		return strings.TrimSuffix(strings.TrimPrefix(line, "/"), "/")
	}
	have := map[string]bool{}
	for line := range bytes.Lines(text) {
		have[bare(string(bytes.TrimRight(line, " \t\r\n")))] = true
	}
	lines := strings.Split(ignoreBlock, "\n")
	return have[masterFolder] || !slices.ContainsFunc(lines[1:len(lines)-1], func(line string) bool { return !have[bare(line)] })
}

// hasMaster reports whether Task Master is at work in the repository.
func (p *planner) hasMaster() bool {
	info, err := os.Stat(filepath.Join(p.root, masterFolder))
	return err == nil && info.IsDir()
}

// ignores reports whether .gitignore takes part: where Task Master is, and for
// uninstall where a block of ours may be. Elsewhere nobody looks at it, so that nothing
// about it can be in the way.
func (p *planner) ignores() bool {
	if !p.undo {
		return p.hasMaster()
	}
	if _, named := p.record.find(ignoreFile); named || p.recorded {
		return named
	}
	now, err := p.read(ignoreFile)
	return err == nil && bytes.Contains(now.data, []byte(ignoreBegin))
}
