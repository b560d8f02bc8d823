package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/cli/desk"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/start"
	"autopilot/cmd/internal/stories"
	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/sessions"
	"autopilot/sessions/completion"
	"autopilot/supervisor"
	"autopilot/supervisor/ending"
	"autopilot/supervisor/pursuit"
	"autopilot/supervisor/story"
)

// statusView is what 'status' knows about a project.
type statusView struct {
	Repository string                 `json:"repository"`
	Running    bool                   `json:"running"`
	RunID      string                 `json:"run_id"`
	PID        int                    `json:"pid,omitempty"`
	Iteration  int                    `json:"iteration,omitempty"`
	Current    *supervisor.Current    `json:"current,omitempty"`
	Waiting    *supervisor.Waiting    `json:"waiting,omitempty"`
	Stopping   string                 `json:"stopping,omitempty"`
	Folder     string                 `json:"folder,omitempty"`
	Mode       string                 `json:"mode,omitempty"`
	Progress   *pursuit.Progress      `json:"progress,omitempty"`
	Goals      []ledger.Goal          `json:"goals,omitempty"`
	Resumable  *bool                  `json:"resumable,omitempty"`
	WhyNot     string                 `json:"not_resumable_because,omitempty"`
	Record     *ledger.Run            `json:"record"`
	Cohort     *story.Cohort          `json:"cohort,omitempty"` // of a run that coordinates stories
	Recovered  []supervisor.Recovered `json:"recovered,omitempty"`
	Elsewhere  string                 `json:"elsewhere,omitempty"` // a run that keeps its state in another folder
	Night      *nightView             `json:"night,omitempty"`

	completion.Status // persistent completion, and the tasks
}

func statusCommand(std outside.Stdio) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "status", Short: "Show the run in this repository or how the last one ended, and how far the tasks are", Args: arg.None,
		Long: "Show the running run: iteration, session, tokens, cost, or what it waits for. Without one, show how the\nlast run ended. A run whose supervisor was killed is finished first: its processes are ended and its\nmissing records written.",
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		p, err := job.SetUp(c.Context(), std, nil)
		if err != nil {
			return err
		}
		v, err := viewStatus(c.Context(), std, p)
		if err != nil {
			return err
		}
		d, err := p.Desk(std, false)
		if err != nil {
			return err
		}
		v.Night = viewNight(p, time.Now())
		if v.Status, err = d.Status(c.Context(), time.Now()); err != nil {
			return desk.Refusal(err)
		}
		if asJSON {
			return json.NewEncoder(std.Out).Encode(v)
		}
		return std.Say("%s%s%s", v.text(time.Now()), v.Night.text(), desk.Text(v.Status))
	}
	return c
}

func viewStatus(ctx context.Context, std outside.Stdio, p job.Place) (statusView, error) {
	v, err := viewOwn(ctx, std, p)
	if err == nil && !v.Running {
		v.Elsewhere = elsewhere(p, v.RunID)
	}
	return v, err
}

// elsewhere names a run in this work tree that keeps its state in another
// folder, as one that was started by cron or by another user may. The last run that is
// known here may have ended and still hold the lock for a moment.
func elsewhere(p job.Place, last string) string {
	holder, held, err := statedir.Peek(p.LockPath())
	if err != nil || !held || last != "" && holder.RunID == last {
		return ""
	}
	return holder.String()
}

func viewOwn(ctx context.Context, std outside.Stdio, p job.Place) (statusView, error) {
	v := statusView{Repository: p.Repo.Top}
	project, found, err := p.FindProject()
	if err != nil || !found {
		return v, err
	}
	if v.Recovered, err = start.RecoverDead(ctx, std, p, project); err != nil {
		return v, err
	}
	if v.RunID, err = supervisor.LastRun(project); err != nil || v.RunID == "" {
		return v, err
	}
	v.Folder = project.RunDir(v.RunID)
	st, err := supervisor.LoadState(v.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil
	}
	if err != nil {
		return v, &outside.Error{Code: supervisor.ExitError, Err: err, Way: "'autopilot runs' lists the records, and another run can be started"}
	}
	v.Record, v.Mode, v.Goals = &st.Record, st.Mode, st.Pursuit.Records()
	if c, err := stories.Load(v.Folder); err == nil {
		v.Cohort = &c
	}
	progress := st.Pursuit.Progress()
	v.Progress = &progress
	if v.Running = st.Alive(); v.Running {
		v.PID, v.Iteration, v.Current, v.Waiting = st.PID, st.Iteration, st.Current, st.Waiting
		v.Stopping = supervisor.StopRequested(v.Folder)
		v.Iteration += st.Carried.Iterations
	} else {
		v.WhyNot = supervisor.NotResumable(st)
		resumable := v.WhyNot == ""
		v.Resumable = &resumable
	}
	return v, nil
}

