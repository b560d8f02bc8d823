package increment

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// allowed has a row for each status and a column for each that may follow it.
const allowed = `
                 planning active backlog paused ready_for_review completed abandoned
planning         .        x      x       .      .                .         x
active           .        .      x       x      x                .         x
backlog          x        x      .       .      .                .         x
paused           .        x      .       .      x                .         x
ready_for_review .        x      .       .      .                x         x
completed        .        x      .       .      .                .         x
abandoned        .        x      .       .      .                .         .
`

func TestLegal(t *testing.T) {
	t.Parallel()
	rows := strings.Split(strings.TrimSpace(allowed), "\n")
	columns := strings.Fields(rows[0])
	if diff := cmp.Diff(Statuses(), columns); diff != "" {
		t.Fatalf("statuses (-got +table):\n%s", diff)
	}
	for _, row := range rows[1:] {
		cells := strings.Fields(row)
		for i, to := range columns {
			err := Legal(cells[0], to)
			if (err == nil) != (cells[i+1] == "x") || err != nil && !errors.Is(err, ErrIllegal) {
				t.Errorf("from %s to %s: %v", cells[0], to, err)
			}
			if err != nil && !strings.Contains(err.Error(), "from "+cells[0]+" there is ") {
				t.Errorf("from %s to %s: %v does not say what there is", cells[0], to, err)
			}
		}
	}
	for _, pair := range [][2]string{{"planned", Active}, {"Backlog", " PLANNED "}, {"ready-for-review", Completed}} {
		if err := Legal(pair[0], pair[1]); err != nil {
			t.Errorf("from %s to %s: %v", pair[0], pair[1], err)
		}
	}
	for _, pair := range [][2]string{{"planned", Planning}, {"", Active}, {Active, "done"}, {"done", Active}} {
		if err := Legal(pair[0], pair[1]); !errors.Is(err, ErrIllegal) {
			t.Errorf("from %q to %q: %v", pair[0], pair[1], err)
		}
	}
}

func TestPathTo(t *testing.T) {
	t.Parallel()
	for pair, want := range map[[2]string]string{
		{Active, Completed}:         "ready_for_review completed",
		{ReadyForReview, Completed}: "completed",
		{Paused, Completed}:         "ready_for_review completed",
		{Planning, Completed}:       "active ready_for_review completed",
		{"planned", Completed}:      "active ready_for_review completed",
		{Backlog, Active}:           "active",
		{Planning, Active}:          "active",
		{Paused, Active}:            "active",
		{Abandoned, Active}:         "active",
		{Completed, Paused}:         "active paused",
		{Active, Planning}:          "backlog planning",
		{Active, Active}:            "",
		{"going", Active}:           "",
		{Active, "going"}:           "",
	} {
		if got := strings.Join(PathTo(pair[0], pair[1]), " "); got != want {
			t.Errorf("from %s to %s: got %q, want %q", pair[0], pair[1], got, want)
		}
	}
	// There is a way between all of them, and each step of it is legal.
	for _, from := range Statuses() {
		for _, to := range Statuses() {
			path := PathTo(from, to)
			if from == to {
				continue
			}
			if len(path) == 0 || path[len(path)-1] != to {
				t.Errorf("from %s to %s: %v", from, to, path)
				continue
			}
			if between := path[:len(path)-1]; slices.Contains(between, Abandoned) || slices.Contains(between, Completed) {
				t.Errorf("from %s to %s: %v", from, to, path)
			}
			at := from
			for _, next := range path {
				if err := Legal(at, next); err != nil {
					t.Error(err)
				}
				at = next
			}
		}
	}
}
