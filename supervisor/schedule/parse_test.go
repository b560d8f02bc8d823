package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	cron "github.com/netresearch/go-cron"
	"pgregory.net/rapid"

	"autopilot/supervisor/schedule"
)

const berlin = "Europe/Berlin"

func TestParse(t *testing.T) {
	t.Parallel()
	type request = schedule.Request
	tests := []struct {
		name string
		in   request
		want schedule.Spec
	}{
		{"window on weekdays", request{Window: "22:00-06:00", Days: "mon-fri"}, schedule.Spec{Cron: []string{"0 22 * * 1-5"}, Until: "06:00"}},
		{"the same as cron text", request{Cron: "00 22 * * MON-fri", Until: "6:00"}, schedule.Spec{Cron: []string{"0 22 * * 1-5"}, Until: "06:00"}},
		{"weekdays by their name", request{At: []string{"22:00"}, Days: "Weekdays"}, schedule.Spec{Cron: []string{"0 22 * * 1-5"}}},
		{"weekends", request{At: []string{"9:05"}, Days: "weekends"}, schedule.Spec{Cron: []string{"5 9 * * 0,6"}}},
		{"daily", request{At: []string{"22:00"}, Days: "daily"}, schedule.Spec{Cron: []string{"0 22 * * *"}}},
		{"no days", request{At: []string{"22:00"}}, schedule.Spec{Cron: []string{"0 22 * * *"}}},
		{"all days by name", request{At: []string{"22:00"}, Days: "sun-sat"}, schedule.Spec{Cron: []string{"0 22 * * *"}}},
		{"a list and a range that wraps", request{At: []string{"22:00"}, Days: "fri-mon, wednesday"}, schedule.Spec{Cron: []string{"0 22 * * 0,1,3,5,6"}}},
		{"several times share a line", request{At: []string{"23:30", "22:00,22:30", "23:00"}}, schedule.Spec{Cron: []string{"0,30 22,23 * * *"}}},
		{"or two", request{At: []string{"22:00", "23:30", "22:00"}}, schedule.Spec{Cron: []string{"0 22 * * *", "30 23 * * *"}}},
		{"midnight by its other name", request{Window: "20:00 - 24:00"}, schedule.Spec{Cron: []string{"0 20 * * *"}, Until: "00:00"}},
		{"half an hour", request{Window: "22:00-22:30"}, schedule.Spec{Cron: []string{"0 22 * * *"}, Until: "22:30"}},
		{"steps", request{Cron: "*/15 9-17/2 * * *"}, schedule.Spec{Cron: []string{"*/15 9,11,13,15,17 * * *"}}},
		{"steps written out", request{Cron: "45,30,15,0 9-17/2 ? * ?"}, schedule.Spec{Cron: []string{"*/15 9,11,13,15,17 * * *"}}},
		{"uneven steps", request{Cron: "*/25 * * * *"}, schedule.Spec{Cron: []string{"0,25,50 * * * *"}}},
		{"step from a number on", request{Cron: "10/20 0 * * *"}, schedule.Spec{Cron: []string{"10,30,50 0 * * *"}}},
		{"hours that wrap", request{Cron: "0 22-2 * * *"}, schedule.Spec{Cron: []string{"0 0-2,22,23 * * *"}}},
		{"names", request{Cron: "0 0 1 jan,Nov-FEB *"}, schedule.Spec{Cron: []string{"0 0 1 1,2,11,12 *"}}},
		{"sunday twice", request{Cron: "0 0 * * 0,7,sun"}, schedule.Spec{Cron: []string{"0 0 * * 0"}}},
		{"to sunday", request{Cron: "0 0 * * 5-7"}, schedule.Spec{Cron: []string{"0 0 * * 0,5,6"}}},
		{"days of either kind", request{Cron: "0 22 1,15 * fri"}, schedule.Spec{Cron: []string{"0 22 * * 5", "0 22 1,15 * *"}}},
		{"every day of the month beside a weekday", request{Cron: "0 22 1-31 * fri"}, schedule.Spec{Cron: []string{"0 22 * * *"}}},
		{"a step over all days", request{Cron: "0 22 */2 * *"}, schedule.Spec{Cron: []string{"0 22 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 * *"}}},
		{"the part that comes", request{Cron: "0 22 30 2 mon"}, schedule.Spec{Cron: []string{"0 22 * 2 1"}}},
		{"29 February", request{Cron: "0 22 29 2 *"}, schedule.Spec{Cron: []string{"0 22 29 2 *"}}},
		{"@daily", request{Cron: "@Daily"}, schedule.Spec{Cron: []string{"0 0 * * *"}}},
		{"@midnight", request{Cron: " @midnight "}, schedule.Spec{Cron: []string{"0 0 * * *"}}},
		{"@hourly", request{Cron: "@hourly"}, schedule.Spec{Cron: []string{"0 * * * *"}}},
		{"@weekly", request{Cron: "@weekly"}, schedule.Spec{Cron: []string{"0 0 * * 0"}}},
		{"@monthly", request{Cron: "@monthly"}, schedule.Spec{Cron: []string{"0 0 1 * *"}}},
		{"@yearly", request{Cron: "@annually"}, schedule.Spec{Cron: []string{"0 0 1 1 *"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.want.Zone = berlin
			got, err := schedule.Parse(tt.in, berlin)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("Parse(%+v) (-want +got):\n%s", tt.in, d)
			}
		})
	}
}

