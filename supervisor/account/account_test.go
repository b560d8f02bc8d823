package account

import (
	"path/filepath"
	"regexp"
	"testing"
)

func TestOf(t *testing.T) {
	t.Parallel()
	login := []string{"HOME=/home/someone"}
	with := func(more ...string) []string { return append(login[:1:1], more...) }
	tests := []struct {
		name       string
		a, b       []string
		keyA, keyB bool
		same       bool
	}{
		{name: "the same login", a: login, b: with("PATH=/bin", "ANTHROPIC_MODEL=opus"), same: true},
		{name: "another home", a: login, b: []string{"HOME=/home/other"}},
		{name: "the folder of a home by name", a: login, b: with("CLAUDE_CONFIG_DIR=/home/someone/.claude/"), same: true},
		{name: "another folder", a: login, b: with("CLAUDE_CONFIG_DIR=/srv/claude")},
		{name: "one folder for two homes", a: []string{"HOME=/a", "CLAUDE_CONFIG_DIR=/srv/c"}, b: []string{"HOME=/b", "CLAUDE_CONFIG_DIR=/srv/c"}, same: true},
		{name: "a key that is not handed on", a: login, b: with("ANTHROPIC_API_KEY=k1"), same: true},
		{name: "a key that is handed on", a: login, b: with("ANTHROPIC_API_KEY=k1"), keyB: true},
		{name: "an empty key", a: login, b: with("ANTHROPIC_API_KEY="), keyB: true, same: true},
		{name: "two keys", a: with("ANTHROPIC_API_KEY=k1"), b: with("ANTHROPIC_API_KEY=k2"), keyA: true, keyB: true},
		{name: "one key in two homes", a: with("ANTHROPIC_API_KEY=k1"), b: []string{"HOME=/b", "ANTHROPIC_API_KEY=k1"}, keyA: true, keyB: true, same: true},
		{name: "a token", a: login, b: with("CLAUDE_CODE_OAUTH_TOKEN=t1")},
		{name: "two tokens", a: with("CLAUDE_CODE_OAUTH_TOKEN=t1"), b: with("CLAUDE_CODE_OAUTH_TOKEN=t2")},
		{name: "one token in two homes", a: with("CLAUDE_CODE_OAUTH_TOKEN=t1"), b: []string{"HOME=/b", "CLAUDE_CODE_OAUTH_TOKEN=t1"}, same: true},
		{name: "the key goes before the token", a: with("CLAUDE_CODE_OAUTH_TOKEN=t1", "ANTHROPIC_API_KEY=k1"), b: with("ANTHROPIC_API_KEY=k1"), keyA: true, keyB: true, same: true},
		{name: "the bearer token goes before the key", a: with("ANTHROPIC_AUTH_TOKEN=b", "ANTHROPIC_API_KEY=k1"), b: with("ANTHROPIC_AUTH_TOKEN=b"), keyA: true, same: true},
		{name: "one value as key and as token", a: with("ANTHROPIC_API_KEY=x"), b: with("CLAUDE_CODE_OAUTH_TOKEN=x"), keyA: true},
		{name: "the usual address by name", a: login, b: with("ANTHROPIC_BASE_URL=https://api.anthropic.com/"), same: true},
		{name: "another address", a: login, b: with("ANTHROPIC_BASE_URL=http://127.0.0.1:8080")},
		{name: "the last value counts", a: with("CLAUDE_CODE_OAUTH_TOKEN=t1", "CLAUDE_CODE_OAUTH_TOKEN=t2"), b: with("CLAUDE_CODE_OAUTH_TOKEN=t2"), same: true},
		{name: "a cloud", a: login, b: with("CLAUDE_CODE_USE_BEDROCK=1")},
		{name: "a cloud that is switched off", a: login, b: with("CLAUDE_CODE_USE_BEDROCK=0"), same: true},
		{name: "a cloud by another word", a: with("CLAUDE_CODE_USE_VERTEX=1"), b: with("CLAUDE_CODE_USE_VERTEX=True"), same: true},
		{name: "two clouds", a: with("CLAUDE_CODE_USE_BEDROCK=1"), b: with("CLAUDE_CODE_USE_VERTEX=1")},
		{name: "two profiles of a cloud", a: with("CLAUDE_CODE_USE_BEDROCK=1", "AWS_PROFILE=p"), b: with("CLAUDE_CODE_USE_BEDROCK=1", "AWS_PROFILE=q")},
		{name: "a cloud asks no token", a: with("CLAUDE_CODE_USE_BEDROCK=1", "CLAUDE_CODE_OAUTH_TOKEN=t1"), b: with("CLAUDE_CODE_USE_BEDROCK=1"), same: true},
	}
	for _, tt := range tests {
		a, b := Of("/srv/state", tt.a, tt.keyA), Of("/srv/state", tt.b, tt.keyB)
		if got := a.ID == b.ID; got != tt.same {
			t.Errorf("%s: same account %v, want %v", tt.name, got, tt.same)
		}
		if want := filepath.Join("/srv/state", "limits"); a.Dir != want {
			t.Errorf("folder %s, want %s", a.Dir, want)
		}
	}
}

func TestIDIsAHashOfAFixedForm(t *testing.T) {
	t.Parallel()
	a := Of("/srv/state", []string{"HOME=/home/someone", "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-secret"}, false)
	if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(a.ID) {
		t.Errorf("id %q, want 16 hexadecimal digits", a.ID)
	}
	// Versions that are in use at the same time must agree.
	if want := "0013b444fa9c5be6"; a.ID != want {
		t.Errorf("id %q, want %q", a.ID, want)
	}
}

func TestOfALogin(t *testing.T) {
	t.Parallel()
	home := func(global string) []string {
		dir := t.TempDir()
		if global != "" {
			write(t, filepath.Join(dir, ".claude.json"), global)
		}
		return []string{"HOME=" + dir}
	}
	of := func(environ []string) string { return Of("/srv/state", environ, false).ID }
	ann := of(home(`{"oauthAccount":{"accountUuid":"a-1","organizationUuid":"o-1"},"numStartups":3}`))

	if got := of(home(`{"numStartups":9,"oauthAccount":{"organizationUuid":"o-1","accountUuid":"a-1"}}`)); got != ann {
		t.Error("the login of one account in another home is another account")
	}
	folder := t.TempDir()
	write(t, filepath.Join(folder, ".claude.json"), `{"oauthAccount":{"accountUuid":"a-1","organizationUuid":"o-1"}}`)
	if got := of(append(home(""), "CLAUDE_CONFIG_DIR="+folder)); got != ann {
		t.Error("the login in a folder of its own is another account")
	}
	for name, other := range map[string][]string{
		"another account":      home(`{"oauthAccount":{"accountUuid":"a-2","organizationUuid":"o-1"}}`),
		"another organisation": home(`{"oauthAccount":{"accountUuid":"a-1","organizationUuid":"o-2"}}`),
		"nobody":               home(`{"numStartups":1}`),
		"half a file":          home(`{"oauthAccount":{"accountUuid":"a-1","organizationUuid":"o-1"`),
		"no file":              home(""),
		"a token beside it":    append(home(`{"oauthAccount":{"accountUuid":"a-1","organizationUuid":"o-1"}}`), "CLAUDE_CODE_OAUTH_TOKEN=t"),
	} {
		if of(other) == ann {
			t.Errorf("%s is taken for the account", name)
		}
		if a, b := of(other), of(other); a != b {
			t.Errorf("%s is %s and then %s", name, a, b)
		}
	}
}