// text is the status for a person.
func (v statusView) text(now time.Time) string {
	s := ""
	for _, r := range v.Recovered {
		why := "could not write its records"
		if r.Killed {
			why = "had been killed"
		}
		s += fmt.Sprintf("run %s %s; its records are written now, %d processes of it were ended\n", r.RunID, why, r.Processes)
	}
	if v.Elsewhere != "" {
		s += fmt.Sprintf("a run is on that keeps its state elsewhere: %s\n", v.Elsewhere)
	}
	if v.Record == nil {
		return s + "no run yet in " + v.Repository + "\n"
	}
	rec := v.Record
	if !v.Running {
		return s + v.ended()
	}
	s += fmt.Sprintf("run %s is on (pid %d), for %s\n", v.RunID, v.PID, now.Sub(time.Time(rec.StartedAt)).Round(time.Second))
	if v.Cohort != nil {
		return s + stories.Text(*v.Cohort) + v.stopping()
	}
	s += fmt.Sprintf("  iteration   %d of %d, %d completed, %d tokens, $%.4f\n", v.Iteration, rec.MaxSessions, rec.IterationsCompleted, rec.TotalTokensUsed, rec.TotalCostUSD)
	if v.Current != nil {
		s += fmt.Sprintf("  session     %s, %s, for %s\n", v.Current.SessionID, v.Current.Mode, now.Sub(v.Current.StartedAt).Round(time.Second))
		s += fmt.Sprintf("  messages    %s\n", sessions.StderrPath(supervisor.SessionFolder(v.Folder, sessions.ID(v.Current.SessionID))))
	}
	s += v.progress()
	if v.Waiting != nil {
		s += fmt.Sprintf("  waiting     until %s: %s\n", v.Waiting.Until.Local().Format(time.DateTime), v.Waiting.Why)
	}
	return s + v.stopping()
}

// stopping says that the run ends after its session.
func (v statusView) stopping() string {
	if v.Stopping == "" {
		return ""
	}
	return "  stopping    after this session: " + v.Stopping + "\n"
}

// ended says how the last run ended.
func (v statusView) ended() string {
	rec := v.Record
	why := rec.ExitCause
	if rec.KillSwitchDetail != nil && *rec.KillSwitchDetail != "" {
		why += " (" + *rec.KillSwitchDetail + ")"
	}
	s := fmt.Sprintf("no run is on; the last was %s\n  ended       %s: %s\n", v.RunID, time.Time(rec.CompletedAt).Local().Format(time.DateTime), why)
	if v.Cohort != nil {
		s += stories.Text(*v.Cohort)
	} else {
		s += fmt.Sprintf("  sessions    %d of %d, %d tokens, $%.4f\n", rec.IterationsCompleted, rec.MaxSessions, rec.TotalTokensUsed, rec.TotalCostUSD)
	}
	if t := rec.Termination; t != nil {
		s += ending.Text(*t)
	}
	s += v.progress()
	switch {
	case v.Resumable != nil && *v.Resumable:
		s += "  resumable   yes, with 'autopilot resume'\n"
	case v.WhyNot != "":
		s += "  resumable   no: " + v.WhyNot + "\n"
	}
	return s
}

// progress is how far the goals are.
func (v statusView) progress() string {
	p := v.Progress
	if p == nil || p.Goals == 0 {
		return ""
	}
	var b strings.Builder
	if p.Known {
		fmt.Fprintf(&b, "  progress    %.0f%%", p.Percent)
		if p.Velocity > 0 {
			fmt.Fprintf(&b, ", %.1f%% a session, %.0f%% an hour; about %d sessions and %s left", p.Velocity, p.PerHour, p.Sessions, ending.Elapsed(p.Left))
		}
		b.WriteString("\n")
		if len(p.Points) > 1 {
			fmt.Fprintf(&b, "  course      %s\n", course(p.Points))
		}
	}
	if p.Goals > 1 {
		for i, g := range v.Goals {
			fmt.Fprintf(&b, "  goal %d      %s, %.0f%%: %s\n", i+1, g.Status, g.Percent, g.Text)
		}
	}
	for _, m := range p.Milestones {
		mark := " "
		if m.Done {
			mark = "x"
		}
		fmt.Fprintf(&b, "  milestone   [%s] %s\n", mark, m.Text)
	}
	if p.Last != "" {
		fmt.Fprintf(&b, "  look back   %s\n", p.Last)
	}
	return b.String()
}

