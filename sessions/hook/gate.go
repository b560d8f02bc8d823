package hook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"autopilot/sessions/approval"
	"autopilot/sessions/approval/rule"
)

const (
	maxScript = 1 << 20  // bytes of a script that are looked at; a longer one is held
	maxWhole  = 64 << 20 // bytes of a file that are summed up
	maxPiece  = 8 << 10  // bytes of each script that a person is shown
	maxShown  = 64 << 10 // bytes of what a person is shown of a change
	maxOld    = 1 << 20  // bytes of a file that is compared
	lookTime  = 2 * time.Second
)

// GateDesk is what a gate is decided by.
type GateDesk struct {
	Rules     rule.Set
	Desk      approval.Desk
	RunID     string
	SessionID string // empty for the one that the session names
	Home      string // the person's home folder, absolute; empty where it is not known
	Lane      Lane
	LaneOnly  bool // no rule holds a call
}

type gateInput struct {
	Event     string          `json:"hook_event_name"`
	SessionID string          `json:"session_id"`
	CWD       string          `json:"cwd"`
	Tool      string          `json:"tool_name"`
	ToolInput json.RawMessage `json:"tool_input"`
}

// Gate answers the call that Claude Code makes before it runs a tool. It writes nothing
// where no rule holds the call, which leaves it to the session's own permissions; else
// the refusal with its reason, unless a person has approved the call.
//
// It fails closed for every tool that can do harm, and for an input from which the tool
// cannot be told: whatever goes wrong, a panic too, is an error, and the caller ends with
// status 2, which refuses the call. Tools that can do none are never looked at, so that
// nothing that is wrong with us can stop them: those that ask, plan, list, search by name
// or fetch a page, and a sub-agent, whose own calls come here one by one. A call that no
// rule holds does not touch the desk, so a desk that cannot be written refuses only what
// would have had to wait. It answers within half a minute, on a desk that is locked by
// another all the time; the time limit of the hook has to be longer, because a hook that is
// cut off refuses nothing.
func Gate(stdin io.Reader, stdout io.Writer, g GateDesk, now time.Time) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("refused, internal error: gate: %v", r)
		}
	}()
	var in gateInput
	data, err := io.ReadAll(io.LimitReader(stdin, inputLimit+1))
	switch {
	case err != nil:
		return fmt.Errorf("refused, read hook input: %w", err)
	case len(data) > inputLimit:
		return fmt.Errorf("refused, hook input is longer than %d bytes", inputLimit)
	}
	bad := json.Unmarshal(data, &in)
	switch {
	case in.Event != "" && in.Event != "PreToolUse":
		return nil
	case bad == nil && in.Event == "":
		return errors.New("refused, read hook input: hook_event_name is missing")
	case in.Tool != "" && harmlessTool(in.Tool):
		return nil
	case bad != nil:
		return fmt.Errorf("refused, read hook input: %w", bad)
	case in.Tool == "":
		return errors.New("refused, read hook input: tool_name is missing")
	}
	if path := g.Lane.outside(in.Tool, in.ToolInput, in.CWD); path != "" {
		return deny(stdout, fmt.Sprintf("%s is not yours to change: another story may be at work there. You may change %s.", path, strings.Join(g.Lane.Patterns, ", ")))
	}
	if g.LaneOnly {
		return nil
	}
	call := rule.Call{Tool: in.Tool, Input: in.ToolInput, Dir: in.CWD}
	used := &usedFiles{desk: g}
	found := g.Rules.Guarding(g.Home, guardedFolders(g.Desk.Dir)...).Judge(call, used.read)
	if len(found) == 0 {
		return nil
	}
	who := approval.Who{RunID: g.RunID, SessionID: g.SessionID}
	if who.SessionID == "" {
		who.SessionID = in.SessionID
	}
	v, err := g.Desk.Hold(call, found, who, now, approval.Look{Files: used.summed(), Diff: func() string { return used.shown() + changeOf(call) }})
	if err != nil {
		return fmt.Errorf("refused, it has to wait for a person and could not be written down: %w", err)
	}
	if v.Allow {
		return nil
	}
	return deny(stdout, v.Reason)
}

// deny answers with a refusal, in one write: half an answer would be no answer.
func deny(stdout io.Writer, reason string) error {
	var answer bytes.Buffer
	enc := json.NewEncoder(&answer)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(output{specific{Event: "PreToolUse", Decision: "deny", Reason: reason}}); err != nil {
		return fmt.Errorf("refused, encode answer: %w", err)
	}
	if _, err := stdout.Write(answer.Bytes()); err != nil {
		return fmt.Errorf("refused, write answer: %w", err)
	}
	return nil
}

// harmlessTool knows the tools that change nothing and show no file.
func harmlessTool(name string) bool {
	switch name {
	case "Glob", "LS", "TodoWrite", "TodoRead", "WebFetch", "WebSearch", "AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "BashOutput", "KillShell", "KillBash",
		"Agent", "Task", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TaskOutput", "TaskStop", "ToolSearch", "StructuredOutput", "Skill", "SlashCommand",
		"ListMcpResourcesTool", "ReadMcpResourceTool", "WaitForMcpServers", "SendMessage":
		return true
	}
	return false
}

// guardedFolders are the folder of the gates as it is named and as it is found behind
// links.
func guardedFolders(dir string) []string {
	if dir == "" {
		return nil
	}
	if found, err := filepath.EvalSymlinks(dir); err == nil && found != dir {
		return []string{dir, found}
	}
	return []string{dir}
}

// read reads a script that a command would run.
func (g GateDesk) read(p string) ([]byte, bool) {
	f, ok := g.open(p)
	return f.Text, ok
}

