package notifycmd

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/notifier"
	"autopilot/cmd/internal/outside"
	"autopilot/supervisor"
	"autopilot/supervisor/notice"
	"autopilot/supervisor/notice/channel"
	"autopilot/supervisor/notice/channel/shout"
)

// Place is what the command has to know of where it was started.
type Place struct {
	Notify config.Notify
	Dir    string // state folder of the work tree; empty when it has none yet
	Repo   string // absolute path of the work tree
}

// Find looks where the command was started.
type Find func(context.Context) (Place, error)

// Command is 'notify' with what is below it.
func Command(std outside.Stdio, find Find) *cobra.Command {
	c := &cobra.Command{
		Use: "notify", Short: "Who is told when a person is needed, and whether they can be told", Args: arg.None,
		Long: "Channels are set with the option notify, in ~/.config/autopilot/config.yaml or AUTOPILOT_NOTIFY (one per line):\n\n  " +
			strings.Join(channel.Examples(), "\n  ") +
			"\n\nA command gets the notice as JSON on stdin. An address is never shown but for its kind and host, and no\nrepository can set one.",
		Example: "  autopilot notify list\n  autopilot notify test\n  autopilot notify test --channel 2 --kind needs-person\n  autopilot notify flush",
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(listCommand(std, find), testCommand(std, find), flushCommand(std, find), deliverCommand(std))
	return c
}

// listed is a channel as it may be seen.
type listed struct {
	Number  int           `json:"number"`
	Channel string        `json:"channel"`
	Kinds   []notice.Kind `json:"kinds"`
}

func listCommand(std outside.Stdio, find Find) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "list", Short: "Show the channels and what is told", Args: arg.None}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		p, err := find(c.Context())
		if err != nil {
			return err
		}
		waiting, others, stray, err := notifier.BoxOf(p.Dir).Count(ids(p.Notify.Channels))
		if err != nil {
			return err
		}
		all := []listed{}
		for i, ch := range p.Notify.Channels {
			all = append(all, listed{i + 1, ch.Label, p.Notify.Events})
		}
		if asJSON {
			return std.JSON(map[string]any{"channels": all, "interval_seconds": p.Notify.Interval.Seconds(), "hourly": p.Notify.Hourly, "waiting": waiting + others, "stray": stray})
		}
		return std.Say("%s", listText(all, p.Notify, waiting+others, stray))
	}
	return c
}

func listText(all []listed, n config.Notify, waiting, stray int) string {
	var b strings.Builder
	if len(all) == 0 {
		b.WriteString("nobody is told: no channel is set\n\nChannels are set with the option notify:\n  " + strings.Join(channel.Examples(), "\n  ") + "\n")
		return b.String()
	}
	for _, l := range all {
		fmt.Fprintf(&b, "%2d  %s\n", l.Number, l.Channel)
	}
	words := make([]string, len(n.Events))
	for i, k := range n.Events {
		words[i] = string(k)
	}
	fmt.Fprintf(&b, "\ntold: %s\n", strings.Join(words, ", "))
	fmt.Fprintf(&b, "at most one of a kind every %v, %d an hour; what comes meanwhile is summed up\n", n.Interval, n.Hourly)
	if waiting > 0 {
		fmt.Fprintf(&b, "%d still to be told; 'autopilot notify flush' sends them now\n", waiting)
	}
	if stray > 0 {
		fmt.Fprintf(&b, "%d wait for channels that are not set any more\n", stray)
	}
	return b.String()
}

func ids(all []channel.Channel) []string {
	out := make([]string, len(all))
	for i, c := range all {
		out[i] = c.ID
	}
	return out
}

// tried is what became of a trial.
type tried struct {
	Number  int    `json:"number"`
	Channel string `json:"channel"`
	Sent    bool   `json:"sent"`
	Millis  int64  `json:"duration_ms"`
	Error   string `json:"error,omitempty"`
}

