package address_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"autopilot/cmd/internal/serve/address"
)

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"0.0.0.0:80", ":80", "[::]:80", "192.168.1.2:80", "10.0.0.1:0", "example.org:80", "localhost.example.org:80", "myhost:80", "127.0.0.1", "127.0.0.1:http", "127.0.0.1:-1",
		"127.0.0.1:65536", "[::ffff:192.168.1.2]:80", "[fe80::1%eth0]:80", "[::1%lo]:80", "2130706433:80", "0x7f.1:80", "unix:", "http://127.0.0.1:80", "unix:/" + strings.Repeat("a", 120),
	} {
		if a, err := address.Parse(text); err == nil {
			t.Errorf("Parse(%q) = %+v, want an error", text, a)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"127.0.0.1:80": "127.0.0.1:80", "localhost:0": "127.0.0.1:0", "LOCALHOST:1": "127.0.0.1:1", "[::1]:80": "::1:80", "127.8.9.10:7": "127.8.9.10:7", "[::ffff:127.0.0.1]:80": "127.0.0.1:80",
	} {
		a, err := address.Parse(text)
		if got := a.Host.String() + ":" + itoa(a.Port); err != nil || got != want {
			t.Errorf("Parse(%q) = %s, %v, want %s", text, got, err, want)
		}
	}
	if a, err := address.Parse(""); err != nil || !a.IsDefault() {
		t.Errorf("Parse of nothing = %+v, %v, want the default", a, err)
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

func TestListenOnAPort(t *testing.T) {
	t.Parallel()
	l := listen(t, "127.0.0.1:0")
	if tcp, ok := l.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() || tcp.Port == 0 {
		t.Errorf("listens on %v, want a port of loopback", l.Addr())
	}
	a, err := address.Parse(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if second, err := a.Listen(); err == nil {
		_ = second.Close()
		t.Error("a port that is taken was taken again")
	}
}

func TestDefaultTakesTheNextPort(t *testing.T) {
	t.Parallel()
	first, second := listen(t, ""), listen(t, "")
	if first.Addr().String() == second.Addr().String() {
		t.Errorf("both listen on %v", first.Addr())
	}
}

func listen(t *testing.T, text string) net.Listener {
	t.Helper()
	a, err := address.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	l, err := a.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "s")
	l := listen(t, "unix:"+path)
	for name, want := range map[string]os.FileMode{path: 0o600 | os.ModeSocket, filepath.Dir(path): 0o700 | os.ModeDir} {
		info, err := os.Lstat(name)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want mode %v", name, info.Mode(), err, want)
		}
	}
	refused(t, path, "another page listens")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the end: %v, want no socket", err)
	}
}

func TestStaleSocketIsReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(private(t), "s")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	listen(t, "unix:"+path)
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("nobody answers: %v", err)
	}
	_ = c.Close()
}

func TestSocketRefuses(t *testing.T) {
	t.Parallel()
	dir := private(t)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, file, "is no socket")
	link := filepath.Join(dir, "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	refused(t, link, "is no socket")
	if data, err := os.ReadFile(file); err != nil || string(data) != "precious" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	shared := filepath.Join(dir, "shared")
	if err := os.Mkdir(shared, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(shared, 0o755); err != nil {
		t.Fatal(err)
	}
	refused(t, filepath.Join(shared, "s"), "open to others")
	refused(t, filepath.Join(file, "s"), "not a directory")
}

func private(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func refused(t *testing.T, path, why string) {
	t.Helper()
	a, err := address.Parse("unix:" + path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := a.Listen()
	if err == nil {
		_ = l.Close()
		t.Fatalf("listens on %s", path)
	}
	if !strings.Contains(err.Error(), why) {
		t.Errorf("error = %v, want one that says %q", err, why)
	}
}
