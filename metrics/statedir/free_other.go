//go:build !linux

package statedir

import (
	"errors"

	"golang.org/x/sys/unix"
)

func freeAt(path string) (uint64, error) {
	var st unix.Statfs_t
	for {
		err := unix.Statfs(path, &st)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, err
		}
		break
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}
