package completion

import (
	"fmt"
	"os"
	"testing"

	"autopilot/sessions/task"
)

// BenchmarkStop is what an agent waits for, beside the discovery of the tasks.
func BenchmarkStop(b *testing.B) {
	var tasks []task.Task
	for i := range 1000 {
		tasks = append(tasks, task.Task{ID: fmt.Sprint(i), Subject: fmt.Sprintf("task number %d of many", i), Status: "in_progress", Blocked: i%2 == 0, BlockedBy: []string{"1", "2"}})
	}
	long := func(s *State) {
		for n := range keptPoints {
			s.History = append(s.History, Point{TS: at(n).UnixMilli(), Iteration: n + 1, Completed: n, Total: 1000, Tokens: 1 << 20})
		}
		s.Learned = []string{"small steps", "a test first", "ask for help"}
	}
	b.Run("check of 1000 tasks", func(b *testing.B) {
		for b.Loop() {
			s := running(long)
			if d := Check(&s, Facts{Tasks: tasks, Now: at(1)}); d.AllowStop {
				b.Fatal(d)
			}
		}
	})
	b.Run("check, state and log", func(b *testing.B) {
		d := newDesk(b)
		if err := os.MkdirAll(d.Folder, folderMode); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			var dec Decision
			err := d.change("s", func(s *State, _ bool) (bool, error) {
				*s = running(long)
				dec = Check(s, Facts{Tasks: tasks, Now: at(1), InHook: true})
				return true, nil
			})
			if err != nil || dec.AllowStop {
				b.Fatal(dec, err)
			}
			if err := d.log("", dec.Events...); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("event", func(b *testing.B) {
		d := newDesk(b)
		if err := os.MkdirAll(d.Folder, folderMode); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if err := d.log("", newEvent(noon(), "re-engaging", Event{"iteration": 1, "completed": 2, "remaining": 3, "confidence": 0.5, "tokens": 5})); err != nil {
				b.Fatal(err)
			}
		}
	})
}
