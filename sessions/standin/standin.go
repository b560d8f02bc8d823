package standin

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// Version is the version that the stand-in claims to be.
const Version = "2.1.330"

// Process is the outside of one stand-in process.
type Process struct {
	Args   []string // without the name of the program
	Getenv func(string) string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// session is one process of the stand-in at work.
type session struct {
	Process
	id           string
	resumed      bool
	prompt       string // both together
	argument     string // prompt behind --
	stdin        string // prompt on stdin
	settings     string
	perm         string
	noTools      bool // it can only answer
	forgets      bool // it keeps no transcript
	interrupting atomic.Bool
	mu           sync.Mutex // guards what follows
	out          *bufio.Writer
	ended        bool
	tools        int
	spent        usage // of the whole conversation
	turn         usage // since the last result
	next         usage // what the next result costs
	report       string
	answer       string // of the next result; empty for a short one
	results      int
	running      registry
}

// Main runs the stand-in and returns its exit status.
func Main(p Process) int {
	s := &session{Process: p, out: bufio.NewWriterSize(p.Stdout, 64<<10), next: usage{Input: 100, Output: 20, CostUSD: 0.001}}
	if done, code := s.parse(); done {
		return code
	}
	script, err := s.script()
	if err != nil {
		fmt.Fprintln(p.Stderr, "Error:", err)
		return 1
	}
	if code, ok := s.open(); !ok {
		return code
	}
	if len(script) > 0 && strings.HasPrefix(script[0], "refuse ") {
		fmt.Fprintln(p.Stderr, strings.TrimPrefix(script[0], "refuse "))
		return 1
	}
	s.watchSignals(script)
	s.emitInit()
	return s.play(script)
}

// assessment is what a session without tools answers when nobody says otherwise.
const assessment = `{"goalAchieved":"NO","progress":"GOOD","percentComplete":50,"loopDetected":false,` +
	`"recommendation":"CONTINUE","reasoning":"stand-in","nextSteps":[]}`

// script is the section for this process. Sessions without tools have a script of
// their own, because a supervisor may put them between the others at any time.
func (s *session) script() ([]string, error) {
	if !s.noTools {
		return loadSection(s.Getenv("STANDIN_SCRIPT"))
	}
	if name := s.Getenv("STANDIN_REFLECT_SCRIPT"); name != "" {
		return loadSection(name)
	}
	return []string{"report " + assessment}, nil
}

// play does the script. A process that is being interrupted ends as the interrupt
// wants and not as the script does.
func (s *session) play(script []string) (code int) {
	defer func() {
		if s.interrupting.Load() {
			select {}
		}
	}()
	for _, line := range script {
		code, over := s.act(line)
		if over || s.interrupting.Load() {
			return code
		}
	}
	s.mu.Lock()
	silent := s.results == 0
	s.mu.Unlock()
	if silent {
		s.result("success", orElse(s.answer, "done"))
	}
	return 0
}

// parse reads the flags that matter. It reports whether the process is over,
// as for --version or a usage error.
func (s *session) parse() (done bool, code int) {
	tools := "default"
	values := map[string]*string{
		"--session-id": &s.id, "--resume": &s.id, "-r": &s.id, "--settings": &s.settings, "--permission-mode": &s.perm, "--tools": &tools,
	}
	defer func() { s.noTools = tools == "" }()
	for i := 0; i < len(s.Args); i++ {
		a := s.Args[i]
		if a == "--version" {
			fmt.Fprintln(s.Stdout, Version+" (Claude Code)")
			return true, 0
		}
		s.forgets = s.forgets || a == "--no-session-persistence"
		if a == "--" {
			s.argument = strings.Join(s.Args[i+1:], " ")
			break
		}
		if to, ok := values[a]; ok && i+1 < len(s.Args) {
			s.resumed = s.resumed || a == "--resume" || a == "-r"
			i++
			*to = s.Args[i]
		}
	}
	text, err := io.ReadAll(io.LimitReader(s.Stdin, 10<<20))
	if err != nil {
		fmt.Fprintln(s.Stderr, "Error:", err)
		return true, 1
	}
	s.stdin = string(text)
	s.prompt = strings.TrimSpace(s.argument + "\n" + s.stdin)
	if s.prompt == "" {
		fmt.Fprintln(s.Stderr, "Error: Input must be provided either through stdin or as a prompt argument when using --print")
		return true, 1
	}
	return false, 0
}

// open checks the conversation against its transcript, as the real one does.
func (s *session) open() (code int, ok bool) {
	name := s.transcript()
	_, err := os.Stat(name)
	switch {
	case !s.resumed && err == nil:
		fmt.Fprintf(s.Stderr, "Error: Session ID %s is already in use.\n", s.id)
		return 1, false
	case s.resumed && err != nil:
		fmt.Fprintf(s.Stderr, "No conversation found with session ID: %s\n", s.id)
		s.emit(map[string]any{
			"type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 0,
			"errors": []string{"No conversation found with session ID: " + s.id},
		})
		return 1, false
	}
	s.spent = loadSpent(name)
	s.note(map[string]any{"type": "user", "text": s.prompt})
	return 0, true
}

// transcript is where the real CLI would keep the conversation.
func (s *session) transcript() string {
	base := s.Getenv("CLAUDE_CONFIG_DIR")
	if base == "" {
		base = filepath.Join(s.Getenv("HOME"), ".claude")
	}
	cwd, err := os.Getwd()
	if err != nil {
		cwd = "/"
	}
	slug := regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(cwd, "-")
	return filepath.Join(base, "projects", slug, s.id+".jsonl")
}

// loadSection takes the next section of the script: each process takes one,
// counted in a file beside it.
func loadSection(name string) ([]string, error) {
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	n, err := count(name + ".count")
	if err != nil {
		return nil, fmt.Errorf("count processes: %w", err)
	}
	sections := [][]string{nil}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "---":
			sections = append(sections, nil)
		case line != "" && !strings.HasPrefix(line, "#"):
			sections[len(sections)-1] = append(sections[len(sections)-1], line)
		}
	}
	return sections[min(n, len(sections))-1], nil
}

