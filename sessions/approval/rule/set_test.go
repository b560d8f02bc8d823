package rule

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func call(tool string, input map[string]any) Call {
	data, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return Call{Tool: tool, Input: data, Dir: tree}
}

func TestTools(t *testing.T) {
	t.Parallel()
	file := func(p string) map[string]any { return map[string]any{"file_path": p, "content": "x"} }
	for _, tt := range []struct {
		tool  string
		input map[string]any
		want  []string
	}{
		{"Write", file(tree + "/src/main.go"), nil},
		{"Write", file("docs/deploy-production.md"), nil},
		{"Write", file(tree + "/.github/workflows/deploy.yml"), nil},
		{"Write", file(tree + "/.env"), []string{secrets}},
		{"Write", file(tree + "/.env.example"), nil},
		{"Read", file(tree + "/.env"), []string{secrets}},
		{"Read", file("/home/u/.ssh/id_ed25519"), []string{secrets}},
		{"Read", file("/home/u/.npmrc"), []string{secrets}},
		{"Read", file(tree + "/.npmrc"), nil},
		{"Read", file(tree + "/testdata/id_rsa"), nil},
		{"Read", file(tree + "/.claude/settings.json"), nil},
		{"Grep", map[string]any{"pattern": "API_KEY", "path": tree}, nil},
		{"Grep", map[string]any{"pattern": ".", "path": tree + "/.env"}, []string{secrets}},
		{"Edit", file(tree + "/.git/hooks/pre-commit"), []string{protectedFile}},
		{"Edit", file(tree + "/.git/config"), []string{protectedFile}},
		{"MultiEdit", file(tree + "/.claude/settings.local.json"), []string{protectedFile}},
		{"Edit", file("/home/u/.claude/settings.json"), []string{protectedFile}},
		{"Write", file(tree + "/autopilot.yaml"), []string{protectedFile}},
		{"Write", file(tree + "/sub/../.git/hooks/x"), []string{protectedFile}},
		{"Write", file("/home/u/.bashrc"), []string{protectedFile}},
		{"Write", file("~/.zshrc"), []string{protectedFile}},
		{"Write", file("/etc/hosts"), []string{protectedFile}},
		{"Write", file("/home/u/.ssh/config"), []string{protectedFile}},
		{"NotebookEdit", map[string]any{"notebook_path": tree + "/a.ipynb"}, nil},
		{"Write", file(gates + "/g-abc.json"), []string{selfApproval}},
		{"Write", file("~/.local/state/autopilot/p/gates/g.json"), []string{selfApproval}},
		{"Write", map[string]any{"file_path": 1}, []string{unreadable}},
		{"WebFetch", map[string]any{"url": "https://example.com/deploy"}, nil},
		{"Task", map[string]any{"prompt": "git push --force"}, nil},
		{"TodoWrite", map[string]any{"todos": "deploy"}, nil},
		{"SomethingNew", map[string]any{"x": "deploy"}, nil},
		{"mcp__cloud__deploy_service", nil, []string{outsideTool}},
		{"mcp__cloud__deploy_production", nil, []string{outsideTool, production}},
		{"mcp__db__dropTable", nil, []string{outsideTool}},
		{"mcp__db__run-delete", nil, []string{outsideTool}},
		{"mcp__cloud__list_deploys", nil, nil},
		{"mcp__cloud__deployment_status", nil, nil},
		{"mcp__autopilot__tasks", nil, nil},
		{"mcp__autopilot__approve_gate", nil, []string{selfApproval}},
		{"mcp__sh__run_command", map[string]any{"command": "git push -f"}, []string{forcePush}},
		{"mcp__sh__run_command", map[string]any{"command": "git status"}, nil},
		{"mcp__notes__add", map[string]any{"command": "git push -f"}, []string{forcePush}},
		{"mcp__notes__add", map[string]any{"command": "it's no (shell text"}, nil},
		{"mcp__desktop__start_process", map[string]any{"command": "git push -f"}, []string{forcePush}},
		{"mcp__shell__run", map[string]any{"args": []string{"git", "push", "-f"}}, []string{forcePush}},
		{"mcp__aws__call_aws", map[string]any{"cli_command": "aws s3 rm s3://b --recursive"}, []string{infrastructure}},
		{"mcp__ide__executeCode", map[string]any{"code": "import os; os.system('git push -f')"}, []string{forcePush}},
		{"mcp__pg__query", map[string]any{"sql": "DROP TABLE users"}, []string{dropData}},
		{"mcp__pg__query", map[string]any{"sql": "alter table users add x int"}, []string{dropData}},
		{"mcp__pg__query", map[string]any{"sql": "select 1"}, nil},
		{"mcp__supabase__execute_sql", map[string]any{"query": "select * from deletes"}, nil},
		{"mcp__supabase__execute_sql", map[string]any{"query": "insert into x values (1)"}, []string{outsideTool}},
		{"mcp__supabase__apply_migration", map[string]any{"query": "create table x (a int)"}, []string{outsideTool}},
		{"mcp__search__query", map[string]any{"query": "how to update the set of rules"}, nil},
		{"mcp__github__merge_pull_request", nil, []string{outsideTool}},
		{"mcp__k8s__kubectl_apply", nil, []string{outsideTool}},
		{"mcp__fs__write_file", map[string]any{"path": tree + "/.git/hooks/pre-commit"}, []string{protectedFile}},
		{"mcp__fs__write_file", map[string]any{"path": tree + "/.claude/settings.json"}, []string{protectedFile}},
		{"mcp__fs__write_file", map[string]any{"path": "README.md"}, nil},
		{"mcp__fs__read_file", map[string]any{"path": tree + "/.env"}, []string{secrets}},
		{"mcp__fs__read_file", map[string]any{"path": tree + "/README.md"}, nil},
		{"mcp__playwright__browser_drag_drop", nil, nil},
		{"mcp__memory__delete_entities", nil, nil},
		{"PowerShell", map[string]any{"command": "git push -f"}, []string{forcePush}},
		{"SomeTerminal", map[string]any{"cmd": "git push -f"}, []string{forcePush}},
		{"SlashCommand", map[string]any{"command": "/deploy"}, nil},
		{"Grep", map[string]any{"pattern": "KEY", "path": tree, "glob": ".env"}, []string{secrets}},
		{"Write", file("/home/u/.config/autopilot/config.yaml"), []string{protectedFile}},
		{"Write", file("/proc/self/root" + gates + "/g.json"), []string{selfApproval}},
		{"Write", file(tree + "/.claude/commands/x.md"), nil},
		{"mcp__fs__write_file", map[string]any{"args": []string{gates + "/g-1.json"}}, []string{selfApproval}},
	} {
		if got := names(guarded().Judge(call(tt.tool, tt.input), disk)); !cmp.Equal(got, tt.want) {
			t.Errorf("%s %v: %v, want %v", tt.tool, tt.input, got, tt.want)
		}
	}
}

