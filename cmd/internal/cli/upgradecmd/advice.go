package upgradecmd

import (
	"os"
	"path/filepath"
	"strings"

	"autopilot/cmd/internal/outside"
)

// advice says how the program that runs can be brought up to date, by how it came here.
func advice(std outside.Stdio, from string) string {
	if from == "" {
		from = "URL"
	}
	self, err := filepath.EvalSymlinks(std.Self)
	if err != nil {
		self = std.Self
	}
	bin := filepath.Dir(self)
	prefix := filepath.Dir(bin)
	script := filepath.Join(prefix, "share", "autopilot", "install.sh")
	switch {
	case isFile(filepath.Join(prefix, "share", "autopilot", "manifest")) && isFile(script):
		return "to upgrade: sh " + quote(script) + " --prefix " + quote(prefix) + " --from " + quote(from)
	case bin == "/usr/bin":
		return "to upgrade: install the newer package, as this one was installed"
	}
	return "to upgrade: sh install.sh --from " + quote(from) + ", with install.sh of the newer version"
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// quote makes a word that a shell takes as it is.
func quote(word string) string {
	odd := strings.IndexFunc(word, func(r rune) bool {
		return !strings.ContainsRune("/.:-_+@%,=", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if word != "" && odd < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
