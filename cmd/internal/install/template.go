package install

import (
	"slices"
	"strings"

	"autopilot/cmd/internal/config"
)

// template is autopilot.yaml with nothing but comments. Keys, defaults and words
// are those of the options.
func template() string {
	var out strings.Builder
	out.WriteString("# Settings of autopilot for this repository. A line counts without the '# ' in front of its key.\n")
	for _, o := range config.Options() {
		if !slices.Contains([]string{"mode", "max-sessions", "max-hours", "task-sources"}, o.Key) {
			continue
		}
		value := o.Default
		if o.List {
			value = "[" + value + "]"
		}
		out.WriteString("\n# " + strings.ToUpper(o.Help[:1]) + o.Help[1:] + ".\n# " + o.Key + ": " + value + "\n")
	}
	return out.String()
}

// configPart creates autopilot.yaml where there is none. It is the person's from
// then on: uninstall removes it only as it was written.
func configPart() part {
	return part{
		path: config.RepoFile,
		put: func(now state) (state, []string, error) {
			if now.exists {
				return now, nil, nil
			}
			return state{exists: true, data: []byte(template())}, nil, nil
		},
		cut: func(now state, before *state) (state, []string, error) {
			switch {
			case !now.exists, before != nil && before.exists:
				return now, nil, nil
			case before == nil && string(now.data) == template():
				return state{}, nil, nil
			}
			return now, []string{"is not as init writes it: it stays"}, nil
		},
	}
}
