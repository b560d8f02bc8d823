package schedule

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	_ "time/tzdata" // a schedule has to be understood where the machine has no zone files

	"autopilot/metrics/spelling"
)

const zoneHint = "name a zone of the IANA database, such as Europe/Berlin or America/New_York"

// LocalZone is the IANA name of the zone that this machine's clock shows: that of the variable
// TZ, of the link /etc/localtime, or of the file /etc/timezone, in this order; UTC when there
// is none of them. What the services of the machine go by is LocalZone without TZ. It is an
// error when the zone is set without its name.
func LocalZone(getenv func(string) string) (string, error) {
	return localZone(getenv("TZ"), "/etc")
}

func localZone(tz, etc string) (string, error) {
	if tz = strings.TrimPrefix(tz, ":"); tz != "" {
		name := zoneOfPath(tz)
		if checkZone(name) != nil {
			return "", refuse("name the zone with --zone Europe/Berlin", "TZ is %q, which is not the name of a zone", tz)
		}
		return name, nil
	}
	clock := filepath.Join(etc, "localtime")
	for link, hops := clock, 0; hops < 8; hops++ {
		target, err := os.Readlink(link)
		if err != nil {
			break
		}
		if name := zoneOfPath(target); checkZone(name) == nil {
			return name, nil
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(link), target)
		}
		link = target
	}
	text, err := os.ReadFile(filepath.Join(etc, "timezone"))
	if name := strings.TrimSpace(string(text)); err == nil && checkZone(name) == nil {
		return name, nil
	}
	if _, err := os.Stat(clock); errors.Is(err, os.ErrNotExist) {
		return "UTC", nil
	}
	return "", refuse("name it with --zone Europe/Berlin", "the name of this machine's time zone is not known: %s is no link to a zone file", clock)
}

// zoneOfPath cuts the folder of the zone files off a path; anything else stays as it is.
func zoneOfPath(path string) string {
	if i := strings.LastIndex(path, "zoneinfo/"); i >= 0 {
		path = path[i+len("zoneinfo/"):]
	}
	return strings.TrimPrefix(path, "posix/")
}

func pickZone(asked, local string) (string, error) {
	zone := strings.TrimSpace(asked)
	if zone == "" || strings.EqualFold(zone, "local") {
		zone = local
	}
	if zone == "" || zone == "Local" {
		return "", refuse("name it with --zone Europe/Berlin", "the name of this machine's time zone is not known")
	}
	return zone, checkZone(zone)
}

// checkZone accepts the names of the IANA database. Those with leap seconds and those of a
// folder are no names.
func checkZone(name string) error {
	if name == "" || name == "Local" {
		return refuse(zoneHint, "the schedule has no time zone")
	}
	odd := strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f })
	// On a disk that does not tell upper from lower case any spelling would be found.
	lower := name[0] >= 'a' && name[0] <= 'z'
	if _, err := time.LoadLocation(name); err == nil && !odd && !lower && !strings.HasPrefix(name, "/") {
		return nil
	}
	hint := zoneHint
	if near := nearZone(name); near != "" {
		hint = "did you mean " + near + "?"
	}
	return refuse(hint, "time zone %q is not known", name)
}

// location is the zone of a spec.
func (s Spec) location() (*time.Location, error) {
	if err := checkZone(s.Zone); err != nil {
		return nil, err
	}
	loc, err := time.LoadLocation(s.Zone)
	if err != nil {
		return nil, fmt.Errorf("load time zone: %w", err)
	}
	return loc, nil
}

// nearZone is a zone that a misspelt name may stand for, or empty. There is no list of all
// names to compare with, so it tries the usual mistakes: case, blanks and a city without its
// continent, and then the zones most people live in.
func nearZone(name string) string {
	exists := func(n string) bool {
		_, err := time.LoadLocation(n)
		return err == nil && n != ""
	}
	spelt := spell(name)
	if spelt != name && exists(spelt) {
		return spelt
	}
	city := spelt[strings.LastIndex(spelt, "/")+1:]
	for _, area := range areas() {
		if city != "" && exists(area+"/"+city) {
			return area + "/" + city
		}
	}
	best, least := "", 3
	for _, zone := range wellKnown() {
		for _, typed := range []string{spelt, areaOf(zone) + "/" + city} {
			if d := spelling.Distance(strings.ToLower(typed), strings.ToLower(zone)); d < least {
				best, least = zone, d
			}
		}
	}
	return best
}

// spell writes a name the way the database does: Words_With_Capitals.
func spell(name string) string {
	name = strings.Join(strings.Fields(strings.ToLower(name)), "_")
	out, start := []byte(name), true
	for i, c := range out {
		if start && c >= 'a' && c <= 'z' {
			out[i] = c - 'a' + 'A'
		}
		start = c == '/' || c == '_' || c == '-'
	}
	if spelt := string(out); len(spelt) > 3 {
		return spelt
	}
	return strings.ToUpper(name) // UTC, CET
}

func areas() []string {
	return []string{"Europe", "America", "Asia", "Australia", "Africa", "Pacific", "Atlantic", "Indian", "America/Argentina", "Antarctica", "Arctic"}
}

func areaOf(zone string) string { return zone[:max(0, strings.LastIndex(zone, "/"))] }

func wellKnown() []string {
	return []string{
		"Africa/Cairo", "Africa/Johannesburg", "Africa/Lagos", "Africa/Nairobi",
		"America/Argentina/Buenos_Aires", "America/Bogota", "America/Chicago", "America/Denver", "America/Halifax", "America/Lima",
		"America/Los_Angeles", "America/Mexico_City", "America/New_York", "America/Phoenix", "America/Santiago", "America/Sao_Paulo", "America/Toronto",
		"Asia/Bangkok", "Asia/Dhaka", "Asia/Dubai", "Asia/Hong_Kong", "Asia/Jakarta", "Asia/Jerusalem", "Asia/Karachi", "Asia/Kolkata", "Asia/Manila",
		"Asia/Riyadh", "Asia/Seoul", "Asia/Shanghai", "Asia/Singapore", "Asia/Taipei", "Asia/Tehran", "Asia/Tokyo",
		"Australia/Brisbane", "Australia/Melbourne", "Australia/Perth", "Australia/Sydney",
		"Europe/Amsterdam", "Europe/Athens", "Europe/Berlin", "Europe/Brussels", "Europe/Budapest", "Europe/Copenhagen", "Europe/Dublin", "Europe/Helsinki",
		"Europe/Istanbul", "Europe/Kyiv", "Europe/Lisbon", "Europe/London", "Europe/Madrid", "Europe/Moscow", "Europe/Oslo", "Europe/Paris", "Europe/Prague",
		"Europe/Rome", "Europe/Stockholm", "Europe/Vienna", "Europe/Warsaw", "Europe/Zurich", "Pacific/Auckland", "Pacific/Honolulu",
	}
}