func TestParseZone(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{"": berlin, "Local": berlin, "local": berlin, "UTC": "UTC", "Asia/Kolkata": "Asia/Kolkata", "CET": "CET"} {
		got, err := schedule.Parse(schedule.Request{At: []string{"22:00"}, Zone: asked}, berlin)
		if err != nil || got.Zone != want {
			t.Errorf("zone %q: got %q, %v, want %q", asked, got.Zone, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	type request = schedule.Request
	at := []string{"22:00"}
	tests := []struct {
		name string
		in   request
		fact string // part of what is said
		way  string
	}{
		{"nothing", request{}, "nothing says when", "--at 22:00"},
		{"both", request{At: at, Cron: "@daily"}, "--cron and --at", "one of the two"},
		{"cron and window", request{Window: "22:00-06:00", Cron: "@daily"}, "--cron and --window", "--until"},
		{"cron and days", request{Days: "mon", Cron: "@daily"}, "--cron and --days", "cron text"},
		{"at and window", request{At: at, Window: "22:00-06:00"}, "--at and --window", "--until"},
		{"two ends", request{Window: "22:00-06:00", Until: "07:00"}, "--until and --window", "alone"},
		{"empty window", request{Window: "22:00-22:00"}, "the window 22:00-22:00 is empty", "another time"},
		{"empty at midnight", request{Window: "00:00-24:00"}, "the window 00:00-00:00 is empty", "another time"},
		{"empty for one of two", request{At: []string{"22:00", "06:00"}, Until: "6:00"}, "06:00-06:00 is empty", ""},
		{"empty by cron", request{Cron: "*/30 * * * *", Until: "06:30"}, "06:30-06:30 is empty", ""},
		{"window without end", request{Window: "22:00"}, "has no end", "22:00-06:00"},
		{"window with half an end", request{Window: "22:00-"}, "has no end", "22:00-06:00"},
		{"no time", request{At: []string{"10pm"}}, `"10pm" is no time of day`, "22:00"},
		{"no minute", request{At: []string{"22"}}, `"22" is no time of day`, "22:00"},
		{"25 o'clock", request{At: []string{"25:00"}}, `"25:00"`, "22:00"},
		{"a signed hour", request{At: []string{"+9:00"}}, `"+9:00"`, "22:00"},
		{"minute 60", request{At: []string{"22:60"}}, `"22:60"`, "22:00"},
		{"beginning at 24", request{At: []string{"24:00"}}, `"24:00"`, "22:00"},
		{"seconds", request{At: []string{"22:00:30"}}, `"22:00:30"`, "22:00"},
		{"no day", request{At: at, Days: "mon-fry"}, `"mon-fry" is no day`, "weekdays"},
		{"empty day", request{At: at, Days: "mon,"}, `"" is no day`, "weekdays"},
		{"six fields", request{Cron: "0 0 22 * * 1-5"}, "has six fields", "seconds"},
		{"seven fields", request{Cron: "0 0 22 * * 1-5 2027"}, "has seven fields", "year"},
		{"four fields", request{Cron: "0 22 * *"}, "has 4 fields", "five fields"},
		{"@every", request{Cron: "@every 30m"}, "@every 30m", "*/30"},
		{"@reboot", request{Cron: "@reboot"}, "@reboot", "time of day"},
		{"@nightly", request{Cron: "@nightly"}, "@nightly is not known", "@daily"},
		{"zone in the text", request{Cron: "CRON_TZ=UTC 0 22 * * *"}, "names a time zone", "--zone"},
		{"last day", request{Cron: "0 22 L * *"}, "L and W", "name the days"},
		{"working day", request{Cron: "0 22 15W * *"}, "L and W", "name the days"},
		{"last friday", request{Cron: "0 22 * * 5L"}, "L is not known", "name the days"},
		{"third friday", request{Cron: "0 22 * * fri#3"}, "#", "1-7"},
		{"hash", request{Cron: "H 22 * * *"}, "H stands for any time", ""},
		{"random", request{Cron: "0~30 22 * * *"}, "~ stands for a random time", "name the time"},
		{"minute 60 in cron", request{Cron: "60 22 * * *"}, "60", ""},
		{"hour 24 in cron", request{Cron: "0 24 * * *"}, "24", ""},
		{"day 0", request{Cron: "0 22 0 * *"}, "0", ""},
		{"step 0", request{Cron: "*/0 22 * * *"}, "step", ""},
		{"step that is none", request{Cron: "*/x 22 * * *"}, "step is no number", "*/15"},
		{"two steps", request{Cron: "*/2/3 22 * * *"}, "step is no number", "*/15"},
		{"a comma too many", request{Cron: "0,,5 22 * * *"}, "beside a comma", ""},
		{"a range from a star", request{Cron: "*-5 22 * * *"}, "a range has two ends", ""},
		{"a range without end", request{Cron: "1- 22 * * *"}, "a value is missing", ""},
		{"a negative number", request{Cron: "-1 22 * * *"}, "a value is missing", ""},
		{"percent", request{Cron: "0% 22 * * *"}, `"0%" is not one`, ""},
		{"a name in the wrong field", request{Cron: "0 22 * mon *"}, `"mon" is not one`, ""},
		{"steps around the end of the week", request{Cron: "0 22 * * fri-mon/2"}, "around the end of the week", "name the days"},
		{"a step beside a weekday", request{Cron: "0 22 */2 * fri"}, "two things to two cron programs", "one by one"},
		{"a day beside a step", request{Cron: "0 22 13 * */2"}, "two things to two cron programs", "one by one"},
		{"30 February", request{Cron: "0 22 30 2 *"}, "never comes", "a day that the month has"},
		{"31 of short months", request{Cron: "0 22 31 4,6,9,11 *"}, "never comes", ""},
		{"two lines", request{Cron: "0 22 * * *\n0 23 * * *"}, "a character that no cron text has", ""},
		{"a long text", request{Cron: strings.Repeat("1,", 200) + "1 22 * * *"}, "characters", ""},
		{"unknown zone", request{At: at, Zone: "Mars/Olympus"}, `time zone "Mars/Olympus" is not known`, "such as Europe/Berlin"},
		{"a zone in lower case", request{At: at, Zone: "europe/berlin"}, `"europe/berlin"`, "did you mean Europe/Berlin?"},
		{"a city", request{At: at, Zone: "Tokyo"}, `"Tokyo"`, "did you mean Asia/Tokyo?"},
		{"blanks", request{At: at, Zone: "America/New York"}, `"America/New York"`, "did you mean America/New_York?"},
		{"a misspelling", request{At: at, Zone: "Europe/Belrin"}, `"Europe/Belrin"`, "did you mean Europe/Berlin?"},
		{"a city in the wrong area", request{At: at, Zone: "America/Lisbon"}, `"America/Lisbon"`, "did you mean Europe/Lisbon?"},
		{"a path", request{At: at, Zone: "/usr/share/zoneinfo/UTC"}, "is not known", ""},
		{"the machine's file", request{At: at, Zone: "localtime"}, "is not known", ""},
		{"the rules of a library", request{At: at, Zone: "posixrules"}, "is not known", ""},
		{"a climb", request{At: at, Zone: "../UTC"}, "is not known", ""},
		{"a zone with a line end", request{At: at, Zone: "UTC\nx"}, "is not known", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := schedule.Parse(tt.in, berlin)
			bad, ok := errors.AsType[*schedule.InvalidError](err)
			if !ok {
				t.Fatalf("Parse(%+v) = %+v, %v, want it refused", tt.in, got, err)
			}
			if !strings.Contains(bad.Error(), tt.fact) || !strings.Contains(bad.Hint(), tt.way) {
				t.Errorf("says %q and %q, want %q and %q in it", bad.Fact, bad.Way, tt.fact, tt.way)
			}
			if strings.ContainsAny(bad.Fact, "\n") {
				t.Errorf("says more than one line: %q", bad.Fact)
			}
			if got, want := bad.ExitCode(), 2; got != want {
				t.Errorf("exit code %d, want %d", got, want)
			}
		})
	}
	for _, local := range []string{"", "Local"} {
		if got, err := schedule.Parse(request{At: at}, local); err == nil {
			t.Errorf("without a zone at all: %+v, want it refused", got)
		}
	}
}

func TestSpecCheckRefusesWhatWasEdited(t *testing.T) {
	t.Parallel()
	good := schedule.Spec{Cron: []string{"0 22 * * *"}, Zone: berlin, Until: "06:00"}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*schedule.Spec){
		"no times":       func(s *schedule.Spec) { s.Cron = nil },
		"no zone":        func(s *schedule.Spec) { s.Zone = "" },
		"the local zone": func(s *schedule.Spec) { s.Zone = "Local" },
		"no such zone":   func(s *schedule.Spec) { s.Zone = "Europe/Nowhere" },
		"no such time":   func(s *schedule.Spec) { s.Cron = []string{"0 22 * *"} },
		"never":          func(s *schedule.Spec) { s.Cron = []string{"0 22 31 6 *"} },
		"no such end":    func(s *schedule.Spec) { s.Until = "late" },
		"empty":          func(s *schedule.Spec) { s.Until = "22:00" },
	} {
		s := good
		edit(&s)
		if err := s.Check(); err == nil {
			t.Errorf("%s: %+v passes", name, s)
		}
	}
}

// genField draws a field of cron text with values from low to high.
func genField(t *rapid.T, low, high int, label string) string {
	number := func() string {
		return rapid.StringMatching(`0?`).Draw(t, "zero") + itoa(rapid.IntRange(low, high).Draw(t, label))
	}
	switch rapid.IntRange(0, 5).Draw(t, label+" form") {
	case 0, 1:
		return "*"
	case 2:
		return "*/" + itoa(rapid.IntRange(1, 4).Draw(t, label+" step"))
	case 3:
		a := rapid.IntRange(low, high).Draw(t, label+" first")
		b := rapid.IntRange(a, high).Draw(t, label+" last")
		return itoa(a) + "-" + itoa(b)
	case 4:
		return number() + "," + number() + "," + number()
	default:
		return number()
	}
}

func itoa(n int) string { return string(appendInt(nil, n)) }

func appendInt(b []byte, n int) []byte {
	if n >= 10 {
		b = appendInt(b, n/10)
	}
	return append(b, byte('0'+n%10))
}

func genCron(t *rapid.T) string {
	return strings.Join([]string{
		genField(t, 0, 59, "minute"), genField(t, 0, 23, "hour"), genField(t, 1, 31, "day"),
		genField(t, 1, 12, "month"), genField(t, 0, 7, "weekday"),
	}, " ")
}

// In a zone without jumps of the clocks the library is right, and what was put into normal
// form has to mean the same.
func TestNormalFormMeansTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := genCron(t)
		spec, err := schedule.Parse(schedule.Request{Cron: text}, "UTC")
		if err != nil {
			t.Skip(err)
		}
		again, err := schedule.Parse(schedule.Request{Cron: spec.Cron[0]}, "UTC")
		if err != nil || again.Cron[0] != spec.Cron[0] {
			t.Fatalf("%q became %q, which becomes %q, %v", text, spec.Cron, again.Cron, err)
		}
		parser, err := cron.TryNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.DowOrDom)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := parser.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 600*24).Draw(t, "hours")) * time.Hour)
		for range 20 {
			want := theirs.Next(now)
			got, ok := spec.Next(now)
			if !ok && want.IsZero() {
				return // 29 February may be further away than the library looks
			}
			if !got.Equal(want) && !want.IsZero() {
				t.Fatalf("%q, %q: after %v comes %v, want %v", text, spec.Cron, now, got, want)
			}
			now = got
		}
	})
}

func TestSameWishSameBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var lines []schedule.Line
		for range rapid.IntRange(1, 4).Draw(t, "lines") {
			lines = append(lines, schedule.Line{
				Minutes:  rapid.SliceOfN(rapid.SampledFrom([]int{0, 15, 30, 45}), 0, 4).Draw(t, "minutes"),
				Hours:    rapid.SliceOfN(rapid.IntRange(20, 23), 1, 3).Draw(t, "hours"),
				Weekdays: rapid.SliceOfN(rapid.IntRange(0, 6), 0, 4).Draw(t, "weekdays"),
			})
		}
		want := schedule.Normal(lines)
		// One line for each hour of each, in another order.
		var other []schedule.Line
		for i := range lines {
			l := lines[len(lines)-1-i]
			for _, h := range l.Hours {
				l.Hours = []int{h}
				other = append(other, l)
			}
		}
		if d := cmp.Diff(want, schedule.Normal(other)); d != "" {
			t.Fatalf("%v and %v (-want +got):\n%s", lines, other, d)
		}
		if d := cmp.Diff(want, schedule.Normal(want)); d != "" {
			t.Fatalf("normal form of a normal form (-want +got):\n%s", d)
		}
	})
}

func TestNormal(t *testing.T) {
	t.Parallel()
	hours := func(h ...int) schedule.Line { return schedule.Line{Minutes: []int{0}, Hours: h} }
	with := func(l schedule.Line, days, months, weekdays []int) schedule.Line {
		l.Days, l.Months, l.Weekdays = days, months, weekdays
		return l
	}
	list := func(from, to int) []int {
		var out []int
		for v := from; v <= to; v++ {
			out = append(out, v)
		}
		return out
	}
	tests := []struct {
		name string
		in   []schedule.Line
		want []string
	}{
		{"nothing", nil, nil},
		{"a day that is among all days", []schedule.Line{hours(22), with(hours(22, 23), []int{1}, nil, nil)}, []string{"0 22 * * *", "0 23 1 * *"}},
		{"all days in two parts", []schedule.Line{with(hours(22), list(1, 15), nil, nil), with(hours(22), list(16, 31), nil, nil)}, []string{"0 22 * * *"}},
		{"all months in two parts", []schedule.Line{with(hours(22), nil, list(1, 6), []int{1}), with(hours(22), nil, list(7, 12), []int{1})}, []string{"0 22 * * 1"}},
		{"other days in another month", []schedule.Line{with(hours(22), []int{1}, []int{1}, nil), with(hours(22), []int{2}, []int{2}, nil)}, []string{"0 22 1 1 *", "0 22 2 2 *"}},
		{"other weekdays in another month", []schedule.Line{with(hours(22), nil, []int{1}, []int{1}), with(hours(22), nil, []int{2}, []int{2})}, []string{"0 22 * 1 1", "0 22 * 2 2"}},
		{"all days in two parts, beside a weekday", []schedule.Line{with(hours(22), list(1, 15), nil, nil), with(hours(22), list(16, 31), nil, nil), with(hours(23), nil, nil, []int{5})}, []string{"0 22 * * 0-4,6", "0 22,23 * * 5"}},
		{"a weekday and a day at one time", []schedule.Line{with(hours(22), []int{13}, nil, nil), with(hours(22), nil, nil, []int{5})}, []string{"0 22 * * 5", "0 22 13 * *"}},
		{"a day that no month of it has", []schedule.Line{with(hours(22), []int{31}, []int{4, 6}, nil)}, nil},
	}
	for _, tt := range tests {
		var got []string
		for _, l := range schedule.Normal(tt.in) {
			got = append(got, l.String())
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	tests := []struct {
		cron  string // several lines with |
		until string
		want  string
	}{
		{"0 22 * * 1-5", "06:00", "Mon-Fri at 22:00 until 06:00, Europe/Berlin"},
		{"0 22 * * *", "", "daily at 22:00, Europe/Berlin"},
		{"0 22 * * 0,6", "", "Sat, Sun at 22:00, Europe/Berlin"},
		{"0 22 * * 0,1,5,6", "", "Mon, Fri-Sun at 22:00, Europe/Berlin"},
		{"0 22 * * *|30 23 * * *", "", "daily at 22:00 and 23:30, Europe/Berlin"},
		{"0 22 * * 1-5|0 10,22 * * 6", "", "Mon-Fri at 22:00; Sat at 10:00 and 22:00, Europe/Berlin"},
		{"0 0 1 1 *", "", "on day 1 of the month in Jan at 00:00, Europe/Berlin"},
		{"0 0 1,15 3-5 *", "", "on days 1, 15 of the month in Mar-May at 00:00, Europe/Berlin"},
		{"*/15 * * * *", "", "daily every 15 minutes of every hour, Europe/Berlin"},
		{"0 * * * *", "", "daily every hour, Europe/Berlin"},
		{"* 9-17 * * *", "", "daily every minute of the hours 9-17, Europe/Berlin"},
		{"5,50 9-17 * * *", "", "daily at minute 5, 50 of the hours 9-17, Europe/Berlin"},
		{"*/10 9 * * *|*/20 10-12 * * *", "", "daily at 09:00 and 13 other times until 12:40, Europe/Berlin"},
		{"nonsense", "", "at times that cannot be read"},
	}
	for _, tt := range tests {
		s := schedule.Spec{Cron: strings.Split(tt.cron, "|"), Zone: berlin, Until: tt.until}
		if got := s.Words(); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.cron, got, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"0 22 * * 1-5", "@daily", "*/7 1-5/2 1,2 jan-mar *", "0 22 L * 5#2", "a b c d e", "* * * * *"} {
		f.Add(seed, "22:00-06:00", "mon-fri", "UTC")
	}
	f.Fuzz(func(t *testing.T, text, window, days, zone string) {
		for _, r := range []schedule.Request{{Cron: text, Zone: zone}, {Window: window, Days: days, Zone: zone}} {
			spec, err := schedule.Parse(r, "UTC")
			if err != nil {
				continue
			}
			if err := spec.Check(); err != nil {
				t.Fatalf("%+v gives %+v, which is refused: %v", r, spec, err)
			}
			if _, ok := spec.Next(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)); !ok {
				t.Fatalf("%+v gives %+v, which never begins", r, spec)
			}
			for _, l := range spec.Cron {
				if strings.ContainsAny(l, "\n\r%;|&`$") {
					t.Fatalf("%+v gives the line %q", r, l)
				}
			}
		}
	})
}
