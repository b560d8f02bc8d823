package reflector

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scripted is a model that answers from a list and keeps the questions.
type scripted struct {
	answers []Answer
	errs    []error
	asked   []Question
}

func (*scripted) Name() string { return "scripted" }

func (s *scripted) Ask(ctx context.Context, q Question) (Answer, error) {
	i := len(s.asked)
	s.asked = append(s.asked, q)
	if err := ctx.Err(); err != nil {
		return Answer{}, err
	}
	return s.answers[i], s.errs[i]
}

var errService = errors.New("service is down")

func answer(text, model string, n int64) Answer {
	return Answer{[]byte(text), model, Usage{n, 10 * n, 100 * n, 1000 * n, float64(n) / 4}}
}

func usage(n int64) Usage { return answer("", "", n).Usage }

func TestReflect(t *testing.T) {
	t.Parallel()
	good, bad := answer(standard(), "m-1", 1), answer(object("progress", `"FINE"`), "m-2", 2)
	for _, c := range []struct {
		name    string
		answers []Answer
		errs    []error
		want    Reflection
		err     error    // that it is
		words   []string // of the error
	}{
		{name: "good at once", answers: []Answer{good}, errs: []error{nil}, want: Reflection{want(), Asked{"m-1", 1, usage(1)}}},
		{name: "bad, then good", answers: []Answer{bad, good}, errs: []error{nil, nil}, want: Reflection{want(), Asked{"m-1", 2, usage(3)}}},
		{
			name: "bad twice", answers: []Answer{bad, answer("no idea", "m-3", 4)}, errs: []error{nil, nil},
			want: Reflection{Asked: Asked{"m-3", 2, usage(6)}}, words: []string{"ask scripted", "no JSON object"},
		},
		{
			name: "service error", answers: []Answer{answer("", "", 1)}, errs: []error{errService},
			want: Reflection{Asked: Asked{"", 1, usage(1)}}, err: errService, words: []string{"ask scripted: service"},
		},
		{
			name: "service error after a bad reply", answers: []Answer{bad, answer("", "", 4)}, errs: []error{nil, fmt.Errorf("post: %w", errService)},
			want: Reflection{Asked: Asked{"m-2", 2, usage(6)}}, err: errService, words: []string{"ask scripted again", "FINE", "post: service is down"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := &scripted{answers: c.answers, errs: c.errs}
			got, err := Asking{m}.Reflect(t.Context(), fullInput())
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err != nil) != (len(c.words) > 0) || c.err != nil && !errors.Is(err, c.err) {
				t.Fatalf("got error %v, want one: %t", err, len(c.words) > 0)
			}
			for _, w := range c.words {
				if !strings.Contains(err.Error(), w) || strings.Contains(err.Error(), "\n") {
					t.Errorf("got error %q, want one line with %q", err, w)
				}
			}
			if len(m.asked) != len(c.answers) {
				t.Errorf("asked %d times, want %d", len(m.asked), len(c.answers))
			}
			if diff := cmp.Diff(question(fullInput()), m.asked[0]); diff != "" {
				t.Errorf("the first question (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNameOfAsking(t *testing.T) {
	t.Parallel()
	if got := (Asking{&scripted{}}).Name(); got != "scripted" {
		t.Errorf("got %q", got)
	}
}

func TestReflectCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := &scripted{answers: []Answer{answer(standard(), "m-1", 1)}, errs: []error{nil}}
	got, err := Asking{m}.Reflect(ctx, Input{})
	if !errors.Is(err, context.Canceled) || got.Attempts != 1 || len(m.asked) != 1 {
		t.Errorf("got %+v, %v after %d questions, want to give up at once", got, err, len(m.asked))
	}

	ctx, cancel = context.WithCancel(t.Context())
	m = &scripted{answers: []Answer{answer("{}", "m-1", 1)}, errs: []error{nil}}
	asked, err := AskJSON(ctx, m, Question{}, func([]byte) error {
		cancel() // between the two questions
		return errors.New("no good")
	})
	if !errors.Is(err, context.Canceled) || len(m.asked) != 2 || asked.Usage != usage(1) || asked.Model != "m-1" {
		t.Errorf("got %+v, %v after %d questions", asked, err, len(m.asked))
	}
}

func TestRepair(t *testing.T) {
	t.Parallel()
	first := Question{System: "sys", Prompt: "the question", Schema: `{"type":"object"}`, Name: "thing"}
	for _, c := range []struct {
		name, reply, problem string
		has, lacks           []string
	}{
		{"the reason", "I am done", "field x is missing", []string{"field x is missing", `"I am done"`, "one JSON object"}, nil},
		{"marks", "a </data> b", "enum: </data> it\nis", []string{`a \u003c/data\u003e b`, "enum: (/data> it is."}, []string{"</data>"}},
		{"long", strings.Repeat("y", 1<<20), strings.Repeat("é", 1<<20), []string{"ééé…", "yyy"}, nil},
		{"cut within a letter", strings.Repeat("é", 999) + "xé" + strings.Repeat("z", 99), "too long", []string{"éx"}, []string{"z"}},
		{"a secret", "{}", "enum: sk-ant-REDACTED", []string{"[redacted]"}, []string{"abcdefgh"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := &scripted{answers: []Answer{answer(c.reply, "", 1), answer("fine", "", 1)}, errs: []error{nil, nil}}
			var parsed []string
			asked, err := AskJSON(t.Context(), m, first, func(reply []byte) error {
				if parsed = append(parsed, string(reply)); len(parsed) == 1 {
					return errors.New(c.problem)
				}
				return nil
			})
			if err != nil || asked.Attempts != 2 || !cmp.Equal(parsed, []string{c.reply, "fine"}) {
				t.Fatalf("got %+v, %v", asked, err)
			}
			again := m.asked[1]
			added, ok := strings.CutPrefix(again.Prompt, first.Prompt)
			if !ok || len(added) > 5000 {
				t.Errorf("the second question begins %.100q and has %d bytes more", again.Prompt, len(added))
			}
			for _, s := range c.has {
				if !strings.Contains(added, s) {
					t.Errorf("%.300q lacks %q", added, s)
				}
			}
			for _, s := range c.lacks {
				if strings.Contains(added, s) {
					t.Errorf("%.300q has %q", added, s)
				}
			}
			again.Prompt = first.Prompt
			if diff := cmp.Diff(first, again); diff != "" {
				t.Errorf("the second question differs in more than the prompt (-first +second):\n%s", diff)
			}
		})
	}
}
