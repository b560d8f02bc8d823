package schedule

import "time"

// Version is the version of the entry's format.
const Version = 1

// Backend is what starts an entry at its time.
type Backend string

// Backends. Auto is never written into an entry.
const (
	Auto    Backend = "auto"
	Systemd Backend = "systemd" // a timer and a service of the user's manager
	Launchd Backend = "launchd" // a user agent of macOS
	Cron    Backend = "cron"    // a line of the user's crontab
)

// Overlap says what happens when it is time and a run of the same work tree is still on.
type Overlap string

// What to do about a run that is still on.
const (
	Skip Overlap = "skip" // this time is left out
	Wait Overlap = "wait" // it begins when the other has ended, while the window is open
)

// Spec says when something begins and when it has to be over. The zero Spec never begins.
type Spec struct {
	// Cron are the times in the five fields of crontab(5), each in its normal form; several
	// when one line cannot say it.
	Cron []string `json:"cron"`
	// Zone is the name of the IANA time zone that the times are in, never empty or "Local".
	Zone string `json:"zone"`
	// Until is the time of day, as 15:04 in Zone, by which it has to be over: the first one
	// after the beginning. Empty for no such time.
	Until string `json:"until,omitempty"`
}

// Request is a spec as a person types it. Either Cron or At (or Window) is given.
type Request struct {
	At     []string // times of day, 22:00
	Days   string   // mon-fri, sat,sun, daily, weekdays, weekends; empty is daily
	Cron   string   // five fields, or @daily and the like
	Window string   // 22:00-06:00: At and Until in one
	Until  string   // 06:00
	Zone   string   // IANA name; empty is the machine's
}

// Entry is one schedule as it was installed. It holds no secrets.
type Entry struct {
	Version   int       `json:"version"`
	Name      string    `json:"name"` // letters, digits, - and _; at most 40
	Backend   Backend   `json:"backend"`
	Spec      Spec      `json:"spec"`
	Overlap   Overlap   `json:"on_overlap"`
	Dir       string    `json:"dir"`     // absolute path of the work tree
	Program   string    `json:"program"` // absolute path of this program
	Args      []string  `json:"args"`    // of the program, from the command on: run, "GOAL", ...
	Environ   []string  `json:"environ"` // NAME=VALUE, sorted; all that the command gets
	EnvFile   string    `json:"env_file,omitempty"`
	Logs      string    `json:"logs"` // absolute path of the folder of its logs
	CreatedAt time.Time `json:"created_at"`
}
