package journal

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockHolder returns the process that took the flock on f, 0 when it cannot be
// told. The format is that of /proc/locks in proc(5):
//
//	1: FLOCK  ADVISORY  WRITE 412 fe:00:131075 0 EOF
func lockHolder(f *os.File) int {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	want := fmt.Sprintf("%02x:%02x:%d", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev)), st.Ino)
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer locks.Close()
	for scan := bufio.NewScanner(locks); scan.Scan(); {
		field := strings.Fields(scan.Text())
		if len(field) < 6 || field[1] != "FLOCK" || field[5] != want {
			continue // waiting locks have "->" in field 1
		}
		pid, err := strconv.Atoi(field[4])
		if err == nil && pid > 0 {
			return pid
		}
	}
	return 0
}
