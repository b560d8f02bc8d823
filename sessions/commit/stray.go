package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"autopilot/sessions/repo"
)

// maxNear bounds how many new commits of the branch are looked at.
const maxNear = 1000

// candidate is a commit that may be the one on the desk.
type candidate struct{ id, parents, tree, message string }

// candidates returns the commits that revisions name, or lead to.
func (t Tree) candidates(ctx context.Context, revs ...string) ([]candidate, error) {
	var out []candidate
	see := func(one string) {
		if f := strings.SplitN(one, "\n", 4); len(f) == 4 {
			out = append(out, candidate{f[0], f[1], f[2], f[3]})
		}
	}
	pieces := &repo.Pieces{Each: see}
	args := append([]string{"log", "-z", "--no-show-signature", "--no-color", "--format=%H%n%P%n%T%n%B", "--encoding=UTF-8"}, revs...)
	err := t.ask(ctx, query{out: pieces}, append(args, "--")...)
	see(pieces.Rest())
	return out, err
}

// children returns those that come right after the desk's parent.
func (d *desk) children(ctx context.Context, revs ...string) ([]candidate, error) {
	if d.Parent == "" {
		revs = append(revs, "--max-parents=0")
	} else {
		revs = append(revs, "--ancestry-path", "^"+d.Parent)
	}
	all, err := d.candidates(ctx, revs...)
	return slices.DeleteFunc(all, func(c candidate) bool { return c.parents != d.Parent }), err
}

// says reports whether a commit has the desk's message. A hook may wrap its lines
// otherwise and add to it.
func (d *desk) says(c candidate) bool {
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	return strings.Contains(words(c.message), words(string(d.Message)))
}

// tree is what the desk's index has in it.
func (d *desk) tree(ctx context.Context) (string, error) {
	return d.with(ctx, query{index: d.index()}, "write-tree")
}

// landed looks for the commit when git has ended. Its id is returned when it is the
// last one of its branch. One that is on another branch is taken back, and the error is
// a *BranchError. sure says that git has made one.
func (d *desk) landed(ctx context.Context, have, head string, sure bool) (string, error) {
	tip, err := d.Tip(ctx, d.Branch)
	if err != nil {
		return "", err
	}
	var near []candidate // what is new on the branch
	if tip != "" && tip != d.Parent {
		revs := []string{"--max-count=" + strconv.Itoa(maxNear), tip}
		if d.Parent != "" {
			revs = append(revs, "^"+d.Parent)
		}
		if near, err = d.candidates(ctx, revs...); err != nil {
			return "", err
		}
	}
	last := len(near) > 0 && near[0].parents == d.Parent
	switch {
	case last && d.says(near[0]):
		return tip, nil
	case slices.ContainsFunc(near, d.says): // somebody has gone on from it
		return "", nil
	}
	strays, err := d.strays(ctx, head, sure)
	if err != nil {
		return "", err
	}
	there := slices.ContainsFunc(strays, func(c candidate) bool { return slices.Contains(near, c) })
	switch {
	case len(strays) > 0 && !there && !d.was(ctx, strays):
		return "", d.takeBack(ctx, have, head, strays)
	case last && sure && have == d.Branch:
		return tip, nil
	}
	return "", nil
}

// was reports whether the branch has been at one of these commits: then it got to others
// from there, as somebody wanted it to.
func (d *desk) was(ctx context.Context, strays []candidate) bool {
	log, err := d.git(ctx, "log", "--walk-reflogs", "--max-count=100", "--format=%H", heads+d.Branch, "--")
	return err == nil && slices.ContainsFunc(strays, func(c candidate) bool { return strings.Contains(log, c.id) })
}

// strays returns what may be the commit on any branch: with its message and from its
// parent or with its files, because HEAD may have been moved before git has read it.
// A hook may have written another message; when git has surely committed, the files
// tell.
func (d *desk) strays(ctx context.Context, head string, sure bool) ([]candidate, error) {
	revs := []string{"--branches"}
	if head != "" {
		revs = append(revs, head)
	}
	tree, _ := d.tree(ctx) // an index that cannot be read is like none
	all, err := d.children(ctx, revs...)
	if err != nil {
		return nil, err
	}
	tips, err := d.candidates(ctx, append(revs, "--no-walk")...)
	if err != nil {
		return nil, err
	}
	for _, c := range tips {
		if c.tree == tree && c.parents != d.Parent && c.id != d.Parent {
			all = append(all, c)
		}
	}
	saying := slices.DeleteFunc(slices.Clone(all), func(c candidate) bool { return !d.says(c) })
	if len(saying) > 0 || !sure {
		return saying, nil
	}
	return slices.DeleteFunc(all, func(c candidate) bool { return c.tree != tree || c.parents != d.Parent }), nil
}

// takeBack takes a commit from the branches where it is the last one. The index is
// right for them then, because it has not been brought in line with that commit.
func (d *desk) takeBack(ctx context.Context, have, head string, strays []candidate) error {
	e := &BranchError{Want: d.Branch, Have: have, Commit: strays[0].id}
	if len(strays) > 1 {
		for _, c := range strays {
			e.Left = append(e.Left, c.id)
		}
		e.Why = "several commits look like it"
		return e
	}
	c := strays[0]
	refs, err := d.git(ctx, "for-each-ref", "--contains", c.id, "--format=%(objectname) %(refname) %(symref)", heads)
	if err != nil {
		return err
	}
	if have == "" {
		in, err := d.Contains(ctx, head, c.id)
		if err != nil {
			return err
		}
		if in {
			refs += "\n" + head + " HEAD"
		}
	}
	tree, _ := d.tree(ctx)
	for line := range strings.Lines(refs) {
		f := strings.Fields(line)
		if len(f) != 2 { // another name of a branch
			continue
		}
		name, why := strings.TrimPrefix(f[1], heads), ""
		switch {
		case f[0] != c.id:
			why = "other commits have been made after it"
		case c.tree != tree || strings.Contains(c.parents, " "):
			why = "it was changed since"
		default:
			why = d.unset(ctx, f[1], c)
		}
		if why == "" {
			e.Back = append(e.Back, name)
			continue
		}
		e.Left, e.Why = append(e.Left, name), why
	}
	return e
}

// unset sets a ref to the parent of a commit if it is at that commit, and says why it
// did not. The record is kept while it has to be tried again.
func (d *desk) unset(ctx context.Context, ref string, c candidate) (why string) {
	args := []string{"update-ref", "--no-deref", "-m", "autopilot: take back a commit that was meant for " + d.Branch}
	if c.parents == "" {
		args = append(args, "-d", ref, c.id)
	} else {
		args = append(args, ref, c.parents, c.id)
	}
	ctx, cancel := context.WithTimeout(ctx, afterLimit)
	defer cancel()
	_, failed := d.act(ctx, action{}, args...)
	now, err := d.git(ctx, "rev-parse", "--verify", "--quiet", ref)
	switch {
	case err != nil && exit(err) != 1:
		failed = errors.Join(failed, err)
	case now != c.id && failed == nil:
		return ""
	case now != c.id:
		return "it has moved meanwhile"
	}
	d.keep = true
	return fmt.Sprint(failed)
}
