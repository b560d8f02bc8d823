package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	apiKey   = "sk-ant-api03-AbCdEf0123456789"
	ghToken  = "ghp_0123456789abcdefABCDEF0123456789"
	hidden   = "correct-horse/battery+staple"
	password = "p4ssw0rd-of-the-database"
)

func person() Person {
	return Person{
		Environ: []string{"HOME=/home/someone", "DEPLOY_SECRET=" + hidden, "DATABASE_URL=postgres://app:" + password + "@db.example/x", "SSH_AUTH_SOCK=/tmp/agent.1", "PATH=/usr/bin", "SHORT_TOKEN=abc", "PLAIN=" + apiKey},
		Home:    "/home/someone", User: "someone", Host: "workstation.example",
	}
}

// unpack reads an archive as strictly as it can be read.
func unpack(t *testing.T, data []byte) (order []string, files map[string]string, headers []tar.Header) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	z.Multistream(false)
	files = map[string]string{}
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name) || files[h.Name] != "" {
			t.Errorf("entry %q of type %c", h.Name, h.Typeflag)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		order, headers, files[h.Name] = append(order, h.Name), append(headers, *h), string(text)
	}
	if rest, err := io.ReadAll(z); err != nil || len(bytes.Trim(rest, "\x00")) > 0 {
		t.Errorf("behind the archive: %d bytes, %v", len(rest), err)
	}
	return order, files, headers
}

func made(t *testing.T, files []File, r *Redactor, o Options) ([]byte, Manifest) {
	t.Helper()
	if o.Time.IsZero() {
		o.Time = time.Date(2026, 6, 1, 2, 3, 4, 5, time.UTC)
	}
	o.Top = "top"
	var b bytes.Buffer
	m, err := Write(t.Context(), &b, files, r, o)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), m
}

func escaped(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, `\u%04x`, c)
	}
	return b.String()
}

// Each secret is put into each kind of file in each notation that is promised to be seen.
func TestNoPlantedSecretIsLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	quote := func(s string) string {
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	twice := func(s string) string { return quote(quote(s)) }
	secrets := []string{apiKey, ghToken, hidden, password}
	var files []File
	n := 0
	plant := func(name, text string, form Form) {
		n++
		path := filepath.Join(dir, fmt.Sprint(n))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, File{Name: name, Path: path, Form: form}, File{Name: "data/" + name, Data: []byte(text), Form: form})
	}
	for i, s := range secrets {
		half := escaped(s[:1]) + s[1:]
		mid := s[:len(s)/2] + escaped(s[len(s)/2:len(s)/2+1]) + s[len(s)/2+1:]
		for j, text := range []string{
			fmt.Sprintf("%s\n", s), fmt.Sprintf("see %s.\nand (%s)", s, s), fmt.Sprintf(`{"a": "%s"}`, half), fmt.Sprintf(`{"a": %s}`, twice(`{"b": "`+mid+`"}`)), " \x00" + s[:4] + "\x00" + s[4:],
		} {
			if strings.HasPrefix(text, " \x00") {
				text = strings.Repeat("text before\n", 1000) + text
			}
			plant(fmt.Sprintf("text/%d-%d.log", i, j), text, Text)
			plant(fmt.Sprintf("lines/%d-%d.jsonl", i, j), text+"\n{\"b\": "+quote(s)+"}\n", Lines)
		}
		for j, text := range []string{
			fmt.Sprintf(`{"a": %s}`, quote(s)), fmt.Sprintf(`{"a": ["x", {"b": "%s"}]}`, half), fmt.Sprintf(`{"a": "%s"}`, escaped(s)), fmt.Sprintf(`{%s: 1, "x": {%s: [2]}}`, quote(s), quote("k "+s)), fmt.Sprintf(`{"a": %s}`, twice(s)),
			fmt.Sprintf(`{"a": %s}`, quote(`nested: {"b": "`+escaped(s)+`"}`)), quote(s), fmt.Sprintf(`{"torn": %s`, quote(s)), fmt.Sprintf(`{"a": 1}{"b": %s}`, quote(s)),
		} {
			plant(fmt.Sprintf("json/%d-%d.json", i, j), text, JSON)
		}
		plant("name/"+s+"/stderr.log", "nothing", Text)
	}
	for _, s := range []string{hidden} { // of the environment also in other notations
		for skip := range 3 {
			plant(fmt.Sprintf("text/base64-%d.log", skip), "Authorization "+base64.StdEncoding.EncodeToString([]byte("abc"[:skip]+s+"xyz")), Text)
			plant(fmt.Sprintf("text/base64url-%d.log", skip), "h="+base64.RawURLEncoding.EncodeToString([]byte("abc"[:skip]+s)), Text)
		}
		plant("text/query.log", "https://host.example/?a="+url.QueryEscape(s), Text)
	}
	plant("keys.json", `{"password": "x1", "nested": {"Api-Key": ["y1"], "credentials": {"user": "z1"}}, "tokens": 12345678901234567890, "start": 18446744073709551615}`, JSON)
	plant("forms.log", "Authorization: Bearer abcdefghijklmnop1234\nurl https://me:hunter22@host.example/\n-----BEGIN OPENSSH PRIVATE KEY-----\nAAAAkeykeykey\n-----END OPENSSH PRIVATE KEY-----\njwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.c2lnbmF0dXJl\n", Text)

	data, m := made(t, files, NewRedactor(person(), false), Options{
		Left: []Left{{Name: "left/" + apiKey, Why: "because of " + hidden}}, Info: map[string]any{"run_id": "r", "odd": "it says " + ghToken},
	})
	_, got, _ := unpack(t, data)
	raw := strings.Builder{}
	for name, text := range got {
		raw.WriteString(name + "\n" + text + "\n")
		for _, s := range append(secrets, "hunter22", "AAAAkeykeykey", "abcdefghijklmnop1234", "c2lnbmF0dXJl") {
			if strings.Contains(name, s) || strings.Contains(text, s) {
				t.Errorf("%s holds %s:\n%s", name, s, text)
			}
			for part := range strings.SplitSeq(text, "\n") {
				if strings.Contains(bare(part), s) {
					t.Errorf("%s holds %s when escapes are taken away:\n%s", name, s, part)
				}
			}
		}
	}
	for skip := range 3 {
		core := base64.StdEncoding.EncodeToString([]byte("abc"[:skip] + hidden))[6:30]
		if strings.Contains(raw.String(), core) || strings.Contains(raw.String(), strings.NewReplacer("+", "-", "/", "_").Replace(core)) {
			t.Errorf("base64 at %d is left", skip)
		}
	}
	if m.Redacted.Secrets < 50 || m.Redacted.Environment < 50 {
		t.Errorf("counted %+v", m.Redacted)
	}
	var keys map[string]any
	dec := json.NewDecoder(strings.NewReader(got["top/keys.json"]))
	dec.UseNumber()
	if err := dec.Decode(&keys); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"password": "[redacted]", "nested": map[string]any{"Api-Key": []any{"[redacted]"}, "credentials": map[string]any{"user": "[redacted]"}}, "tokens": json.Number("12345678901234567890"), "start": json.Number("18446744073709551615"),
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

