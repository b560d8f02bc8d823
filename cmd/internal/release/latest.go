package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// LatestName is the file that names the newest version.
const LatestName = "latest.txt"

// maxLatest is how large that file may be, in bytes.
const maxLatest = 256

// Source is where releases are: a URL, or a folder. The zero value is not valid.
type Source struct {
	url    *url.URL
	folder string
}

// ParseSource reads where releases are. What has a scheme is a URL, everything else a
// folder. It refuses schemes but https, http that leaves the machine, and URLs that carry
// a name, a password, a query or a fragment.
func ParseSource(text string) (Source, error) {
	if text == "" {
		return Source{}, errors.New("no URL or folder is given")
	}
	if strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) >= 0 {
		return Source{}, errors.New("control characters in a URL or folder")
	}
	if !strings.Contains(text, "://") {
		return Source{folder: text}, nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return Source{}, errors.New("not a URL") // the reason would repeat a password
	case u.User != nil:
		return Source{}, errors.New("a name or password in the URL would end up in messages and in lists of processes")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return Source{}, errors.New("a URL below which releases are has neither ? nor #")
	}
	if err := allowed(u); err != nil {
		return Source{}, err
	}
	return Source{url: u}, nil
}

// allowed refuses URLs whose answer anybody on the way could write.
func allowed(u *url.URL) error {
	switch {
	case u.Hostname() == "":
		return errors.New("a URL without a host")
	case u.Scheme == "https":
		return nil
	case u.Scheme != "http":
		return fmt.Errorf("%q is not a scheme for releases, want https", u.Scheme)
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return errors.New("plain http to another machine, want https")
}

// String is the URL or the folder.
func (s Source) String() string {
	if s.url != nil {
		return strings.TrimSuffix(s.url.String(), "/")
	}
	return s.folder
}

// Latest asks which version is the newest. The context bounds the time it takes. A folder
// or server that answers with anything but one version is an error, and its text is not
// in it.
func Latest(ctx context.Context, s Source) (Version, error) {
	data, err := s.read(ctx)
	if err != nil {
		return Version{}, fmt.Errorf("ask %s for the newest version: %w", s, err)
	}
	v, err := ParseVersion(strings.TrimRight(string(data), "\r\n"))
	if err != nil {
		return Version{}, fmt.Errorf("ask %s for the newest version: what stands in %s is %w", s, LatestName, err)
	}
	return v, nil
}

func (s Source) read(ctx context.Context) ([]byte, error) {
	if s.url == nil {
		f, err := os.Open(filepath.Join(s.folder, LatestName))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return bounded(f)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url.JoinPath(LatestName).String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "autopilot")
	resp, err := client().Do(req)
	if err != nil {
		return nil, plain(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answers %d for %s", resp.StatusCode, LatestName)
	}
	data, err := bounded(resp.Body)
	if err != nil {
		return nil, plain(ctx, err)
	}
	return data, nil
}

func bounded(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxLatest+1))
	if err == nil && len(data) > maxLatest {
		err = fmt.Errorf("%s is larger than %d bytes", LatestName, maxLatest)
	}
	return data, err
}

func client() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) >= 5 {
				return errors.New("more than five redirects")
			}
			if via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
				return errors.New("the server sends us from https to http")
			}
			return allowed(req.URL)
		},
	}
}

// plain is an error of a request as it can be shown: the cause when the time was over, and
// no more than a line of what a server that speaks no HTTP wrote.
func plain(ctx context.Context, err error) error {
	const most = 200
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if words := err.Error(); len(words) > most {
		return errors.New(strings.ToValidUTF8(words[:most], "?"))
	}
	return err
}
