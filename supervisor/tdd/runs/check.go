package runs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"autopilot/supervisor/tdd"
)

// check says what in a state contradicts itself, or is missing.
func check(st tdd.State) error {
	return cmp.Or(required(st), words(st), subtasks(st), outbox(st))
}

func required(st tdd.State) error {
	for _, f := range []struct{ name, value string }{
		{"runId", st.RunID}, {"taskId", st.TaskID}, {"tag", st.Tag}, {"status", string(st.Status)}, {"currentPhase", string(st.CurrentPhase)},
	} {
		if f.value == "" {
			return fmt.Errorf("%s is missing", f.name)
		}
	}
	if _, ok := began(st.RunID); !ok {
		return fmt.Errorf("runId %q is not the name of a run", st.RunID)
	}
	if st.StartTime.IsZero() {
		return errors.New("startTime is missing")
	}
	return nil
}

func words(st tdd.State) error {
	switch st.Status {
	case tdd.InProgress, tdd.OnHold, tdd.Completed, tdd.Aborted:
	default:
		return fmt.Errorf("status %q is not known", st.Status)
	}
	switch st.CurrentPhase {
	case tdd.Preflight, tdd.BranchSetup, tdd.Red, tdd.Green, tdd.Commit, tdd.Finalize, tdd.Complete:
	default:
		return fmt.Errorf("currentPhase %q is not known", st.CurrentPhase)
	}
	if st.AttemptNumber < 0 || st.MaxAttempts < 0 {
		return fmt.Errorf("attempt %d of %d cannot be", st.AttemptNumber, st.MaxAttempts)
	}
	return nil
}

// subtasks checks that each one is either done or to be done, and once.
func subtasks(st tdd.State) error {
	seen := map[string]string{} // id: the list it is in
	for _, t := range st.Subtasks {
		if _, twice := seen[t.ID]; twice || t.ID == "" {
			return fmt.Errorf("subtask %q is in subtasks twice or has no id", t.ID)
		}
		seen[t.ID] = ""
	}
	for _, list := range []struct {
		name string
		ids  []string
	}{{"completedSubtasks", st.CompletedSubtasks}, {"pendingSubtasks", st.PendingSubtasks}} {
		for _, id := range list.ids {
			in, known := seen[id]
			switch {
			case !known:
				return fmt.Errorf("subtask %q in %s is not one of the subtasks", id, list.name)
			case in != "":
				return fmt.Errorf("subtask %q is in %s and in %s", id, in, list.name)
			}
			seen[id] = list.name
		}
	}
	for _, t := range st.Subtasks {
		if seen[t.ID] == "" {
			return fmt.Errorf("subtask %q is neither completed nor pending", t.ID)
		}
	}
	loop := st.CurrentPhase.Phase() == tdd.LoopPhase
	if loop && !slices.Contains(st.PendingSubtasks, st.CurrentSubtask) {
		return fmt.Errorf("currentPhase is %s, and currentSubtask %q is not pending", st.CurrentPhase, st.CurrentSubtask)
	}
	if !loop && st.CurrentSubtask != "" {
		return fmt.Errorf("currentPhase is %s, and there is a currentSubtask %q", st.CurrentPhase, st.CurrentSubtask)
	}
	return nil
}

func outbox(st tdd.State) error {
	if st.Seq < 0 {
		return fmt.Errorf("seq is %d", st.Seq)
	}
	for i, a := range st.Outbox {
		if want := st.Seq - int64(len(st.Outbox)-1-i); a.Seq != want || want < 1 {
			return fmt.Errorf("event %d of the outbox has number %d, and the last has to be %d", i+1, a.Seq, st.Seq)
		}
		if a.RunID != st.RunID {
			return fmt.Errorf("event %d is one of run %q", a.Seq, a.RunID)
		}
	}
	return nil
}

// follows says why a state cannot come after another one.
func follows(old, st tdd.State) error {
	switch n := int64(len(st.Outbox)); {
	case st.Seq < old.Seq:
		return fmt.Errorf("internal error: the state is older, with %d events, than the one on disk, with %d", st.Seq, old.Seq)
	case st.Seq-n > old.Seq:
		return fmt.Errorf("internal error: events %d to %d are in no outbox", old.Seq+1, st.Seq-n)
	}
	return nil
}
