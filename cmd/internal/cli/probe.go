package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/probe"
	"autopilot/probe/tier"
)

// verdict is a snapshot with what follows from it.
type verdict struct {
	Snapshot probe.Snapshot `json:"snapshot"`
	tier.Judgement
}

func probeCommand(std outside.Stdio) *cobra.Command {
	var asJSON, watch bool
	var file, agents string
	c := &cobra.Command{
		Use: "probe", Short: "Show the machine's resources, its tier and the cap on sub-agents", Args: arg.None,
		Long: "Measure available memory, swap, other Claude Code sessions and memory pressure, and show the tier, the\nsignal that decided it, and how many sub-agents a session may have at once. --snapshot judges a JSON\nfile instead, with the fields ram_available_gb, swap_used_gb, peers and memory_pressure_pct_free, each\na number or null; - reads standard input.",
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&watch, "watch", false, "look again every few seconds until interrupted")
	c.Flags().StringVar(&file, "snapshot", "", "judge the snapshot in `FILE` instead of this machine")
	c.Flags().StringVar(&agents, "agents-per-wave", "", "sub-agents at once on a green machine [6]")
	c.RunE = func(c *cobra.Command, _ []string) error {
		var flags []config.Value
		if agents != "" {
			flags = append(flags, config.Value{Key: "agents-per-wave", Raw: []string{agents}, Origin: "flag --agents-per-wave"})
		}
		cfg, err := probeConfig(c, std, flags)
		if err != nil {
			return err
		}
		if file != "" {
			if watch {
				return outside.Usage("--watch and --snapshot exclude each other")
			}
			s, err := job.ReadSnapshot(std, file)
			if err != nil {
				return err
			}
			return printVerdict(std, s, cfg.AgentsPerWave, asJSON)
		}
		if watch {
			return watchProbe(c.Context(), std, cfg, asJSON)
		}
		return printVerdict(std, job.TakeSnapshot(c.Context()), cfg.AgentsPerWave, asJSON)
	}
	return c
}

// probeConfig resolves the settings; outside a repository those of the person.
func probeConfig(c *cobra.Command, std outside.Stdio, flags []config.Value) (config.Resolved, error) {
	top := ""
	if r, err := job.FindRepo(c.Context()); err == nil {
		top = r.Top
	}
	return job.Resolve(std, top, flags)
}

func printVerdict(std outside.Stdio, s probe.Snapshot, agents int, asJSON bool) error {
	v := verdict{Snapshot: s, Judgement: tier.Judge(s.Signals, agents)}
	if asJSON {
		enc := json.NewEncoder(std.Out)
		return enc.Encode(v)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "tier        %s (decided by %s: %s)\n", v.Tier, v.Signal, v.Reason)
	if v.Cap == 0 {
		b.WriteString("sub-agents  none: the session works as the coordinator alone\n")
	} else {
		fmt.Fprintf(&b, "sub-agents  %d at once\n", v.Cap)
	}
	for _, p := range v.Parts {
		value := p.Value
		if p.Absent {
			value = "absent"
		}
		fmt.Fprintf(&b, "  %-26s %-10s %s\n", p.Signal, value, p.Tier)
	}
	for _, p := range s.PeerSessions {
		fmt.Fprintf(&b, "  peer        pid %d  %s\n", p.PID, p.Cmdline)
	}
	for _, a := range s.Absent {
		fmt.Fprintf(&b, "  absent      %s: %s\n", a.Signal, a.Reason)
	}
	_, err := io.WriteString(std.Out, b.String())
	return err
}

func watchProbe(ctx context.Context, std outside.Stdio, cfg config.Resolved, asJSON bool) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	every := min(cfg.ProbeInterval, 5*time.Second)
	for {
		if err := printVerdict(std, job.TakeSnapshot(ctx), cfg.AgentsPerWave, asJSON); err != nil {
			return err
		}
		t := time.NewTimer(every)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-t.C:
		}
	}
}
