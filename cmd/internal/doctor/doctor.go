package doctor

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
	"time"

	"autopilot/supervisor/account"

	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/start"
	"autopilot/metrics/journal"
	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/probe/proctree"
	"autopilot/probe/tier"
	"autopilot/sessions/binary"
	"autopilot/sessions/launch"
)

// Finding is one line of the doctor: what was looked at, and how to mend it
// where it is not well.
type Finding struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Mend   string `json:"mend,omitempty"`
}

// Text is the findings for a person.
func Text(all []Finding) string {
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
	return b.String()
}

// Diagnose looks at everything that a run needs. A run whose supervisor was killed
// is finished first.
func Diagnose(ctx context.Context, std outside.Stdio) []Finding {
	p, err := job.SetUp(ctx, std, nil)
	if err != nil {
		all := []Finding{{Name: "setup", Detail: err.Error(), Mend: outside.HintOf(err)}}
		return append(all, checkMachine(ctx)...)
	}
	all := []Finding{{Name: "git", OK: true, Detail: p.Repo.Top}, {Name: "config", OK: true, Detail: fmt.Sprintf("%d settings, %d moved to a bound", len(p.Cfg.Settings), len(p.Cfg.Notes))}}
	all = append(all, checkBinary(ctx, std, p)...)
	all = append(all, checkState(ctx, std, p)...)
	all = append(all, checkLedgers(p)...)
	all = append(all, checkHooks(std, p)...)
	all = append(all, checkReflector(ctx, std, p))
	all = append(all, checkNight(p)...)
	all = append(all, checkAccount(std, p)...)
	return append(all, checkMachine(ctx)...)
}

// checkReflector says who would look back, and whether that works.
func checkReflector(ctx context.Context, std outside.Stdio, p job.Place) Finding {
	j := job.Job{Place: p}
	f := Finding{Name: "reflector", OK: true, Detail: j.WhoReflects(std)}
	if p.Cfg.ReflectEvery == 0 {
		f.Detail += ", not asked in mode " + p.Cfg.Mode
	}
	if err := j.CheckService(ctx, std); err != nil {
		f.Detail, f.Mend = err.Error(), outside.HintOf(err)
		f.OK = p.Cfg.ReflectEvery == 0 // it stands in no run's way
	}
	return f
}

// checkNight looks at the queue, the held calls, the outbox and the breakers.
func checkNight(p job.Place) []Finding {
	n, err := p.Night(false)
	if err != nil {
		return []Finding{{Name: "night", Detail: err.Error(), Mend: outside.HintOf(err)}}
	}
	var all []Finding
	for _, t := range n.Look(time.Now()) {
		all = append(all, Finding{Name: t.What, Detail: t.Why, Mend: t.Mend})
	}
	return all
}

// checkAccount looks at the usage limits that runs of the same account have met.
func checkAccount(std outside.Stdio, p job.Place) []Finding {
	a := account.Of(p.State, std.Environ, p.Cfg.UseAPIKey)
	if err := a.Check(); err != nil {
		return []Finding{{Name: "limits", Detail: err.Error(), Mend: "remove the file; a limit that still holds is met again"}}
	}
	if l, ok := a.Until(p.Cfg.Model, time.Now()); ok {
		return []Finding{{Name: "limits", OK: true, Detail: fmt.Sprintf("the account is under a usage limit (%s) until %s, which run %s met; runs wait for it", l.Kind, l.Until.Local().Format(time.DateTime), l.By)}}
	}
	return nil
}

func checkBinary(ctx context.Context, std outside.Stdio, p job.Place) []Finding {
	path, err := job.FindClaude(p.Cfg.Claude)
	if err != nil {
		return []Finding{{Name: "claude", Detail: err.Error(), Mend: outside.HintOf(err)}}
	}
	env, notes := launch.Env(std.Environ, launch.Identity{UseAPIKey: p.Cfg.UseAPIKey})
	ver, err := job.ClaudeVersion(ctx, path, env)
	f := Finding{Name: "claude", OK: err == nil, Detail: fmt.Sprintf("%s, version %s", path, job.OrNone(ver))}
	switch {
	case err != nil:
		f.Detail, f.Mend = err.Error(), outside.HintOf(err)
	case binary.OlderThan(ver, binary.Oldest):
		f.OK, f.Mend = false, "update it: npm install -g @anthropic-ai/claude-code"
	case ver == "" || binary.OlderThan(ver, binary.Tested):
		f.Mend = "autopilot is tested from version " + binary.Tested + " on"
	}
	all := []Finding{f}
	if err == nil {
		all = append(all, checkLogin(ctx, path, env, notes))
	}
	return all
}

