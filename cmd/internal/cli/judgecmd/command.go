package judgecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/screen"
	"autopilot/metrics/spelling"
	"autopilot/supervisor/mode"
	"autopilot/supervisor/suitability"
)

// Live gathers the signals of the repository as they are now. The texts beside the signals
// are warnings about sources that could not be used. An error ends the command with its own
// exit code.
type Live struct {
	Suitability func(ctx context.Context) (suitability.Signals, []string, error)
	Mode        func(ctx context.Context) (*mode.Signals, []string, error)
}

// Commands are the commands of this package.
func Commands(std outside.Stdio, live Live) []*cobra.Command {
	return []*cobra.Command{Suitability(std, live), Mode(std, live)}
}

const stdin = "-"

// maxSignals bounds what is read of a file with signals, in bytes.
const maxSignals = 32 << 20

// flags are those that both commands have.
type flags struct {
	file   string
	asJSON bool
}

func (f *flags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.file, "signals", "", "judge the signals in `FILE`, a JSON object ('-' for standard input), instead of those of the repository")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
}

// take reads the signals from the file that was named, or else gathers them.
func take[T any](c *cobra.Command, std outside.Stdio, f flags, parse func([]byte) (T, error), live func(context.Context) (T, []string, error)) (T, []string, error) {
	var none T
	if !c.Flags().Changed("signals") {
		if live == nil {
			return none, nil, outside.UsageHint("name a file with --signals", "there are no signals to judge")
		}
		return live(c.Context())
	}
	data, err := readSignals(std.In, f.file)
	if err != nil {
		return none, nil, err
	}
	s, err := parse(data)
	if err != nil {
		return none, nil, refused(f.file, err)
	}
	return s, nil, nil
}

func readSignals(in io.Reader, name string) ([]byte, error) {
	if name == "" {
		return nil, outside.UsageHint("'-' stands for standard input", "--signals needs the name of a file")
	}
	if name != stdin {
		file, err := os.Open(name)
		if err != nil {
			return nil, outside.Usage("--signals: %v", err)
		}
		defer file.Close()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxSignals+1))
	if err != nil {
		return nil, outside.Usage("--signals: %v", err)
	}
	if len(data) > maxSignals {
		return nil, outside.Usage("--signals: %s has more than %d bytes", nameOf(name), maxSignals)
	}
	return data, nil
}

// refused is the error of a file that holds no signals, with the key that was meant.
func refused(name string, err error) error {
	var hint string
	var unknown interface{ Unknown() (string, []string) }
	if errors.As(err, &unknown) {
		key, known := unknown.Unknown()
		hint = "the keys are " + strings.Join(known, ", ")
		if n := nearest(key, known); n != "" {
			hint = fmt.Sprintf("did you mean %q?", n)
		}
	}
	return outside.UsageHint(hint, "--signals: %s: %v", nameOf(name), err)
}

// nearest is the known key that was meant, however it was spelled.
func nearest(key string, known []string) string {
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(s))
	}
	for _, k := range known {
		if plain(k) == plain(key) {
			return k
		}
	}
	return spelling.Meant(key, known)
}

func nameOf(name string) string {
	if name == stdin {
		return "standard input"
	}
	return name
}

// columns prints rows whose cells are one line each, aligned.
func columns(rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = oneLine(cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	w.Flush()
	return b.String()
}

// oneLine makes a text safe to print in a line of its own.
func oneLine(text string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(screen.Plain(strings.ToValidUTF8(text, "?")))
}

func oneLines(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = oneLine(text)
	}
	return out
}

// warned lists warnings below a table.
func warned(b *strings.Builder, warnings []string) {
	for _, text := range warnings {
		fmt.Fprintf(b, "warning: %s\n", oneLine(text))
	}
}
