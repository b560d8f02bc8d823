package serve

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"autopilot/probe/proctree"

	"golang.org/x/sys/unix"
)

// peerOfSocket asks the kernel, which wrote it down when the other end connected.
// One that has ended since has left the connection to another.
func peerOfSocket(c *net.UnixConn) (pid int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return gone
	}
	var cred *unix.Ucred
	if raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }) != nil || err != nil {
		return gone
	}
	if p, err := proctree.Read(proctree.Root, int(cred.Pid)); cred.Pid <= 0 || err != nil || p.Dead() {
		return gone
	}
	return int(cred.Pid)
}

// peerOfPort finds the process that has the other end of a connection within this
// machine: the table of the kernel names its socket, and one of our processes has it open.
func peerOfPort(remote, local net.Addr) (pid int) {
	from, okFrom := remote.(*net.TCPAddr)
	to, okTo := local.(*net.TCPAddr)
	if !okFrom || !okTo {
		return gone
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		if inode := socketOf(table, from.Port, to.Port); inode != "" {
			return holder("socket:[" + inode + "]")
		}
	}
	return gone
}

// socketOf is the inode of the socket that goes from one port to another. Both ends are on
// this machine, and only one of them goes that way.
func socketOf(table string, from, to int) string {
	f, err := os.Open(table)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	fromEnd, toEnd := fmt.Sprintf(":%04X", from), fmt.Sprintf(":%04X", to)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		const local, remote, inode = 1, 2, 9
		fields := strings.Fields(lines.Text())
		if len(fields) > inode && strings.HasSuffix(fields[local], fromEnd) && strings.HasSuffix(fields[remote], toEnd) && fields[inode] != "0" {
			return fields[inode]
		}
	}
	return ""
}

// holder is the first process that has a file open, as far as we may look.
func holder(target string) (pid int) {
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return hidden
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == target {
			if pid, err := strconv.Atoi(strings.Split(link, "/")[2]); err == nil {
				return pid
			}
		}
	}
	return hidden
}
