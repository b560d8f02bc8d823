package install

import (
	"testing"
)

// FuzzPlan: any bytes in the settings are refused, or become settings with all of
// ours from which uninstall finds the way back.
func FuzzPlan(f *testing.F) {
	for _, s := range []string{
		"", "{}", "{\"a\":1,}", "\ufeff{\r\n\t// c\r\n}\r\n", wholeSettings, `{"hooks":{"Stop":[{"hooks":[` + ourHook + `]}]}}`,
		`{"hooks":{"Stop":[1,],},"claudeFlow":{/**/}} // x`, `{"hooks":[]}`, olderSettings, "{\"hooks\":{// c\n\"SessionStart\":[ /**/ ]\n,}}",
		`{"hooks":{"SessionStart":[{"hooks":[` + startHook + `,1]}],"Stop":[/**/]}}`, "[[[[", "{\"a\":\"\\u00", "{\"hooks\":{},\"hooks\":{}}", "/*",
	} {
		f.Add([]byte(s))
	}
	options := newPlace(f).Options
	options.NoMCP, options.NoConfig, options.NoInstructions = true, true, true
	f.Fuzz(func(t *testing.T, data []byte) {
		p := &place{t, options}
		p.write(settingsFile, string(data))
		c, err := Plan(p.Options)
		if got := p.read(settingsFile); got != string(data) {
			t.Fatalf("Plan has written %q", got)
		}
		if err != nil {
			return
		}
		from, to := state{exists: true, data: data}, state{exists: true, data: data}
		for _, e := range c.edits {
			to = e.to
		}
		d := mustParse(t, to.data)
		for _, e := range events() {
			if !d.hasHook(program{"autopilot", ""}, e) {
				t.Fatalf("%q has no hook for %s", to.data, e.name)
			}
		}
		if d.lookup(limitsPath()...) == nil {
			t.Fatalf("%q has no limits", to.data)
		}
		part := settingsPart(program{"autopilot", ""})
		if again, _, err := part.put(to); err != nil || !again.same(to) {
			t.Fatalf("second put of %q = %q, %v", to.data, again.data, err)
		}
		if back, _, err := part.cut(to, &from); err != nil || !back.same(from) {
			t.Fatalf("cut %q = %q, %v, want %q", to.data, back.data, err, data)
		}
		if _, _, err := part.cut(to, nil); err != nil {
			t.Fatalf("cut %q without a record: %v", to.data, err)
		}
	})
}

func mustParse(t *testing.T, data []byte) doc {
	t.Helper()
	_, text := splitMark(data)
	d, err := parseDoc(text)
	if err != nil {
		t.Fatalf("parse %q: %v", data, err)
	}
	return d
}

// FuzzPlanUninstall: any bytes are refused, or left with nothing of ours.
func FuzzPlanUninstall(f *testing.F) {
	for _, s := range []string{
		"", wholeSettings, `{"hooks":{"Stop":[{"hooks":[` + ourHook + `,` + ourHook + `]}]}} // x`, "{// c\n\"claudeFlow\":{\"autopilot\":{}}}", olderSettings,
		`{"hooks":{"SessionStart":[{"hooks":[` + startHook + `,` + ourHook + `]}],"Stop":[{"hooks":[` + ourHook + `,` + startHook + `]}]},}`,
	} {
		f.Add([]byte(s))
	}
	us := program{"autopilot", ""}
	part := settingsPart(us)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, before := range []*state{nil, {}, {exists: true}} {
			next, _, err := part.cut(state{exists: true, data: data}, before)
			if err != nil || next.blank() {
				continue
			}
			d := mustParse(t, next.data)
			for _, e := range events() {
				if d.hasHook(us, e) {
					t.Errorf("cut %q = %q, which has the hook for %s", data, next.data, e.name)
				}
			}
			if before != nil && d.lookup(limitsPath()...) != nil {
				t.Errorf("cut %q = %q, which has the limits", data, next.data)
			}
		}
	})
}

func FuzzSection(f *testing.F) {
	for _, s := range []string{"", "a", "a\n", "a\r\nb", "\r", section, "x\n" + section + "\ny", sectionBegin, sectionEnd + "\n" + sectionBegin} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := state{exists: true, data: data}
		after, _, err := putSection(before)
		if err != nil {
			return
		}
		if again, _, err := putSection(after); err != nil || !again.same(after) {
			t.Fatalf("second put of %q = %q, %v", after.data, again.data, err)
		}
		_, text := splitMark(data)
		if _, _, found, _ := sectionMarks().find(text); found {
			return
		}
		if back, _, err := sectionMarks().cut(after, &before); err != nil || !back.same(before) {
			t.Fatalf("cut %q = %q, %v, want %q", after.data, back.data, err, data)
		}
	})
}
