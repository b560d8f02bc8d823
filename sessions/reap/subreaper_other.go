//go:build !linux

package reap

import "errors"

func becomeSubreaper() error { return errors.ErrUnsupported }
