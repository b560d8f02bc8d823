package nightly

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/doctor"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/supervisor/schedule"
)

// tokenWay is how a login comes about that does not need a person's session.
const tokenWay = "'claude setup-token' makes a token for this: write CLAUDE_CODE_OAUTH_TOKEN=... into a file of mode 0600 and install the schedule again with --env-file FILE"

// Inspect looks at what a run of the entry needs, in this process, which has to have been
// started with the environment of the unit. It makes that environment whole, goes to the
// entry's folder, and starts nothing but checks.
func (n Night) Inspect(ctx context.Context, e schedule.Entry) []doctor.Finding {
	std, err := n.enter(e)
	if err != nil {
		return []doctor.Finding{{Name: "environ", Detail: err.Error(), Mend: outside.HintOf(err)}}
	}
	std.Environ = withFlags(std.Environ, e.Args)
	var all []doctor.Finding
	if Starts(e.Args) {
		f := doctor.Finding{Name: "command", OK: true, Detail: "autopilot " + strings.Join(e.Args, " ")}
		if err := n.Check(ctx, with(std, e.Args), e.Args); err != nil {
			f.OK, f.Detail, f.Mend = false, err.Error(), outside.HintOf(err)
		}
		all = append(all, f, identity(ctx, std))
	}
	all = append(all, writable("logs", e.Logs))
	if p, err := job.SetUp(ctx, std, nil); err == nil {
		all = append(all, writable("metrics", p.MetricsDir()))
	}
	for _, f := range doctor.Diagnose(ctx, std) {
		if f.Name == "login" {
			f = login(f, std, runtime.GOOS)
		}
		all = append(all, f)
	}
	return all
}

// Starts reports whether the arguments are of a command that starts sessions.
func Starts(args []string) bool { return len(args) > 0 && (args[0] == "run" || args[0] == "resume") }

// login judges a login for a time when nobody is there. That it works in a shell says
// little on macOS: the keychain opens for a person's session alone.
func login(f doctor.Finding, std outside.Stdio, goos string) doctor.Finding {
	switch {
	case !f.OK:
		f.Mend = tokenWay
	case goos == "darwin" && inKeychain(f, std):
		f.OK, f.Mend = false, tokenWay
		f.Detail += " that the keychain holds: it cannot be read from launchd or cron while nobody is logged in or the screen is locked"
	case strings.HasPrefix(f.Detail, "cannot be told"):
		f.Mend = "if sessions say 'Not logged in' at night: " + tokenWay
	}
	return f
}

// inKeychain reports whether the login is one that the CLI keeps in the keychain of macOS:
// neither in the environment nor in a file of its own.
func inKeychain(f doctor.Finding, std outside.Stdio) bool {
	base := std.Getenv("CLAUDE_CONFIG_DIR")
	if base == "" {
		base = filepath.Join(std.Getenv("HOME"), ".claude")
	}
	_, err := os.Stat(filepath.Join(base, ".credentials.json"))
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"} {
		if std.Getenv(name) != "" {
			return false
		}
	}
	return errors.Is(err, os.ErrNotExist) && strings.HasPrefix(f.Detail, "by ")
}

// identity looks for the name that git commits under.
func identity(ctx context.Context, std outside.Stdio) doctor.Finding {
	cmd := exec.CommandContext(ctx, "git", "var", "GIT_COMMITTER_IDENT")
	cmd.Env = append(outside.Without(std.Environ, "LC_ALL"), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.Output()
	if err != nil {
		return doctor.Finding{
			Name: "identity", Detail: "git does not know who commits",
			Mend: "git config --global user.name NAME and user.email ADDRESS, in the home that the schedule has (" + std.Getenv("HOME") + ")",
		}
	}
	who, _, _ := strings.Cut(string(out), ">")
	return doctor.Finding{Name: "identity", OK: true, Detail: "commits as " + who + ">"}
}

// writable reports whether files can be made in a folder, or in the nearest one above it
// that is there.
func writable(what, dir string) doctor.Finding {
	at := dir
	for {
		info, err := os.Stat(at)
		switch {
		case err == nil && !info.IsDir():
			return doctor.Finding{Name: what, Detail: fmt.Sprintf("%s is not a folder, and %s has to be one", at, dir), Mend: "move it away"}
		case err == nil:
			if err := unix.Access(at, unix.W_OK|unix.X_OK); err != nil {
				return doctor.Finding{Name: what, Detail: fmt.Sprintf("%s cannot be written: %v", at, err), Mend: "make the folder writable"}
			}
			return doctor.Finding{Name: what, OK: true, Detail: dir}
		case !errors.Is(err, os.ErrNotExist) || filepath.Dir(at) == at:
			return doctor.Finding{Name: what, Detail: fmt.Sprintf("%s cannot be used: %v", dir, err), Mend: "make the folder, and make it writable"}
		}
		at = filepath.Dir(at)
	}
}

// withFlags is an environment in which the options that stand among arguments are set, so
// that a check that knows nothing of the arguments sees what a run would see.
func withFlags(env, args []string) []string {
	known := map[string]config.Option{}
	for _, o := range config.Options() {
		known["--"+o.Key] = o
	}
	set := map[string]string{}
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		flag, value, given := strings.Cut(args[i], "=")
		o, ok := known[flag]
		switch {
		case !ok:
			continue
		case !given && o.Bool:
			value = "true"
		case !given && i+1 < len(args):
			i++
			value = args[i]
		}
		if before := set[o.Env()]; o.List && before != "" {
			separator := o.Separator
			if separator == "" {
				separator = ","
			}
			value = before + separator + value
		}
		set[o.Env()] = value
	}
	for name, value := range set {
		env = append(outside.Without(env, name), name+"="+value)
	}
	return env
}

// Claude finds the claude binary that a schedule would use: the one that its arguments, the
// environment or the settings name. The path is absolute.
func Claude(ctx context.Context, std outside.Stdio, args []string) (string, error) {
	std.Environ = withFlags(std.Environ, args)
	p, err := job.SetUp(ctx, std, nil)
	if err != nil {
		return "", err
	}
	path, err := job.FindClaude(p.Cfg.Claude)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// claudeVar names the binary for a run.
func claudeVar() string { return config.Option{Key: "claude"}.Env() }

// WithClaude is the environment with the path of the binary in it.
func WithClaude(env []string, path string) []string {
	return append(outside.Without(env, claudeVar()), claudeVar()+"="+path)
}
