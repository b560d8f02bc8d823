package workflow

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"autopilot/sessions/task/taskmaster"
	"autopilot/supervisor/tdd"
)

// unasked refuses what nobody commits on purpose without saying so.
func (w Workflow) unasked(st *tdd.State, work work, files []string) error {
	refuse := func(what string) error {
		return &tdd.Refusal{Kind: tdd.Refused, Phase: st.CurrentPhase, Message: what, Way: "add it to .gitignore, remove it, or name what is to be committed with --files"}
	}
	if slices.Contains(files, st.TasksFile) {
		return &tdd.Refusal{
			Kind: tdd.Refused, Phase: st.CurrentPhase, Message: st.TasksFile + " was changed beside the status that changes with the commit",
			Way: fmt.Sprintf("put it back (git checkout -- %s), commit it by itself, or name what is to be committed with --files", st.TasksFile),
		}
	}
	if large := w.large(work, files); large != "" {
		return refuse("a new file is too large to be committed unasked: " + large)
	}
	for _, f := range files {
		if _, isNew := slices.BinarySearch(work.changes.New, f); isNew && secret(f) {
			return refuse("a new file has the name of a secret: " + f)
		}
	}
	return nil
}

// secret reports whether a file has a name under which secrets are kept.
func secret(file string) bool {
	base := strings.ToLower(path.Base(file))
	for _, p := range []string{".env", ".env.*", "id_rsa", "id_ecdsa", "id_ed25519", "*.pem", "*.p12", "*.pfx", "*.key", ".netrc", ".pgpass"} {
		if ok, _ := path.Match(p, base); ok {
			return !slices.ContainsFunc([]string{".example", ".sample", ".template", ".dist"}, func(end string) bool { return strings.HasSuffix(base, end) })
		}
	}
	return false
}

// notTaken says what stays out of a commit.
func notTaken(work work, files []string) []string {
	var out []string
	if len(work.left) > 0 {
		out = append(out, "left by tests or tools, and not committed: "+joined(work.left, 5))
	}
	if len(work.inner) > 0 {
		out = append(out, "repositories of their own, in which something has changed that is not committed: "+joined(work.inner, 5))
	}
	var rest []string
	for _, f := range work.pending {
		if !slices.Contains(files, f) {
			rest = append(rest, f)
		}
	}
	if len(rest) > 0 {
		out = append(out, "changed and not committed, so what is committed was not tested by itself: "+joined(rest, 5))
	}
	return out
}

// otherStatuses refuses a task file in which somebody has changed the status of another
// subtask of the run: each becomes done with its own commit.
func (w Workflow) otherStatuses(ctx context.Context, st *tdd.State, work work) error {
	if !slices.Contains(work.pending, st.TasksFile) {
		return nil
	}
	data, found, err := w.tree().Content(ctx, st.Head, st.TasksFile, taskmaster.MaxBytes)
	if err != nil || !found {
		return err
	}
	before, err := taskmaster.Parse(st.TasksFile, data, st.Tag)
	if err != nil {
		return nil // it could not be understood before either
	}
	now, err := w.tasks(st)
	if err != nil {
		return broken(st, err)
	}
	var changed []string
	for _, s := range st.Subtasks {
		if s.ID != st.CurrentSubtask && now.Status(s.ID) != before.Status(s.ID) {
			changed = append(changed, s.ID)
		}
	}
	if now.Status(st.TaskID) != before.Status(st.TaskID) {
		changed = append(changed, st.TaskID)
	}
	if len(changed) == 0 {
		return nil
	}
	return &tdd.Refusal{
		Kind: tdd.Refused, Phase: st.CurrentPhase, Message: fmt.Sprintf("the status of %s was changed in %s; it changes with a commit of its own", joined(changed, 5), st.TasksFile),
		Way: "put it back: git checkout -- " + st.TasksFile,
	}
}

// broken is the refusal of a task file with which nothing can be done.
func broken(st *tdd.State, err error) error {
	return &tdd.Refusal{
		Kind: tdd.Refused, Phase: st.CurrentPhase, Message: err.Error(), Cause: err,
		Way: "mend the file, for example with: git checkout -- " + st.TasksFile,
	}
}

// largest is the size in bytes above which a new file is taken for something that was
// built and not written.
const largest = 5 << 20

// large is a new file that is too large.
func (w Workflow) large(work work, files []string) string {
	for _, f := range files {
		info, err := os.Lstat(filepath.Join(w.Repo.Top, filepath.FromSlash(f)))
		if err == nil && info.Mode().IsRegular() && info.Size() > largest && slices.Contains(work.changes.New, f) {
			return fmt.Sprintf("%s (%d MB)", f, info.Size()>>20)
		}
	}
	return ""
}
