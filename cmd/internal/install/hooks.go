package install

import (
	"fmt"
	"strconv"

	"github.com/tailscale/hujson"
)

const hookTimeout = 10 // seconds; a hook answers in milliseconds

// event is a moment at which Claude Code runs a hook of ours.
type event struct {
	name       string // as Claude Code calls it
	subcommand string // of "autopilot hook"
}

// events are in the order in which their hooks are put in.
func events() []event {
	return []event{{"Stop", "stop"}, {"SessionStart", "session-start"}}
}

func (e event) path() []string { return []string{"hooks", e.name} }

// line is the line for the shell that runs the hook.
func (e event) line(command string) string { return quote(command) + " hook " + e.subcommand }

// hookGroup is an entry under the name of an event, as Claude Code defines it.
type hookGroup struct {
	Matcher string `json:"matcher"`
	Hooks   []hook `json:"hooks"`
}

type hook struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"` // seconds
}

// putHook adds the hook of an event when it is missing. The note says that another
// line than ours runs it.
func putHook(d doc, us program, e event) (next doc, note string, err error) {
	want := e.line(us[0])
	switch _, line := findHook(d, us, e); line {
	case "":
		group := hookGroup{Hooks: []hook{{Type: "command", Command: want, Timeout: hookTimeout}}}
		next, err = d.add(e.path(), group, true)
		return next, "", err
	case want:
		return d, "", nil
	default:
		return d, fmt.Sprintf("has the hook already, as %q: it was left as it is", line), nil
	}
}

func (d *doc) hasHook(us program, e event) bool {
	if d == nil {
		return false
	}
	_, line := findHook(*d, us, e)
	return line != ""
}

// findHook finds our hook of an event, and the line that it runs. A group that
// holds nothing else is the target as a whole.
func findHook(d doc, us program, e event) (t target, line string) {
	groups := elements(d.lookup(e.path()...))
	for i := range groups {
		group := doc{d.text, &groups[i]}
		hooks := elements(group.lookup("hooks"))
		for j := range hooks {
			var h struct {
				Type, Command string
			}
			if decode(&hooks[j], &h) != nil || h.Type != "command" || !us.runsHook(h.Command, e) {
				continue
			}
			if len(hooks) == 1 {
				return target{found: true, box: e.path(), index: i}, h.Command
			}
			return target{found: true, box: append(e.path(), strconv.Itoa(i), "hooks"), index: j}, h.Command
		}
	}
	return target{}, ""
}

// elements are those of an array; none when v is something else, or nil.
func elements(v *hujson.Value) []hujson.Value {
	if v == nil {
		return nil
	}
	array, _ := v.Value.(*hujson.Array)
	if array == nil {
		return nil
	}
	return array.Elements
}
