package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"autopilot/cmd/internal/board"
	"autopilot/cmd/internal/serve/guard"
	"autopilot/cmd/internal/serve/page"
)

// viewer is who looks. What was left for them to read is shown by a page, not by a head.
func (s *Server) viewer(r *http.Request, told bool) page.Viewer {
	who := guard.Of(r)
	v := page.Viewer{Now: time.Now(), Form: who.Form, ReadOnly: s.o.Actor == nil, Login: s.o.Token != "" && !who.Program, Report: s.o.Report != nil}
	if told && r.Method == http.MethodGet {
		v.Words, v.Bad = who.Told()
	}
	return v
}

func (s *Server) overview(w http.ResponseWriter, r *http.Request) {
	b, err := page.Overview(s.looks.look(r.Context()), s.viewer(r, true))
	send(w, r, b, err)
}

func (s *Server) project(w http.ResponseWriter, r *http.Request) {
	project, o := r.PathValue("project"), s.looks.look(r.Context())
	known := false
	for _, rows := range [][]board.Row{o.Active, o.Past} {
		for _, row := range rows {
			known = known || row.Ref.Project == project
		}
	}
	for _, n := range o.Questions {
		known = known || n.Ref.Project == project
	}
	if !known {
		refuse(w, r, http.StatusNotFound, "There is no run of this project in the list.")
		return
	}
	b, err := page.Project(project, o, s.viewer(r, true))
	send(w, r, b, err)
}

// found is the run that a request names. It has answered when there is none.
func (s *Server) found(w http.ResponseWriter, r *http.Request, ref board.Ref) (board.Run, bool) {
	run, err := s.find(r, ref)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		refuse(w, r, http.StatusNotFound, "There is no such run.")
	case err != nil:
		refuse(w, r, http.StatusInternalServerError, "The run cannot be read: "+err.Error())
	}
	return run, err == nil
}

// find looks for a run. Its parts are names of folders, and nothing that leads elsewhere.
func (s *Server) find(r *http.Request, ref board.Ref) (board.Run, error) {
	for _, name := range []string{ref.Project, ref.Run} {
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
			return board.Run{}, fs.ErrNotExist
		}
	}
	return s.looks.find(r.Context(), ref)
}

func refOf(r *http.Request) board.Ref {
	return board.Ref{Project: r.PathValue("project"), Run: r.PathValue("run")}
}

func (s *Server) run(w http.ResponseWriter, r *http.Request) {
	run, ok := s.found(w, r, refOf(r))
	if !ok {
		return
	}
	v := s.viewer(r, true)
	events, at, err := s.o.Board.Tail(run, board.Cursor{})
	if err != nil {
		run.Problems = append(append([]string(nil), run.Problems...), "events: "+err.Error())
	}
	b, err := page.Run(run, events, placeText(at), v)
	send(w, r, b, err)
}

func (s *Server) askStop(w http.ResponseWriter, r *http.Request) {
	run, ok := s.found(w, r, refOf(r))
	if !ok {
		return
	}
	b, err := page.StopNow(run, s.viewer(r, false))
	send(w, r, b, err)
}

// report is a page that brings its own style, which alone is let through.
func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	if s.o.Report == nil {
		refuse(w, r, http.StatusNotFound, "There are no reports here.")
		return
	}
	ref := refOf(r)
	if _, ok := s.found(w, r, ref); !ok {
		return
	}
	var b bytes.Buffer
	if err := s.o.Report(r.Context(), ref, &b); err != nil {
		refuse(w, r, http.StatusInternalServerError, "The report cannot be made: "+err.Error())
		return
	}
	w.Header().Set("Content-Security-Policy", reportPolicy(b.Bytes()))
	send(w, r, b.Bytes(), nil)
}

// reportPolicy allows a page the one style that stands in it.
func reportPolicy(b []byte) string {
	style := "'none'"
	if _, rest, ok := bytes.Cut(b, []byte("<style>")); ok {
		if css, _, ok := bytes.Cut(rest, []byte("</style>")); ok {
			sum := sha256.Sum256(css)
			style = "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		}
	}
	return "default-src 'none'; style-src " + style + "; form-action 'none'; frame-ancestors 'none'; base-uri 'none'; sandbox"
}

func (s *Server) static(w http.ResponseWriter, r *http.Request) {
	data, kind := page.Static(path.Base(r.URL.Path))
	if kind == "" {
		refuse(w, r, http.StatusNotFound, "There is nothing here.")
		return
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(data)
}

func (s *Server) overviewJSON(w http.ResponseWriter, r *http.Request) {
	answerJSON(w, r, s.looks.look(r.Context()))
}

func (s *Server) runJSON(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if run, ok := s.found(w, r, board.Ref{Project: q.Get("project"), Run: q.Get("run")}); ok {
		answerJSON(w, r, run)
	}
}

func send(w http.ResponseWriter, r *http.Request, b []byte, err error) {
	if err != nil {
		refuse(w, r, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b)
}

func answerJSON(w http.ResponseWriter, r *http.Request, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		refuse(w, r, http.StatusInternalServerError, err.Error())
		return
	}
	sendJSON(w, http.StatusOK, json.RawMessage(b))
}

func sendJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the reader went away
}

// refuse says why there is no answer: to a program in JSON, to a person on a page.
func refuse(w http.ResponseWriter, r *http.Request, status int, words string) {
	pages{}.Refuse(w, r, status, words)
}

// pages are those that the guard shows.
type pages struct{}

func (pages) Login(w http.ResponseWriter, status int, words string) {
	b, err := page.Login(words, guard.StylePath)
	small(w, status, b, err)
}

func (pages) Entered(w http.ResponseWriter) {
	b, err := page.Entered(guard.StylePath)
	small(w, http.StatusOK, b, err)
}

func (pages) Refuse(w http.ResponseWriter, r *http.Request, status int, words string) {
	if guard.Of(r).Program || r.Header.Get("Authorization") != "" || strings.HasPrefix(r.URL.Path, "/api/") || r.URL.Path == "/metrics" {
		sendJSON(w, status, map[string]string{"error": words})
		return
	}
	b, err := page.Refused(status, words, guard.StylePath)
	small(w, status, b, err)
}

func small(w http.ResponseWriter, status int, b []byte, err error) {
	if err != nil {
		b, status = []byte(err.Error()), http.StatusInternalServerError
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	} else {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
	}
	w.WriteHeader(status)
	_, _ = w.Write(b)
}
