package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"autopilot/metrics/journal"
	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/probe/proctree"
	"autopilot/probe/tier"
	"autopilot/sessions/binary"
	"autopilot/sessions/launch"
)

// finding is one line of the doctor: what was looked at, and how to mend it
// where it is not well.
type finding struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Mend   string `json:"mend,omitempty"`
}

func doctorCommand(std Stdio) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "doctor", Short: "Check everything a run needs; each line is ok or says how to mend it", Args: noArgs,
		Long: "Check the claude binary, its version and login, git, the lock, the disk, the ledgers and the limits of this\nmachine. A run whose supervisor was killed is finished first. Exit status 2 when something has to be\nmended before a run.",
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		all := diagnose(c, std)
		bad := false
		for _, f := range all {
			bad = bad || !f.OK
		}
		if err := printFindings(std, all, asJSON); err != nil {
			return err
		}
		if bad {
			return silent(exitUsage)
		}
		return nil
	}
	return c
}

func printFindings(std Stdio, all []finding, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(std.Out).Encode(all)
	}
	var b strings.Builder
	for _, f := range all {
		mark, mend := "ok  ", ""
		if !f.OK {
			mark = "BAD "
		}
		if f.Mend != "" {
			mend = "\n       mend: " + f.Mend
		}
		fmt.Fprintf(&b, "%s %-10s %s%s\n", mark, f.Name, f.Detail, mend)
	}
	return std.say("%s", b.String())
}

func diagnose(c *cobra.Command, std Stdio) []finding {
	ctx := c.Context()
	p, err := setUp(c, std, nil)
	if err != nil {
		all := []finding{{Name: "setup", Detail: err.Error(), Mend: hintOf(err)}}
		return append(all, checkMachine(ctx)...)
	}
	all := []finding{{Name: "git", OK: true, Detail: p.repo.Top}, {Name: "config", OK: true, Detail: fmt.Sprintf("%d settings, %d moved to a bound", len(p.cfg.Settings), len(p.cfg.Notes))}}
	all = append(all, checkBinary(ctx, std, p)...)
	all = append(all, checkState(ctx, p)...)
	all = append(all, checkLedgers(p)...)
	all = append(all, checkHooks(std, p)...)
	return append(all, checkMachine(ctx)...)
}

func checkBinary(ctx context.Context, std Stdio, p place) []finding {
	path, err := findClaude(p.cfg.Claude)
	if err != nil {
		return []finding{{Name: "claude", Detail: err.Error(), Mend: hintOf(err)}}
	}
	env, notes := launch.Env(std.Environ, launch.Identity{UseAPIKey: p.cfg.UseAPIKey})
	ver, err := claudeVersion(ctx, path, env)
	f := finding{Name: "claude", OK: err == nil, Detail: fmt.Sprintf("%s, version %s", path, orNone(ver))}
	switch {
	case err != nil:
		f.Detail, f.Mend = err.Error(), hintOf(err)
	case binary.OlderThan(ver, binary.Oldest):
		f.OK, f.Mend = false, "update it: npm install -g @anthropic-ai/claude-code"
	case ver == "" || binary.OlderThan(ver, binary.Tested):
		f.Mend = "autopilot is tested from version " + binary.Tested + " on"
	}
	all := []finding{f}
	if err == nil {
		all = append(all, checkLogin(ctx, path, env, notes))
	}
	return all
}

// checkState looks at the state folder, the lock, the disk, and finishes runs
// whose supervisor was killed.
func checkState(ctx context.Context, p place) []finding {
	var all []finding
	project, err := statedir.OpenProject(p.state, p.repo.Top)
	if err != nil {
		return []finding{{Name: "state", Detail: err.Error(), Mend: "make the folder writable, or set XDG_STATE_HOME"}}
	}
	all = append(all, finding{Name: "state", OK: true, Detail: project.Dir})
	if done, err := recoverDead(ctx, p, project); err != nil {
		all = append(all, finding{Name: "recovery", Detail: err.Error(), Mend: "see the run's folder below " + project.RunsDir()})
	} else if len(done) > 0 {
		all = append(all, finding{Name: "recovery", OK: true, Detail: fmt.Sprintf("%d runs that had been killed were finished", len(done))})
	}
	holder, held, err := statedir.Peek(p.lockPath())
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		all = append(all, finding{Name: "lock", Detail: err.Error()})
	case held:
		all = append(all, finding{Name: "lock", OK: true, Detail: "a run is on: " + holder.String()})
	default:
		all = append(all, finding{Name: "lock", OK: true, Detail: "free"})
	}
	for _, dir := range []string{project.Dir, p.repo.Top} {
		free, err := statedir.FreeBytes(dir)
		f := finding{Name: "disk", OK: err == nil && free >= lowDisk, Detail: fmt.Sprintf("%d MB free for %s", free>>20, dir)}
		if err != nil {
			f.Detail = err.Error()
		}
		if !f.OK {
			f.Mend = "make room; at least 100 MB are wanted"
		}
		all = append(all, f)
	}
	return all
}

