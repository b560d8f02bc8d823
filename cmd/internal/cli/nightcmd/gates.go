package nightcmd

import (
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/night"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/screen"
	"autopilot/sessions/approval"
	"autopilot/sessions/approval/rule"
	"autopilot/sessions/hook"
	"autopilot/supervisor"
)

func gatesCommand(std outside.Stdio) *cobra.Command {
	var asJSON, all bool
	c := &cobra.Command{
		Use: "gates", Short: "Calls that are held until a person approves them", Args: arg.None,
		Long: "A session that is about to deploy, publish, force, or destroy something is refused, and the call waits here.\n'approve ID' lets this one call through once, 'deny ID --because TEXT' tells the next session no. A call that\nnobody answers in time (gate-timeout) is denied, and can still be approved later.",
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&all, "all", false, "also those that are decided")
	c.RunE = func(c *cobra.Command, _ []string) error {
		n, err := open(c.Context(), std)
		if err != nil {
			return err
		}
		list, bad := n.Gates.List(time.Now())
		if bad != nil { // the others are there all the same
			fmt.Fprintf(std.Err, "autopilot: %v\n", bad)
		}
		shown := []approval.Gate{}
		for _, g := range list {
			if all || g.Open() {
				shown = append(shown, g)
			}
		}
		if asJSON {
			return std.JSON(shown)
		}
		if len(shown) == 0 {
			return std.Say("no call waits for a person\n")
		}
		var b strings.Builder
		for _, g := range shown {
			fmt.Fprintf(&b, "%s  %-8s  %s  %s\n      %s: %s\n", g.ID, g.Status, g.AskedAt.Local().Format("02 Jan 15:04"), g.Subject, g.Rules[0].Rule, g.Rules[0].Why)
		}
		return std.Say("%s", b.String())
	}
	return group(c, checkCommand(std), showCommand(std), rulesCommand(std))
}

func showCommand(std outside.Stdio) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "show ID", Short: "Show a held call with its reasons and the diff", Args: arg.Exactly("the id of a gate")}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		n, err := open(c.Context(), std)
		if err != nil {
			return err
		}
		g, err := n.Gates.Get(args[0], time.Now())
		if err != nil {
			return outside.UsageHint("'autopilot gates --all' lists them", "%v", err)
		}
		if asJSON {
			return std.JSON(g)
		}
		return std.Say("%s", describe(g))
	}
	return c
}

// describe is a gate for a person.
func describe(g approval.Gate) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is %s\n  %s: %s\n  in %s\n", g.ID, g.Status, g.Tool, g.Subject, g.Dir)
	for _, f := range g.Rules {
		fmt.Fprintf(&b, "  held by %s: %s (%s)\n", f.Rule, f.Why, f.Part)
	}
	fmt.Fprintf(&b, "  asked %d times, first at %s; answer until %s\n", g.Asked, g.AskedAt.Local().Format(time.RFC1123), g.ExpiresAt.Local().Format(time.RFC1123))
	if g.By != "" {
		fmt.Fprintf(&b, "  decided by %s at %s %s\n", g.By, g.DecidedAt.Local().Format(time.RFC1123), g.Because)
	}
	fmt.Fprintf(&b, "  the call: %s\n", g.Input)
	if g.Diff != "" {
		fmt.Fprintf(&b, "\n%s\n", g.Diff)
	}
	return b.String()
}

func rulesCommand(std outside.Stdio) *cobra.Command {
	c := &cobra.Command{Use: "rules", Short: "List the rules by which calls are held", Args: arg.None}
	c.RunE = func(c *cobra.Command, _ []string) error {
		n, err := open(c.Context(), std)
		if err != nil {
			return err
		}
		for _, r := range n.Rules.Rules() {
			never := ""
			if r.Never {
				never = " (never approved in advance)"
			}
			fmt.Fprintf(std.Out, "%-18s %s%s\n", screen.Plain(r.Name), screen.Plain(r.Holds), never)
		}
		return nil
	}
	return c
}