func TestBrokenInputOfAShellIsHeld(t *testing.T) {
	t.Parallel()
	for _, in := range []string{``, `{`, `[]`, `{"command":["git","push"]}`} {
		if got := names(Default().Judge(Call{Tool: "Bash", Input: []byte(in), Dir: tree}, nil)); !cmp.Equal(got, []string{unreadable}) {
			t.Errorf("%q: %v, want it held", in, got)
		}
	}
	if got := (Set{}).Judge(bash("git push -f"), nil); got != nil {
		t.Errorf("the empty set holds %v", got)
	}
}

func TestNamesOfArgumentsCountAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for input, want := range map[string][]string{
		`{"command":"git push -f","Command":"ls"}`:              {forcePush},
		`{"Command":"ls","command":"git push -f"}`:              {forcePush},
		`{"command":"ls","COMMAND":"git push -f"}`:              nil,
		`{"command":"ls","command":"git push -f"}`:              {forcePush}, // the last of two counts
		`{"command":"ls"}`:                                      nil,
		`{"command":null}`:                                      nil,
		`{"command":"git push -f","description":{"command":1}}`: {forcePush},
	} {
		if got := names(guarded().Judge(Call{Tool: "Bash", Input: []byte(input), Dir: tree}, nil)); !cmp.Equal(got, want) {
			t.Errorf("%s: %v, want %v", input, got, want)
		}
	}
	write := Call{Tool: "Write", Input: []byte(`{"file_path":"/etc/hosts","File_Path":"/tmp/x"}`), Dir: tree}
	if got := names(guarded().Judge(write, nil)); !cmp.Equal(got, []string{protectedFile}) {
		t.Errorf("a second spelling of file_path: %v, want it held", got)
	}
}

func TestLongHarmlessTextsAreFree(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"document": "cat > d.md <<'EOF'\n" + strings.Repeat("some words of a text\n", 11_000) + "EOF",
		"lines":    strings.Repeat("git add x\n", 2000),
		"tests":    strings.Repeat("test -f x || echo no\n", 2900),
	} {
		if got := names(guarded().Judge(bash(command), disk)); len(got) > 0 {
			t.Errorf("%s: %v, want it free", name, got)
		}
		if got := names(guarded().Judge(bash(command+"\ngit push -f"), disk)); !slices.Contains(got, forcePush) {
			t.Errorf("%s, and a push: %v, want it held", name, got)
		}
	}
}

