//go:build !linux

package account

import "fmt"

func runSystemHelper(name, _ string) error { return fmt.Errorf("no helper %q", name) }