// count adds one to the number of lines of a file and returns it. One byte is
// appended, so that processes that start together count each once.
func count(name string) (int, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return 0, err
	}
	if _, err := f.WriteString("."); err != nil {
		return 0, err
	}
	fi, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return int(fi.Size()), nil
}

// watchSignals ends the process as the real one ends: an interrupt with a
// result and status 0, a termination without one and status 143. A script can
// have signals ignored, and each ignored one noted in a file.
func (s *session) watchSignals(script []string) {
	ignored, noted := map[string]bool{}, ""
	for _, line := range script {
		rest, ok := strings.CutPrefix(line, "ignore ")
		if !ok {
			continue
		}
		for word := range strings.FieldsSeq(rest) {
			if strings.Contains(word, "/") {
				noted = word
			} else {
				ignored[word] = true
			}
		}
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	var wg sync.WaitGroup
	wg.Go(func() {
		for sig := range signals {
			name := map[os.Signal]string{syscall.SIGINT: "INT", syscall.SIGTERM: "TERM", syscall.SIGHUP: "HUP"}[sig]
			switch {
			case ignored[name] && noted != "":
				appendLine(noted, name)
			case ignored[name]:
			case name == "INT":
				s.interrupted()
				os.Exit(0)
			case name == "TERM":
				os.Exit(143)
			default:
				os.Exit(129)
			}
		}
	})
}

// interrupted prints what the real one prints when it is interrupted, and ends
// the tools it started.
func (s *session) interrupted() {
	s.interrupting.Store(true)
	s.running.kill()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emitLocked(map[string]any{"type": "user", "message": map[string]any{
		"role":    "user",
		"content": []any{map[string]any{"type": "text", "text": "[Request interrupted by user]"}},
	}})
	s.resultLocked(map[string]any{"subtype": "error_during_execution", "is_error": true, "terminal_reason": "aborted_streaming"})
	s.ended = true
}

func loadSpent(name string) usage {
	var u usage
	data, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return u
	}
	for line := range strings.Lines(string(data)) {
		u = spentIn(line, u)
	}
	return u
}
