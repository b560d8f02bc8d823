package secret

import (
	"path"
	"slices"
	"strings"

	"autopilot/sessions/approval/rule/internal/argv"
)

// Name reports whether a variable of the environment holds a secret, by its name.
func Name(name string) bool {
	if name != strings.ToUpper(name) || strings.HasPrefix(name, "TEST_") || strings.HasPrefix(name, "DUMMY_") || strings.HasPrefix(name, "FAKE_") {
		return false
	}
	for _, end := range []string{"API_KEY", "APIKEY", "SECRET", "PASSWORD", "PASSWD", "TOKEN", "PRIVATE_KEY", "SECRET_KEY", "ACCESS_KEY", "_PAT", "CREDENTIALS", "PASSPHRASE"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// File reports whether a file holds secrets, by its path. A file among the fixtures
// of tests, or one that is an example, does not.
func File(p string) bool {
	base := path.Base(p)
	if strings.HasPrefix(base, ".e") && argv.Globbed(base, ".env") || strings.HasPrefix(base, "id_") && argv.Globbed(base, "id_rsa") {
		return !inFixtures(p)
	}
	switch base {
	case "environ":
		return strings.HasPrefix(p, "/proc/")
	case ".env", ".netrc", ".pgpass", ".pypirc", ".git-credentials", ".vault-token", "master.key", ".htpasswd", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519",
		"service-account.json", ".credentials.json", "secrets.env", ".my.cnf", ".envrc.local":
	case "credentials", "credentials.json":
		if base == "credentials" && !strings.Contains(p, ".aws") && !strings.Contains(p, ".config/") && !strings.Contains(p, ".cargo") && !strings.Contains(p, ".gem") {
			return false
		}
	case "secrets.yml", "secrets.yaml", "secrets.json", "secrets.toml":
	case "config.json":
		return strings.Contains(p, ".docker/")
	case "config":
		return strings.Contains(p, ".kube/")
	case "hosts.yml":
		return strings.Contains(p, "gh/")
	case ".npmrc":
		return strings.HasPrefix(p, "~")
	case "shadow":
		return p == "/etc/shadow"
	default:
		rest, ok := strings.CutPrefix(base, ".env.")
		if !ok || slices.Contains([]string{"example", "sample", "template", "dist", "test", "defaults", "schema", "ci", "testing", "vault", "*"}, rest) ||
			strings.HasSuffix(rest, ".example") || strings.HasSuffix(rest, ".sample") || strings.HasSuffix(rest, ".template") {
			return ok && rest == "*"
		}
	}
	return !inFixtures(p)
}

// inFixtures reports whether a file belongs to tests or examples.
func inFixtures(p string) bool {
	for part := range strings.SplitSeq(path.Dir(p), "/") {
		switch part {
		case "testdata", "fixtures", "__fixtures__", "fixture", "test", "tests", "__tests__", "spec", "examples", "example", "mocks", "__mocks__":
			return true
		}
	}
	return false
}

// Shows reports whether a command prints or sends the files it is given; first is the
// number of arguments in front of them.
func Shows(name string, args []string) (yes bool, first int) {
	switch name {
	case "cat", "bat", "less", "more", "head", "tail", "nl", "tac", "cut", "sort", "uniq", "strings", "xxd", "od", "hexdump", "base64", "base32", "paste", "fold", "column",
		"cp", "scp", "rsync", "mv", "tar", "zip", "gzip", "7z", "curl", "wget", "nc", "openssl", "diff", "cmp", "view", "pr", "rev", "tr", "expand", "iconv", "tee", "dd", "split",
		"json.tool", "install", "ln", "xclip", "pbcopy", "gpg", "http", "vim", "vi", "nano", "emacs", "code", "sftp", "mail", "zcat", "glow", "fmt":
		return true, 0
	case "grep", "rg", "ag", "ack", "egrep", "fgrep", "sed", "awk", "gawk", "jq", "yq", "perl":
		if argv.HasFlag(args, "-q|--quiet|-c|--count|-l|--files-with-matches") && name != "sed" && name != "perl" && name != "jq" && name != "yq" {
			return false, 0
		}
		if argv.HasFlag(args, "-e|-f|--regexp") && name != "sed" && name != "perl" {
			return true, 0
		}
		return true, 1
	}
	return false, 0
}

// OnlyNames reports whether a filter leaves the names in a file of settings, and not what
// they are set to.
func OnlyNames(name string, args []string) bool {
	ops := argv.Operands(args)
	switch name {
	case "cut":
		return argv.HasFlag(args, "-d=|-d") && (slices.Contains(args, "-f1") || strings.Contains(strings.Join(args, " "), "-f 1"))
	case "sed":
		return len(ops) > 0 && strings.HasPrefix(ops[0], "s/=.*/") && !strings.Contains(ops[0], "&")
	case "grep":
		return len(ops) > 0 && argv.HasFlag(args, "-o") && strings.HasSuffix(ops[0], "=") && !strings.Contains(ops[0], ".")
	}
	return false
}
