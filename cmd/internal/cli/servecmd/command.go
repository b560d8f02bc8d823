package servecmd

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/cli/nightcmd"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/serve"
	"autopilot/cmd/internal/serve/address"
	"autopilot/metrics/statedir"
	"autopilot/supervisor/fleet"
)

// With makes what the page has from others, for the state root that it shows.
type With func(root string) serve.Parts

// flags are those of the command.
type flags struct {
	listen    string
	tokenFile string
	open      bool
	readOnly  bool
	json      bool
}

// place is what the command says of the page, for a program.
type place struct {
	URL      string `json:"url,omitempty"`   // of the page
	Login    string `json:"login,omitempty"` // logs in who opens it, unless the token is in a file
	Token    string `json:"token,omitempty"` // likewise
	File     string `json:"token_file,omitempty"`
	Socket   string `json:"socket,omitempty"`
	ReadOnly bool   `json:"read_only"`
	PID      int    `json:"pid"`
}

// Command is 'serve'.
func Command(std outside.Stdio, with With) *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use: "serve", Short: "Serve a page with all runs of this machine, to look at and to decide on", Args: arg.None,
		Long: "Serve a page for the browser: what is on and what was, each run with its sessions, progress, plots and events,\nand what waits for a person, with buttons for stop, approve, deny and answer. Only this machine can reach it; from\nanother one forward the port: ssh -L 7717:127.0.0.1:7717 HOST. The address that is printed holds a token that lets\nin; programs send it as 'Authorization: Bearer TOKEN', to /api/overview.json, /api/run.json?project=P&run=R,\n/api/events and /metrics.\n\nThe page needs no repository and reads no settings. When it ends, runs go on.",
		Example: "  autopilot serve\n  autopilot serve --open\n  autopilot serve --read-only --listen 127.0.0.1:8080 --token-file ~/.config/autopilot/token\n" +
			"  autopilot serve --listen unix:$XDG_RUNTIME_DIR/autopilot/page.sock",
	}
	c.Flags().StringVar(&f.listen, "listen", "", fmt.Sprintf("`ADDRESS`: a loopback HOST:PORT, port 0 for any, or unix:PATH (default 127.0.0.1:%d or the next free one)", address.DefaultPort))
	c.Flags().BoolVar(&f.open, "open", false, "open it in the browser")
	c.Flags().StringVar(&f.tokenFile, "token-file", "", "keep the token in `FILE`, for programs; it is made when it is not there. Every program of yours can read it")
	c.Flags().BoolVar(&f.readOnly, "read-only", false, "only show; no buttons")
	c.Flags().BoolVar(&f.json, "json", false, "print where it is as JSON")
	c.RunE = func(c *cobra.Command, _ []string) error { return run(c.Context(), std, f, with) }
	return c
}

func run(ctx context.Context, std outside.Stdio, f flags, with With) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends us the default way
	root, err := statedir.Root(std.Getenv, runtime.GOOS)
	if err != nil {
		return &outside.Error{Code: outside.ExitUsage, Err: err}
	}
	if !f.readOnly {
		if err := byPerson(ctx, std, root); err != nil {
			return err
		}
	}
	a, err := address.Parse(f.listen)
	if err != nil {
		return outside.UsageHint("the page is for this machine: 127.0.0.1:PORT, localhost:PORT, [::1]:PORT or unix:PATH; from elsewhere, forward the port with ssh -L", "--listen: %v", err)
	}
	if a.Socket != "" && (f.open || f.tokenFile != "") {
		return outside.Usage("--open and --token-file are for a port, not for a socket")
	}
	o := serve.Options{Board: &serve.Live{Root: root, Environ: std.Environ}, Log: slog.New(slog.NewTextHandler(std.Err, nil))}
	if with != nil {
		o.Parts = with(root)
	}
	if f.readOnly {
		o.Actor = nil
	}
	o.Hidden = func(ctx context.Context) bool {
		return fleet.Hidden(ctx, fleet.Options{Root: root, Now: time.Now()})
	}
	o.Inside = func(ctx context.Context, pid int) string {
		return fleet.Inside(ctx, fleet.Options{Root: root, Now: time.Now()}, pid)
	}
	if a.Socket == "" {
		if o.Token, err = token(f.tokenFile); err != nil {
			return outside.UsageHint("it has to be a file of yours alone (mode 0600) with at least 32 characters, or none yet", "--token-file: %v", err)
		}
	}
	l, err := a.Listen()
	if err != nil {
		return outside.UsageHint("choose another one with --listen; port 0 takes any that is free", "%v", err)
	}
	return listen(ctx, std, listening{flags: f, options: o, listener: l, socket: a.Socket})
}

// byPerson refuses a page with buttons inside a session: an agent is not to decide what it
// may do.
func byPerson(ctx context.Context, std outside.Stdio, root string) error {
	if err := nightcmd.ByPerson(ctx, std, "serve without --read-only"); err != nil {
		return err
	}
	if id := fleet.Inside(ctx, fleet.Options{Root: root, Now: time.Now()}, os.Getpid()); id != "" {
		return outside.UsageHint("a person does it, in a shell of their own", "serve without --read-only is not for a session of autopilot, and this is one of run %s", id)
	}
	return nil
}

// listening is a page that is about to be served.
type listening struct {
	flags
	options  serve.Options
	listener net.Listener
	socket   string
}

func listen(ctx context.Context, std outside.Stdio, l listening) error {
	p := place{Socket: l.socket, ReadOnly: l.options.Actor == nil, PID: os.Getpid(), File: l.tokenFile}
	if l.socket == "" {
		p.URL = "http://" + l.listener.Addr().String() + "/"
		if l.tokenFile == "" {
			p.Token, p.Login = l.options.Token, p.URL+"login?token="+l.options.Token
		}
	}
	if err := l.say(std, p); err != nil {
		return fmt.Errorf("say where the page is: %w", err)
	}
	if l.open {
		done, err := open(std, p.URL+"login?token="+l.options.Token)
		defer done()
		if err != nil {
			fmt.Fprintf(std.Err, "autopilot: %v; open it yourself\n", err)
		}
	}
	return serve.New(l.options).Run(ctx, l.listener)
}

func (l listening) say(std outside.Stdio, p place) error {
	switch {
	case l.json:
		return std.JSON(p)
	case p.Socket != "":
		return std.Say("the page is on the socket %s\nCtrl-C ends it; runs go on\n", p.Socket)
	case p.Login == "":
		return std.Say("the page is at %s\nthe token is in %s\nCtrl-C ends it; runs go on\n", p.URL, p.File)
	}
	return std.Say("the page is at %s\nCtrl-C ends it; runs go on\n", p.Login)
}
