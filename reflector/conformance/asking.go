package conformance

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/reflector"
)

// Reply is what a scripted service does with one question.
type Reply struct {
	Text  string
	Usage reflector.Usage // input, output and tokens read from the cache; nothing else
	Fail  bool            // the service fails for good, without a text
	Hang  bool            // the service takes the question and answers nothing until its client goes
}

// silence is how long the context of a question lasts that gets no answer.
const silence = 300 * time.Millisecond

// Opener returns a new reflector whose service gives these replies, one to each
// question; the last one for ever.
type Opener func(t *testing.T, replies ...Reply) reflector.Reflector

// TestAsking runs Test and the tests of reflectors that ask a model.
func TestAsking(t *testing.T, open Opener) {
	Test(t, func(t *testing.T) reflector.Reflector { return open(t, Reply{Text: Good}) })
	t.Run("replies", func(t *testing.T) {
		t.Parallel()
		testReplies(t, open)
	})
	t.Run("used after failures", func(t *testing.T) {
		t.Parallel()
		ref := open(t, Reply{Text: "no"}, Reply{Text: "no"}, Reply{Text: Good})
		if _, err := reflect(t.Context(), t, ref, one()); err == nil {
			t.Error("two bad replies are no error")
		}
		r, err := reflect(t.Context(), t, ref, one())
		if err != nil {
			t.Fatalf("after a failure: %v", err)
		}
		if diff := cmp.Diff(GoodAssessment(), r.Assessment); diff != "" {
			t.Errorf("after a failure (-want +got):\n%s", diff)
		}
	})
	t.Run("no question after the end", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := reflect(ctx, t, open(t, Reply{Text: Good}), one()); !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v, want context canceled", err)
		}
	})
	t.Run("silence", func(t *testing.T) {
		t.Parallel()
		testSilence(t, open)
	})
}

func testReplies(t *testing.T, open Opener) {
	first := reflector.Usage{Input: 100, Output: 20, CacheRead: 7}
	second := reflector.Usage{Input: 300, Output: 40, CacheRead: 11}
	sum := reflector.Usage{Input: 400, Output: 60, CacheRead: 18}
	good := Reply{Text: Good, Usage: second}
	for _, c := range []struct {
		name     string
		replies  []Reply
		attempts int
		usage    reflector.Usage
		fails    bool
	}{
		{"good", []Reply{good}, 1, second, false},
		{"in a fence", []Reply{{Text: "Here it is:\n```json\n" + Good + "\n```\n", Usage: first}}, 1, first, false},
		{"words, then good", []Reply{{Text: "It goes well.", Usage: first}, good}, 2, sum, false},
		{"nothing, then good", []Reply{{Text: "", Usage: first}, good}, 2, sum, false},
		{"half, then good", []Reply{{Text: Good[:len(Good)/2], Usage: first}, good}, 2, sum, false},
		{"another object, then good", []Reply{{Text: `{"goalAchieved":"YES"}`, Usage: first}, good}, 2, sum, false},
		{"a word of its own, then good", []Reply{{Text: strings.Replace(Good, "SLOW", "FINE", 1), Usage: first}, good}, 2, sum, false},
		{"150 percent, then good", []Reply{{Text: strings.Replace(Good, "42.5", "150", 1), Usage: first}, good}, 2, sum, false},
		{"bad twice", []Reply{{Text: "well", Usage: first}, {Text: "[]", Usage: second}, {Text: Good}}, 2, sum, true},
		{"the service fails", []Reply{{Fail: true}}, 1, reflector.Usage{}, true},
		{"bad, then the service fails", []Reply{{Text: "well", Usage: first}, {Fail: true}}, 2, first, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := reflect(t.Context(), t, open(t, c.replies...), one())
			if failed := err != nil; failed != c.fails {
				t.Fatalf("got error %v, want one: %t", err, c.fails)
			}
			if r.Attempts != c.attempts {
				t.Errorf("%d replies were needed, want %d", r.Attempts, c.attempts)
			}
			if diff := cmp.Diff(c.usage, r.Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
			if c.fails {
				return
			}
			if diff := cmp.Diff(GoodAssessment(), r.Assessment); diff != "" {
				t.Errorf("assessment (-want +got):\n%s", diff)
			}
			if r.Model == "" {
				t.Error("the model has no name")
			}
		})
	}
}

// testSilence ends the context while the service is silent.
func testSilence(t *testing.T, open Opener) {
	ref := open(t, Reply{Hang: true}, Reply{Text: Good})
	ctx, cancel := context.WithTimeout(t.Context(), silence)
	defer cancel()
	if _, err := reflect(ctx, t, ref, one()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a service that is silent gives error %v, want deadline exceeded", err)
	}
	if _, err := reflect(t.Context(), t, ref, one()); err != nil {
		t.Errorf("after a silence: %v", err)
	}
}
