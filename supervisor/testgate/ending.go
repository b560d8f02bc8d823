package testgate

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// ending is how a command came to its end.
type ending string

const (
	exited    ending = "exited"    // by itself, with a status
	overtime  ending = "overtime"  // it was ended at the time limit
	cancelled ending = "cancelled" // the whole run was
	killed    ending = "killed"    // by a signal that was not ours and was meant to end it
	crashed   ending = "crashed"   // by a signal that its own fault causes
	unstarted ending = "unstarted" // it never ran
)

// endingOf tells it from the exit status, which is -1 where there is none, and the
// words that package gate has for each case.
func endingOf(exit int, detail string) ending {
	if exit >= 0 {
		return exited
	}
	if name, ok := strings.CutPrefix(detail, "killed by "); ok {
		name, _, _ = strings.Cut(name, " ")
		if slices.Contains([]string{"SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"}, name) {
			return killed
		}
		return crashed
	}
	switch {
	case strings.HasPrefix(detail, "not done within the time limit"):
		return overtime
	case strings.HasPrefix(detail, "cancelled after"), strings.HasPrefix(detail, "not run: "):
		return cancelled
	}
	return unstarted
}

// Statuses by which a shell says what became of the last command in it.
const (
	notExecutable = 126
	notFound      = 127
	bySignal      = 128 // and the signal's number
)

// judged is what a failure means: who can do something about it, and what.
type judged struct {
	class Class
	way   string
}

func (e ending) judge(exit int) judged {
	switch e {
	case overtime:
		return judged{Transient, "find what hangs in the output, or raise the time limit of the test gate"}
	case cancelled:
		return judged{Transient, "run the test gate again"}
	case killed:
		return judged{Transient, "see what ended it: too little memory, a service manager, a person"}
	case crashed:
		return judged{Fixable, "find what crashes in the output"}
	case unstarted:
		return judged{External, "see whether the shell, the repository and the folder for temporary files are there"}
	}
	switch exit {
	case notFound:
		return judged{External, "install what the command needs, such as the project's dependencies, or correct the command"}
	case notExecutable:
		return judged{External, "make what the command names executable, or correct the command"}
	case bySignal + 1, bySignal + 2, bySignal + 9, bySignal + 15:
		return killed.judge(-1)
	}
	return judged{Fixable, "find the reason in the output"}
}

// signs are texts by which the surroundings of a test name themselves as the reason.
type signs struct{ disk, browser, surroundings, source *regexp.Regexp }

var sign = sync.OnceValue(func() signs {
	return signs{
		disk:    regexp.MustCompile(`\b(?:ENOSPC|EDQUOT)\b|(?i:no space left on device|disk quota exceeded)`),
		browser: regexp.MustCompile(`Executable doesn't exist at |Host system is missing dependencies to run browsers`),
		source:  regexp.MustCompile(`(?m)^\s*>?\s*\d+ ?[|│].*$`), // a line of code that is shown with its number
		surroundings: regexp.MustCompile(`\b(?:EADDRINUSE|ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ENETUNREACH|ETIMEDOUT)\b` +
			`|\bERR_(?:CONNECTION_REFUSED|CONNECTION_RESET|NAME_NOT_RESOLVED|INTERNET_DISCONNECTED|ADDRESS_IN_USE)\b` +
			`|address already in use|is already used, make sure that nothing is running on the port` +
			`|connection refused|connection reset by peer|no such host|Temporary failure in name resolution`),
	}
})

// judgeText says what the text of a failure means. What names nothing is the code's or
// the test's own fault.
func judgeText(text string) judged {
	s := sign()
	text = s.source.ReplaceAllString(text, "")
	switch {
	case s.disk.MatchString(text):
		return judged{External, "free space on the disk"}
	case s.browser.MatchString(text):
		return judged{External, "install the browsers: npx playwright install --with-deps"}
	case s.surroundings.MatchString(text):
		return judged{Transient, "see whether a port is taken by another process, or a service that the tests need is away"}
	}
	return judged{class: Fixable}
}

// worst returns the class of several failures together: of those that keep the gate red
// whatever else is repaired, the one that takes the most.
func worst(list []Failure) Class {
	for _, c := range []Class{Unfixable, External, Structural, Fixable, Transient} {
		if slices.ContainsFunc(list, func(f Failure) bool { return f.Class == c }) {
			return c
		}
	}
	return ""
}
