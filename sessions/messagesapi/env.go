package messagesapi

import "os"

// Env is the whole environment for a CLI that is to talk to the server at url and to nothing else, with its files under
// home. Nothing but PATH is taken from this process. The key is a fake. IS_SANDBOX lets root skip permissions.
func Env(home, url string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + home,
		"TERM=dumb",
		"LANG=C.UTF-8",
		"IS_SANDBOX=1",
		"ANTHROPIC_BASE_URL=" + url,
		"ANTHROPIC_API_KEY=sk-fake",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1",
	}
}
