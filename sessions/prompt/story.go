package prompt

import "strings"

// Story tells a session that others work on other things at the same time: where it is
// alone, and what it has to leave to them. A story without isolation has paths of its own
// in a tree that all share.
func Story(branch string, isolated bool, paths []string) string {
	var b strings.Builder
	b.WriteString("\n\nOther sessions work on other parts of this repository at the same time.")
	if isolated {
		b.WriteString(" You are in a git work tree of your own, on branch " + branch + ". Commit there what is finished. " +
			"Do not push, do not merge, do not switch to another branch, and leave other work trees and branches alone.")
		return b.String()
	}
	b.WriteString(" You share this work tree with them.")
	if len(paths) > 0 {
		b.WriteString(" Change nothing but " + strings.Join(paths, ", ") + ".")
	}
	b.WriteString(" Commit only your own files, each by its path, and leave the branch as it is: no stash, no reset, no checkout of another one.")
	return b.String()
}
