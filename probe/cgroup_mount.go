package probe

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// group is one line of /proc/self/cgroup (cgroups(7)) that may limit memory.
type group struct {
	path string
	v2   bool
}

func (g group) layout() layout {
	if g.v2 {
		return layout{
			limits:    []string{"memory.max", "memory.high"},
			usage:     "memory.current",
			cache:     "inactive_file",
			swapLimit: "memory.swap.max",
			swapUsage: "memory.swap.current",
		}
	}
	return layout{
		limits:    []string{"memory.limit_in_bytes"},
		usage:     "memory.usage_in_bytes",
		cache:     "total_inactive_file",
		swapLimit: "memory.memsw.limit_in_bytes",
		swapStat:  "total_swap",
	}
}

// parseMembership picks the lines that matter from "id:controllers:path": id 0
// without controllers is version 2, the controller named memory version 1.
func parseMembership(data []byte) []group {
	var groups []group
	for line := range bytes.Lines(data) {
		id, rest, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), ":")
		controllers, path, ok := strings.Cut(rest, ":")
		if !ok {
			continue
		}
		switch {
		case id == "0" && controllers == "":
			groups = append(groups, group{path: path, v2: true})
		case slices.Contains(strings.Split(controllers, ","), "memory"):
			groups = append(groups, group{path: path})
		}
	}
	return groups
}

// mount is one line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
type mount struct {
	root   string // the part of the file system that is mounted
	point  string // where
	fstype string
	super  string // options of the file system, with commas
}

func parseMounts(data []byte) []mount {
	var mounts []mount
	for line := range bytes.Lines(data) {
		// A variable number of fields stands before the dash.
		left, right, ok := strings.Cut(string(line), " - ")
		before, after := strings.Fields(left), strings.Fields(right)
		if !ok || len(before) < 6 || len(after) < 3 {
			continue
		}
		mounts = append(mounts, mount{
			root: unescape(before[3]), point: unescape(before[4]), fstype: after[0], super: after[2],
		})
	}
	return mounts
}

// unescape undoes the \NNN in octal that stands for a blank, a tab, a line feed
// and a backslash.
func unescape(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, `\`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if len(after) >= 3 {
			if c, err := strconv.ParseUint(after[:3], 8, 8); err == nil {
				b.WriteByte(byte(c))
				s = after[3:]
				continue
			}
		}
		b.WriteByte('\\')
		s = after
	}
}

// locate finds where the group's hierarchy is mounted and the group's path below
// that place, which begins with a slash. Of several mounts the one that shows
// most above the group serves best. It is an error when none shows the group,
// for then its limit is unknown. The root group has no limit to be unknown: ok
// is false and there is no error when its hierarchy is not mounted.
func (g group) locate(mounts []mount) (top, below string, ok bool, err error) {
	best := -1
	for i, m := range mounts {
		if !g.isIn(m) {
			continue
		}
		rest, inside := within(g.path, m.root)
		if inside && (best < 0 || len(m.root) < len(mounts[best].root)) {
			best, top, below = i, m.point, rest
		}
	}
	if best < 0 && g.path != "/" {
		return "", "", false, fmt.Errorf("control group %s lies outside of what is mounted here", g.path)
	}
	return top, below, best >= 0, nil
}

func (g group) isIn(m mount) bool {
	if g.v2 {
		return m.fstype == "cgroup2"
	}
	return m.fstype == "cgroup" && slices.Contains(strings.Split(m.super, ","), "memory")
}

// within returns path as seen from root, beginning with a slash. A path that
// leads out of our namespace (/../name) is within nothing.
func within(path, root string) (string, bool) {
	if slices.Contains(strings.Split(path, "/"), "..") {
		return "", false
	}
	if root == "/" {
		return filepath.Clean("/" + path), true
	}
	rest, ok := strings.CutPrefix(path, root)
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return filepath.Clean("/" + rest), true
}
