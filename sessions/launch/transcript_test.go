package launch

import "testing"

func TestFileName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, kept, want string }{
		{"/home/me/my_app.go", "", "-home-me-my-app-go"}, {"my list/..x_1", "_-", "my-list---x_1"}, {"", "", ""}, {"é", "", "-"}, {"😀", "", "--"}, {"A-z_0", "_-", "A-z_0"},
	} {
		if got := FileName(tt.in, tt.kept); got != tt.want {
			t.Errorf("%q with %q: got %q, want %q", tt.in, tt.kept, got, tt.want)
		}
	}
	env := []string{"HOME=/h"}
	if got, want := Transcript(env, "/w/😀 x", "id"), "/h/.claude/projects/-w----x/id"; got != want {
		t.Errorf("transcript: got %q, want %q", got, want)
	}
	if got := ConfigDir(append(env, "CLAUDE_CONFIG_DIR=/c")); got != "/c" {
		t.Errorf("folder: got %q", got)
	}
}