// checkLedgers reads both ledgers from end to end. A broken line is named and
// kept.
func checkLedgers(p place) []finding {
	var all []finding
	for _, name := range []string{ledger.RunsFile, ledger.SessionsFile} {
		path := filepath.Join(p.metricsDir(), name)
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			all = append(all, finding{Name: "ledger", OK: true, Detail: name + ": not there yet"})
			continue
		}
		r, err := journal.Check(path)
		switch {
		case err != nil:
			all = append(all, finding{Name: "ledger", Detail: err.Error()})
		case !r.OK():
			all = append(all, finding{
				Name: "ledger", OK: true, Detail: fmt.Sprintf("%s: %d records, %s", name, r.Good, faults(r)),
				Mend: "the lines are kept and skipped; repair them by hand if they matter",
			})
		default:
			all = append(all, finding{Name: "ledger", OK: true, Detail: fmt.Sprintf("%s: %d records", name, r.Good)})
		}
	}
	return all
}

func faults(r journal.Report) string {
	var words []string
	for i, f := range r.Faults {
		if i == 5 {
			words = append(words, "and more")
			break
		}
		words = append(words, fmt.Sprintf("line %d (byte %d): %s", f.Line, f.Offset, f.Reason))
	}
	if r.Torn != nil {
		words = append(words, "the last line is cut off")
	}
	return fmt.Sprintf("%d broken: %s", r.Broken, strings.Join(words, "; "))
}

// checkHooks tells of settings that switch all hooks off. Sessions of a run have
// them on all the same, because the cap on sub-agents is kept by one.
func checkHooks(std Stdio, p place) []finding {
	base := std.getenv("CLAUDE_CONFIG_DIR")
	if base == "" {
		base = filepath.Join(std.getenv("HOME"), ".claude")
	}
	for _, name := range []string{
		filepath.Join(base, "settings.json"), filepath.Join(p.repo.Top, ".claude", "settings.json"), filepath.Join(p.repo.Top, ".claude", "settings.local.json"),
	} {
		var settings struct {
			DisableAllHooks bool `json:"disableAllHooks"`
		}
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if err := json.Unmarshal(data, &settings); err != nil {
			return []finding{{Name: "hooks", OK: true, Detail: name + " is not valid JSON: claude ignores it without a word", Mend: "repair the file"}}
		}
		if settings.DisableAllHooks {
			return []finding{{Name: "hooks", OK: true, Detail: name + " switches all hooks off; in sessions of a run they are on, since one of them keeps the cap on sub-agents"}}
		}
	}
	return []finding{{Name: "hooks", OK: true, Detail: "not switched off"}}
}

func checkMachine(ctx context.Context) []finding {
	var all []finding
	if _, err := exec.LookPath("git"); err != nil {
		all = append(all, finding{Name: "git", Detail: "git is not in PATH", Mend: "install git"})
	}
	s := takeSnapshot(ctx)
	j := tier.Judge(s.Signals, 6)
	all = append(all, finding{Name: "machine", OK: true, Detail: fmt.Sprintf("%s: %s", j.Tier, j.Reason)})
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil {
		f := finding{Name: "files", OK: files.Cur >= 1024, Detail: fmt.Sprintf("%d open files allowed", files.Cur)}
		if !f.OK {
			f.Mend = "raise it: ulimit -n 4096"
		}
		all = append(all, f)
	}
	orphans := finding{Name: "orphans", OK: true, Detail: "adopted by the supervisor and ended with each session"}
	if runtime.GOOS != "linux" {
		orphans.Detail = "found by the marker in their environment"
	} else if _, err := proctree.ChildrenOf(os.Getpid()); err != nil {
		orphans.OK, orphans.Detail, orphans.Mend = false, err.Error(), "mount /proc"
	}
	return append(all, orphans)
}

// checkLogin tells whether a session would have credentials. It sends no request.
func checkLogin(ctx context.Context, path string, env, notes []string) finding {
	l := binary.AskLogin(ctx, path, env)
	switch {
	case !l.Known:
		return finding{Name: "login", OK: true, Detail: l.How}
	case l.In:
		return finding{Name: "login", OK: true, Detail: "by " + orNone(l.How)}
	}
	f := finding{Name: "login", Detail: "not logged in", Mend: "run 'claude' once and log in, or set CLAUDE_CODE_OAUTH_TOKEN ('claude setup-token')"}
	if len(notes) > 0 && strings.Contains(notes[0], "ANTHROPIC_API_KEY") {
		f.Mend += "; or --use-api-key"
	}
	return f
}