// bare takes away escapes as a reader of JSON in JSON would, over and over.
func bare(s string) string {
	s = strings.ReplaceAll(s, "\x00", "")
	for range 4 {
		var b strings.Builder
		for i := 0; i < len(s); i++ {
			if strings.HasPrefix(s[i:], `\u00`) && i+6 <= len(s) {
				if v, err := hex.DecodeString(s[i+4 : i+6]); err == nil {
					b.Write(v)
					i += 5
					continue
				}
			}
			if strings.HasPrefix(s[i:], `\\`) {
				i++
			}
			b.WriteByte(s[i])
		}
		s = b.String()
	}
	return s
}

func TestNamesOfThePerson(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"/home/someone/app", "~/app"},
		{"cd /home/someone", "cd ~"},
		{"file:///home/someone/x", "file://~/x"},
		{"/home/someone2/app /home/someone-else/x /mnt/home/someone/y", "/home/someone2/app /home/USER-else/x /mnt/home/USER/y"},
		{"/state/projects/-home-someone-app/runs", "/state/projects/-HOME-app/runs"},
		{"pid 5 on workstation.example, by someone", "pid 5 on HOST, by USER"},
		{"workstation: someone's; awesomeone; workstations", "HOST: USER's; awesomeone; workstations"},
		{"/usr/bin and /tmp/agent.1", "/usr/bin and /tmp/agent.1"},
	}
	for _, tt := range tests {
		r := NewRedactor(person(), false)
		if got := r.Text(tt.in); got != tt.want {
			t.Errorf("%q becomes %q, want %q", tt.in, got, tt.want)
		}
		keeping := NewRedactor(person(), true)
		if got := keeping.Text(tt.in); got != tt.in {
			t.Errorf("%q with names kept is %q", tt.in, got)
		}
	}
	if got := NewRedactor(person(), true).Text(apiKey); strings.Contains(got, "sk-") {
		t.Errorf("with names kept a secret stays: %s", got)
	}
	root := NewRedactor(Person{Home: "/srv/r", User: "root", Host: "localhost"}, false)
	if got, want := root.Text("/srv/r/x root localhost git-root-dir /srv/r-cause"), "~/x root localhost git-root-dir /srv/r-cause"; got != want {
		t.Errorf("root: %q, want %q", got, want)
	}
}

