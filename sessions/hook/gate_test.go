package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/sessions/approval"
	"autopilot/sessions/approval/rule"
)

func gateDesk(t testing.TB) GateDesk {
	t.Helper()
	home := t.TempDir()
	return GateDesk{Rules: rule.Default(), Desk: approval.Desk{Dir: filepath.Join(home, "state", "gates")}, RunID: "r1", Home: home}
}

// before is the input of the hook for a call.
func before(t testing.TB, dir, tool string, input any) string {
	t.Helper()
	data, err := json.Marshal(map[string]any{
		"session_id": "s1", "transcript_path": "/t", "cwd": dir, "permission_mode": "default", "hook_event_name": "PreToolUse",
		"tool_name": tool, "tool_input": input, "tool_use_id": "toolu_1",
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func shell(command string) map[string]string {
	return map[string]string{"command": command, "description": "x"}
}

// ask runs the hook and returns its reason, empty where the call is let through.
func ask(t testing.TB, g GateDesk, input string) string {
	t.Helper()
	var out bytes.Buffer
	if err := Gate(strings.NewReader(input), &out, g, noon()); err != nil {
		t.Fatal(err)
	}
	if out.Len() == 0 {
		return ""
	}
	var answer struct {
		Specific map[string]string `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Specific["hookEventName"] != "PreToolUse" || answer.Specific["permissionDecision"] != "deny" {
		t.Fatalf("answer %s, want a refusal", out.Bytes())
	}
	return answer.Specific["permissionDecisionReason"]
}

func TestGateHoldsAndLetsThrough(t *testing.T) {
	t.Parallel()
	g, dir := gateDesk(t), t.TempDir()
	if r := ask(t, g, before(t, dir, "Bash", shell("go test ./..."))); r != "" {
		t.Errorf("a harmless call was refused: %s", r)
	}
	if _, err := os.Stat(g.Desk.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a harmless call has touched the desk: %v", err)
	}
	deploy := before(t, dir, "Bash", shell("npm run deploy"))
	reason := ask(t, g, deploy)
	gates, err := g.Desk.Pending("r1", noon())
	if err != nil || len(gates) != 1 || gates[0].SessionID != "s1" || !strings.Contains(reason, gates[0].ID) {
		t.Fatalf("gates %+v, %v; reason %q", gates, err, reason)
	}
	if _, err := g.Desk.Approve(gates[0].ID, "ann", noon()); err != nil {
		t.Fatal(err)
	}
	if r := ask(t, g, deploy); r != "" {
		t.Errorf("refused after the approval: %s", r)
	}
	if r := ask(t, g, deploy); r == "" {
		t.Error("let through a second time")
	}
}

func TestGateReadsScriptsFromTheDisk(t *testing.T) {
	t.Parallel()
	g, dir := gateDesk(t), t.TempDir()
	for name, text := range map[string]string{
		"x.sh": "#!/bin/sh\ngit push --force\n", "ok.sh": "#!/bin/sh\ngit push\n", "package.json": `{"scripts":{"up":"bash x.sh"}}`,
		"big.sh": "git push --force\n" + strings.Repeat("# x\n", maxScript/2),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(g.Home, ".gitconfig"), []byte("[alias]\n\tyolo = push --force\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for command, held := range map[string]bool{
		"bash x.sh": true, "./x.sh": true, "bash ok.sh": false, "npm run up": true, "bash big.sh": true, "cat x.sh": false,
		"bash " + dir: false, "git yolo": true, "bash /dev/zero": false,
	} {
		if r := ask(t, g, before(t, dir, "Bash", shell(command))); (r != "") != held {
			t.Errorf("%s: %q, want held %v", command, r, held)
		}
	}
}

func TestAnAgentCannotDecideItsOwnGate(t *testing.T) {
	t.Parallel()
	g, dir := gateDesk(t), t.TempDir()
	link := filepath.Join(g.Home, "link")
	if err := os.MkdirAll(g.Desk.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(g.Home, "state"), link); err != nil {
		t.Fatal(err)
	}
	behind := g
	behind.Desk.Dir = filepath.Join(link, "gates")
	for _, d := range []GateDesk{g, behind} {
		file := filepath.Join(d.Desk.Dir, "g-1.json")
		for _, in := range []string{
			before(t, dir, "Write", map[string]string{"file_path": file, "content": "{}"}),
			before(t, dir, "Bash", shell("echo '{}' > "+file)),
			before(t, dir, "Bash", shell("cp x.json ~/state/gates/g-1.json")),
			before(t, dir, "Bash", shell("rm -rf ~/state")),
			before(t, dir, "Bash", shell("autopilot approve g-1")),
		} {
			ask(t, d, in)
		}
		gates, err := d.Desk.List(noon())
		if err != nil || len(gates) != 5 {
			t.Fatalf("%d gates, %v, want five", len(gates), err)
		}
		for _, one := range gates {
			if !strings.Contains(fmt.Sprint(one.Rules), "self-approval") {
				t.Errorf("%s: %v, want self-approval", one.Subject, one.Rules)
			}
			if err := os.Remove(filepath.Join(d.Desk.Dir, one.ID+"."+one.Fingerprint[:12]+".json")); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestGateFailsClosedForWhatCanDoHarm(t *testing.T) {
	t.Parallel()
	good := gateDesk(t)
	full := good
	full.Desk.Dir = filepath.Join(good.Home, "file", "gates")
	if err := os.WriteFile(filepath.Join(good.Home, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	held := before(t, "/c", "Bash", shell("npm publish"))
	for name, tt := range map[string]struct {
		desk  GateDesk
		stdin io.Reader
		fails bool
	}{
		"no input":                   {good, strings.NewReader(""), true},
		"half an input":              {good, strings.NewReader(held[:len(held)/2]), true},
		"no event":                   {good, strings.NewReader(`{"tool_name":"Bash"}`), true},
		"no tool":                    {good, strings.NewReader(`{"hook_event_name":"PreToolUse"}`), true},
		"too long":                   {good, strings.NewReader(`{"x":"` + strings.Repeat("x", inputLimit) + `"}`), true},
		"unreadable":                 {good, broken{}, true},
		"wrong type of the folder":   {good, strings.NewReader(`{"hook_event_name":"PreToolUse","tool_name":"Bash","cwd":1,"tool_input":{}}`), true},
		"the same, a harmless tool":  {good, strings.NewReader(`{"hook_event_name":"PreToolUse","tool_name":"Glob","cwd":1}`), false},
		"another event":              {good, strings.NewReader(`{"hook_event_name":"PostToolUse","tool_name":"Bash"}`), false},
		"desk not writable":          {full, strings.NewReader(held), true},
		"the same, a free call":      {full, strings.NewReader(before(t, "/c", "Bash", shell("ls"))), false},
		"the same, a harmless tool ": {full, strings.NewReader(before(t, "/c", "TodoWrite", nil)), false},
	} {
		var out bytes.Buffer
		err := Gate(tt.stdin, &out, tt.desk, noon())
		if (err != nil) != tt.fails || out.Len() > 0 {
			t.Errorf("%s: %v, wrote %q; want an error %v and nothing written", name, err, out.String(), tt.fails)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "refused, ") {
			t.Errorf("%s: %q does not say that the call is refused", name, err)
		}
	}
	if err := Gate(strings.NewReader(held), full2{}, good, noon()); err == nil {
		t.Error("an answer that could not be written is no error")
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("gone") }

type full2 struct{}

func (full2) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestBrokenArgumentsOfAShellAreHeld(t *testing.T) {
	t.Parallel()
	if r := ask(t, gateDesk(t), before(t, "/c", "Bash", map[string]any{"command": 1})); !strings.Contains(r, "unreadable") {
		t.Errorf("reason %q, want it held as unreadable", r)
	}
}

func TestGateShowsTheChangeOfAnEdit(t *testing.T) {
	t.Parallel()
	g, dir := gateDesk(t), t.TempDir()
	file := filepath.Join(dir, "autopilot.yaml")
	if err := os.WriteFile(file, []byte("a: 1\nb: 2\nc: 3\nd: 4\ngates: on\ne: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for tool, input := range map[string]any{
		"Write":     map[string]any{"file_path": file, "content": "a: 1\nb: 2\nc: 3\nd: 4\ngates: off\ne: 5\n"},
		"Edit":      map[string]any{"file_path": file, "old_string": "gates: on", "new_string": "gates: off"},
		"MultiEdit": map[string]any{"file_path": file, "edits": []any{map[string]any{"old_string": "gates: on", "new_string": "gates: no"}, map[string]any{"old_string": "no", "new_string": "off"}}},
	} {
		if ask(t, g, before(t, dir, tool, input)) == "" {
			t.Fatalf("%s was let through", tool)
		}
		gates, err := g.Desk.List(noon())
		if err != nil {
			t.Fatal(err)
		}
		want := "--- " + file + "\n+++ " + file + "\n@@ -2,5 +2,5 @@\n b: 2\n c: 3\n d: 4\n-gates: on\n+gates: off\n e: 5\n"
		for _, one := range gates {
			if one.Tool == tool {
				if diff := cmp.Diff(want, one.Diff); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tool, diff)
				}
			}
		}
	}
}

func TestUnified(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ before, after, want string }{
		{"", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n"},
		{"a\nb\nc\n", "a\nc\n", "@@ -1,3 +1,2 @@\n a\n-b\n c\n"},
		{"a\na\na\n", "a\na\n", "@@ -1,3 +1,2 @@\n a\n a\n-a\n"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n", "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"},
	} {
		if got, want := unified("f", tt.before, tt.after), "--- f\n+++ f\n"+tt.want; got != want {
			t.Errorf("unified(%q, %q) = %q, want %q", tt.before, tt.after, got, want)
		}
	}
	if got := unified("f", "a\n", "a\n"); got != "" {
		t.Errorf("no change = %q", got)
	}
	if got := unified("f", "", strings.Repeat("long line\n", maxShown)); len(got) > maxShown {
		t.Errorf("%d bytes, want at most %d", len(got), maxShown)
	}
}

func TestGateShowsHowTheWorkTreeStands(t *testing.T) {
	t.Parallel()
	g, dir := gateDesk(t), t.TempDir()
	git := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	git("init", "-q")
	git("-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "--allow-empty", "-m", "x")
	trap := filepath.Join(g.Home, "ran")
	if err := os.WriteFile(filepath.Join(dir, "new.go"), []byte("package x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git("add", "new.go")
	git("config", "core.fsmonitor", "touch "+trap)
	git("config", "diff.external", "touch "+trap)
	ask(t, g, before(t, dir, "Bash", shell("npm publish")))
	ask(t, g, before(t, g.Home, "Bash", shell("npm publish"))) // no repository
	gates, err := g.Desk.List(noon())
	if err != nil || len(gates) != 2 {
		t.Fatalf("%d gates, %v", len(gates), err)
	}
	for _, one := range gates {
		shown := strings.Contains(one.Diff, "new.go") && strings.Contains(one.Diff, "1 file changed")
		if shown != (one.Dir == dir) {
			t.Errorf("in %s the gate shows %q", one.Dir, one.Diff)
		}
	}
	if _, err := os.Stat(trap); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the configuration of the repository was run: %v", err)
	}
}

func BenchmarkGate(b *testing.B) {
	g := gateDesk(b)
	in := before(b, "/srv/repo", "Bash", shell("git add -A && git commit -m 'x' && go test ./... 2>&1 | tail -20"))
	for b.Loop() {
		if err := Gate(strings.NewReader(in), io.Discard, g, noon()); err != nil {
			b.Fatal(err)
		}
	}
}

func TestAnApprovalIsOfWhatTheScriptHolds(t *testing.T) {
	t.Parallel()
	for file, tt := range map[string]struct{ command, before, after string }{
		"up.sh":        {"bash up.sh", "kubectl apply -f x\n", "kubectl apply -f x\nmv src /dev/null\n"},
		"deploy.sh":    {"./deploy.sh", "echo staging\n", "./prodtool\n"},
		"package.json": {"npm run up", `{"scripts":{"up":"kubectl apply -f x"}}`, `{"scripts":{"up":"kubectl apply -f x && ./tool"}}`},
		"Makefile":     {"make up", "up:\n\tkubectl apply -f x\n", "up:\n\tkubectl apply -f x\n\t./tool\n"},
		"x.sql":        {"psql app -f x.sql", "drop table x;\n", "drop table x; drop table users;\n"},
		"big.sh":       {"bash big.sh", strings.Repeat("# x\n", maxScript/2), strings.Repeat("# x\n", maxScript/2) + "./tool\n"},
	} {
		g, dir := gateDesk(t), t.TempDir()
		write := func(text string) {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		write(tt.before)
		call := before(t, dir, "Bash", shell(tt.command))
		ask(t, g, call)
		gates, err := g.Desk.List(noon())
		if err != nil || len(gates) != 1 {
			t.Fatalf("%s: %d gates, %v", tt.command, len(gates), err)
		}
		first, _, _ := strings.Cut(tt.before, "\n")
		if shown := gates[0].Diff; !strings.Contains(shown, file) || !strings.Contains(shown, first) || len(shown) > 2*maxPiece {
			t.Errorf("%s: the gate shows %q, want what stands in the file", tt.command, shown[:min(len(shown), 200)])
		}
		if _, err := g.Desk.Approve(gates[0].ID, "ann", noon()); err != nil {
			t.Fatal(err)
		}
		write(tt.after)
		if ask(t, g, call) == "" {
			t.Errorf("%s: let through with another content", tt.command)
		}
		write(tt.before)
		if r := ask(t, g, call); r != "" && file != "big.sh" { // of a long one the time counts too
			t.Errorf("%s: refused with the content that was approved: %s", tt.command, r)
		}
	}
}

func TestWhatIsTooLongToBeShownIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	g := gateDesk(t)
	r := ask(t, g, before(t, t.TempDir(), "Bash", shell("npm publish # "+strings.Repeat("x", 20<<10))))
	if !strings.Contains(r, "too long to be shown to a person: split it") {
		t.Errorf("reason %q", r)
	}
	if _, err := os.Stat(g.Desk.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a gate was made: %v", err)
	}
}
