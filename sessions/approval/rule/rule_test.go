package rule

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

//go:embed testdata/commands.txt
var commands string

const (
	tree  = "/srv/repo"
	gates = "/home/u/.local/state/autopilot/p/gates"
)

// disk is what stands on the disk of the tests.
func disk(p string) ([]byte, bool) {
	files := map[string]string{
		tree + "/scripts/push.sh":   "#!/usr/bin/env bash\nset -euo pipefail\nbranch=${1:-main}\ngit push --force origin \"$branch\"\n",
		tree + "/scripts/push.py":   "import subprocess\nsubprocess.run([\"git\", \"push\", \"--force\"], check=True)\n",
		tree + "/scripts/test.sh":   "#!/bin/bash\ntmp=$(mktemp -d)\ntrap 'rm -rf \"$tmp\"' EXIT\neval \"$SETUP\"\n\"$RUNNER\" test \"$@\"\n",
		tree + "/scripts/deploy.sh": "#!/bin/bash\n./bin/ship \"$@\"\n",
		tree + "/deploy.sh":         "#!/bin/sh\nif [ \"$1\" = --dry-run ]; then exit; fi\n./bin/ship \"$@\"\n",
		tree + "/gradlew":           "#!/bin/sh\neval \"set -- $(printf '%s\\n' \"$DEFAULT_JVM_OPTS\" | xargs -n1 | sed ' s~[^-[:alnum:]+,./:=@_]~\\\\&~g; ' | tr '\\n' ' ')\" '\"$@\"'\nexec \"$JAVACMD\" \"$@\"\n",
		tree + "/package.json":      `{"scripts":{"push:all":"git push --force --all","test":"jest && npm run lint","lint":"eslint .","build":"rimraf dist && tsc"}}`,
		tree + "/Makefile":          "GIT ?= git\nFLAGS := --force\n\nall: build\n\nbuild:\n\tgo build ./...\n\tif [ -d x ]; then rm -rf build; fi\n\npushall: build\n\t@$(GIT) push \\\n\t\t$(FLAGS)\n",
		tree + "/.git/config":       "[core]\n\tbare = false\n[alias]\n\tyolo = push --force\n",
		tree + "/dev":               "#!/bin/sh\nset -e\ncmd=${1:-help}\ncase \"$cmd\" in\n  test|check) go test ./... ;;\n  deploy) kubectl apply -f k8s ;;\n  *) echo usage ;;\nesac\n",
		tree + "/run.sh":            "if [ \"$1\" = deploy ]; then kubectl apply -f k8s; elif [ \"$1\" = test ]; then go test ./...; fi\n",
		tree + "/options.sh":        "while [ $# -gt 0 ]; do case \"$1\" in -x) X=1;; --deploy) kubectl apply -f k8s;; esac; shift; done\n",
		tree + "/many.sh":           "for a in \"$@\"; do case $a in -v) V=1;; -q) V=2;; esac; case $a in -a) A=\"$A x\";; -b) A=\"$A y\";; -c) A=\"$A z\";; -d) A=\"$A w\";; -e) A=\"$A v\";; -f) A=\"$A u\";; esac; case $a in -m) M=1;; -n) M=2;; -o) M=3;; esac; done\ngo test $V $A $M\n",
		tree + "/mk/Makefile":       "include more.mk\nclean:\n\trm -rf bin .cache $(OUT)\n%-live:\n\tkubectl apply -f $*.yml\nOUT := _out\n",
		tree + "/mk/more.mk":        "rollout:\n\tkubectl apply -f k8s\n",
		tree + "/justfile":          "ship env:\n    docker push reg/{{env}}\ntest:\n    go test ./...\n",
		tree + "/lib/package.json":  `{"scripts":{"prebuild":"rimraf lib esm","build":"tsc","ship":"firebase deploy"}}`,
		tree + "/.gitignore":        "# made\n/web/assets/\n*.db\n!keep.db\nnotes\n",
		tree + "/.env":              "API_KEY=abcdef\n",
		tree + "/orders.txt":        "git push -f\n",
		tree + "/tool.py":           "import subprocess\ndef main():\n    subprocess.run([\"git\", \"status\"])\nHELP = \"use git push --force to undo\"\n",
		tree + "/drop.sql":          "drop table users;\n",
		tree + "/schema.sql":        "create table users (id int);\n",
	}
	if p == tree+"/long.sh" {
		return bytes.Repeat([]byte("# long\n"), 1<<18), true
	}
	text, ok := files[p]
	return []byte(text), ok
}

