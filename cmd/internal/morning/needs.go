package morning

import (
	"os"
	"strings"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/report"
	"autopilot/metrics/report/digest"
	"autopilot/supervisor"
	"autopilot/supervisor/queue"
)

// command is a command of this program for the repository.
func (b *book) command(words ...string) string {
	out := []string{"autopilot"}
	if b.dir != "" {
		out = append(out, "-C", quoted(b.dir))
	}
	for _, w := range words {
		out = append(out, quoted(w))
	}
	return strings.Join(out, " ")
}

// quoted writes a word for a shell.
func quoted(s string) string {
	plain := strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/:@%+,=-") == ""
	if plain && s != "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// gates are the calls that are held now.
func (b *book) gates() []digest.Need {
	list, err := b.night.Gates.List(b.now)
	if err != nil && len(list) == 0 {
		return nil
	}
	var out []digest.Need
	for _, g := range list {
		if g.Open() {
			out = append(out, digest.Need{Kind: digest.Gate, Repository: b.name, Text: g.Subject, Command: b.command("approve", g.ID), At: g.AskedAt, Until: g.ExpiresAt})
		}
	}
	return out
}

// items are the items of the queue that were put aside.
func (b *book) items() []digest.Need {
	q, err := b.night.Queue.Load()
	if err != nil {
		return nil
	}
	var out []digest.Need
	for _, it := range q.Items {
		if it.Status != queue.NeedsHuman && it.Status != queue.Failed {
			continue
		}
		text := it.ID
		if it.Why != "" {
			text += ": " + it.Why
		}
		out = append(out, digest.Need{Kind: digest.Item, Repository: b.name, Text: text, Command: b.command("queue", "retry", it.ID)})
	}
	return out
}

// needs are what a run that has ended leaves for a person.
func (b *book) needs(r Run) []digest.Need {
	rec := r.Record
	id := rec.AutopilotRunID
	if b.continued[id] || r.State.ResumedBy != "" {
		return nil
	}
	var out []digest.Need
	at := time.Time(rec.CompletedAt)
	for _, s := range r.kept() {
		if _, err := os.Stat(s.Worktree); err != nil {
			continue // it was cleared away, which is only done with what is merged
		}
		command := "git merge " + quoted(s.Branch)
		if b.dir != "" {
			command = "git -C " + quoted(b.dir) + " merge " + quoted(s.Branch)
		}
		out = append(out, digest.Need{Kind: digest.Merge, Repository: b.name, Text: "branch " + s.Branch + " (work tree " + s.Worktree + ")", Command: command, At: at})
	}
	resumable := r.Folder != "" && rec.ParentRunID == nil && supervisor.NotResumable(r.State) == ""
	if !resumable {
		return out
	}
	asked := false
	if rec.Coordinates() {
		for _, s := range r.stories() {
			if s.Status == report.ItemNeedsHuman {
				asked = true
				out = append(out, digest.Need{Kind: digest.Question, Repository: b.name, Text: s.ID + ": " + s.Why, Command: b.command("answer", s.ID) + " TEXT", At: at})
			}
		}
	}
	t := rec.Termination
	if t != nil && t.AwaitingUserInput && t.Question != "" {
		asked = true
		out = append(out, digest.Need{Kind: digest.Question, Repository: b.name, Text: t.Question, Command: b.command("answer", id) + " TEXT", At: at})
	}
	if !asked && b.latest[aim(rec)] == id {
		out = append(out, digest.Need{Kind: digest.Resume, Repository: b.name, Text: id + why(rec), Command: b.command("resume", id), At: at})
	}
	return out
}

// why says why a run stopped.
func why(r ledger.Run) string {
	if r.Termination != nil && r.Termination.Summary != "" {
		return ": " + r.Termination.Summary
	}
	if r.ExitCause != "" {
		return ": " + r.ExitCause
	}
	return ""
}
