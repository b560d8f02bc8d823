package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"autopilot/metrics/journal"
	"autopilot/probe"
	"autopilot/sessions/hook"
	"autopilot/sessions/stream"
)

// decoder compares the stream decoder with plain decoding of whole lines.
func (b *bench) decoder() error {
	for _, kind := range []struct {
		what  string
		lines int
		text  int
	}{{"decode events of 1 KB", 20_000, 700}, {"decode events of 100 KB", 400, 100 << 10}} {
		line := fmt.Sprintf(`{"type":"assistant","message":{"id":"msg_1","role":"assistant","content":[{"type":"text","text":%q}],"usage":{"input_tokens":1}},"session_id":"x"}`+"\n",
			strings.Repeat("some words ", kind.text/11))
		corpus := bytes.Repeat([]byte(line), kind.lines)
		ours := rate(len(corpus), func() {
			d := stream.New(stream.Limits{}, func(stream.Event) {})
			_, _ = d.Write(corpus)
			_ = d.Close()
		})
		plain := rate(len(corpus), func() {
			for line := range bytes.Lines(corpus) {
				var v map[string]any
				_ = json.Unmarshal(line, &v)
			}
		})
		b.row(figure{what: kind.what, value: fmt.Sprintf("%.0f MB/s", ours), beside: "encoding/json into a map", other: fmt.Sprintf("%.0f MB/s", plain), ratio: ours / plain, aim: "-"})
	}
	return nil
}

// rate is the best of three, in MB per second.
func rate(size int, f func()) float64 {
	best := time.Hour
	for range 3 {
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	return float64(size) / best.Seconds() / (1 << 20)
}

// append compares appending to a short journal with appending to a long one.
func (b *bench) append() error {
	record := []byte(`{"text":"` + strings.Repeat("x", 780) + `"}`)
	var took []time.Duration
	for _, existing := range []int{100, 1_000_000} {
		path := filepath.Join(b.repo, fmt.Sprintf("journal-%d.jsonl", existing))
		if err := os.WriteFile(path, bytes.Repeat(append(bytes.Clone(record), '\n'), existing), 0o600); err != nil {
			return err
		}
		w, err := journal.Open(path, journal.Options{})
		if err != nil {
			return err
		}
		var each []time.Duration
		for range 200 {
			start := time.Now()
			if err := w.Append(record); err != nil {
				return err
			}
			each = append(each, time.Since(start))
		}
		if err := w.Close(); err != nil {
			return err
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		took = append(took, median(each))
	}
	b.row(figure{what: "append at 10^6 records", value: ms(took[1]), beside: "at 10^2", other: ms(took[0]), ratio: float64(took[1]) / float64(took[0]), aim: "the same"})
	return nil
}

// probe compares a look at this machine with one when 2,000 more processes run.
func (b *bench) probe() error {
	few := probeTime()
	const more = 2000
	// One shell holds them all; when its input ends they are told to end.
	cmd := exec.Command("sh", "-c", fmt.Sprintf(`i=0; while [ $i -lt %d ]; do sleep 600 & i=$((i+1)); done; echo ready; read x; kill $(jobs -p)`, more))
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		return err
	}
	many := probeTime()
	_ = in.Close()
	_ = cmd.Wait()
	b.row(figure{what: fmt.Sprintf("probe with %d more processes", more), value: ms(many), beside: "as it is", other: ms(few), ratio: float64(many) / float64(few), aim: "-"})
	return nil
}

func probeTime() time.Duration {
	var each []time.Duration
	for range 11 {
		start := time.Now()
		probe.Take(context.Background(), probe.Options{Self: os.Getpid()})
		each = append(each, time.Since(start))
	}
	return median(each)
}

// hook is the time a session waits for our answer to a sub-agent.
func (b *bench) hook() error {
	file := hook.CapFile(filepath.Join(b.repo, "cap.json"))
	if _, err := file.Set(hook.Change{At: time.Now(), Cap: 1000, Tier: "green"}); err != nil {
		return err
	}
	var ours, bare []time.Duration
	for i := range pairs {
		cmd := b.command(b.binary, "hook", "agent-cap", string(file))
		cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"hook_event_name":"PreToolUse","tool_name":"Agent","tool_use_id":"t%d"}`, i))
		start := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("hook: %w: %s", err, out)
		}
		ours = append(ours, time.Since(start))
		d, err := b.timed("git", "--version")
		if err != nil {
			return err
		}
		bare = append(bare, d)
	}
	b.row(figure{what: "hook agent-cap, start to answer", value: ms(median(ours)), beside: "git --version", other: ms(median(bare)), ratio: float64(median(ours)) / float64(median(bare)), aim: "milliseconds"})
	return nil
}
