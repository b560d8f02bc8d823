package commit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/probe/proctree"
)

// desk is where one commit is put together.
type desk struct {
	Tree
	account

	dir  string
	held *statedir.Lock
	keep bool // what is there is needed by whoever comes next
}

// account is what has to be known to finish a commit.
type account struct {
	PID    int    `json:"pid"`   // of git
	Start  uint64 `json:"start"` // stamp of that process
	Parent string `json:"parent"`
	Branch string `json:"branch"`
	// Message is given to git; in bytes because it may be no UTF-8.
	Message []byte `json:"message"`
	// Had are the entries of the files in the person's index before; a file that has
	// none is there with an empty one.
	Had map[string]string `json:"had"`
}

func (d *desk) index() string      { return filepath.Join(d.dir, "index") }
func (d *desk) recordFile() string { return filepath.Join(d.dir, "commit.json") }

// record writes down which process commits what. Git has no message until that is
// done.
func (d *desk) record(pid int) error {
	start, ok := proctree.StartOf(pid)
	if !ok {
		return fmt.Errorf("git, pid %d, cannot be looked at", pid)
	}
	d.PID, d.Start = pid, start
	data, err := json.Marshal(d.account)
	if err != nil {
		return fmt.Errorf("record commit: %w", err)
	}
	return statedir.Swap(d.recordFile(), data)
}

// start is record and one more look at the branch: git may have begun only after the
// one before.
func (d *desk) start(ctx context.Context, pid int) error {
	if err := d.record(pid); err != nil {
		return err
	}
	branch, head, err := d.Current(ctx)
	if err == nil && (branch != d.Branch || head != d.Parent) {
		err = &BranchError{Want: d.Branch, Have: branch}
	}
	return err
}

// leave cleans up and releases the work tree.
func (d *desk) leave() error {
	var err error
	if !d.keep {
		err = d.clear()
	}
	return errors.Join(err, d.held.Release())
}

func (d *desk) clear() error {
	for _, name := range []string{d.recordFile(), d.index(), d.index() + ".lock"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("clean up: %w", err)
		}
	}
	return nil
}

// recover waits for a git that was left, and brings the index in line when it has
// committed. Where that was on another branch it takes the commit back and returns a
// *BranchError. It leaves nothing behind but what has to be tried again.
func (d *desk) recover(ctx context.Context) error {
	data, err := os.ReadFile(d.recordFile())
	if errors.Is(err, os.ErrNotExist) {
		return d.clear()
	}
	if err != nil {
		return fmt.Errorf("finish an earlier commit: %w", err)
	}
	var a account
	if err := json.Unmarshal(data, &a); err != nil || a.Branch == "" {
		return d.clear() // cut by a full disk or a power cut: nobody can say what is left
	}
	if err := d.await(ctx, a.PID, a.Start); err != nil {
		return err
	}
	d.account = a
	defer func() { d.account = account{} }()
	have, head, err := d.Current(ctx)
	if err != nil {
		return fmt.Errorf("finish an earlier commit: %w", err)
	}
	_, err = d.landed(ctx, have, head, false)
	if _, ok := errors.AsType[*BranchError](err); ok && !d.keep {
		err = errors.Join(err, d.clear()) // it is said once
	}
	if err != nil {
		return fmt.Errorf("finish an earlier commit: %w", err)
	}
	if sha := d.own(ctx); sha != "" {
		if err := d.settle(ctx, sha); err != nil {
			return fmt.Errorf("finish the earlier commit %s: %w", sha, err)
		}
	}
	return d.clear()
}

// own is HEAD where it is the commit on record: made from its parent and from what is
// still in its index.
func (d *desk) own(ctx context.Context) string {
	_, head, err := d.Current(ctx)
	if err != nil || head == "" || head == d.Parent {
		return ""
	}
	about, err := d.git(ctx, "log", "-1", "--no-show-signature", "--format=%P %T", head, "--")
	if err != nil {
		return ""
	}
	tree, err := d.tree(ctx)
	if err != nil || about != d.Parent+" "+tree {
		return ""
	}
	return head
}

// await waits until a process is gone.
func (t Tree) await(ctx context.Context, pid int, start uint64) error {
	if t.Wait != nil && proctree.Alive(pid, start) {
		t.Wait(pid)
	}
	tick := time.NewTicker(lockLook)
	defer tick.Stop()
	for end := time.Now().Add(limit); proctree.Alive(pid, start); {
		if time.Now().After(end) {
			return stillThere(pid, nil)
		}
		select {
		case <-ctx.Done():
			return stillThere(pid, context.Cause(ctx))
		case <-tick.C:
		}
	}
	return nil
}

func stillThere(pid int, err error) error {
	return &problem{words: fmt.Sprintf("git, pid %d, still works on an earlier commit", pid), way: "wait for it, or end it", err: err}
}

// settle sets the entries of the person's index to what was committed: for the files
// of the commit and those that hooks have added, and only where an entry is as it was
// before.
func (d *desk) settle(ctx context.Context, sha string) error {
	changed, err := d.differ(ctx, d.Parent, sha)
	if err != nil {
		return err
	}
	wanted := make(map[string]bool, len(changed)+len(d.Had))
	var same []string // files that were not changed by the commit in the end
	for p := range changed {
		wanted[p] = true
	}
	for p := range d.Had {
		if !wanted[p] {
			same = append(same, p)
		}
		wanted[p] = true
	}
	if len(same) > 0 {
		at, err := d.treeOf(ctx, sha, set(same))
		if err != nil {
			return err
		}
		for _, p := range same {
			changed[p] = [2]string{at[p], at[p]}
		}
	}
	now, err := d.entries(ctx, "", wanted)
	if err != nil {
		return err
	}
	var gone, there strings.Builder
	for p, e := range changed {
		was := e[0]
		if had, ok := d.Had[p]; ok {
			was = had
		}
		switch {
		case now[p] != was || now[p] == e[1]:
		case e[1] == "":
			fmt.Fprintf(&gone, "0 %s\t%s\x00", strings.Repeat("0", len(sha)), p)
		default:
			fmt.Fprintf(&there, "%s\t%s\x00", e[1], p)
		}
	}
	if gone.Len()+there.Len() == 0 {
		return nil
	}
	return d.write(ctx, gone.String()+there.String())
}

// write changes entries of the person's index.
func (d *desk) write(ctx context.Context, entries string) error {
	for end := time.Now().Add(lockWait); ; {
		if err := d.unlocked(ctx); err != nil {
			return err
		}
		err := d.ask(ctx, query{stdin: strings.NewReader(entries)}, "update-index", "-z", "--index-info")
		if err == nil {
			break
		}
		if f, ok := errors.AsType[*failure](err); !ok || !strings.Contains(f.out, "index.lock") || time.Now().After(end) {
			return err
		}
	}
	// What is known of the files on disk is not in the entries. Without it the next git
	// would find out itself.
	_ = d.ask(ctx, query{}, "update-index", "-q", "--refresh")
	return nil
}
