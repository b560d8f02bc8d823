package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"autopilot/metrics/logs"
	"autopilot/metrics/statedir"
	"autopilot/sessions/hook"
	"autopilot/sessions/launch"
	"autopilot/sessions/outcome"
	"autopilot/sessions/prompt"
	"autopilot/sessions/ptyrun"
	"autopilot/sessions/reap"
	"autopilot/sessions/repo"
	"autopilot/sessions/stream"
	"autopilot/sessions/vitals"
)

const (
	answerLimit  = 16 << 20 // bytes of an answer that are read
	answerKept   = 4 << 10  // bytes of the answer that the result itself holds
	sweepTime    = 5 * time.Second
	drainTime    = 2 * time.Second
	gitTime      = 30 * time.Second
	freshState   = time.Second // what git said this long ago still holds
	stderrInWord = 200         // bytes of stderr that explain a failed start
	maxReport    = 1 << 20     // bytes of a report that tools left
)

// session is one Run at work.
type session struct {
	Spec
	beat    func(Progress)
	tally   *outcome.Tally
	res     Result
	cap     hook.CapFile
	life    *vitals.Clock
	pid     int
	begun   time.Time // of the current process
	notices noticeBoard
	early   *earlyState
	stop    outcome.Stop // why we ended the current process
	why     string       // the numbers behind it
}

// Run runs the session and returns how it ended. The error is for what keeps a
// session from being run or recorded at all: a folder that cannot be written, a
// binary that cannot be started. Beat is called from one goroutine.
func Run(ctx context.Context, spec Spec, beat func(Progress)) (Result, error) {
	if spec.Continue == nil {
		if done, ok, err := finished(spec); ok || err != nil {
			return done, err
		}
	}
	s := newSession(spec, beat)
	if err := s.prepare(); err != nil {
		return s.res, err
	}
	s.stateBefore(ctx)
	if err := s.steps(ctx); err != nil {
		return s.res, err
	}
	s.settle()
	if err := s.keep(ResultPath(s.Folder)); err != nil {
		s.note(true, "the result could not be kept in the state folder: %v", err)
	}
	return s.res, nil
}

// keep writes the result as it is to the session's folder. It survives the death
// of the supervisor; it is not synced, because a power cut before the ledger has
// it only means that the session is recorded as cut off.
func (s *session) keep(path string) error {
	data, err := json.MarshalIndent(s.res, "", "  ")
	if err != nil {
		return fmt.Errorf("record session: %w", err)
	}
	return statedir.Swap(path, data)
}

// finished returns the result of a session that was run before.
func finished(spec Spec) (Result, bool, error) {
	var r Result
	err := statedir.LoadJSON(ResultPath(spec.Folder), &r)
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	return r, r.ID == spec.ID, nil
}

func newSession(spec Spec, beat func(Progress)) *session {
	s := &session{Spec: spec, beat: beat, tally: outcome.NewTally(), cap: hook.CapFile(filepath.Join(spec.Folder, capName))}
	s.notices.wake = make(chan struct{}, 1)
	if c := spec.Continue; c != nil && c.tally != nil {
		s.tally, s.res = c.tally, *c
	} else {
		s.res = Result{ID: spec.ID, Continued: spec.ConversationID, RunID: spec.RunID, StartedAt: time.Now()}
		if c != nil {
			s.res.Opened, s.res.NextStep = c.Opened, c.NextStep
		}
	}
	s.res.tally = s.tally
	if s.Kill == nil {
		s.Kill = context.Background()
	}
	return s
}

// prepare writes the session's folder: the settings with our hook and the cap. A
// session without tools needs neither.
func (s *session) prepare() error {
	if err := os.MkdirAll(s.Folder, 0o700); err != nil {
		return fmt.Errorf("make session folder: %w", err)
	}
	if s.NoTools {
		return nil
	}
	if _, err := s.cap.Set(s.Cap); err != nil {
		return err
	}
	// A hook that cannot run at all must refuse as well: claude takes every exit
	// status but 2 for consent.
	data, err := launch.Settings(launch.Hooks{Agents: s.HookCommand + " " + launch.Quote(string(s.cap)) + " || exit 2", Stop: s.StopHook, Gate: s.GateHook})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.Folder, settingsName), data, 0o600); err != nil {
		return fmt.Errorf("write session settings: %w", err)
	}
	return nil
}

func (s *session) stateBefore(ctx context.Context) {
	if s.res.before != nil || s.Repo == (repo.Repo{}) {
		return
	}
	if p := s.Previous; p != nil && p.after != nil && time.Since(p.EndedAt) < freshState {
		s.res.before, s.res.Branch = p.after, p.after.Branch
		return
	}
	st, err := s.Repo.State(ctx)
	if err != nil {
		s.note(true, "changes of this session cannot be measured: %v", err)
		return
	}
	s.res.before, s.res.Branch = &st, st.Branch
}

