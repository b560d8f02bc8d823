//go:build !linux

package shared

import "fmt"

func runSystemHelper(name, _ string) error { return fmt.Errorf("no helper %q", name) }
