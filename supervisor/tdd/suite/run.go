package suite

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"autopilot/metrics/plainfile"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/tdd"
)

const maxResult = 256 << 20 // bytes of a file of results; what is behind them is not read

// Options say where and how the tests run.
type Options struct {
	Dir      string        // the project
	Scratch  string        // a folder outside the work tree, which exists
	Gate     gate.Runner   // its Dir, Timeout and Tee are set by Run
	Timeout  time.Duration // of the run; 0 is that of the gate
	Coverage bool          // measure it, where the runner can
}

// stream takes output line by line.
type stream interface {
	line([]byte)
	finish() *tally
}

// Run runs the tests and returns what they have shown. It waits for the end of the
// command, and returns early when ctx ends; then nothing is OK. It must not be called
// while the gate's runner must not be.
func (s Suite) Run(ctx context.Context, o Options) tdd.Measured {
	m := tdd.Measured{Command: line(s.Command, maxCommand), Exit: -1}
	folder, err := scratch(o.Scratch)
	if err != nil {
		m.Detail = line(fmt.Sprintf("cannot be run: %v", err), maxDetail)
		return m
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		m.Detail = line(fmt.Sprintf("cannot be run: %v", err), maxDetail)
		return m
	}
	o.Gate.Dir = o.Dir
	if o.Timeout > 0 {
		o.Gate.Timeout = o.Timeout
	}
	k := planned{dir: o.Dir, folder: folder, environ: o.Gate.Environ, cover: o.Coverage}
	if o.Coverage {
		k.plugin = s.hasPlugin(ctx, o)
	}
	p := s.plan(k)
	reader := s.reader(p)
	s.judge(&m, p.run(ctx, o.Gate, reader), p, reader, o)
	return m
}

// scratch makes a new folder, so that nothing in it is from an earlier run.
func scratch(parent string) (string, error) {
	parent, err := filepath.Abs(parent)
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(parent, "tests-")
}

// hasPlugin asks pytest whether it can measure coverage.
func (s Suite) hasPlugin(ctx context.Context, o Options) bool {
	command := s.probe(o.Dir)
	if command == "" {
		return false
	}
	o.Gate.Environ = append(o.Gate.Environ[:len(o.Gate.Environ):len(o.Gate.Environ)], "PYTHONDONTWRITEBYTECODE=1")
	res := o.Gate.Run(ctx, []gate.Check{{Kind: gate.Command, Command: command}})
	return res[0].OK && strings.Contains(res[0].Output, "pytest-cov-")
}

// reader returns what reads the output, or nil.
func (s Suite) reader(p plan) stream {
	switch {
	case p.blind != "" || p.result != "":
	case s.Runner == Go:
		return newGoStream()
	case s.Runner == Cargo:
		return &cargoStream{}
	case s.Runner == TAP:
		return &tapStream{}
	}
	return nil
}

// run runs the command.
func (p plan) run(ctx context.Context, g gate.Runner, reader stream) gate.Result {
	g.Environ = append(g.Environ[:len(g.Environ):len(g.Environ)], p.env...)
	var lines *splitter
	if reader != nil {
		lines = &splitter{feed: reader.line}
		g.Tee = lines
	}
	res := g.Run(ctx, []gate.Check{{Kind: gate.Command, Command: p.command}})[0]
	if lines != nil {
		lines.close()
	}
	return res
}

// judge puts together what the command and its results say.
func (s Suite) judge(m *tdd.Measured, res gate.Result, p plan, reader stream, o Options) {
	m.OK, m.Output, m.TookMS = res.OK, res.Output, res.Took.Milliseconds()
	var t *tally
	switch {
	case p.blind != "":
		t = &tally{flaw: p.blind}
	case reader != nil:
		t = reader.finish()
	default:
		t = s.results(p.result, o.Dir)
	}
	ended := res.Exit >= 0
	m.Exit = res.Exit
	if !ended && p.result == "" {
		t.doubt("it did not end by itself")
	}
	t.into(m)
	if g, ok := reader.(*goStream); ok {
		m.Output = g.text.shown()
	}
	if ended {
		s.forgive(m, t, res.Exit)
	}
	var notes []string
	detail := res.Detail
	switch {
	case m.Counted && ended:
		detail, _, _ = strings.Cut(detail, ": ")
		detail += ": " + t.words()
	case m.Counted:
		notes = append(notes, t.words())
	default:
		if s.Runner == Go {
			detail, _, _ = strings.Cut(detail, `: {"`)
		}
		notes = append(notes, "not counted: "+t.flaw)
	}
	if o.Coverage {
		notes = append(notes, s.cover(m, p)...)
	}
	m.Detail = line(strings.Join(append([]string{detail}, notes...), "; "), maxDetail)
}

// forgive takes an exit status that only says that there are no tests for a success.
func (s Suite) forgive(m *tdd.Measured, t *tally, status int) {
	if !m.Counted || t.Total+t.broken > 0 {
		return
	}
	m.OK = m.OK || s.Runner == Pytest && status == 5 || s.Runner == Go && status == 1 && t.empty
}

// results reads the file of the results.
func (s Suite) results(name, dir string) *tally {
	f, _, err := plainfile.Open(name)
	if err != nil {
		return &tally{flaw: "no results were written"}
	}
	defer f.Close()
	in := io.LimitReader(f, maxResult)
	switch s.Runner {
	case Jest, Vitest:
		return parseJSON(in, dir, s.Runner == Vitest)
	case Pytest:
		return parseJUnit(in)
	}
	t := &nodeStream{}
	lines := splitter{feed: t.line}
	if _, err := io.Copy(&lines, in); err != nil {
		return &tally{flaw: fmt.Sprintf("the results cannot be read: %v", err)}
	}
	lines.close()
	return t.finish()
}

// cover reads the coverage. A note says why there is none.
func (s Suite) cover(m *tdd.Measured, p plan) []string {
	why := p.noCover
	if p.cover != "" {
		c, err := coverage(s.Runner, p.cover)
		if err == nil {
			m.Coverage = c
			return nil
		}
		why = err.Error()
	}
	return []string{"no coverage: " + why}
}
