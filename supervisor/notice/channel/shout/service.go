package shout

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/discord"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/googlechat"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/matrix"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/mattermost"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/rocketchat"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/slack"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/telegram"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/email/smtp"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/gotify"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/ntfy"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/pushover"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/specialized/generic"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
)

// Schemes of the services.
const (
	Discord    = "discord"
	Generic    = "generic"
	GoogleChat = "googlechat"
	Gotify     = "gotify"
	Matrix     = "matrix"
	Mattermost = "mattermost"
	Ntfy       = "ntfy"
	Pushover   = "pushover"
	RocketChat = "rocketchat"
	Slack      = "slack"
	SMTP       = "smtp"
	Telegram   = "telegram"
)

func service(scheme string) (types.Service, bool) {
	switch scheme {
	case Discord:
		return &discord.Service{}, true
	case Generic:
		return &generic.Service{}, true
	case GoogleChat:
		return &googlechat.Service{}, true
	case Gotify:
		return &gotify.Service{}, true
	case Matrix:
		return &matrix.Service{}, true
	case Mattermost:
		return &mattermost.Service{}, true
	case Ntfy:
		return &ntfy.Service{}, true
	case Pushover:
		return &pushover.Service{}, true
	case RocketChat:
		return &rocketchat.Service{}, true
	case Slack:
		return &slack.Service{}, true
	case SMTP:
		return &smtp.Service{}, true
	case Telegram:
		return &telegram.Service{}, true
	}
	return nil, false
}

// Scheme is the name of the service in the scheme of an address: what stands before a plus.
func Scheme(u *url.URL) string {
	name, _, _ := strings.Cut(u.Scheme, "+")
	return name
}

// build makes the service of an address. Matrix with a user logs in here, which is why
// Check does without it.
func build(u *url.URL) (s types.Service, err error) {
	defer func() {
		if r := recover(); r != nil { // of the library, for an address it does not expect
			s, err = nil, errors.New("the address cannot be read")
		}
	}()
	s, known := service(Scheme(u))
	if !known {
		return nil, errors.New("unknown service")
	}
	logger := log.New(io.Discard, "", 0) // it is told addresses and tokens
	if u.Scheme != Scheme(u) {
		custom, ok := s.(types.CustomURLService)
		if !ok {
			return nil, errors.New("it takes no address of another kind behind a plus")
		}
		if u, err = custom.GetConfigURLFromCustom(u); err != nil {
			return nil, fmt.Errorf("the address cannot be read: %v", err)
		}
	}
	copied := *u // it may be changed
	if err := s.Initialize(&copied, logger); err != nil {
		return nil, fmt.Errorf("the address cannot be read: %v", err)
	}
	return s, nil
}

// Check says why an address cannot be used; its error may hold what stands in the address,
// unless it is an Unsafe. Nothing is sent.
func Check(u *url.URL) error {
	if err := unsafe(u); err != nil {
		return err
	}
	if Scheme(u) == Matrix { // it would ask its server
		switch _, secret := u.User.Password(); {
		case u.Host == "" || !secret:
			return errors.New("host and token are needed")
		}
		return (&matrix.Config{}).SetURL(u)
	}
	if Scheme(u) == Gotify && strings.Trim(u.Path, "/") == "" { // it would only say so when it sends
		return errors.New("a token is needed")
	}
	_, err := build(u)
	return err
}

// Unsafe is returned for a setting in an address that is refused. It says what stands
// in the way without repeating the address.
type Unsafe struct{ Words string }

// Error is what stands in the way.
func (e *Unsafe) Error() string { return e.Words }

// unsafe refuses settings that would let a text be more than text.
func unsafe(u *url.URL) error {
	for key, values := range u.Query() {
		value := strings.ToLower(strings.Join(values, ""))
		on := !slices.Contains([]string{"", "no", "false", "0"}, value)
		switch key = strings.ToLower(key); {
		case Scheme(u) == Discord && key == "json" && on, Scheme(u) == SMTP && key == "usehtml" && on:
			return &Unsafe{key + " would let a session's text be more than text; leave it out"}
		case Scheme(u) == Telegram && key == "parsemode" && value != "none":
			return &Unsafe{"parsemode would let a session's text be more than text; leave it out"}
		case Scheme(u) == Generic && key == "template" && value != "" && value != "json":
			return &Unsafe{"template can only be json"}
		}
	}
	if Scheme(u) == Discord && u.Path != "" && u.Path != "/" {
		return &Unsafe{"what stands behind the id of the hook would let a session's text be more than text; leave it out"}
	}
	return nil
}

// overHTTP puts a transport below a service that has its own. The usual transport is what
// all others use.
func overHTTP(s types.Service, watch func(http.RoundTripper) http.RoundTripper) {
	switch s := s.(type) {
	case *ntfy.Service:
		c := &http.Client{}
		if s.Config.DisableTLSVerification {
			c.Transport = watch(unverified())
		}
		s.SetHTTPClient(c)
	case *gotify.Service:
		c := s.GetHTTPClient()
		c.Transport = nil
		if s.Config.InsecureSkipVerify {
			c.Transport = watch(unverified())
		}
	case *mattermost.Service:
		s.GetHTTPClient().Transport = nil
	}
}
