package statedir

import (
	"strings"
	"testing"
)

func TestRoot(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		env  map[string]string
		goos string
		want string
		err  string
	}{
		{"default", map[string]string{"HOME": "/home/me"}, "linux", "/home/me/.local/state/autopilot", ""},
		{"xdg", map[string]string{"HOME": "/home/me", "XDG_STATE_HOME": "/s"}, "linux", "/s/autopilot", ""},
		{"xdg without home", map[string]string{"XDG_STATE_HOME": "/s/"}, "linux", "/s/autopilot", ""},
		{"darwin", map[string]string{"HOME": "/Users/me"}, "darwin", "/Users/me/Library/Application Support/autopilot", ""},
		{"darwin xdg", map[string]string{"HOME": "/Users/me", "XDG_STATE_HOME": "/s"}, "darwin", "/s/autopilot", ""},
		{"relative xdg", map[string]string{"HOME": "/home/me", "XDG_STATE_HOME": "s"}, "linux", "", `XDG_STATE_HOME is "s"; set it to an absolute path`},
		{"no home", nil, "linux", "", "HOME is not set; set HOME, or XDG_STATE_HOME"},
		{"relative home", map[string]string{"HOME": "me"}, "linux", "", `HOME is "me"; set it`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Root(func(k string) string { return tt.env[k] }, tt.goos)
			if got != tt.want {
				t.Errorf("Root = %q, want %q", got, tt.want)
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error = %v, want %q", err, tt.err)
			}
		})
	}
}
