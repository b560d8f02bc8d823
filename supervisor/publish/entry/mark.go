package entry

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"autopilot/supervisor/publish"
)

// Mark says in the text of a comment what the comment tells.
type Mark struct {
	Subject string
	Key     string
	At      int64 // milliseconds since 1970 UTC of the update; 0 when it had no time
}

// Clear is the mark of an update with subject, project and key as they are, for services that
// keep what is hidden in a text. What could end the hidden part is coded.
func Clear(key string, u publish.Update) Mark {
	word := regexp.MustCompile(`^[A-Za-z0-9_./:=+-]{1,256}$`)
	m := Mark{Subject: u.Entry(), Key: key, At: max(u.At.UnixMilli(), 0)}
	if !word.MatchString(m.Subject) {
		m.Subject = code(m.Subject)
	}
	if !word.MatchString(m.Key) {
		m.Key = code(m.Key)
	}
	return m
}

// Coded is the mark of an update with hashes in place of subject and key. It holds
// nothing but digits and letters, which pass through every conversion between markup
// languages.
func Coded(key string, u publish.Update) Mark {
	return Mark{Subject: code(u.Entry()), Key: code(key), At: max(u.At.UnixMilli(), 0)}
}

func code(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:10])
}

// Hidden is the mark as a comment of HTML.
func (m Mark) Hidden() string {
	return fmt.Sprintf("<!-- autopilot %s %s %d -->", m.Subject, m.Key, m.At)
}

// ReadHidden finds the mark of [Mark.Hidden] at the beginning of a text. One further
// down is a quotation.
func ReadHidden(text string) (Mark, bool) {
	return readMark(regexp.MustCompile(`^\s*<!-- autopilot (\S+) (\S+) (\d{1,18}) -->`).FindStringSubmatch(text))
}

// Line is the mark as plain text; for a coded mark.
func (m Mark) Line() string {
	return fmt.Sprintf("autopilot %s %s %d", m.Subject, m.Key, m.At)
}

// ReadLine finds the mark of [Mark.Line] at the end of a text. Nothing but markup of
// Jira or HTML may follow it.
func ReadLine(text string) (Mark, bool) {
	all := regexp.MustCompile(`\bautopilot ([0-9a-f]{20}) ([0-9a-f]{20}) (\d{1,18})\b`).FindAllStringSubmatchIndex(text, -1)
	if len(all) == 0 {
		return Mark{}, false
	}
	at := all[len(all)-1]
	rest := regexp.MustCompile(`<[^<>]*>|\{[^{}]*\}|&nbsp;`).ReplaceAllString(text[at[1]:], "")
	if strings.TrimSpace(rest) != "" {
		return Mark{}, false
	}
	return readMark([]string{"", text[at[2]:at[3]], text[at[4]:at[5]], text[at[6]:at[7]]})
}

func readMark(found []string) (Mark, bool) {
	if found == nil {
		return Mark{}, false
	}
	at, err := strconv.ParseInt(found[3], 10, 64)
	return Mark{Subject: found[1], Key: found[2], At: at}, err == nil
}
