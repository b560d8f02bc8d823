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
	// Blocks are counted in fragments; on FUSE the block size is something else.
	size := st.Frsize
	if size == 0 {
		size = st.Bsize
	}
	return st.Bavail * uint64(size), nil
}
