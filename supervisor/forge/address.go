package forge

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// address is where a remote is.
type address struct {
	host string // in lower case, without user and port
	spec string // path of the repository, without .git
	ssh  bool   // the host may be an alias of the ssh configuration
}

// parseAddress reads the address of a remote: https, ssh and git addresses and the short
// form user@host:path, as git-fetch(1) describes them. What stands in front of the host is
// forgotten here.
func parseAddress(s string) (address, bool) {
	s = strings.TrimSpace(s)
	var a address
	var path string
	if scheme, rest, ok := strings.Cut(s, "://"); ok {
		var authority string
		authority, path, _ = strings.Cut(rest, "/")
		a.host, _ = cutPort(authority[strings.LastIndexByte(authority, '@')+1:])
		switch strings.ToLower(scheme) {
		case "http", "https", "git", "git+https", "git+http":
		case "ssh", "git+ssh", "ssh+git":
			a.ssh = true
		default:
			return address{}, false
		}
	} else if a.host, path, ok = short(s); ok {
		a.ssh = true
	} else {
		return address{}, false
	}
	a.host = cleanHost(a.host)
	if plain, err := url.PathUnescape(path); err == nil {
		path = plain
	}
	a.spec = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	if a.host == "" || len(a.host) == 1 || !isSpec(a.spec) { // one letter is a drive
		return address{}, false
	}
	return a, true
}

// short splits user@host:path. Brackets may stand around the host, which has a port then,
// with or without the user.
func short(s string) (host, path string, ok bool) {
	front, _, _ := strings.Cut(s, "/")
	user := strings.LastIndexByte(front, '@') // in front of the brackets, or within them
	if bracket := strings.IndexByte(front, '['); bracket == 0 || bracket == user+1 && user > 0 {
		host, path, ok = strings.Cut(s[bracket+1:], "]:")
		host, _ = cutPort(host[strings.LastIndexByte(host, '@')+1:])
		return host, path, ok
	}
	s = s[user+1:]
	host, path, ok = strings.Cut(s, ":")
	return host, path, ok && !strings.Contains(host, "/")
}

func cutPort(host string) (name, port string) {
	name, port, _ = strings.Cut(host, ":")
	return name, port
}

// cleanHost is a host in the form that hosts are compared in; empty if it is none.
func cleanHost(host string) string {
	host = strings.TrimPrefix(strings.TrimSuffix(strings.ToLower(host), "."), "www.")
	if len(host) > 253 || !hostForm().MatchString(host) {
		return ""
	}
	return host
}

var hostForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$`)
})

var specForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_.-]*$`)
})

// isSpec reports whether a path can be that of a repository: at least two names.
func isSpec(spec string) bool {
	names := strings.Split(spec, "/")
	form := specForm()
	return len(names) >= 2 && len(spec) <= 1024 && !slices.ContainsFunc(names, func(n string) bool {
		return n == "." || n == ".." || !form.MatchString(n)
	})
}
