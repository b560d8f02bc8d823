package prompt

import "testing"

func TestPromised(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{
		"":                                    false,
		"<auto-complete>DONE</auto-complete>": true,
		"All is done.\n\n  <auto-complete>DONE</auto-complete>  \r\nBye": true,
		"I must not print <auto-complete>DONE</auto-complete> yet":       false,
		"`<auto-complete>DONE</auto-complete>`":                          false,
		"<auto-complete>done</auto-complete>":                            false,
		"<auto-complete>DONE":                                            false,
		"DONE":                                                           false,
		"> <auto-complete>DONE</auto-complete>":                          false,
	} {
		if got := Promised(answer, "DONE"); got != want {
			t.Errorf("%q: promised %t, want %t", answer, got, want)
		}
	}
	if !Promised(Promise("X Y"), "X Y") {
		t.Error("what is asked for is not taken")
	}
	if Promise("") != "" {
		t.Error("nothing is asked for, in words")
	}
}