func testCommand(std outside.Stdio, find Find) *cobra.Command {
	var asJSON bool
	var number int
	var kind string
	c := &cobra.Command{
		Use: "test", Short: "Send a notice to every channel and say what became of it", Args: arg.None,
		Long: "Send a notice to every channel and say what became of it. Exit status: 0 when all were sent, 3 when some were\nnot, 2 when no channel is set.",
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().IntVar(&number, "channel", 0, "only to channel `N` of 'autopilot notify list'")
	c.Flags().StringVar(&kind, "kind", string(notice.Trial), "`KIND` of the notice: it looks like a real one of that kind")
	c.RunE = func(c *cobra.Command, _ []string) error {
		p, err := find(c.Context())
		if err != nil {
			return err
		}
		channels, err := chosen(p.Notify.Channels, number)
		if err != nil {
			return err
		}
		n, err := trial(p, kind, time.Now())
		if err != nil {
			return err
		}
		results := attempt(c.Context(), std, channels, n)
		if asJSON {
			err = std.JSON(results)
		} else {
			err = std.Say("%s", triedText(results))
		}
		if err == nil && slices.ContainsFunc(results, func(t tried) bool { return !t.Sent }) {
			err = outside.Silent(supervisor.ExitFailures)
		}
		return err
	}
	return c
}

// numbered is a channel with its number in the list.
type numbered struct {
	channel.Channel
	number int
}

func chosen(all []channel.Channel, number int) ([]numbered, error) {
	if len(all) == 0 {
		return nil, outside.UsageHint("set one with the option notify, as in AUTOPILOT_NOTIFY=ntfy://ntfy.sh/TOPIC; 'autopilot help notify' shows all kinds", "no channel is set: nobody can be told")
	}
	if number < 0 || number > len(all) {
		return nil, outside.UsageHint("'autopilot notify list' shows them", "there is no channel %d; there are %d", number, len(all))
	}
	var out []numbered
	for i, c := range all {
		if number == 0 || number == i+1 {
			out = append(out, numbered{c, i + 1})
		}
	}
	return out, nil
}

// trial is a notice that says that it is none.
func trial(p Place, kind string, now time.Time) (notice.Notice, error) {
	known := append(notice.Kinds(), notice.Trial)
	n := notice.Notice{
		Kind: notice.Kind(strings.ToLower(kind)), At: now, Repo: p.Repo, Title: "a test of this channel",
		Text: "If you read this, the channel works. Nothing has happened.", Command: "autopilot notify list",
	}
	if !slices.Contains(known, n.Kind) {
		words := make([]string, len(known))
		for i, k := range known {
			words[i] = string(k)
		}
		return n, outside.UsageHint("there are "+strings.Join(words, ", "), "%q is no kind of notice", kind)
	}
	return n, nil
}

func attempt(ctx context.Context, std outside.Stdio, channels []numbered, n notice.Notice) []tried {
	sender, out := notifier.SenderOf(std), []tried{}
	for _, c := range channels {
		begun := time.Now()
		err := sender.Send(ctx, c.Channel, notice.Held{Notice: n}, begun)
		t := tried{Number: c.number, Channel: c.Label, Sent: err == nil, Millis: time.Since(begun).Milliseconds()}
		if err != nil {
			t.Error = err.Error()
		}
		out = append(out, t)
	}
	return out
}

func triedText(results []tried) string {
	var b strings.Builder
	for _, t := range results {
		fmt.Fprintf(&b, "%2d  %s: ", t.Number, t.Channel)
		if t.Sent {
			fmt.Fprintf(&b, "sent in %d ms\n", t.Millis)
			continue
		}
		fmt.Fprintf(&b, "%s\n", t.Error)
	}
	return b.String()
}

func flushCommand(std outside.Stdio, find Find) *cobra.Command {
	c := &cobra.Command{
		Use: "flush", Short: "Send what could not be sent yet", Args: arg.None,
		Long: "Send the notices that no channel has taken yet. Those of a run that is on are left to it. Exit status: 0 when\nnothing is left, 3 when something is, 2 when no channel is set.",
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		p, err := find(c.Context())
		if err != nil {
			return err
		}
		if _, err := chosen(p.Notify.Channels, 0); err != nil {
			return err
		}
		box := notifier.BoxOf(p.Dir)
		before, _, _, err := box.Count(ids(p.Notify.Channels))
		if err != nil {
			return err
		}
		if err := box.Prune(ids(p.Notify.Channels), time.Now()); err != nil {
			return err
		}
		log := slog.New(slog.NewTextHandler(std.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
		notifier.Start(p.Notify, notifier.Options{Dir: p.Dir, Std: std, Log: log}).Close(c.Context())
		left, others, stray, err := box.Count(ids(p.Notify.Channels))
		if err != nil {
			return err
		}
		if err := std.Say("%s", flushText(before, left, others, stray)); err != nil || left == 0 {
			return err
		}
		return outside.Silent(supervisor.ExitFailures)
	}
	return c
}

func flushText(before, left, others, stray int) string {
	s := fmt.Sprintf("%d of %d sent or refused, %d still to be told\n", max(before-left, 0), before, left)
	if before == 0 {
		s = "nothing is left to be told\n"
	}
	if others > 0 {
		s += fmt.Sprintf("%d belong to a run that is on, which sends them\n", others)
	}
	if stray > 0 {
		s += fmt.Sprintf("%d wait for channels that are not set any more\n", stray)
	}
	return s
}

// deliverCommand is the process that sends one notice. It is started by this program.
func deliverCommand(std outside.Stdio) *cobra.Command {
	return &cobra.Command{
		Use: "deliver", Short: "Send the notice on stdin", Hidden: true, Args: arg.None,
		RunE: func(*cobra.Command, []string) error { return shout.Serve(std.In, std.Out, nil) },
	}
}
