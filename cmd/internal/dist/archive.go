package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file of an archive.
type entry struct {
	Name string // below the archive's folder, with slashes
	File string // on disk
	Exec bool
}

// writeArchive writes a gzipped tar with all entries below one folder. Order, times,
// owners and modes depend on nothing but the arguments.
func writeArchive(file, folder string, at time.Time, entries []entry) (err error) {
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	zip, err := gzip.NewWriterLevel(out, gzip.BestCompression) // its header has neither name nor time unless they are set
	if err != nil {
		return err
	}
	w := tar.NewWriter(zip)
	entries = slices.SortedFunc(slices.Values(entries), func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	made := map[string]bool{}
	for _, e := range entries {
		name := path.Join(folder, e.Name)
		for _, dir := range parents(name) {
			if made[dir] {
				continue
			}
			made[dir] = true
			h := tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: at, Uname: "root", Gname: "root", Format: tar.FormatUSTAR}
			if err := w.WriteHeader(&h); err != nil {
				return fmt.Errorf("archive %s: %w", file, err)
			}
		}
		if err := addFile(w, name, at, e); err != nil {
			return fmt.Errorf("archive %s: %w", file, err)
		}
	}
	return errors.Join(w.Close(), zip.Close())
}

func addFile(w *tar.Writer, name string, at time.Time, e entry) error {
	f, err := os.Open(e.File)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h := tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: 0o644, ModTime: at, Uname: "root", Gname: "root", Format: tar.FormatUSTAR}
	if e.Exec {
		h.Mode = 0o755
	}
	if err := w.WriteHeader(&h); err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}

// parents are the folders above a name, from the outermost.
func parents(name string) []string {
	var all []string
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		all = append(all, dir)
	}
	slices.Reverse(all)
	return all
}

// writeGzip compresses a file into another one, always to the same bytes.
func writeGzip(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	zip, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err == nil {
		_, err = zip.Write(data)
		err = errors.Join(err, zip.Close())
	}
	return errors.Join(err, out.Close())
}

// sumOf is the SHA-256 sum of a file in hex.
func sumOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// writeSums writes SHA256SUMS for all files of a folder and returns its text.
func writeSums(folder string) (string, error) {
	files, err := os.ReadDir(folder) // sorted
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, f := range files {
		sum, err := sumOf(filepath.Join(folder, f.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, f.Name())
	}
	return b.String(), os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(b.String()), 0o644)
}