func TestCustomRules(t *testing.T) {
	t.Parallel()
	s, err := guarded().With([]string{"command: terraform plan", "command: rails db:*", "path: infra/**", "path: *.tf", "tool: mcp__*__send*", "off: publish", "off: recursive-delete"})
	if err != nil {
		t.Fatal(err)
	}
	write := func(p string) Call { return call("Write", map[string]any{"file_path": p}) }
	for _, tt := range []struct {
		call Call
		want []string
	}{
		{bash("terraform plan"), []string{"command: terraform plan"}},
		{bash("terraform -chdir=x plan -out=p"), []string{"command: terraform plan"}},
		{bash("sudo bash -c 'cd x && /usr/bin/terraform -no-color plan'"), []string{"command: terraform plan"}},
		{bash("terraform show plan"), nil},
		{bash("echo terraform plan"), nil},
		{bash("bundle exec rails db:seed"), []string{"command: rails db:*"}},
		{write(tree + "/infra/a/b.yaml"), []string{"path: infra/**"}},
		{write("infra/x.yaml"), []string{"path: infra/**"}},
		{write(tree + "/sub/infra/x.yaml"), nil},
		{write(tree + "/a/b/main.tf"), []string{"path: *.tf"}},
		{bash("echo x > infra/x"), []string{"path: infra/**"}},
		{bash("cd infra && sed -i s/a/b/ x.yaml"), []string{"path: infra/**"}},
		{bash("tee infra/x < y"), []string{"path: infra/**"}},
		{bash("mv infra/x /tmp/x"), []string{"path: infra/**"}},
		{bash("cp x infra/"), []string{"path: infra/**"}},
		{bash("rm infra/x"), []string{"path: infra/**"}},
		{bash("cat infra/x"), nil},
		{call("mcp__mail__send_message", nil), []string{"tool: mcp__*__send*"}},
		{call("mcp__mail__read", nil), nil},
		{bash("npm publish"), nil},
		{bash("rm -rf src"), nil},
		{bash("rm -rf /"), []string{recursive}},
		{bash("git push -f"), []string{forcePush}},
	} {
		if got := names(s.Judge(tt.call, disk)); !cmp.Equal(got, tt.want) {
			t.Errorf("%s %s: %v, want %v", tt.call.Tool, tt.call.Input, got, tt.want)
		}
	}
	var listed []string
	for _, r := range s.Rules() {
		if r.Holds == "" {
			t.Errorf("rule %s does not say what it holds", r.Name)
		}
		listed = append(listed, r.Name)
	}
	for _, want := range []string{"command: terraform plan", "path: *.tf", forcePush} {
		if !slices.Contains(listed, want) {
			t.Errorf("Rules = %v, want %s among them", listed, want)
		}
	}
	if slices.Contains(listed, publish) {
		t.Errorf("Rules = %v, but publish is off", listed)
	}
	if len(Default().Judge(bash("npm publish"), nil)) == 0 {
		t.Error("With has changed the default set")
	}
}

func TestCustomRulesThatAreWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"terraform plan":     `rule "terraform plan": want "command: WORDS"`,
		"command:":           "want",
		"command: --force":   "want the name of a command first",
		"path: [":            "is not a pattern",
		"tool: mcp__[":       "is not a pattern",
		"regex: x":           "want",
		"off: nothing":       "there is no built-in rule nothing",
		"off: force-push":    "force-push cannot be switched off",
		"off: self-approval": "cannot be switched off",
	} {
		_, err := Default().With([]string{"path: ok/**", text})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), text) {
			t.Errorf("With(%q) = %v, want %q", text, err, want)
		}
	}
}

func TestScriptsAreReadOnlyThroughFiles(t *testing.T) {
	t.Parallel()
	if got := Default().Judge(bash("bash scripts/push.sh && npm run push:all && make pushall"), nil); len(got) > 0 {
		t.Errorf("without files: %v, want nothing", got)
	}
	var asked []string
	read := func(p string) ([]byte, bool) {
		asked = append(asked, p)
		return nil, false
	}
	Default().Judge(bash("cd sub && ./a.sh; bash ../b.sh; source /abs/c.sh; echo d.sh; ssh host ./e.sh"), read)
	if want := []string{tree + "/sub/a.sh", tree + "/b.sh", "/abs/c.sh"}; !cmp.Equal(asked, want) {
		t.Errorf("asked for %v, want %v", asked, want)
	}
}

func TestFindingsOfAScriptChangeWithIt(t *testing.T) {
	t.Parallel()
	judge := func(script string) []Finding {
		return Default().Judge(bash("bash x.sh"), func(string) ([]byte, bool) { return []byte(script), true })
	}
	one, two := judge("rm -rf src\n"), judge("rm -rf src\nrm -rf web\n")
	if len(one) != 1 || len(two) != 2 {
		t.Errorf("found %v and %v, want one and two", one, two)
	}
}

func TestWhatHoldsTheWorkTreeIsNeverDeleted(t *testing.T) {
	t.Parallel()
	deep := func(command string) []string {
		c := bash(command)
		c.Dir = "/srv/people/u/code/repo"
		return kinds(guarded().Judge(c, nil))
	}
	for command, want := range map[string][]string{
		"rm -rf /srv/people/u/code": {recursive + "!"}, "rm -rf ../..": {recursive + "!"}, "cd ../.. && rm -rf code": {recursive + "!"},
		"rm -rf /srv/people/u/code/repo/*": {recursive + "!"}, "rm -rf /srv/people/u/codebook": {recursive}, "rm -rf ../repository": {recursive},
		"rm -rf build": nil, "rm -rf ../build": {recursive},
	} {
		if got := deep(command); !cmp.Equal(got, want) {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
}
