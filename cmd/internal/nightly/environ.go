package nightly

import (
	"net/url"
	"slices"
	"strings"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/notifier"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/logs"
	"autopilot/sessions/launch"
)

// carried are the variables that a schedule takes over from the shell that it is installed
// in, besides the options of this program. What a login session hands out for as long as it
// lasts, such as the socket of an agent, is not among them.
func carried() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ",
		"LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES",
		"XDG_CACHE_HOME", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME", "XDG_DATA_DIRS", "XDG_DATA_HOME", "XDG_STATE_HOME",
		"CLAUDE_CONFIG_DIR", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_FOUNDRY", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
		"ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_VERTEX_PROJECT_ID",
		"AWS_CONFIG_FILE", "AWS_PROFILE", "AWS_REGION", "CLOUD_ML_REGION", "CLOUDSDK_CONFIG",
		"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy",
		"NODE_EXTRA_CA_CERTS", "SSL_CERT_DIR", "SSL_CERT_FILE",
		"GIT_AUTHOR_EMAIL", "GIT_AUTHOR_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_NAME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_SSL_CAINFO",
	}
}

// handedOn are the variables of a process that its service manager has set for it alone.
func handedOn() []string {
	return []string{
		"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID",
		"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "SECURITYSESSIONID",
	}
}

// sleepKey is the option that keeps the machine awake during a run. It is on in schedules.
const sleepKey = "inhibit-sleep"

// Environment makes the environment of a schedule out of that of the shell it is installed
// in. Further are NAME=VALUE, or NAME for the value that it has here. The result is sorted;
// left names the variables that were not taken over because they look like secrets.
func Environment(environ, further []string) (env, left []string, err error) {
	set := map[string]string{}
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		switch {
		case !ok || value == "" || !nameOK(name):
		case Secret(name, value):
			left = append(left, name)
		case slices.Contains(carried(), name) || strings.HasPrefix(name, config.EnvPrefix) || strings.HasPrefix(name, "AUTONOMOUS_"):
			set[name] = value
		}
	}
	if set[sleepVar()] == "" {
		set[sleepVar()] = "true"
	}
	for _, kv := range further {
		name, value, given := strings.Cut(kv, "=")
		if !given {
			value = launch.Lookup(environ, name)
		}
		switch {
		case !nameOK(name):
			return nil, nil, outside.UsageHint("--env NAME=VALUE", "--env %s: that is no name of a variable", logs.Redact(kv))
		case !given && value == "":
			return nil, nil, outside.UsageHint("--env "+name+"=VALUE", "--env %s: it is not set here", name)
		case Secret(name, value):
			return nil, nil, outside.UsageHint("write it into a file of mode 0600 as a line NAME=VALUE, and name that with --env-file", "--env %s looks like a secret, and others can read units", name)
		}
		set[name] = value
	}
	for name, value := range set {
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return nil, nil, outside.UsageHint("unset it, or write it into the file of --env-file", "the value of %s has a line end or another control character, which no unit can hold", name)
		}
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	slices.Sort(left)
	return env, slices.Compact(left), nil
}

func optionVariables() []string {
	var names []string
	for _, o := range config.Options() {
		names = append(names, o.Env())
	}
	return names
}

func sleepVar() string { return config.Option{Key: sleepKey}.Env() }

// Secret reports whether a variable looks like one that nobody else may read: by its name,
// by the known beginnings of tokens, or because it is an address with a password in it.
func Secret(name, value string) bool {
	option := slices.Contains(optionVariables(), name)
	if logs.Redact(value) != value || addressWithSecret(value) {
		return true
	}
	if option {
		return name == notifier.Variable || name == config.EnvPrefix+"SYNC" && strings.Contains(value, "://")
	}
	for part := range strings.SplitSeq(strings.ToUpper(name), "_") {
		switch part {
		case "KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASS", "PASSPHRASE", "PAT", "CREDENTIAL", "CREDENTIALS", "COOKIE":
			return !isPath(name, value)
		}
	}
	return false
}

// isPath reports whether a variable says where a secret is, not what it is.
func isPath(name, value string) bool {
	upper := strings.ToUpper(name)
	says := strings.HasSuffix(upper, "_FILE") || strings.HasSuffix(upper, "_PATH") || strings.HasSuffix(upper, "_CREDENTIALS")
	return says && strings.HasPrefix(value, "/")
}

// addressWithSecret reports whether a text is an address that says who one is.
func addressWithSecret(value string) bool {
	for word := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == ';' }) {
		if u, err := url.Parse(word); err == nil && u.Host != "" && u.User != nil {
			return true
		}
	}
	return false
}

func nameOK(name string) bool {
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

// Inside is the environment that a run of a schedule has: that of the entry, over it the
// file of secrets, and what the service manager has set for this process.
func Inside(process, entry, secrets []string) []string {
	var env []string
	for _, name := range handedOn() {
		if v := launch.Lookup(process, name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	last := map[string]string{}
	var order []string
	for _, kv := range slices.Concat(env, entry, secrets) {
		name, _, _ := strings.Cut(kv, "=")
		if _, seen := last[name]; !seen {
			order = append(order, name)
		}
		last[name] = kv
	}
	out := make([]string, len(order))
	for i, name := range order {
		out[i] = last[name]
	}
	return out
}
