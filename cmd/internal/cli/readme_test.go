package cli_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"autopilot/cmd/internal/cli"
)

func TestReadmeTellsTheTruth(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(data)
	if n := strings.Count(readme, "\n"); n > 150 {
		t.Errorf("README has %d lines, at most 150 are read", n)
	}
	for _, c := range cli.ExitCodes() {
		if row := fmt.Sprintf("| %s | %s |", c[0], c[1]); !strings.Contains(readme, row) {
			t.Errorf("README lacks %q", row)
		}
	}
}
