package rule

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// kinds are the rules that hold a call, with the mark of what may never be approved in
// advance.
func kinds(found []Finding) []string {
	var out []string
	for _, f := range found {
		name := f.Rule
		if f.Never {
			name += "!"
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// same reports whether a row means the same in a shell of its own; the others speak of
// the shell they stand in.
func same(command string) bool {
	return !strings.Contains(command, "shopt -s expand_aliases")
}

func TestWrappingChangesNothing(t *testing.T) {
	t.Parallel()
	wrappers := map[string]func(string) string{
		"bash -c":    func(s string) string { return "bash -c " + quote(s) },
		"sudo sh":    func(s string) string { return "sudo -u ci sh -ec " + quote(s) },
		"eval":       func(s string) string { return "eval " + quote(s) },
		"cd":         func(s string) string { return "cd . && {\n" + s + "\n}" },
		"subshell":   func(s string) string { return "(\n" + s + "\n)" },
		"if":         func(s string) string { return "if true; then\n" + s + "\nfi" },
		"function":   func(s string) string { return "f() {\n" + s + "\n}\nf" },
		"document":   func(s string) string { return "bash <<'END_OF_IT'\n" + s + "\nEND_OF_IT" },
		"timeout":    func(s string) string { return "timeout 60 bash -c " + quote(s) },
		"background": func(s string) string { return "{\n" + s + "\n} &" },
		"written":    func(s string) string { return "cat > /tmp/w.sh <<'END_OF_IT'\n" + s + "\nEND_OF_IT\nbash /tmp/w.sh" },
	}
	for _, r := range rows(t) {
		if r.rule == unreadable || !same(r.command) {
			continue
		}
		plain := kinds(guarded().Judge(bash(r.command), disk))
		for name, wrap := range wrappers {
			if got := kinds(guarded().Judge(bash(wrap(r.command)), disk)); !cmp.Equal(got, plain) {
				t.Errorf("%s: %v, plain %v: %s", name, got, plain, r.command)
			}
		}
	}
}

func TestHeldPieceHoldsTheWhole(t *testing.T) {
	t.Parallel()
	all := rows(t)
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, len(all)-1).Draw(t, "row")
		k := rapid.IntRange(0, len(all)-1).Draw(t, "beside")
		held, beside := all[i], all[k]
		if held.rule == "" || beside.rule != "" || held.rule == unreadable || strings.Contains(beside.command, "exit") {
			t.Skip()
		}
		join := rapid.SampledFrom([]string{"\n", "\ntrue && \\\n", "\nfalse || \\\n"}).Draw(t, "join")
		// A free command in front may set a variable or change the folder, but not undo it.
		text := "(\n" + beside.command + "\n)" + join + "{\n" + held.command + "\n}"
		found := guarded().Judge(bash(text), disk)
		if !slices.ContainsFunc(found, func(f Finding) bool { return f.Rule == held.rule && f.Never == held.never }) {
			t.Fatalf("found %v, want %s: %s", kinds(found), held.rule, text)
		}
	})
}

func TestEnormousCommandsAreAnsweredAndHeld(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"long":          "echo " + strings.Repeat("x", 1<<20),
		"long words":    "echo " + strings.Repeat("x ", 1<<19),
		"parentheses":   strings.Repeat("(", 100_000) + "git push -f" + strings.Repeat(")", 100_000),
		"substitutions": strings.Repeat("echo $(", 150) + "git push -f" + strings.Repeat(")", 150),
		"blocks":        strings.Repeat("{ ", 4000) + "git push -f" + strings.Repeat("; }", 4000),
		"many":          strings.Repeat("echo x; ", 12_000) + "git push -f",
		"loops":         strings.Repeat("for i in a b c d e f g h; do ", 9) + "echo $i" + strings.Repeat("; done", 9),
		"doubling":      "a=xxxxxxxxxxxxxxxx; " + strings.Repeat("a=$a$a; ", 60) + "$a push -f",
		"braces":        "git {1..9}{1..9}{1..9}{1..9}{1..9}{1..9} push -f; git push -f",
		"bomb":          ":(){ :|:& };: ; git push -f",
		"shells":        nested(40),
		"eval":          "x='eval \"$x\"'; eval \"$x\"; git push -f",
		"backquotes":    strings.Repeat("`", 99_999),
	} {
		found := guarded().Judge(bash(command), disk)
		if len(found) == 0 {
			t.Errorf("%s: free", name)
		}
		for _, f := range found {
			if strings.Contains(f.Part, "internal error") || len(f.Part) > maxPart {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

func nested(n int) string {
	s := "git push -f"
	for i := 0; i < n && len(s) < 100_000; i++ {
		s = "bash -c " + quote(s)
	}
	return s
}

func FuzzJudge(f *testing.F) {
	for _, r := range rows(f) {
		f.Add(r.command)
	}
	for _, s := range []string{"", "\x00", "a[$((", "${a:", "<<<", "$'\\", "case in esac", "\ue000 push", "x=\ue001; $x", "f(){ f; }; f", "while read x; do eval $x; done <<<x", "printf -v a %999999999d 1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		found := guarded().Judge(bash(command), disk)
		for _, one := range found {
			if strings.Contains(one.Part, "internal error") {
				t.Fatalf("%q: %+v", command, one)
			}
		}
		if again := guarded().Judge(bash(command), disk); !cmp.Equal(found, again) {
			t.Fatalf("%q: %+v, then %+v", command, found, again)
		}
	})
}

func FuzzTools(f *testing.F) {
	f.Add("Write", `{"file_path":"/x"}`)
	f.Add("mcp__a__delete_b", `{"a":[{"b":"c"}]}`)
	f.Add("Bash", `{"command":1}`)
	f.Add("Edit", `[`)
	f.Fuzz(func(t *testing.T, tool, input string) {
		for _, one := range guarded().Judge(Call{Tool: tool, Input: []byte(input), Dir: tree}, disk) {
			if strings.Contains(one.Part, "internal error") {
				t.Fatalf("%s %q: %+v", tool, input, one)
			}
		}
	})
}