// checkState looks at the state folder, the lock, the disk, and finishes runs
// whose supervisor was killed.
func checkState(ctx context.Context, std outside.Stdio, p job.Place) []Finding {
	var all []Finding
	project, err := p.OpenProject()
	if err != nil {
		return []Finding{{Name: "state", Detail: err.Error(), Mend: "make the folder writable, or set XDG_STATE_HOME"}}
	}
	all = append(all, Finding{Name: "state", OK: true, Detail: project.Dir})
	if done, err := start.RecoverDead(ctx, std, p, project); err != nil {
		all = append(all, Finding{Name: "recovery", Detail: err.Error(), Mend: "see the run's folder below " + project.RunsDir()})
	} else if len(done) > 0 {
		all = append(all, Finding{Name: "recovery", OK: true, Detail: fmt.Sprintf("%d runs that had been killed were finished", len(done))})
	}
	holder, held, err := statedir.Peek(p.LockPath())
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		all = append(all, Finding{Name: "lock", Detail: err.Error()})
	case held:
		all = append(all, Finding{Name: "lock", OK: true, Detail: "a run is on: " + holder.String()})
	default:
		all = append(all, Finding{Name: "lock", OK: true, Detail: "free"})
	}
	for _, dir := range []string{project.Dir, p.Repo.Top} {
		free, err := statedir.FreeBytes(dir)
		f := Finding{Name: "disk", OK: err == nil && free >= start.LowDisk, Detail: fmt.Sprintf("%d MB free for %s", free>>20, dir)}
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
func checkLedgers(p job.Place) []Finding {
	var all []Finding
	for _, name := range []string{ledger.RunsFile, ledger.SessionsFile} {
		path := filepath.Join(p.MetricsDir(), name)
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			all = append(all, Finding{Name: "ledger", OK: true, Detail: name + ": not there yet"})
			continue
		}
		r, err := journal.Check(path)
		switch {
		case err != nil:
			all = append(all, Finding{Name: "ledger", Detail: err.Error()})
		case !r.OK():
			all = append(all, Finding{
				Name: "ledger", OK: true, Detail: fmt.Sprintf("%s: %d records, %s", name, r.Good, faults(r)),
				Mend: "the lines are kept and skipped; repair them by hand if they matter",
			})
		default:
			all = append(all, Finding{Name: "ledger", OK: true, Detail: fmt.Sprintf("%s: %d records", name, r.Good)})
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
func checkHooks(std outside.Stdio, p job.Place) []Finding {
	base := std.Getenv("CLAUDE_CONFIG_DIR")
	if base == "" {
		base = filepath.Join(std.Getenv("HOME"), ".claude")
	}
	for _, name := range []string{
		filepath.Join(base, "settings.json"), filepath.Join(p.Repo.Top, ".claude", "settings.json"), filepath.Join(p.Repo.Top, ".claude", "settings.local.json"),
	} {
		var settings struct {
			DisableAllHooks bool `json:"disableAllHooks"`
		}
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if err := json.Unmarshal(data, &settings); err != nil {
			return []Finding{{Name: "hooks", OK: true, Detail: name + " is not valid JSON: claude ignores it without a word", Mend: "repair the file"}}
		}
		if settings.DisableAllHooks {
			return []Finding{{Name: "hooks", OK: true, Detail: name + " switches all hooks off; in sessions of a run they are on, since one of them keeps the cap on sub-agents"}}
		}
	}
	return []Finding{{Name: "hooks", OK: true, Detail: "not switched off"}}
}

func checkMachine(ctx context.Context) []Finding {
	var all []Finding
	if _, err := exec.LookPath("git"); err != nil {
		all = append(all, Finding{Name: "git", Detail: "git is not in PATH", Mend: "install git"})
	}
	s := job.TakeSnapshot(ctx)
	j := tier.Judge(s.Signals, 6)
	all = append(all, Finding{Name: "machine", OK: true, Detail: fmt.Sprintf("%s: %s", j.Tier, j.Reason)})
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil {
		f := Finding{Name: "files", OK: files.Cur >= 1024, Detail: fmt.Sprintf("%d open files allowed", files.Cur)}
		if !f.OK {
			f.Mend = "raise it: ulimit -n 4096"
		}
		all = append(all, f)
	}
	orphans := Finding{Name: "orphans", OK: true, Detail: "adopted by the supervisor and ended with each session"}
	if runtime.GOOS != "linux" {
		orphans.Detail = "found by the marker in their environment"
	} else if _, err := proctree.ChildrenOf(os.Getpid()); err != nil {
		orphans.OK, orphans.Detail, orphans.Mend = false, err.Error(), "mount /proc"
	}
	return append(all, orphans)
}

// checkLogin tells whether a session would have credentials. It sends no request.
func checkLogin(ctx context.Context, path string, env, notes []string) Finding {
	l := binary.AskLogin(ctx, path, env)
	switch {
	case !l.Known:
		return Finding{Name: "login", OK: true, Detail: l.How}
	case l.In:
		return Finding{Name: "login", OK: true, Detail: "by " + job.OrNone(l.How)}
	}
	f := Finding{Name: "login", Detail: "not logged in", Mend: "run 'claude' once and log in, or set CLAUDE_CODE_OAUTH_TOKEN ('claude setup-token')"}
	if len(notes) > 0 && strings.Contains(notes[0], "ANTHROPIC_API_KEY") {
		f.Mend += "; or --use-api-key"
	}
	return f
}
