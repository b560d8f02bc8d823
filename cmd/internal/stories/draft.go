package stories

import (
	"context"
	"fmt"
	"strings"

	"autopilot/metrics/logs"
	"autopilot/supervisor/forge"
	"autopilot/supervisor/story"
)

// draft pushes the branch of a story and opens its draft request.
func (s *stage) draft(ctx context.Context, m story.Member) (string, error) {
	if n, err := s.commits(ctx, m); n == 0 || err != nil {
		return "", err
	}
	if err := forge.Push(ctx, m.Worktree, s.forge.Remote, m.Branch, forge.PushOptions{Environ: s.std.Environ, Defaults: []string{s.base.Branch}, Pinned: &s.push}); err != nil {
		return "", err
	}
	url, _, err := s.forge.OpenDraft(ctx, forge.Draft{Branch: m.Branch, Base: s.base.Branch, Title: m.Title, Body: draftBody(s.run, m), Closes: m.Issue})
	return url, err
}

func draftBody(run string, m story.Member) string {
	var b strings.Builder
	switch {
	case m.Issue != 0: // whose text is there already
	case m.Kind == story.Increment:
		fmt.Fprintf(&b, "Increment %s: %s\n\n", m.Story.Folder(), m.Title)
	default:
		fmt.Fprintf(&b, "%s\n\n", m.Goal)
	}
	fmt.Fprintf(&b, "Made by autopilot, run %s. Nobody has looked at it yet.\n", run)
	return logs.Redact(b.String())
}
