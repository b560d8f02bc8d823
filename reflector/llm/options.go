package llm

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Options say which model is asked, and how.
type Options struct {
	// BaseURL is the address of the service, http or https. A path without a
	// version, such as v1 or v1beta, gets /v1. An address that ends with
	// /chat/completions is taken as it is.
	BaseURL string
	// Key is sent as bearer token; empty when the service wants none.
	Key   string
	Model string
	// Temperature (0 to 2) and TopP (0 to 1) are sent as they are; 0 means 0.
	Temperature, TopP float32
	Timeout           time.Duration // of one request, its answer included
	Attempts          int           // requests per question, at least 1
	Initial, Max      time.Duration // the first wait between two attempts, and the longest
	// HTTP is used instead of a client of our own; its redirect policy is not.
	HTTP *http.Client
}

// Validate returns everything that is wrong with the options, each with the name
// of the field and a way out. It never prints the key.
func (o Options) Validate() error {
	problems := []error{o.validateAddress()}
	fail := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if strings.TrimSpace(o.Model) == "" {
		fail("model: it is empty; name a model that the service offers")
	}
	if strings.ContainsFunc(o.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		fail("key: it has a space, a line break or a character that is not ASCII; copy the key again")
	}
	if !(o.Temperature >= 0 && o.Temperature <= 2) {
		fail("temperature: %g is not between 0 and 2", o.Temperature)
	}
	if !(o.TopP >= 0 && o.TopP <= 1) {
		fail("top_p: %g is not between 0 and 1", o.TopP)
	}
	if o.Timeout <= 0 {
		fail("timeout: %s is not a time to wait for an answer; use a minute or two", o.Timeout)
	}
	if o.Attempts < 1 {
		fail("attempts: %d is less than 1; use 1 to ask without a second try", o.Attempts)
	}
	if o.Initial <= 0 || o.Max < o.Initial {
		fail("back-off: it goes from %s to %s; use a first wait above 0 and a longest one that is not shorter", o.Initial, o.Max)
	}
	return errors.Join(problems...)
}

func (o Options) validateAddress() error {
	u, err := endpoint(o.BaseURL)
	if err != nil {
		return fmt.Errorf("base URL: %w", err)
	}
	if u.Scheme == "http" && o.Key != "" && !loopback(u.Hostname()) {
		return fmt.Errorf("base URL: plain http to %s would show the key to the network; use https, or leave the key out", u.Host)
	}
	return nil
}

const completions = "/chat/completions"

// version matches a part of a path that stands for a version of an API.
var version = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^v[0-9][0-9a-z]*$`) })

// endpoint returns where completions are asked for. Its errors do not quote the
// address, which may hold a password.
func endpoint(base string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(base))
	switch {
	case err != nil:
		return nil, errors.New("it is no URL; write it like https://api.openai.com/v1")
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, errors.New("it is no http or https address; write it like https://api.openai.com/v1")
	case u.User != nil:
		return nil, errors.New("it holds a user name or a password; use the key instead")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("it has a query or a fragment; leave out what follows the path")
	}
	path := strings.TrimRight(u.Path, "/")
	if !strings.HasSuffix(path, completions) {
		if !hasVersion(path) {
			path += "/v1"
		}
		path += completions
	}
	u.Path, u.RawPath = path, ""
	return u, nil
}

func hasVersion(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if version().MatchString(part) {
			return true
		}
	}
	return false
}

// loopback reports whether a host is this machine by name or by number.
func loopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