// steps runs one process for each prompt until the session is over.
func (s *session) steps(ctx context.Context) error {
	for ; s.res.NextStep < len(s.Steps); s.res.NextStep++ {
		exit, err := s.process(ctx, s.Steps[s.res.NextStep])
		if err != nil {
			return err
		}
		s.measure()
		f := s.tally.Facts()
		end := outcome.Classify(f, s.exit(exit, f))
		s.res.Ending, s.res.Cause, s.res.Budget = end.Ending, s.words(end, f), end.Budget
		s.res.ResetAt, s.res.LimitKind = end.ResetAt, end.Kind
		goesOn := end.Ending == outcome.Completed || end.Ending == outcome.NoWork && f.AnsweredTurns > 0
		if !goesOn || s.Satisfied != nil && s.Satisfied() {
			break
		}
	}
	return nil
}

func (s *session) exit(e ptyrun.Exit, f outcome.Facts) outcome.Exit {
	s.res.ExitCode, s.res.Signal = e.Code, e.Signal
	x := outcome.Exit{Code: e.Code, Signal: e.Signal, Stop: s.stop, Changed: s.res.Effect(), Asked: s.NoTools}
	if report := s.report(f); len(report) > 0 {
		if r, err := prompt.ParseReport(report); err == nil {
			x.Asked = x.Asked || r.NeedsPerson != ""
		}
	}
	return x
}

// report is what the session says about itself: in its last answer, or else
// through its tools.
func (s *session) report(f outcome.Facts) []byte {
	if len(f.Report) > 0 || s.ReportFile == "" {
		return f.Report
	}
	return LeftReport(s.ReportFile)
}

// words adds to a cause what only the watch or stderr knows. It is for people;
// nothing is decided by it.
func (s *session) words(end outcome.End, f outcome.Facts) string {
	cause := end.Cause
	if s.why != "" {
		cause = s.why
	}
	if !f.Init && end.Ending == outcome.Failed {
		if text := head(StderrPath(s.Folder), stderrInWord); text != "" {
			cause += ": " + logs.Redact(text)
		}
	}
	return cause
}

// process runs one process of the session to its end and sweeps up after it.
func (s *session) process(ctx context.Context, step Step) (ptyrun.Exit, error) {
	if s.res.Processes > 0 {
		s.tally.NextProcess(s.res.Ending.Waits())
	}
	stderr, err := os.OpenFile(StderrPath(s.Folder), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return ptyrun.Exit{}, fmt.Errorf("open session messages: %w", err)
	}
	defer func() { _ = stderr.Close() }()
	s.stop, s.why = outcome.StopNone, ""
	dec := stream.New(stream.Limits{Result: answerLimit}, s.observe)
	p, err := ptyrun.Start(s.command(step, stderr), dec)
	if err != nil {
		return ptyrun.Exit{}, err
	}
	s.res.Processes++
	s.watch(ctx, p)
	s.res.Worked += time.Since(s.begun)
	marker := reap.Marker{Name: launch.SessionVar, Value: string(s.ID)}
	swept, left := s.Sweeper.Sweep(marker, sweepTime)
	s.res.Swept, s.res.Left = s.res.Swept+swept, left
	p.Drain(drainTime)
	_ = dec.Close()
	s.handleNotices()
	s.releaseAll()
	if len(left) > 0 {
		s.note(true, "processes %v of the session could not be ended", left)
	}
	s.res.Opened = s.res.Opened || s.tally.Facts().Init
	return p.Exit(), nil
}

// releaseAll gives back what the process's sub-agents held of the cap.
func (s *session) releaseAll() {
	if s.NoTools {
		return
	}
	if err := s.cap.ReleaseAll(); err != nil {
		s.note(true, "the agent cap could not be updated: %v", err)
	}
}

func (s *session) command(step Step, stderr *os.File) ptyrun.Command {
	text := step.Prompt
	asArgument := step.AsArgument
	if s.Continue != nil && s.res.Processes == s.Continue.Processes && s.res.Opened && s.ContinuePrompt != "" {
		text, asArgument = s.ContinuePrompt, false
	}
	capNow, system := s.Cap.Cap, prompt.System(s.Cap.Cap)+s.Notice
	if s.NoTools {
		capNow, system = 0, s.System
	}
	args, stdin := launch.Args(launch.Options{
		SessionID: string(s.Conversation()), Resume: s.res.Opened, Prompt: text, AsArgument: asArgument,
		SystemPrompt: system, Settings: filepath.Join(s.Folder, settingsName), Schema: s.Schema,
		Model: s.Model, Permission: s.Permission, AllowedTools: s.Tools, MaxBudgetUSD: s.budgetLeft(), Extra: s.Extra,
		NoTools: s.NoTools, Server: s.Server,
	})
	env, _ := launch.Env(s.Environ, launch.Identity{
		RunID: s.RunID, Token: s.Token, SessionID: string(s.ID), Cap: capNow, UseAPIKey: s.UseAPIKey, NoTools: s.NoTools, Variables: s.Variables,
	})
	return ptyrun.Command{Path: s.Claude, Args: args, Dir: s.Dir, Env: env, Stdin: stdin, Stderr: stderr}
}

