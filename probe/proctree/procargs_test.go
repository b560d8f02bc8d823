package proctree

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseProcArgs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, data string
		args, env  []string
	}{
		{
			name: "path padded with zero bytes",
			data: "\x02\x00\x00\x00/bin/sh\x00\x00\x00\x00sh\x00-c\x00A=1\x00MARK=v\x00\x00ptr_munge=\x00",
			args: []string{"sh", "-c"}, env: []string{"A=1", "MARK=v"},
		},
		{
			name: "an empty argument is kept",
			data: "\x03\x00\x00\x00/bin/sh\x00sh\x00\x00x\x00A=1\x00",
			args: []string{"sh", "", "x"}, env: []string{"A=1"},
		},
		{
			name: "no environment given",
			data: "\x01\x00\x00\x00/bin/sh\x00\x00sh\x00",
			args: []string{"sh"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			args, env, err := parseProcArgs([]byte(tt.data))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([][]string{tt.args, tt.env}, [][]string{args, env}); diff != "" {
				t.Errorf("arguments and environment (-want +got):\n%s", diff)
			}
		})
	}
	for _, data := range []string{"", "\x01\x00", "\x01\x00\x00\x00/bin/sh", "\x02\x00\x00\x00/bin/sh\x00sh\x00", "\xff\xff\xff\xffx\x00"} {
		if _, _, err := parseProcArgs([]byte(data)); !errors.Is(err, errProcArgs) {
			t.Errorf("parse %q: got %v, want %v", data, err, errProcArgs)
		}
	}
}

func FuzzParseProcArgs(f *testing.F) {
	f.Add([]byte("\x02\x00\x00\x00/bin/sh\x00\x00\x00\x00sh\x00-c\x00A=1\x00\x00"))
	f.Add([]byte("\xff\xff\xff\x7f/bin/sh\x00sh\x00"))
	f.Add([]byte("\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		args, env, err := parseProcArgs(data)
		if err != nil {
			return
		}
		if len(args)+len(env) > len(data) {
			t.Errorf("%d strings out of %d bytes", len(args)+len(env), len(data))
		}
		for _, entry := range env {
			if entry == "" {
				t.Errorf("empty entry in the environment of %q", data)
			}
		}
	})
}
