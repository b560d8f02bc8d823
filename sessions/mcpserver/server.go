package mcpserver

import (
	"context"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"autopilot/metrics/episode"
	"autopilot/sessions/completion"
)

// name is what clients know the server by; with Claude Code its tools are called
// mcp__autopilot__autopilot_status and so on.
const name = "autopilot"

const instructions = `These tools belong to persistent completion: while it is on, an agent that wants to stop is sent on until the tasks of the project are complete or a limit is reached.
Use autopilot_status or autopilot_progress to see what is left before you finish, and autopilot_predict when you do not know what to take up next.
Call autopilot_report once at the end of your work: what is completed, what is carried over, and in needs_person the one question that only a person can answer.
Switch it on or off, reset it or change its limits only when a person asks for that.`

// counter is what switches persistent completion and counts.
type counter interface {
	Status(ctx context.Context, now time.Time) (completion.Status, error)
	Enable(ctx context.Context, now time.Time) (completion.Status, error)
	Disable(ctx context.Context, now time.Time) (completion.Status, error)
	Reset(ctx context.Context, now time.Time) (completion.Status, error)
}

// recorder has the settings, the log, the tasks and the agent's report.
type recorder interface {
	Configure(c completion.Change, now time.Time) (completion.Settings, error)
	Log(last int) ([]completion.Event, error)
	Progress(ctx context.Context) (completion.Progress, error)
	Report(r completion.Report) error
}

// teacher knows the earlier episodes.
type teacher interface {
	Learn() (episode.Learned, error)
	History(query string, limit int) ([]episode.Match, error)
	Predict(ctx context.Context) (episode.Prediction, error)
}

// work is all that the tools need.
type work struct {
	counter
	recorder
	teacher
	network bool // looking at the tasks may ask a service on the network
}

// New is a server with all tools of the options. It can be connected to any
// transport; Serve is the usual way.
func New(o Options) *mcp.Server {
	d := o.Desk
	return newServer(work{counter: d, recorder: d, teacher: d, network: d.Place.GH != nil}, o)
}

func newServer(w work, o Options) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: name, Title: "Autopilot", Version: o.Version}, &mcp.ServerOptions{
		Instructions: strings.TrimSuffix(instructions+"\n"+o.Instructions, "\n"),
		// Without this the library announces a log and changes of the list of tools.
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	s.AddReceivingMiddleware(withoutDiscovery)
	w.addSwitches(s)
	w.addSettings(s)
	w.addRecords(s)
	w.addLessons(s)
	if o.Supervised {
		s.RemoveTools("autopilot_enable", "autopilot_disable", "autopilot_config", "autopilot_reset")
	}
	for _, t := range o.Tools {
		t.add(s)
	}
	return s
}

// withoutDiscovery sends a client that tries server/discover on to initialize.
// The library takes a discovery for an initialization, and would refuse a client
// that probes with the one and then sends the other.
func withoutDiscovery(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "server/discover" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}
		}
		return next(ctx, method, req)
	}
}