func bash(command string) Call {
	data, err := json.Marshal(map[string]string{"command": command, "description": "x"})
	if err != nil {
		panic(err)
	}
	return Call{Tool: "Bash", Input: data, Dir: tree}
}

func guarded() Set { return Default().Guarding("/home/u", gates) }

type row struct {
	rule    string // empty where it is free
	never   bool
	command string
}

func rows(t testing.TB) []row {
	t.Helper()
	var out []row
	for line := range strings.Lines(commands) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		rule, command, ok := strings.Cut(line, "\t")
		if !ok {
			t.Fatalf("line %q has no tab", line)
		}
		r := row{command: strings.ReplaceAll(command, "⏎", "\n")}
		if rule != "free" {
			r.rule, r.never = strings.TrimSuffix(rule, "!"), strings.HasSuffix(rule, "!")
		}
		out = append(out, r)
	}
	return out
}

func names(found []Finding) []string {
	var out []string
	for _, f := range found {
		if !slices.Contains(out, f.Rule) {
			out = append(out, f.Rule)
		}
	}
	slices.Sort(out)
	return out
}

func TestCommands(t *testing.T) {
	t.Parallel()
	held, free := 0, 0
	for _, r := range rows(t) {
		found := guarded().Judge(bash(r.command), disk)
		if r.rule == "" {
			free++
			if len(found) > 0 {
				t.Errorf("held by %+v, want free: %s", found, r.command)
			}
			continue
		}
		held++
		i := slices.IndexFunc(found, func(f Finding) bool { return f.Rule == r.rule && f.Never == r.never })
		if i < 0 {
			t.Errorf("found %+v, want %s (never %v): %s", found, r.rule, r.never, r.command)
		}
		for _, f := range found {
			if f.Why == "" || f.Part == "" || len(f.Part) > maxPart || strings.Contains(f.Part, "\n") {
				t.Errorf("finding %+v is not fit to be shown: %s", f, r.command)
			}
			if f.Never && !r.never {
				t.Errorf("found %+v, which may never be approved in advance: %s", f, r.command)
			}
		}
	}
	t.Logf("%d held, %d free", held, free)
}

func BenchmarkJudge(b *testing.B) {
	s := guarded()
	for _, c := range []struct{ name, command string }{
		{"plain", "go build ./... && go vet ./..."},
		{"commit", "git add -A && git commit -m \"$(cat <<'EOF'\nfix: things\n\nlonger text\nEOF\n)\" && git push -u origin \"$(git branch --show-current)\""},
		{"pipeline", "find . -name '*.go' -not -path './vendor/*' | xargs grep -n TODO | sort | head -50"},
		{"loop", "for f in a b c d; do sed -i \"s/x/$f/\" src/$f.go && npm run lint -- src/$f.go; done"},
		{"document", "cat > docs/x.md <<'EOF'\n" + strings.Repeat("a line of a long text, with (brackets) and $signs\n", 200) + "EOF"},
		{"script", "bash scripts/test.sh"},
	} {
		b.Run(c.name, func(b *testing.B) {
			call := bash(c.command)
			for b.Loop() {
				if found := s.Judge(call, disk); len(found) > 0 {
					b.Fatalf("held: %v", found)
				}
			}
		})
	}
}
