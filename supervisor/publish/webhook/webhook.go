package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"autopilot/supervisor/publish"
	"autopilot/supervisor/publish/answer"
)

const (
	maxAnswer = 64 << 10
	maxHops   = 3
	usualWait = 30 * time.Second // when the caller has set no limit
)

// Sender posts updates to one address. Its methods may be called by several goroutines.
type Sender struct {
	address string
	secret  string
	client  *http.Client
}

// New returns a sender for a target of the service webhook. An empty secret sends without
// a signature. A nil client is a usual one; of one that is given only what it does with
// redirects is replaced, in a copy.
func New(t publish.Target, secret string, client *http.Client) *Sender {
	c := http.Client{Timeout: usualWait}
	if client != nil {
		c = *client
	}
	c.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		first := via[0]
		if next.Method != first.Method || next.URL.Host != first.URL.Host || next.URL.Scheme != first.URL.Scheme || len(via) > maxHops {
			return http.ErrUseLastResponse
		}
		return nil
	}
	return &Sender{address: t.Ref, secret: secret, client: &c}
}

// event is the body of a request.
type event struct {
	Type    string        `json:"type"`
	Subject string        `json:"subject"`
	Project string        `json:"project"`
	RunID   string        `json:"run_id"`
	Title   string        `json:"title"`
	State   publish.State `json:"state"`
	Percent int           `json:"percent"`
	Body    string        `json:"body"`
	At      time.Time     `json:"at"`
	Final   bool          `json:"final"`
}

func body(u publish.Update) ([]byte, error) {
	e := event{
		Type: "work.updated", Subject: u.Subject, Project: u.Project, RunID: u.RunID, Title: u.Title, State: u.State,
		Percent: u.Percent, Body: u.Body, At: u.At.UTC(), Final: u.Final,
	}
	if u.Final {
		e.Type = "work.ended"
	}
	data, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode update: %w", err)
	}
	return data, nil
}

// Send posts the update. The receipt has the url and the id of the answer when that is an
// object of JSON with such texts.
func (s *Sender) Send(ctx context.Context, key string, u publish.Update) (publish.Receipt, error) {
	req, err := s.request(ctx, key, u, time.Now())
	if err != nil {
		return publish.Receipt{}, &publish.SendError{Service: publish.Webhook, Permanent: true, Err: err}
	}
	res, err := s.client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return publish.Receipt{}, context.Cause(ctx)
		}
		return publish.Receipt{}, answer.Classify(publish.Webhook, 0, nil, err, time.Now())
	}
	defer res.Body.Close()
	// A body that breaks off changes nothing: the status has told what became of the update.
	said, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if res.StatusCode == http.StatusConflict && (res.Header.Get("Idempotency-Key") == key || bytes.Contains(said, []byte(key))) {
		r := receipt(said)
		r.Again = true
		return r, nil
	}
	if e := answer.Classify(publish.Webhook, res.StatusCode, res.Header, nil, time.Now()); e != nil {
		if res.StatusCode/100 == 3 {
			e.Err = errors.New("it moved; set the new address")
		}
		return publish.Receipt{}, e
	}
	return receipt(said), nil
}

func (s *Sender) request(ctx context.Context, key string, u publish.Update, now time.Time) (*http.Request, error) {
	data, err := body(u)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address, bytes.NewReader(data))
	if err != nil {
		return nil, errors.New("address cannot be used")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "autopilot")
	req.Header.Set("Idempotency-Key", key)
	if s.secret == "" {
		return req, nil
	}
	at := strconv.FormatInt(now.Unix(), 10)
	signature, err := sign(s.secret, key, at, data)
	if err != nil {
		return nil, err
	}
	// The names are written in small letters, as the specification has them.
	req.Header["webhook-id"] = []string{key}
	req.Header["webhook-timestamp"] = []string{at}
	req.Header["webhook-signature"] = []string{signature}
	return req, nil
}

func sign(secret, id, at string, body []byte) (string, error) {
	raw := []byte(secret)
	if coded, ok := strings.CutPrefix(secret, "whsec_"); ok {
		var err error
		if raw, err = base64.StdEncoding.DecodeString(coded); err != nil || len(raw) == 0 {
			return "", errors.New("webhook secret begins with whsec_ and is no base64 after it")
		}
	}
	mac := hmac.New(sha256.New, raw)
	mac.Write([]byte(id + "." + at + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)), nil
}

func receipt(said []byte) publish.Receipt {
	var r struct {
		URL string `json:"url"`
		ID  string `json:"id"`
	}
	if err := json.Unmarshal(said, &r); err != nil {
		return publish.Receipt{}
	}
	if u, err := url.Parse(r.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		r.URL = ""
	}
	return publish.Receipt{URL: r.URL, ID: r.ID}
}

// Preview shows the request without its signature. Of the address only the host is
// shown, since the rest may be a secret, and of one that stands in a variable its name.
func (s *Sender) Preview(key string, u publish.Update) string {
	data, err := body(u)
	if err != nil {
		data = []byte(err.Error())
	}
	var out bytes.Buffer
	if json.Indent(&out, data, "", "  ") != nil {
		out.Write(data)
	}
	place := "the address"
	if strings.HasPrefix(s.address, "$") {
		place = "the address in " + s.address
	} else if a, err := url.Parse(s.address); err == nil {
		place = a.Scheme + "://" + a.Host + "/…"
	}
	signed := "not signed"
	if s.secret != "" {
		signed = "signed"
	}
	return fmt.Sprintf("POST %s\nIdempotency-Key: %s\n(%s)\n\n%s\n", place, key, signed, out.String())
}
