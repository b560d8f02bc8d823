package publish

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Service is a kind of target.
type Service string

// Services.
const (
	GitHub  Service = "github"
	Jira    Service = "jira"
	Azure   Service = "azure"
	Webhook Service = "webhook"
	File    Service = "file"
)

// Services are all kinds of targets.
func Services() []Service { return []Service{GitHub, Jira, Azure, Webhook, File} }

// Target is one place that is told.
type Target struct {
	Service Service
	Owner   string // GitHub: owner; Azure DevOps: organization
	Project string // GitHub: repository; Azure DevOps: project
	Number  int    // GitHub: issue; Azure DevOps: work item
	Ref     string // Jira: key of the issue; webhook: URL, or $NAME of a variable that holds it; file: path relative to the repository
}

// String is the target as it was given.
func (t Target) String() string {
	switch t.Service {
	case GitHub, Azure:
		return fmt.Sprintf("%s:%s/%s#%d", t.Service, t.Owner, t.Project, t.Number)
	}
	return string(t.Service) + ":" + t.Ref
}

const targetForms = "github:OWNER/REPO#NUMBER, jira:KEY-NUMBER, azure:ORGANIZATION/PROJECT#NUMBER, webhook:URL, webhook:$NAME or file:PATH"

// ParseTarget reads a target in the form of a setting:
//
//	github:OWNER/REPO#NUMBER
//	jira:KEY-NUMBER
//	azure:ORGANIZATION/PROJECT#NUMBER
//	webhook:https://HOST/PATH, or webhook:$NAME for an address that stands in a variable
//	file:PATH.md
//
// A webhook without TLS may only be on this machine. A file is not below the folders in
// which git, the agent and the programs with lists of tasks keep what they work by.
func ParseTarget(s string) (Target, error) {
	kind, ref, ok := strings.Cut(strings.TrimSpace(s), ":")
	t := Target{Service: Service(kind), Ref: ref}
	if !ok || ref == "" || !slices.Contains(Services(), t.Service) {
		return t, fmt.Errorf("target %q: want %s", s, targetForms)
	}
	bad := func(why string) (Target, error) { return t, fmt.Errorf("target %q: %s", s, why) }
	switch t.Service {
	case GitHub, Azure:
		m := regexp.MustCompile(`^([^/#\s]+)/([^/#]+)#(\d{1,9})$`).FindStringSubmatch(ref)
		if m == nil {
			return bad("want " + targetForms)
		}
		t.Owner, t.Project, t.Ref = m[1], m[2], ""
		t.Number, _ = strconv.Atoi(m[3]) // at most nine digits
		if t.Number == 0 {
			return bad("there is no number 0")
		}
	case Jira:
		if !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*-\d+$`).MatchString(ref) {
			return bad("want the key of an issue, as jira:PROJ-7")
		}
	case Webhook:
		if regexp.MustCompile(`^\$[A-Za-z_][A-Za-z0-9_]*$`).MatchString(ref) {
			return t, nil // whoever has the environment looks at what stands there
		}
		u, err := url.Parse(ref)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return bad("want an address that begins with https://")
		}
		if u.Scheme == "http" && !slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname()) {
			return bad("without TLS only an address of this machine is taken; use https://")
		}
		if u.User != nil {
			return bad("an address must not hold a password; sign with AUTOPILOT_WEBHOOK_SECRET")
		}
	case File:
		t.Ref = path.Clean(ref)
		if path.IsAbs(ref) || slices.Contains(strings.Split(ref, "/"), "..") || path.Ext(ref) != ".md" {
			return bad("want the path of a Markdown file in the repository, as file:docs/progress.md")
		}
		if dir := KeptFolder(t.Ref); dir != "" {
			return bad("nothing is written below " + dir + "; want a file beside the others, as file:docs/progress.md")
		}
	}
	return t, nil
}

// KeptFolder is the part of a clean path that is a folder in which no file may be a
// target; empty when there is none.
func KeptFolder(clean string) string {
	kept := []string{".git", ".specweave", ".taskmaster", ".claude"}
	for part := range strings.SplitSeq(clean, "/") {
		// Some disks take .GIT for the same.
		if slices.ContainsFunc(kept, func(k string) bool { return strings.EqualFold(k, part) }) {
			return part
		}
	}
	return ""
}

// MarshalText is the target as it was given.
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a target as ParseTarget does.
func (t *Target) UnmarshalText(text []byte) error {
	got, err := ParseTarget(string(text))
	if err == nil {
		*t = got
	}
	return err
}
