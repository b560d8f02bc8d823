package standin

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// dump appends one JSON line that tells how this process was started: its
// arguments, the prompts it got as an argument and on stdin, its folder and its
// environment.
func (s *session) dump(name string) {
	cwd, err := os.Getwd()
	if err != nil {
		cwd = ""
	}
	env := map[string]string{}
	for _, kv := range os.Environ() {
		key, value, _ := strings.Cut(kv, "=")
		env[key] = value
	}
	line, err := json.Marshal(map[string]any{
		"id": s.id, "resumed": s.resumed, "args": s.Args, "argument": s.argument, "stdin": s.stdin, "cwd": cwd, "env": env,
	})
	if err != nil {
		fmt.Fprintln(s.Stderr, "Error:", err)
		return
	}
	appendLine(name, string(line))
}