// checked is the answer of 'gates check'.
type checked struct {
	Held     bool           `json:"held"`
	Findings []rule.Finding `json:"findings"`
}

func checkCommand(std outside.Stdio) *cobra.Command {
	var asJSON bool
	tool := "Bash"
	c := &cobra.Command{
		Use: "check 'COMMAND'", Short: "Say which rule would hold a command, and why", Args: arg.Exactly("a command, in quotes"),
		Long: "Say which rule would hold a command, and why. Exit status 0: it is free; 3: it is held. With --tool it is the\narguments of that tool, as JSON.",
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().StringVar(&tool, "tool", tool, "`NAME` of the tool")
	c.RunE = func(c *cobra.Command, args []string) error {
		n, err := open(c.Context(), std)
		if err != nil {
			return err
		}
		call, err := callOf(tool, args[0])
		if err != nil {
			return err
		}
		a := checked{Findings: hook.GateDesk{Rules: n.Rules, Desk: n.Gates, Home: std.Getenv("HOME")}.Judge(call)}
		a.Held = len(a.Findings) > 0
		switch {
		case asJSON:
			err = std.JSON(a)
		case !a.Held:
			err = std.Say("free\n")
		}
		for _, f := range a.Findings {
			if !asJSON && err == nil {
				err = std.Say("held by %s: %s\n  %s\n", f.Rule, f.Why, f.Part)
			}
		}
		if err == nil && a.Held {
			err = outside.Silent(supervisor.ExitFailures)
		}
		return err
	}
	return c
}

func callOf(tool, text string) (rule.Call, error) {
	dir, err := os.Getwd()
	if err != nil {
		return rule.Call{}, err
	}
	input := json.RawMessage(text)
	if tool == "Bash" {
		if input, err = json.Marshal(map[string]string{"command": text}); err != nil {
			return rule.Call{}, err
		}
	}
	if !json.Valid(input) {
		return rule.Call{}, outside.UsageHint(`as in --tool Write '{"file_path":"/etc/hosts"}'`, "the arguments of %s are no JSON", tool)
	}
	return rule.Call{Tool: tool, Input: input, Dir: dir}, nil
}

func approveCommand(std outside.Stdio) *cobra.Command {
	c := &cobra.Command{
		Use: "approve ID", Short: "Let a held call through, once", Args: arg.Exactly("the id of a gate; 'autopilot gates' lists them"),
		Long: "Let a call that is held through once, exactly as it was asked for. A paused run goes on with 'autopilot resume'.",
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return decide(c, std, args[0], "approve", func(n night.Night, id, by string) (approval.Gate, error) { return n.Gates.Approve(id, by, time.Now()) })
	}
	return c
}

func denyCommand(std outside.Stdio) *cobra.Command {
	var because string
	c := &cobra.Command{Use: "deny ID", Short: "Refuse a held call", Args: arg.Exactly("the id of a gate; 'autopilot gates' lists them")}
	c.Flags().StringVar(&because, "because", "", "`TEXT` that the session is told")
	c.RunE = func(c *cobra.Command, args []string) error {
		return decide(c, std, args[0], "deny", func(n night.Night, id, by string) (approval.Gate, error) {
			return n.Gates.Deny(id, by, because, time.Now())
		})
	}
	return c
}

func decide(c *cobra.Command, std outside.Stdio, id, verb string, do func(n night.Night, id, by string) (approval.Gate, error)) error {
	if err := ByPerson(c.Context(), std, verb); err != nil {
		return err
	}
	n, err := open(c.Context(), std)
	if err != nil {
		return err
	}
	g, err := do(n, id, Person())
	if err != nil {
		return outside.UsageHint("'autopilot gates --all' lists them", "%v", err)
	}
	return std.Say("%s is %s: %s\n", g.ID, g.Status, g.Subject)
}

// Person is who runs the command.
func Person() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}
