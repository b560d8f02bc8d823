package approval

import (
	"strings"
	"testing"

	"autopilot/sessions/approval/rule"
)

func TestOnlyTheValueOfASecretIsLeftOut(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"TOKEN=abcdef1;kubectl delete ns prod":                  "TOKEN=[redacted];kubectl delete ns prod",
		"x --token=$(curl${IFS}-X${IFS}DELETE${IFS}https://p)":  "x --token=$(curl${IFS}-X${IFS}DELETE${IFS}https://p)",
		"PASSWORD=a1b2c3;psql${IFS}-c${IFS}DROP":                "PASSWORD=[redacted];psql${IFS}-c${IFS}DROP",
		"API_KEY=abcdefgh|sh&rm -rf x":                          "API_KEY=[redacted]|sh&rm -rf x",
		"SECRET='abc def ghi' make":                             "SECRET='abc def ghi' make",
		"SECRET=`rm -rf src`":                                   "SECRET=`rm -rf src`",
		"TOKEN=abcdefgh`id`":                                    "TOKEN=[redacted]`id`",
		`{"api_key": "hunter2hunter2", "a": 1}`:                 `{"api_key": "[redacted]", "a": 1}`,
		"PASSWORD=hunter$2hunter2 x":                            "PASSWORD=[redacted] x",
		"login --password hunter2hunter2 --force":               "login --password [redacted] --force",
		"login --password --force":                              "login --password --force",
		"echo ghp_abcdefghijklmnop1234;rm -rf x":                "echo [redacted];rm -rf x",
		"deploy --max-tokens=500 tokens: 12 feature/sk-ip":      "deploy --max-tokens=500 tokens: 12 feature/sk-ip",
		"curl -H 'Authorization: Bearer sk-abcdefgh12345' host": "curl -H 'Authorization: Bearer [redacted]' host",
	} {
		if got := redact(in, ""); got != want {
			t.Errorf("redact(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestGatesThatDifferOnlyInASecretLookDifferent(t *testing.T) {
	t.Parallel()
	d := desk(t)
	a := d.mustHold(t, bash("kubectl set env d/x SECRET=aaaaaaaa"), Who{}, noon()).Gate
	b := d.mustHold(t, bash("kubectl set env d/x SECRET=bbbbbbbb"), Who{}, noon()).Gate
	if a.Subject == b.Subject || a.Input == b.Input || a.ID == b.ID {
		t.Errorf("%q and %q, %q and %q: want them different", a.Subject, b.Subject, a.Input, b.Input)
	}
	if strings.Contains(a.Subject+a.Input+b.Subject+b.Input, "aaaaaaaa") || !strings.Contains(a.Input, a.Fingerprint[:6]) {
		t.Errorf("%q, want the beginning of the fingerprint in the place of the secret", a.Input)
	}
}

func TestWhatIsTooLongToBeShownIsRefused(t *testing.T) {
	t.Parallel()
	d := desk(t)
	v := d.mustHold(t, bash("kubectl apply -f x\n# "+strings.Repeat("a", maxInput)+"\nkubectl delete ns prod"), Who{}, noon())
	if v.Allow || v.Gate.ID != "" || !strings.Contains(v.Reason, "too long to be shown to a person: split it") {
		t.Errorf("Hold = %+v, want it refused without a gate", v)
	}
	if gates, err := d.List(noon()); err != nil || len(gates) != 0 {
		t.Errorf("gates %v, %v, want none", gates, err)
	}
	end := "; kubectl delete ns prod"
	v = d.mustHold(t, bash("echo "+strings.Repeat("b", maxInput-500)+end), Who{}, noon())
	if !strings.Contains(v.Gate.Input, end) {
		t.Error("the end of a call that can be shown is not shown")
	}
	d.Advance = []string{"deploy"}
	if v := d.mustHold(t, bash(strings.Repeat("b", maxInput)), Who{}, noon()); !v.Allow {
		t.Errorf("approved in advance: %+v, want it let through", v)
	}
}

func TestInvisibleCharactersAreSeen(t *testing.T) {
	t.Parallel()
	if got, want := plain("g\u200bit \u202epush\x1b[1m"), "g\ufffdit \ufffdpush [1m"; got != want {
		t.Errorf("plain = %q, want %q", got, want)
	}
}

func TestOtherContentsOfAFileAreAnotherCall(t *testing.T) {
	t.Parallel()
	d := desk(t)
	hold := func(files ...File) Verdict {
		t.Helper()
		v, err := d.Hold(bash("bash x.sh"), found(), Who{}, noon(), Look{Files: files})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	one := hold(File{Path: "/x.sh", Sum: "1"})
	if _, err := d.Approve(one.Gate.ID, "ann", noon()); err != nil {
		t.Fatal(err)
	}
	for _, files := range [][]File{nil, {{Path: "/x.sh", Sum: "2"}}, {{Path: "/y.sh", Sum: "1"}}, {{Path: "/x.sh", Sum: "1"}, {Path: "/y.sh", Sum: "1"}}} {
		if v := hold(files...); v.Allow {
			t.Errorf("with %v the approval of another content counts", files)
		}
	}
	if v := hold(File{Path: "/x.sh", Sum: "1"}, File{Path: "/x.sh", Sum: "1"}); !v.Allow {
		t.Error("with the same file, read twice, the approval does not count")
	}
}

func TestRulesDoNotMixWithTheRest(t *testing.T) {
	t.Parallel()
	a := fingerprint(bash("x"), []rule.Finding{{Rule: "a", Part: "b"}}, nil)
	b := fingerprint(bash("x"), nil, []File{{Path: "a", Sum: "b"}})
	if a == b {
		t.Error("a finding and a file give the same fingerprint")
	}
}
