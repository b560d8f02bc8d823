package stream_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/sessions/stream"
)

var update = flag.Bool("update", false, "rewrite the expected events of the recordings")

// recording is one run of the program, as a txtar archive: a comment, what it
// printed, the events expected from it (one per line) and the counts.
type recording struct {
	path    string
	comment string
	files   map[string]string
}

// sections are the files of a recording, in order.
func sections() []string { return []string{"stream", "events", "stats"} }

func recordings(t testing.TB) []recording {
	t.Helper()
	paths, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("list recordings: %d found, error %v", len(paths), err)
	}
	var all []recording
	for _, path := range paths {
		all = append(all, readRecording(t, path))
	}
	return all
}

func readRecording(t testing.TB, path string) recording {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := recording{path: path, files: map[string]string{}}
	rest := string(text)
	for i, name := range sections() {
		head, tail, found := strings.Cut(rest, "-- "+name+" --\n")
		if i == 0 {
			r.comment = head
		} else {
			r.files[sections()[i-1]] = head
		}
		if rest = tail; !found {
			break
		}
		r.files[name] = tail
	}
	return r
}

func (r recording) write(t testing.TB) {
	t.Helper()
	text := r.comment
	for _, name := range sections() {
		text += "-- " + name + " --\n" + r.files[name]
	}
	if err := os.WriteFile(r.path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// printed returns the bytes that the program wrote: pictures of control
// characters turned back, without the newline that ends the archive's file.
func (r recording) printed() []byte {
	text := strings.Map(func(c rune) rune {
		if c >= 0x2400 && c < 0x2420 {
			return c - 0x2400
		}
		return c
	}, r.files["stream"])
	return []byte(strings.TrimSuffix(text, "\n"))
}

// seen is an event as the recordings have it: with the fields that the stream
// does not set.
type seen struct {
	stream.Event

	Cut       int    `json:"-cut,omitempty"`
	Odd       string `json:"-odd,omitempty"`
	Oversized bool   `json:"-oversized,omitempty"`
}

func render(t testing.TB, events []stream.Event) string {
	t.Helper()
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	for _, e := range events {
		if err := encoder.Encode(seen{Event: e, Cut: e.Cut, Odd: e.Odd, Oversized: e.Oversized}); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// decode runs pieces through a Decoder whose clock stands still.
func decode(t testing.TB, limits stream.Limits, pieces ...[]byte) ([]stream.Event, stream.Stats) {
	t.Helper()
	var events []stream.Event
	d := stream.New(limits, func(e stream.Event) { events = append(events, e) },
		stream.WithNow(func() time.Time { return time.Unix(1, 0) }))
	for _, p := range pieces {
		if n, err := d.Write(p); n != len(p) || err != nil {
			t.Fatalf("Write(%d bytes) = %d, %v", len(p), n, err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return events, d.Stats()
}

func TestRecordings(t *testing.T) {
	for _, r := range recordings(t) {
		t.Run(strings.TrimPrefix(r.path, "testdata/"), func(t *testing.T) {
			events, stats := decode(t, stream.Limits{}, r.printed())
			counts, err := json.MarshalIndent(stats, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{"events": render(t, events), "stats": string(counts) + "\n"}
			for _, name := range []string{"events", "stats"} {
				if *update {
					r.files[name] = got[name]
				}
				if diff := cmp.Diff(r.files[name], got[name]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			if *update {
				r.write(t)
			}
		})
	}
}

// However the bytes are cut into pieces, the events are the same.
func TestRecordingsByteByByte(t *testing.T) {
	t.Parallel()
	for _, r := range recordings(t) {
		t.Run(strings.TrimPrefix(r.path, "testdata/"), func(t *testing.T) {
			t.Parallel()
			all := r.printed()
			var single [][]byte
			for i := range all {
				single = append(single, all[i:i+1])
			}
			want, wantStats := decode(t, stream.Limits{}, all)
			got, gotStats := decode(t, stream.Limits{}, single...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if gotStats != wantStats {
				t.Errorf("stats = %+v, want %+v", gotStats, wantStats)
			}
		})
	}
}