// budgetLeft is what a further process of this session may cost.
func (s *session) budgetLeft() float64 {
	if s.BudgetUSD <= 0 {
		return 0
	}
	return max(s.BudgetUSD-s.tally.Facts().Usage.CostUSD, 0.000001)
}

// measure asks git what the session has changed so far, also when the session was
// cancelled, but not when it is to end at once.
func (s *session) measure() {
	if s.res.before == nil {
		return
	}
	if s.tally.Facts().ToolUses == 0 { // nothing that could have changed a file
		s.res.after, s.res.Measured = s.res.before, true
		return
	}
	ctx, cancel := context.WithTimeout(s.Kill, gitTime)
	defer cancel()
	after, err := s.stateAfter(ctx)
	var c repo.Change
	if err == nil {
		c, err = s.Repo.Changed(ctx, *s.res.before, after, s.Ignore...)
	}
	if err != nil {
		s.note(true, "changes of this session cannot be measured: %v", err)
		return
	}
	s.res.Files, s.res.Commits, s.res.Branch, s.res.Measured = c.Files, c.Commits, after.Branch, true
	s.res.after = &after
}

// stateAfter is what the work tree looks like now. It was asked for when the
// result came, while the process was still on its way out; that answer holds when
// nothing happened since.
func (s *session) stateAfter(ctx context.Context) (repo.State, error) {
	if early := s.early; early != nil {
		s.early = nil
		select {
		case <-early.done:
		case <-ctx.Done():
			return repo.State{}, ctx.Err()
		}
		if early.err == nil && early.events == s.tally.Facts().Events && s.res.Swept == early.swept {
			return early.state, nil
		}
	}
	return s.Repo.State(ctx)
}

// earlyState is the state of the work tree when a result came.
type earlyState struct {
	done   chan struct{}
	events int // events until then
	swept  int // processes swept until then
	state  repo.State
	err    error
}

// askEarly asks git in the background. One question is asked for each result;
// an answer that is out of date is not used.
func (s *session) askEarly() {
	f := s.tally.Facts()
	if s.res.before == nil || f.ToolUses == 0 {
		return
	}
	if s.early != nil {
		select {
		case <-s.early.done:
		default:
			return // its answer will be out of date, and git is asked at the end
		}
	}
	early := &earlyState{done: make(chan struct{}), events: f.Events, swept: s.res.Swept}
	s.early = early
	go func() {
		defer close(early.done)
		ctx, cancel := context.WithTimeout(context.Background(), gitTime)
		defer cancel()
		early.state, early.err = s.Repo.State(ctx)
	}()
}

// settle fills the result from the facts.
func (s *session) settle() {
	f := s.tally.Facts()
	s.res.EndedAt = time.Now()
	s.res.Version, s.res.Model = orKeep(f.Version, s.res.Version), orKeep(f.Model, s.res.Model)
	s.res.Agents, s.res.Usage, s.res.ToolUses = f.Agents, f.Usage, f.ToolUses
	s.res.Calls, s.res.Tools = s.tally.Calls()
	s.res.Retries, s.res.Denials, s.res.Report = f.Retries, f.Denials, logs.RedactJSON(s.report(f))
	if caps, err := s.cap.Load(); err == nil {
		s.res.Caps = caps
	}
	if f.Result != nil {
		s.keepAnswer(f.Result.Result, f.Result.AnswerCut)
	}
}

// keepAnswer keeps the beginning of the last answer in the result and the whole
// of a long one in a file beside it.
func (s *session) keepAnswer(text string, cut bool) {
	if cut && !s.res.AnswerCut {
		s.note(true, "the answer is longer than is kept of one: %d bytes are", len(text))
	}
	s.res.AnswerLen, s.res.AnswerCut = len(text), cut
	text = logs.Redact(text)
	s.res.Answer = text
	if len(text) <= answerKept {
		return
	}
	end := answerKept
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	s.res.Answer = text[:end]
	if err := writeText(AnswerPath(s.Folder), text); err != nil {
		s.note(true, "the answer could not be kept: %v", err)
	}
}

// writeText writes a text without a copy of it.
func writeText(name, text string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return errors.Join(err, f.Close())
}

func orKeep(now, before string) string {
	if now != "" {
		return now
	}
	return before
}

func head(name string, n int) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	buf := make([]byte, n)
	n, _ = f.Read(buf)
	return firstLine(buf[:n])
}
