package metercmd_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"autopilot/cmd/internal/cli/metercmd"
	"autopilot/cmd/internal/outside"
)

// call runs the command in a home of its own.
func call(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := metercmd.Command(outside.Stdio{Out: &out, Err: &out, Environ: []string{"HOME=" + t.TempDir()}})
	c.SetArgs(args)
	c.SetOut(&out)
	c.SilenceUsage, c.SilenceErrors = true, true
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

func TestPrometheus(t *testing.T) {
	t.Parallel()
	text, err := call(t, "--prometheus")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nautopilot_runs_active{state=\"running\"} 0\n", "# TYPE autopilot_build_info gauge\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestDashboard(t *testing.T) {
	t.Parallel()
	text, err := call(t, "dashboard")
	if err != nil || !json.Valid([]byte(text)) || !strings.Contains(text, `"uid": "autopilot-runs"`) {
		t.Errorf("%v: %.200s", err, text)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--prometheus", "--json"}, {"dashboard", "x"}, {"other"}} {
		if _, err := call(t, args...); outside.Report(outside.Stdio{Err: new(bytes.Buffer)}, err) != outside.ExitUsage {
			t.Errorf("%v: %v", args, err)
		}
	}
}
