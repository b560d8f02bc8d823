//go:build !linux

package ptyrun_test

func describeTerminal(string) int { return 1 }

// zombie cannot be told here.
func zombie(int) bool { return false }
