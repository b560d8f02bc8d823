package address

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// DefaultPort is tried first when no address is given, and then those behind it.
const (
	DefaultPort = 7717
	nextPorts   = 10
)

const (
	maxSocket = 100 // bytes of a socket's path that every system takes
	answers   = 2 * time.Second
)

// Address is where to listen. The zero Address is the default.
type Address struct {
	Socket string // absolute path; empty for a port
	Host   netip.Addr
	Port   int
}

// Parse reads HOST:PORT, where HOST is a loopback address or localhost, or unix:PATH.
// Nothing is the default.
func Parse(text string) (Address, error) {
	if text == "" {
		return Address{}, nil
	}
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		return parseSocket(path)
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return Address{}, fmt.Errorf("%q is no address: HOST:PORT or unix:PATH is wanted", text)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return Address{}, fmt.Errorf("%q is no port", port)
	}
	if strings.EqualFold(host, "localhost") {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.Zone() != "" || !ip.IsLoopback() {
		return Address{}, fmt.Errorf("%q is not a loopback address: others could reach the page", host)
	}
	return Address{Host: ip.Unmap(), Port: int(n)}, nil
}

func parseSocket(path string) (Address, error) {
	if path == "" {
		return Address{}, errors.New("unix: needs a path")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return Address{}, fmt.Errorf("make %s absolute: %w", path, err)
	}
	if len(abs) > maxSocket {
		return Address{}, fmt.Errorf("the path of the socket has %d bytes, %d are possible", len(abs), maxSocket)
	}
	return Address{Socket: abs}, nil
}

// IsDefault reports whether nothing was said.
func (a Address) IsDefault() bool { return a.Socket == "" && !a.Host.IsValid() }

// Listen listens. The caller owes the listener a Close, which also removes a socket. A
// port that is taken is an error, but for the default, which has others behind it.
func (a Address) Listen() (net.Listener, error) {
	if a.Socket != "" {
		return listenSocket(a.Socket)
	}
	if !a.IsDefault() {
		return listenPort(a.Host, a.Port)
	}
	var failed error
	for i := range nextPorts {
		l, err := listenPort(netip.AddrFrom4([4]byte{127, 0, 0, 1}), DefaultPort+i)
		if err == nil {
			return l, nil
		}
		failed = err
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return nil, failed
}

func listenPort(host netip.Addr, port int) (net.Listener, error) {
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(host, uint16(port))))
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("internal error: %s is not loopback", l.Addr()), l.Close())
	}
	return l, nil
}

func listenSocket(path string) (net.Listener, error) {
	if err := ownFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := clearStale(path); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("protect the socket: %w", err), l.Close())
	}
	return l, nil
}

// ownFolder makes the folder of a socket, or makes sure that it is its owner's alone.
func ownFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of the socket: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at the folder of the socket: %w", err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("folder %s belongs to somebody else", dir)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("folder %s is open to others (%04o); one of mode 0700 is wanted", dir, info.Mode().Perm())
	}
	return nil
}

// clearStale removes a socket that nobody listens on.
func clearStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the socket: %w", err)
	}
	if info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("%s is there and is no socket", path)
	}
	c, err := net.DialTimeout("unix", path, answers)
	if err == nil {
		_ = c.Close()
		return fmt.Errorf("another page listens on %s", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("another program may listen on %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the socket that was left behind: %w", err)
	}
	return nil
}
