package telemetry

import (
	"bytes"
	"strconv"
	"strings"
)

// Media types of the two forms of text.
const (
	TextType        = "text/plain; version=0.0.4; charset=utf-8"
	OpenMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8"
)

// Text returns the facts in the text format of Prometheus, version 0.0.4.
func Text(f Facts) []byte {
	var b bytes.Buffer
	for _, m := range families(f) {
		kind := m.Type
		if kind == Info {
			kind = Gauge
		}
		describe(&b, "HELP", m.Name, m.Help) // no text of ours has anything to escape
		describe(&b, "TYPE", m.Name, string(kind))
		m.write(&b)
	}
	return b.Bytes()
}

// OpenMetrics returns the facts in the text format of OpenMetrics, version 1.0.0.
func OpenMetrics(f Facts) []byte {
	var b bytes.Buffer
	for _, m := range families(f) {
		name := m.Name
		switch m.Type {
		case Counter:
			name = strings.TrimSuffix(name, "_total")
		case Info:
			name = strings.TrimSuffix(name, "_info")
		case Gauge:
		}
		describe(&b, "TYPE", name, string(m.Type))
		if m.Unit != "" {
			describe(&b, "UNIT", name, m.Unit)
		}
		describe(&b, "HELP", name, m.Help)
		m.write(&b)
	}
	b.WriteString("# EOF\n")
	return b.Bytes()
}

func describe(b *bytes.Buffer, what, name, words string) {
	b.WriteString("# " + what + " " + name + " " + words + "\n")
}

// write writes the values, which look the same in both forms.
func (m family) write(b *bytes.Buffer) {
	for _, p := range m.points {
		b.WriteString(m.Name)
		for i, l := range p.labels {
			sep := ","
			if i == 0 {
				sep = "{"
			}
			b.WriteString(sep + m.Labels[i] + `="` + escape(l) + `"`)
		}
		if len(p.labels) > 0 {
			b.WriteByte('}')
		}
		b.WriteString(" " + strconv.FormatFloat(p.value, 'g', -1, 64) + "\n")
	}
}

// escape writes the value of a label.
func escape(s string) string {
	if !strings.ContainsAny(s, "\\\"\n") {
		return s
	}
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s)
}
