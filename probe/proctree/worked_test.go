package proctree

import (
	"testing"
	"time"
)

func TestWorked(t *testing.T) {
	t.Parallel()
	const s = time.Second
	shell := Process{PID: 1, Start: 7, CPU: 2 * s, Reaped: 3 * s}
	tests := []struct {
		name          string
		before, after []Process
		want          time.Duration
	}{
		{"nothing happened", []Process{shell}, []Process{shell}, 0},
		{"it worked itself", []Process{shell}, []Process{{PID: 1, Start: 7, CPU: 4 * s, Reaped: 3 * s}}, 2 * s},
		{"a child came", []Process{shell}, []Process{shell, {PID: 2, CPU: s}}, s},
		{"a child came and went", []Process{shell}, []Process{{PID: 1, Start: 7, CPU: 2 * s, Reaped: 4 * s}}, s},
		{"one left with what another gained", []Process{shell, {PID: 2, CPU: s}, {PID: 3, CPU: s}}, []Process{shell, {PID: 3, CPU: 2 * s}}, s},
		{"a child counts once when it is collected", []Process{shell, {PID: 2, CPU: s}}, []Process{{PID: 1, Start: 7, CPU: 2 * s, Reaped: 4 * s}}, s},
		{"another owner of the pid", []Process{shell}, []Process{{PID: 1, Start: 8, CPU: s}}, s},
		{"all are gone", []Process{shell}, nil, 0},
		{"times that shrink", []Process{shell}, []Process{{PID: 1, Start: 7, CPU: s}}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Worked(tt.before, tt.after); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
