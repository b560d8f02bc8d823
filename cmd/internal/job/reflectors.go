package job

import (
	"context"
	"errors"
	"time"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/outside"
	"autopilot/reflector"
	"autopilot/reflector/llm"
	"autopilot/reflector/oneshot"
	"autopilot/reflector/rules"
	"autopilot/sessions"
)

// ReflectKeyVar is the variable with the key of the service that looks back. It
// is for this program alone, and no session sees it.
const ReflectKeyVar = "AUTOPILOT_REFLECT_KEY"

const (
	openAI       = "https://api.openai.com/v1"
	openAIModel  = "gpt-4o-mini"
	askAttempts  = 4
	askWait      = time.Second
	askWaitMax   = time.Minute
	checkingTime = 10 * time.Second
	openAIKeyVar = "OPENAI_API_KEY"
	openAIURLVar = "OPENAI_BASE_URL"
)

// WhoReflects says which reflector a run would use.
func (j Job) WhoReflects(std outside.Stdio) string {
	if j.Cfg.Reflector != config.ReflectorAuto {
		return j.Cfg.Reflector
	}
	if key, url := j.service(std); key != "" || url != "" {
		return config.ReflectorOpenAI
	}
	if _, err := FindClaude(j.Cfg.Claude); err == nil {
		return config.ReflectorClaude
	}
	return config.ReflectorRules
}

// service is the key and the address of the service that speaks OpenAI's API.
func (j Job) service(std outside.Stdio) (key, url string) {
	if key = std.Getenv(ReflectKeyVar); key == "" {
		key = std.Getenv(openAIKeyVar)
	}
	if url = j.Cfg.ReflectURL; url == "" {
		url = std.Getenv(openAIURLVar)
	}
	return key, url
}

// Reflector makes the reflector of a run, and its model when it asks one. The
// template is what sessions of the run have in common, folder is where a claude
// that looks back keeps its files.
func (j Job) Reflector(std outside.Stdio, template sessions.Spec, folder string) (reflector.Reflector, reflector.Model, error) {
	switch j.WhoReflects(std) {
	case config.ReflectorOpenAI:
		o, err := j.openAI(std)
		if err != nil {
			return nil, nil, err
		}
		m := llm.New(o)
		return reflector.Asking{Model: m}, m, nil
	case config.ReflectorClaude:
		if j.Cfg.ReflectModel != "" {
			template.Model = j.Cfg.ReflectModel
		}
		m := oneshot.New(oneshot.Options{Spec: template, Folder: folder, Timeout: j.Cfg.ReflectTimeout})
		return reflector.Asking{Model: m}, m, nil
	}
	return rules.Reflector{}, nil, nil
}

func (j Job) openAI(std outside.Stdio) (llm.Options, error) {
	key, url := j.service(std)
	model := j.Cfg.ReflectModel
	switch {
	case url == "" && key == "":
		return llm.Options{}, outside.UsageHint("set "+ReflectKeyVar+" or "+openAIKeyVar+", or name a service with --reflect-url",
			"--reflector openai needs a key or an address")
	case url == "":
		url = openAI
	}
	if model == "" && url == openAI {
		model = openAIModel
	}
	if model == "" {
		return llm.Options{}, outside.UsageHint("name one with --reflect-model", "the service at %s needs the name of a model", url)
	}
	o := llm.Options{
		BaseURL: url, Key: key, Model: model, Temperature: float32(j.Cfg.ReflectTemperature), TopP: float32(j.Cfg.ReflectTopP),
		Timeout: j.Cfg.ReflectTimeout, Attempts: askAttempts, Initial: askWait, Max: askWaitMax,
	}
	if err := o.Validate(); err != nil {
		return o, outside.Usage("reflector openai: %v", err)
	}
	return o, nil
}

// CheckReflector refuses what would make every look back fail, before anything is
// started.
func (j Job) CheckReflector(ctx context.Context, std outside.Stdio) error {
	if j.Cfg.ReflectEvery == 0 {
		return nil
	}
	return j.CheckService(ctx, std)
}

// CheckService looks whether the service that would look back is well; it costs
// nothing. Other reflectors have none.
func (j Job) CheckService(ctx context.Context, std outside.Stdio) error {
	if j.WhoReflects(std) != config.ReflectorOpenAI {
		return nil
	}
	o, err := j.openAI(std)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, checkingTime)
	defer cancel()
	if err := llm.New(o).Check(ctx); err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return err
		}
		return outside.UsageHint("mend it, or choose --reflector claude or rules", "reflector openai: %v", err)
	}
	return nil
}
