package telemetry

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// DashboardUID is the id of the dashboard: importing a later one replaces the earlier.
const DashboardUID = "autopilot-runs"

// Dashboard returns a dashboard for Grafana, from version 10 on, over the metrics of this
// package as Prometheus has them. Which source of data it reads is a variable of it, and so
// are the repositories that it shows.
func Dashboard() ([]byte, error) {
	source := map[string]any{"type": "prometheus", "uid": "${datasource}"}
	var panels []any
	id, top := 0, 0
	for _, r := range dashboardRows() {
		id++
		panels = append(panels, map[string]any{"id": id, "type": "row", "title": r.title, "collapsed": false, "gridPos": grid{1, gridWidth, 0, top}, "panels": []any{}})
		top++
		left, high := 0, 0
		for _, p := range r.panels {
			if left+p.width > gridWidth {
				left, top, high = 0, top+high, 0
			}
			id++
			panels = append(panels, p.model(id, grid{p.height, p.width, left, top}, source))
			left, high = left+p.width, max(high, p.height)
		}
		top += high
	}
	board := map[string]any{
		"uid": DashboardUID, "title": "autopilot", "description": "Unattended Claude Code sessions: what is on, how far it is, what it costs, why runs ended.", "tags": []string{"autopilot"},
		"schemaVersion": 39, "version": 1, "editable": true, "graphTooltip": 1, "refresh": "30s", "timezone": "", "time": map[string]any{"from": "now-24h", "to": "now"},
		"annotations": map[string]any{"list": []any{}}, "links": []any{}, "panels": panels,
		"templating": map[string]any{"list": []any{
			map[string]any{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "hide": 0, "multi": false, "includeAll": false, "refresh": 1, "regex": "", "options": []any{}, "current": map[string]any{}},
			map[string]any{
				"name": "repository", "label": "Repository", "type": "query", "datasource": source, "query": map[string]any{"query": "label_values(autopilot_runs_ended_total, repository)", "refId": "repositories"},
				"hide": 0, "multi": true, "includeAll": true, "allValue": ".*", "refresh": 2, "sort": 1, "regex": "", "options": []any{}, "current": map[string]any{"text": []string{"All"}, "value": []string{"$__all"}},
			},
		}},
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(board); err != nil {
		return nil, fmt.Errorf("internal error: encode the dashboard: %w", err)
	}
	return b.Bytes(), nil
}

// gridWidth is how many columns a dashboard has.
const gridWidth = 24

type grid struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

type dashboardRow struct {
	title  string
	panels []panel
}

// panel is a drawing of a dashboard.
type panel struct {
	kind          string // of Grafana's panels
	title, about  string
	unit          string // of Grafana's units
	width, height int
	stack         bool
	warnAt        float64 // from which a number is orange; 0 for never
	queries       []query
}

// query is an expression and how its lines are called.
type query struct{ expr, legend string }

func (p panel) model(id int, at grid, source map[string]any) map[string]any {
	var targets []any
	for i, q := range p.queries {
		t := map[string]any{"refId": string(rune('A' + i)), "datasource": source, "expr": q.expr, "legendFormat": q.legend, "editorMode": "code", "range": true}
		if p.kind == "stat" || p.kind == "table" {
			t["instant"], t["range"] = true, false
		}
		if p.kind == "table" {
			t["format"] = "table"
		}
		targets = append(targets, t)
	}
	steps := []any{map[string]any{"color": "green", "value": nil}}
	if p.warnAt > 0 {
		steps = append(steps, map[string]any{"color": "orange", "value": p.warnAt})
	}
	defaults := map[string]any{"unit": p.unit, "min": 0, "thresholds": map[string]any{"mode": "absolute", "steps": steps}}
	options := map[string]any{}
	switch p.kind {
	case "timeseries":
		mode := "none"
		if p.stack {
			mode = "normal"
		}
		defaults["custom"] = map[string]any{"drawStyle": "line", "lineWidth": 2, "fillOpacity": 10, "showPoints": "auto", "spanNulls": false, "stacking": map[string]any{"mode": mode, "group": "A"}}
		options["legend"] = map[string]any{"displayMode": "list", "placement": "bottom", "showLegend": true}
		options["tooltip"] = map[string]any{"mode": "multi", "sort": "desc"}
	case "stat":
		options["reduceOptions"] = map[string]any{"calcs": []string{"lastNotNull"}, "fields": "", "values": false}
		options["colorMode"], options["graphMode"], options["textMode"] = "value", "none", "auto"
	case "state-timeline":
		defaults["custom"] = map[string]any{"lineWidth": 0, "fillOpacity": 80}
		defaults["mappings"] = []any{map[string]any{"type": "value", "options": map[string]any{"0": map[string]any{"text": " ", "color": "transparent"}, "1": map[string]any{"text": "holds", "color": "blue"}}}}
		options["showValue"], options["mergeValues"] = "never", true
	}
	return map[string]any{
		"id": id, "type": p.kind, "title": p.title, "description": p.about, "gridPos": at, "datasource": source, "targets": targets,
		"fieldConfig": map[string]any{"defaults": defaults, "overrides": []any{}}, "options": options,
	}
}
