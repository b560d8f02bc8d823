package senders

import (
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/cmd/internal/outside"
	"autopilot/supervisor/publish"
)

func parse(t *testing.T, list ...string) []publish.Target {
	t.Helper()
	var out []publish.Target
	for _, s := range list {
		target, err := publish.ParseTarget(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, target)
	}
	return out
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	got := Secrets(parse(t, "webhook:$ONE", "webhook:https://host.example/x", "github:o/r#1", "webhook:$TWO", "webhook:$ONE", "file:x.md"))
	if diff := cmp.Diff([]string{"AUTOPILOT_WEBHOOK_SECRET", "JIRA_API_TOKEN", "AZURE_DEVOPS_TOKEN", "ONE", "TWO"}, got); diff != "" {
		t.Errorf("Secrets (-want +got):\n%s", diff)
	}
}

func stdio(environ ...string) outside.Stdio {
	return outside.Stdio{Out: io.Discard, Err: io.Discard, Environ: environ}
}

func TestPreviewNeedsNoTokens(t *testing.T) {
	t.Parallel()
	u := publish.Update{Subject: "run/a", State: publish.Running}
	for target, want := range map[string]string{
		"github:o/r#1": "POST https://api.github.com/repos/o/r/issues/1/comments", "jira:A-1": "POST https://JIRA_URL/", "azure:o/p#1": "POST https://dev.azure.com/o/p/",
		"webhook:$ONE": "POST the address in $ONE", "webhook:https://host.example/x": "POST https://host.example/", "file:x.md": "write to x.md",
	} {
		got, err := Preview("/nowhere", stdio(), parse(t, target)[0], "k", u)
		if err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %v\n%s", target, err, got)
		}
	}
	got, err := Preview("/nowhere", stdio("ONE=https://host.example/T0K3N", "AUTOPILOT_WEBHOOK_SECRET=s3cret"), parse(t, "webhook:$ONE")[0], "k", u)
	if err != nil || strings.Contains(got, "T0K3N") || strings.Contains(got, "s3cret") || !strings.Contains(got, "(signed)") {
		t.Errorf("a secret is told: %v\n%s", err, got)
	}
}

// Several may ask at once, and get the same sender for the same target.
func TestOf(t *testing.T) {
	t.Parallel()
	find := Of("/nowhere", stdio("GITHUB_TOKEN=x"))
	targets := parse(t, "github:o/r#1", "github:o/r#2", "jira:A-1")
	first, err := find(targets[0])
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if s, err := find(targets[0]); err != nil || s != first {
				t.Errorf("another sender, %v", err)
			}
			if s, err := find(targets[1]); err != nil || s == first {
				t.Errorf("the sender of another target, %v", err)
			}
		})
	}
	all.Wait()
	if err := Check(find, targets); err == nil || !strings.Contains(err.Error(), "JIRA_URL") {
		t.Errorf("Check = %v", err)
	}
}
