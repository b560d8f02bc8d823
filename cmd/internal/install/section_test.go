package install

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSection(t *testing.T) {
	t.Parallel()
	crlf := strings.ReplaceAll(section, "\n", "\r\n")
	tests := []struct{ name, in, want string }{
		{"empty", "", section + "\n"},
		{"a byte-order mark", "\ufeff", "\ufeff" + section + "\n"},
		{"text", "a\n", "a\n\n" + section + "\n"},
		{"an empty line at the end", "a\n\n", "a\n\n\n" + section + "\n"},
		{"no line end", "a", "a\n\n" + section},
		{"windows", "a\r\n", "a\r\n\r\n" + crlf + "\r\n"},
		{"windows, no line end", "a\r\nb", "a\r\nb\r\n\r\n" + crlf},
		{"one carriage return", "a\r", "a\r\r\n\r\n" + crlf},
		{"a carriage return at the end", "a\nb\r", "a\nb\r\n\n" + section},
		{"mixed line ends", "a\nb\r\n", "a\nb\r\n\n" + section + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before := state{exists: true, data: []byte(tt.in)}
			got, _, err := putSection(before)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got.data)); diff != "" {
				t.Errorf("put (-want +got):\n%s", diff)
			}
			if again, _, err := putSection(got); err != nil || !again.same(got) {
				t.Errorf("second put = %q, %v", again.data, err)
			}
			back, _, err := sectionMarks().cut(got, &before)
			if err != nil || !back.same(before) {
				t.Errorf("cut = %q, %v, want %q", back.data, err, tt.in)
			}
		})
	}
}

func TestSectionIsReplaced(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"an older one", "a\n<!-- autopilot:begin -->\nold\n<!-- autopilot:end -->\nb\n", "a\n" + section + "\nb\n"},
		{"an empty one at the end", "a\r\n<!-- autopilot:begin -->\r\n<!-- autopilot:end -->", "a\r\n" + strings.ReplaceAll(section, "\n", "\r\n")},
		{"blanks around the markers", "a\n  <!-- autopilot:begin -->\n<!-- autopilot:end -->  \n", "a\n" + section + "\n"},
		{"a marker within a line is none", "a <!-- autopilot:begin -->\n", "a <!-- autopilot:begin -->\n\n" + section + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, _, err := putSection(state{exists: true, data: []byte(tt.in)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got.data)); diff != "" {
				t.Errorf("put (-want +got):\n%s", diff)
			}
		})
	}
}

// The order of the words matters to nobody; that they are there does.
func TestSectionSays(t *testing.T) {
	t.Parallel()
	for _, want := range []string{"autopilot status", "autopilot enable", "autopilot disable", "autopilot predict", "autopilot_report", "not stop early"} {
		if !strings.Contains(section, want) {
			t.Errorf("the section says nothing of %q", want)
		}
	}
}
