package schedule

import (
	"path/filepath"
	"slices"
	"strings"
)

const nameLimit = 40

// CheckName refuses what cannot be the name of a schedule with a *InvalidError: a name has
// letters, digits, - and _, begins with a letter or digit, and is at most 40 long.
func CheckName(name string) error {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}
	switch hint := "use letters, digits, - and _, as in nightly"; {
	case name == "":
		return refuse(hint, "the schedule has no name")
	case len(name) > nameLimit:
		return refuse(hint, "the name %.40q... has %d characters, at most %d are taken", name, len(name), nameLimit)
	case strings.ContainsFunc(name, odd), name[0] == '-', name[0] == '_':
		return refuse(hint, "%q cannot be the name of a schedule", name)
	}
	return nil
}

// Check says what is wrong with an entry, as a *InvalidError. It looks at nothing but the entry.
func (e Entry) Check() error {
	if e.Version != Version {
		return refuse("install the schedule again", "entry %q is of format %d, this program knows %d", e.Name, e.Version, Version)
	}
	if err := CheckName(e.Name); err != nil {
		return err
	}
	if !slices.Contains([]Backend{Systemd, Launchd, Cron}, e.Backend) {
		return refuse("use systemd, launchd or cron", "nothing called %q starts a schedule", e.Backend)
	}
	if !slices.Contains([]Overlap{Skip, Wait}, e.Overlap) {
		return refuse("use skip or wait", "%q is no answer to a run that is still on", e.Overlap)
	}
	paths := []struct{ what, path string }{{"work tree", e.Dir}, {"program", e.Program}, {"folder of the logs", e.Logs}}
	if e.EnvFile != "" {
		paths = append(paths, struct{ what, path string }{"file of variables", e.EnvFile})
	}
	for _, p := range paths {
		if !filepath.IsAbs(p.path) {
			return refuse("", "the %s %q is not an absolute path", p.what, p.path)
		}
		if err := plainText("the "+p.what, p.path); err != nil {
			return err
		}
	}
	if len(e.Args) == 0 {
		return refuse("", "the schedule has no command")
	}
	for _, a := range e.Args {
		if strings.ContainsRune(a, 0) {
			return refuse("", "an argument of the command has a zero byte")
		}
	}
	for _, kv := range e.Environ {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			return refuse("", "%.40q is no variable with its value", kv)
		}
		if err := plainText("the value of "+name, kv); err != nil {
			return err
		}
	}
	return e.Spec.Check()
}

// plainText refuses what no unit can hold.
func plainText(what, text string) error {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return refuse("", "%s has a line end or another control character, which no unit can hold", what)
	}
	if strings.ToValidUTF8(text, "") != text {
		return refuse("", "%s is not valid UTF-8", what)
	}
	return nil
}