// open reads a file that a command would run: its beginning, and one byte more than is
// looked at where it is longer.
func (g GateDesk) open(p string) (approval.File, bool) {
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		if g.Home == "" {
			return approval.File{}, false
		}
		p = filepath.Join(g.Home, rest)
	}
	data, ok := beginning(p, maxScript+1)
	return approval.File{Path: p, Text: data}, ok
}

// sum is of all that stands in a file; of a longer one, beside its beginning, its size and
// when it was changed.
func sum(f approval.File) string {
	h := sha256.New()
	h.Write(f.Text)
	if len(f.Text) > maxScript {
		if info, err := os.Stat(f.Path); err == nil {
			fmt.Fprint(h, info.Size(), info.ModTime().UnixNano())
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// usedFiles reads files and remembers which.
type usedFiles struct {
	desk GateDesk
	list []approval.File
}

func (u *usedFiles) read(p string) ([]byte, bool) {
	for _, f := range u.list {
		if f.Path == p {
			return f.Text, true
		}
	}
	f, ok := u.desk.open(p)
	if ok {
		u.list = append(u.list, f)
	}
	return f.Text, ok
}

// summed are the files with the sums of what stands in them.
func (u *usedFiles) summed() []approval.File {
	for i := range u.list {
		u.list[i].Sum = sum(u.list[i])
	}
	return u.list
}

// shown is what stands in the files, for a person: the beginning of each that is a text.
func (u *usedFiles) shown() string {
	var out strings.Builder
	for _, f := range u.list {
		if bytes.IndexByte(f.Text, 0) >= 0 {
			fmt.Fprintf(&out, "%s: no text, sha256 %s\n\n", f.Path, f.Sum)
			continue
		}
		fmt.Fprintf(&out, "%s:\n%s\n", f.Path, f.Text[:min(len(f.Text), maxPiece)])
		if len(f.Text) > maxPiece {
			fmt.Fprintf(&out, "... cut; sha256 of all %s\n", f.Sum)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// readRegular reads a regular file of at most limit bytes.
func readRegular(p string, limit int64) ([]byte, bool) {
	data, ok := beginning(p, limit+1)
	return data, ok && int64(len(data)) <= limit
}

// beginning reads at most limit bytes of a regular file.
func beginning(p string, limit int64) ([]byte, bool) {
	info, err := os.Stat(p) // opening a pipe would wait for its other end
	if err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	f, err := os.Open(p)
	if err != nil {
		return nil, false
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, limit))
	return data, err == nil
}

// changeOf is what a person may want to see: what an edit would change, and for a command
// how the work tree stands.
func changeOf(c rule.Call) string {
	switch c.Tool {
	case "Bash", "Monitor":
		return standing(c.Dir)
	case "Write", "Edit", "MultiEdit":
		return edited(c)
	}
	return ""
}

// standing is what git says about the work tree; empty where that takes too long or
// there is none.
func standing(dir string) string {
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	git := func(args ...string) string {
		// Nothing of a repository's configuration may run here.
		cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0")
		cmd.WaitDelay = time.Second
		out, err := cmd.Output()
		if err != nil {
			return ""
		}
		return string(out[:min(len(out), maxShown)])
	}
	return git("status", "--short") + git("diff", "--stat", "--no-ext-diff", "--no-textconv", "HEAD")
}

type edit struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
	All bool   `json:"replace_all"`
}

// edited is the change that a file tool would make.
func edited(c rule.Call) string {
	var in struct {
		File    string `json:"file_path"`
		Content string `json:"content"`
		edit
		Edits []edit `json:"edits"`
	}
	if json.Unmarshal(c.Input, &in) != nil || in.File == "" {
		return ""
	}
	p := in.File
	if !filepath.IsAbs(p) {
		p = filepath.Join(c.Dir, p)
	}
	data, ok := readRegular(p, maxOld)
	before := string(data)
	after := in.Content
	switch {
	case c.Tool == "Write":
	case !ok: // only what is to be put in the place of what can be told
		before, after = in.Old, in.New
	default:
		edits := in.Edits
		if c.Tool == "Edit" {
			edits = []edit{in.edit}
		}
		after = before
		for _, e := range edits {
			n := 1
			if e.All {
				n = -1
			}
			if e.Old != "" {
				after = strings.Replace(after, e.Old, e.New, n)
			}
		}
		if after == before && len(edits) > 0 {
			before, after = edits[0].Old, edits[0].New
		}
	}
	return unified(in.File, before, after)
}

const around = 3 // lines shown before and behind a change

// unified shows a change as one hunk of a unified diff: what begins and ends alike is
// left out, and what is between is taken out and put in as a whole. Empty where nothing
// changes.
func unified(name, before, after string) string {
	if before == after {
		return ""
	}
	a, b := linesOf(before), linesOf(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	from, behind := max(head-around, 0), min(tail, around)
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n@@ -%s +%s @@\n", name, name,
		span(from, len(a)-tail+behind), span(from, len(b)-tail+behind))
	put := func(mark string, lines []string) {
		for _, l := range lines {
			if out.Len() < maxShown {
				out.WriteString(mark + l + "\n")
			}
		}
	}
	put(" ", a[from:head])
	put("-", a[head:len(a)-tail])
	put("+", b[head:len(b)-tail])
	put(" ", a[len(a)-tail:len(a)-tail+behind])
	s := out.String()
	return s[:min(len(s), maxShown)]
}

// span names lines in the form of a unified diff: the first, counted from 1, and how many.
func span(from, to int) string {
	if from == to {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func linesOf(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}
