//go:build !linux

package runs

import "fmt"

func runSystemHelper(name string, _ []string) error { return fmt.Errorf("no helper %q", name) }
