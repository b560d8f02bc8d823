package forge

import (
	"context"
	"net/url"
	"os"
	"time"
)

// Kind says which program knows a host.
type Kind string

// Kinds of hosts.
const (
	GitHub Kind = "github" // asked through gh
	GitLab Kind = "gitlab" // asked through glab
)

// program is the name of the program for a kind of host.
func (k Kind) program() string {
	if k == GitLab {
		return "glab"
	}
	return "gh"
}

// defaultTimeout bounds one call when nothing else was said.
const defaultTimeout = 20 * time.Second

// Forge is a repository on GitHub or GitLab. [Detect] fills it in; a literal serves as well.
type Forge struct {
	Kind    Kind
	Spec    string // owner/name; on GitLab also group/sub/name
	Host    string // in lower case and without port, such as github.com
	Remote  string // of the repository that it was found by; not used here
	Dir     string // where the programs are run; the repository
	Environ []string
	Timeout time.Duration // of one call; 0 is 20 seconds
}

// environOf is an environment, that of this process if there is none.
func environOf(environ []string) []string {
	if environ == nil {
		return os.Environ()
	}
	return environ
}

// program is the person's program for this host.
func (f Forge) program() program {
	limit := f.Timeout
	if limit <= 0 {
		limit = defaultTimeout
	}
	environ := environOf(f.Environ)
	return program{name: f.Kind.program(), dir: f.Dir, environ: f.quiet(environ), search: environ, host: f.Host, limit: limit}
}

// get asks the host's REST interface for what is at a path below that of the repository.
func (f Forge) get(ctx context.Context, op, path string, query url.Values) ([]byte, error) {
	path = f.path(path)
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return f.program().run(ctx, op, "api", "--hostname="+f.Host, "--method=GET", path)
}

// path is the path of something of the repository in the REST interface.
func (f Forge) path(rest string) string {
	if f.Kind == GitLab {
		return "projects/" + url.QueryEscape(f.Spec) + "/" + rest
	}
	return "repos/" + f.Spec + "/" + rest
}
