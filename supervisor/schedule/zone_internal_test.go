package schedule

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLocalZone(t *testing.T) {
	t.Parallel()
	link := func(target string) func(*testing.T, string) {
		return func(t *testing.T, etc string) {
			if err := os.Symlink(target, filepath.Join(etc, "localtime")); err != nil {
				t.Fatal(err)
			}
		}
	}
	file := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, etc string) {
			if err := os.WriteFile(filepath.Join(etc, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	type setup = []func(*testing.T, string)
	tests := []struct {
		name, tz string
		etc      setup
		want     string // empty: an error
	}{
		{"nothing", "", nil, "UTC"},
		{"the variable", "Asia/Tokyo", setup{link("/usr/share/zoneinfo/Europe/Berlin")}, "Asia/Tokyo"},
		{"with a colon", ":Asia/Tokyo", nil, "Asia/Tokyo"},
		{"as a path", "/usr/share/zoneinfo/Asia/Tokyo", nil, "Asia/Tokyo"},
		{"a rule", "CET-1CEST,M3.5.0,M10.5.0/3", setup{link("/usr/share/zoneinfo/Europe/Berlin")}, ""},
		{"a link", "", setup{link("/usr/share/zoneinfo/Europe/Berlin"), file("timezone", "Asia/Tokyo\n")}, "Europe/Berlin"},
		{"a relative link", "", setup{link("../usr/share/zoneinfo/America/Argentina/Buenos_Aires")}, "America/Argentina/Buenos_Aires"},
		{"a link of macOS", "", setup{link("/var/db/timezone/zoneinfo/Europe/Berlin")}, "Europe/Berlin"},
		{"a posix link", "", setup{link("/usr/share/zoneinfo/posix/Europe/Berlin")}, "Europe/Berlin"},
		{"a copy and a name", "", setup{file("localtime", "TZif"), file("timezone", "Europe/Berlin\n")}, "Europe/Berlin"},
		{"a name alone", "", setup{file("timezone", "Europe/Berlin\n")}, "Europe/Berlin"},
		{"a copy alone", "", setup{file("localtime", "TZif")}, ""},
		{"a link to somewhere else", "", setup{link("/opt/clock")}, "UTC"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			etc := t.TempDir()
			for _, f := range tt.etc {
				f(t, etc)
			}
			got, err := localZone(tt.tz, etc)
			if got != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
	t.Run("a link to a link", func(t *testing.T) {
		t.Parallel()
		etc := t.TempDir()
		link("clock")(t, etc)
		if err := os.Symlink("/usr/share/zoneinfo/Europe/Berlin", filepath.Join(etc, "clock")); err != nil {
			t.Fatal(err)
		}
		if got, err := localZone("", etc); got != "Europe/Berlin" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
