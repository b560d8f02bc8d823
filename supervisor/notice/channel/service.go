package channel

import (
	"slices"
	"strings"

	"autopilot/supervisor/notice/channel/shout"
)

// form is how a service is written to.
type form struct {
	host    bool   // the host of its address is a host and no secret
	example string // of an address

	text  func(string) string // makes plain text of what the service would read as more
	limit int                 // bytes of the text, as it is sent
	title string              // parameter that takes the title; empty: it is the first line of the text
	line  func(string) string // makes the title fit for that parameter
	most  int                 // bytes of the title
	fixed map[string]string   // parameters that a text must not depend on
}

// forms are the services. The limits are those of the services, with some room: Telegram
// takes 4096 characters, Discord 2000 in a text and 256 in a title, ntfy 4096 bytes, Pushover 1024
// characters and 250 of a title, Slack 4000 of what it promises not to cut.
func forms() map[string]form {
	plain := func(s string) string { return s }
	return map[string]form{
		shout.Discord: {
			example: "discord://TOKEN@WEBHOOKID", text: markdownText, limit: 1900, title: "title", line: markdownText, most: 240,
			fixed: map[string]string{"splitlines": "no", "json": "no"},
		},
		shout.Generic:    {host: true, example: "generic+https://HOST/PATH?template=json", text: plain, limit: 16 << 10, title: "title", line: plain, most: 500},
		shout.GoogleChat: {example: "googlechat://chat.googleapis.com/v1/spaces/SPACE/messages?key=KEY&token=TOKEN", text: googleText, limit: 3500},
		shout.Gotify:     {host: true, example: "gotify://HOST/TOKEN", text: plain, limit: 8 << 10, title: "title", line: plain, most: 500},
		shout.Matrix:     {host: true, example: "matrix://:TOKEN@HOST/?rooms=!ROOMID", text: mentionless, limit: 8 << 10},
		shout.Mattermost: {host: true, example: "mattermost://[USER@]HOST/TOKEN[/CHANNEL]", text: markdownText, limit: 3500},
		shout.Ntfy:       {host: true, example: "ntfy://[USER:PASSWORD@]HOST/TOPIC", text: plain, limit: 3800, title: "title", line: headerText, most: 500},
		shout.Pushover:   {example: "pushover://shoutrrr:TOKEN@USERKEY", text: plain, limit: 1000, title: "title", line: plain, most: 240},
		shout.RocketChat: {host: true, example: "rocketchat://[USER@]HOST/TOKEN_A/TOKEN_B[/CHANNEL]", text: markdownText, limit: 3500},
		shout.Slack:      {example: "slack://hook:AAAAAAAAA-BBBBBBBBB-CCCCCCCCCCCCCCCCCCCCCCCC@webhook", text: slackLines, limit: 3500, title: "title", line: slackText, most: 500},
		shout.SMTP: {
			host: true, example: "smtp://USER:PASSWORD@HOST:587/?from=ADDRESS&to=ADDRESS", text: mailText, limit: 16 << 10, title: "subject", line: headerText, most: 600,
			fixed: map[string]string{"usehtml": "no"},
		},
		shout.Telegram: {
			example: "telegram://TOKEN@telegram?chats=CHAT", text: mentionless, limit: 3900,
			fixed: map[string]string{"parsemode": "None", "title": "", "preview": "no"},
		},
	}
}

// Words that begin a spec and are no scheme of a service.
const (
	commandScheme = "command"
	desktopWord   = "desktop"
)

// Schemes are the beginnings of specs that are known, as they are written.
func Schemes() []string {
	out := []string{commandScheme + ":", desktopWord, "generic+https://", "generic+http://"}
	for s := range forms() {
		out = append(out, s+"://")
	}
	slices.Sort(out)
	return out
}

// Examples shows how each kind of channel is written.
func Examples() []string {
	out := []string{"command:WORDS", desktopWord}
	for _, f := range forms() {
		out = append(out, f.example)
	}
	slices.SortFunc(out, strings.Compare)
	return out
}
