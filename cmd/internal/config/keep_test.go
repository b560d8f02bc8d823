package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestKeepDefaults(t *testing.T) {
	t.Parallel()
	r, err := Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Keep{Days: 30, Runs: 20, CompressAfter: 7 * 24 * time.Hour}, r.Keep); diff != "" {
		t.Error(diff)
	}
}

func TestKeepIsTakenOrRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		key, raw string
		want     Keep
		refused  string
	}{
		{key: "keep-days", raw: "0", want: Keep{0, 20, 168 * time.Hour}},
		{key: "keep-days", raw: " 90 ", want: Keep{90, 20, 168 * time.Hour}},
		{key: "keep-days", raw: "-1", refused: "whole number from 0"},
		{key: "keep-days", raw: "1.5", refused: "whole number"},
		{key: "keep-days", raw: "36501", refused: "whole number"},
		{key: "keep-days", raw: "", refused: "whole number"},
		{key: "keep-runs", raw: "0", want: Keep{30, 0, 168 * time.Hour}},
		{key: "keep-runs", raw: "-20", refused: "whole number"},
		{key: "keep-runs", raw: "99999999999999999999", refused: "whole number"},
		{key: "compress-after", raw: "36h", want: Keep{30, 20, 36 * time.Hour}},
		{key: "compress-after", raw: "0s", want: Keep{30, 20, 0}},
		{key: "compress-after", raw: "0d", want: Keep{30, 20, 0}},
		{key: "compress-after", raw: "never", want: Keep{30, 20, -1}},
		{key: "compress-after", raw: "7", refused: "7d or 36h"},
		{key: "compress-after", raw: "0", refused: "7d or 36h"},
		{key: "compress-after", raw: "-1h", refused: "7d or 36h"},
		{key: "compress-after", raw: "-7d", refused: "7d or 36h"},
		{key: "compress-after", raw: "d", refused: "7d or 36h"},
		{key: "compress-after", raw: "4000000000d", refused: "too long"},
		{key: "compress-after", raw: "99999999999999999999d", refused: "too long"},
		{key: "compress-after", raw: "off", refused: "never"},
	}
	for _, tt := range tests {
		r, err := Resolve([]Value{{Key: tt.key, Raw: []string{tt.raw}, Origin: "flag --" + tt.key}})
		switch {
		case tt.refused != "":
			if err == nil || !strings.Contains(err.Error(), tt.refused) || !strings.Contains(err.Error(), "flag --"+tt.key) {
				t.Errorf("%s %q: %v, want it refused with %q", tt.key, tt.raw, err, tt.refused)
			}
		case err != nil:
			t.Errorf("%s %q: %v", tt.key, tt.raw, err)
		default:
			if diff := cmp.Diff(tt.want, r.Keep); diff != "" {
				t.Errorf("%s %q: %s", tt.key, tt.raw, diff)
			}
		}
	}
}

// A repository must not decide what is removed of a person's state.
func TestKeepIsNotForRepositories(t *testing.T) {
	t.Parallel()
	for _, o := range keepOptions() {
		_, err := Resolve([]Value{{Key: o.Key, Raw: []string{o.Default}, Origin: "autopilot.yaml:1", InRepo: true}})
		if err == nil || !strings.Contains(err.Error(), "may not be set") {
			t.Errorf("%s in a repository: %v", o.Key, err)
		}
		if o.Group != GroupKeep {
			t.Errorf("%s is in group %q", o.Key, o.Group)
		}
	}
}