// course draws the percentages of the looks back, oldest first, a column each.
func course(points []pursuit.Point) string {
	const shown = 40
	blocks := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, p := range points[max(0, len(points)-shown):] {
		i := int(p.Percent / 100 * float64(len(blocks)))
		b.WriteRune(blocks[max(0, min(i, len(blocks)-1))])
	}
	return b.String()
}

func stopCommand(std outside.Stdio) *cobra.Command {
	var now bool
	c := &cobra.Command{
		Use: "stop", Short: "Stop the run in this repository after its current session", Args: arg.None,
		Long: "Ask the run to stop after its current session. With --now the session is ended at once, as by Ctrl-C, and\nthe command waits until the run has written its records and is gone.",
	}
	c.Flags().BoolVar(&now, "now", false, "end the current session as well")
	c.RunE = func(c *cobra.Command, _ []string) error {
		p, err := job.SetUp(c.Context(), std, nil)
		if err != nil {
			return err
		}
		return stopRun(c.Context(), std, p, now)
	}
	return c
}

// awaitState waits a moment for the state of a run of ours that holds the lock
// but has not written it yet.
func awaitState(project statedir.Project, found bool, p job.Place) supervisor.State {
	for deadline := time.Now().Add(startWait); found && time.Now().Before(deadline); <-time.After(stopLook) {
		holder, held, err := statedir.Peek(p.LockPath())
		if err != nil || !held || holder.RunID == "" {
			break
		}
		if _, err := os.Stat(project.RunDir(holder.RunID)); err != nil {
			break
		}
		if st, err := supervisor.LoadState(project.RunDir(holder.RunID)); err == nil {
			return st
		}
	}
	return supervisor.State{}
}

const (
	startWait = time.Second
	stopWait  = 60 * time.Second
	stopLook  = 20 * time.Millisecond
)

func stopRun(ctx context.Context, std outside.Stdio, p job.Place, now bool) error {
	project, found, err := p.FindProject()
	if err != nil {
		return err
	}
	id := ""
	if found {
		if id, err = supervisor.LastRun(project); err != nil {
			return err
		}
	}
	var st supervisor.State
	if id != "" {
		st, err = supervisor.LoadState(project.RunDir(id))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if id == "" || !st.Alive() {
		if st = awaitState(project, found, p); st.Alive() {
			id = st.Record.AutopilotRunID
		}
	}
	if id == "" || !st.Alive() {
		if other := elsewhere(p, id); other != "" {
			return &outside.Error{
				Code: outside.ExitHeld, Err: fmt.Errorf("the run in this repository keeps its state elsewhere: %s", other),
				Way: "stop it from where it was started, or send its pid an interrupt",
			}
		}
		fmt.Fprintf(std.Out, "no run is on in %s\n", p.Repo.Top)
		return nil
	}
	by := fmt.Sprintf("'autopilot stop' (pid %d)", os.Getpid())
	if err := supervisor.RequestStop(project.RunDir(id), by, time.Now()); err != nil {
		return err
	}
	sig := syscall.SIGUSR1
	if now {
		sig = syscall.SIGTERM
	}
	if err := syscall.Kill(st.PID, sig); err != nil {
		return fmt.Errorf("signal pid %d: %w", st.PID, err)
	}
	if !now {
		fmt.Fprintf(std.Out, "run %s stops after its current session\n", id)
		return nil
	}
	return waitGone(ctx, std, id, st)
}

func waitGone(ctx context.Context, std outside.Stdio, id string, st supervisor.State) error {
	deadline := time.Now().Add(stopWait)
	for st.Alive() {
		if time.Now().After(deadline) {
			return fmt.Errorf("run %s (pid %d) is still there after %v", id, st.PID, stopWait)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(stopLook):
		}
	}
	fmt.Fprintf(std.Out, "run %s is stopped\n", id)
	return nil
}