func TestArchive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if err := os.Symlink(write("secret", "outside"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte("it was compressed\n")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	write("old.log.gz", packed.String())
	files := []File{
		{Name: "z.txt", Data: []byte("last"), Form: Text},
		{Name: "a/b.json", Path: write("b", `{"b": 2, "a": 1.50}`), Form: JSON},
		{Name: "old.log", Path: filepath.Join(dir, "old.log"), Form: Text},
		{Name: "link", Path: filepath.Join(dir, "link"), Form: Text},
		{Name: "pipe", Path: filepath.Join(dir, "pipe"), Form: Text},
		{Name: "gone", Path: filepath.Join(dir, "gone"), Form: Text},
		{Name: "binary", Path: write("binary", "\x7fELF\x00\x01"), Form: Text},
		{Name: "latin", Path: write("latin", strings.Repeat("gr\xfc\xdfe ", 4)+strings.Repeat("plain text ", 90)), Form: Text},
		{Name: "broken.json", Path: write("broken", "{no json"), Form: JSON},
		{Name: "same/" + apiKey, Data: []byte("1"), Form: Text},
		{Name: "same/" + ghToken, Data: []byte("2"), Form: Text},
		{Name: "../../etc/passwd", Data: []byte("3"), Form: Text},
		{Name: ManifestName, Data: []byte("4"), Form: Text},
		{Name: "empty", Data: nil, Form: Text},
	}
	data, m := made(t, files, NewRedactor(person(), false), Options{Info: map[string]any{"run_id": "r"}, Left: []Left{{"x", "why"}}})
	order, got, headers := unpack(t, data)
	want := []string{"top/etc/passwd", "top/a/b.json", "top/broken.json", "top/empty", "top/latin", "top/manifest-2.json", "top/old.log", "top/same/[redacted]", "top/same/[redacted]-2", "top/z.txt", "top/manifest.json"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if got["top/a/b.json"] != "{\n  \"a\": 1.50,\n  \"b\": 2\n}\n" || got["top/old.log"] != "it was compressed\n" || got["top/broken.json"] != "{no json" {
		t.Errorf("contents: %q", got)
	}
	for _, h := range headers {
		if h.Mode != 0o600 || h.Uid != 0 || h.Uname != "" || !h.ModTime.Equal(time.Date(2026, 6, 1, 2, 3, 4, 0, time.UTC)) {
			t.Errorf("header %+v", h)
		}
	}
	var read Manifest
	if err := json.Unmarshal([]byte(got["top/"+ManifestName]), &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, read); diff != "" {
		t.Errorf("manifest (-returned +packed):\n%s", diff)
	}
	for _, e := range read.Files {
		sum := sha256.Sum256([]byte(got["top/"+e.Name]))
		if e.SHA256 != hex.EncodeToString(sum[:]) || e.Bytes != int64(len(got["top/"+e.Name])) {
			t.Errorf("entry %+v is not that of the file", e)
		}
	}
	var left []string
	for _, l := range read.Left {
		left = append(left, l.Name)
		if l.Why == "" {
			t.Errorf("%s is left out without a reason", l.Name)
		}
	}
	if diff := cmp.Diff([]string{"binary", "gone", "link", "pipe", "x"}, left); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	again, _ := made(t, files, NewRedactor(person(), false), Options{Info: map[string]any{"run_id": "r"}, Left: []Left{{"x", "why"}}})
	if !bytes.Equal(data, again) {
		t.Error("the same files give another archive")
	}
}

func TestLongFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	line := strings.Repeat("x", 99) + "\n"
	long := "begin\n" + strings.Repeat(line, 60_000) + "end\n" // 6 MB
	lines := strings.Repeat(`{"a":"`+strings.Repeat("y", 90)+"\"}\n", 60_000)
	// One line, with a secret across each place where it is cut.
	one := []byte(strings.Repeat("w ", 3<<20))
	copy(one[part-20:], " "+strings.Repeat("Z", 200)+" ")
	copy(one[len(one)-part-20:], " "+strings.Repeat("Q", 200)+" ")
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := io.WriteString(w, long); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	put("packed.gz", z.String())
	sparse, err := os.Create(filepath.Join(dir, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sparse.WriteString(strings.Repeat("first line\n", 200_000)); err != nil {
		t.Fatal(err)
	}
	const huge = 2 << 30
	tail := strings.Repeat("last line\n", 200_000)
	if _, err := sparse.WriteAt([]byte(tail), huge-int64(len(tail))); err != nil {
		t.Fatal(err)
	}
	if err := sparse.Close(); err != nil {
		t.Fatal(err)
	}
	data, m := made(t, []File{
		{Name: "long", Path: put("long", long)},
		{Name: "packed", Path: filepath.Join(dir, "packed")},
		{Name: "lines.jsonl", Path: put("lines", lines), Form: Lines},
		{Name: "one", Path: put("one", string(one))},
		{Name: "huge", Path: filepath.Join(dir, "huge")},
		{Name: "just", Data: []byte(strings.Repeat("12345678\n", 2*part/9))},
		{Name: "big.json", Data: []byte(`{"a": "` + strings.Repeat("b ", 2<<20) + `"}`), Form: JSON},
		{Name: "bigger.json", Data: []byte(`{"a": "` + strings.Repeat("c ", 5<<20) + `"}`), Form: JSON},
	}, NewRedactor(person(), false), Options{})
	_, got, _ := unpack(t, data)
	if got["top/long"] != got["top/packed"] {
		t.Error("a compressed file is packed otherwise")
	}
	for _, name := range []string{"long", "one", "huge", "bigger.json"} {
		text := got["top/"+name]
		if len(text) > 2*part+200 || strings.Count(text, "[autopilot export: ") != 1 {
			t.Errorf("%s: %d bytes, %d marks", name, len(text), strings.Count(text, "[autopilot export: "))
		}
	}
	if text := got["top/long"]; !strings.HasPrefix(text, "begin\n") || !strings.HasSuffix(text, "\nend\n") {
		t.Error("long has lost its ends")
	}
	if text := got["top/one"]; strings.ContainsAny(text, "ZQ") {
		t.Error("half of a word is left where it was cut")
	}
	if text := got["top/huge"]; !strings.HasPrefix(text, "first line\n") || !strings.HasSuffix(text, "last line\n") {
		t.Error("huge has lost its ends")
	}
	if strings.Contains(got["top/just"], "export") || strings.Contains(got["top/big.json"], "export") {
		t.Error("a file that has room was cut")
	}
	for text := range strings.Lines(got["top/lines.jsonl"]) {
		if !json.Valid([]byte(text)) {
			t.Fatalf("a line is no JSON: %q", text)
		}
	}
	for _, e := range m.Files {
		if e.Name == "huge" && (e.Original != huge || e.Missing < huge-3*part) {
			t.Errorf("%+v", e)
		}
		if cut := strings.Contains(got["top/"+e.Name], "bytes are left out here"); cut != (e.Missing > 0) {
			t.Errorf("%+v, cut %v", e, cut)
		}
	}
}

func TestRoom(t *testing.T) {
	t.Parallel()
	files := []File{{Name: "z-first", Data: make([]byte, 600)}, {Name: "a-second", Data: make([]byte, 600)}, {Name: "b-third", Data: []byte("small")}}
	for i := range files[:2] {
		files[i].Data = bytes.Repeat([]byte("x"), 600)
	}
	data, m := made(t, files, NewRedactor(Person{}, false), Options{Most: 1000})
	order, _, _ := unpack(t, data)
	if diff := cmp.Diff([]string{"top/b-third", "top/z-first", "top/manifest.json"}, order); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !slices.Equal(m.Left, []Left{{"a-second", "there was no room for it"}}) {
		t.Errorf("left out: %v", m.Left)
	}
}

type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, syscall.ENOSPC
	}
	return len(p), nil
}

func TestWriteFails(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 1<<20)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[x>>24%36]
	}
	if _, err := Write(t.Context(), &full{1000}, []File{{Name: "a", Data: noise}}, NewRedactor(Person{}, false), Options{Top: "t"}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the person said stop")
	cancel(cause)
	if _, err := Write(ctx, io.Discard, []File{{Name: "a", Data: noise}}, NewRedactor(Person{}, false), Options{Top: "t"}); !errors.Is(err, cause) {
		t.Errorf("stopped: %v", err)
	}
}

func FuzzNoSecretLeft(f *testing.F) {
	f.Add(`{"a": "`, `"}`, true)
	f.Add("line\n\\u0073", "\\\\u0041", false)
	f.Add("/home/someone", "\x00\xff", false)
	f.Fuzz(func(t *testing.T, before, after string, asJSON bool) {
		r := NewRedactor(person(), false)
		text := before + " " + hidden + " " + after
		out := r.Text(text)
		if asJSON {
			data, err := json.Marshal(map[string]string{before: text})
			if err != nil {
				t.Skip()
			}
			clean, err := r.JSON(data, true)
			if err != nil {
				t.Fatal(err)
			}
			out += string(clean)
		}
		if strings.Contains(out, hidden) {
			t.Errorf("%q is left in %q", hidden, out)
		}
	})
}
