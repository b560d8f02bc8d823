package goal

import (
	"slices"
	"strings"
)

// Pattern names a form of words without an end.
type Pattern string

// The patterns.
const (
	Empty      Pattern = "empty"            // no letter and no digit
	Learn      Pattern = "learn"            // learn about, get better at
	Understand Pattern = "understand"       // understand how, find out
	Explore    Pattern = "explore"          // explore options, play with
	Research   Pattern = "research"         // research, look into, analyse
	Optimize   Pattern = "optimize"         // optimize, speed up, reduce, without a figure
	Improve    Pattern = "improve"          // improve, enhance, polish
	Better     Pattern = "make better"      // make it better, make X faster
	Carry      Pattern = "carry on"         // continue, work on, help
	NoObject   Pattern = "no object"        // a verb without an object, or with one that says nothing
	Ask        Pattern = "question"         // a question, which leaves nothing behind
	Nothing    Pattern = "nothing specific" // words without a verb that could mean anything
)

func patterns() []Pattern {
	return []Pattern{Empty, Learn, Understand, Explore, Research, Optimize, Improve, Better, Carry, NoObject, Ask, Nothing}
}

func why(p Pattern) string {
	switch p {
	case Empty:
		return "The goal says nothing."
	case Learn:
		return "Learning has no end, and the goal names nothing that would show it."
	case Understand:
		return "Understanding cannot be looked at, and the goal names nothing that would show it."
	case Explore:
		return "Exploring has no end, and the goal names no result."
	case Research:
		return "The goal does not say in which form the findings are wanted."
	case Optimize:
		return "The goal names no figure to reach."
	case Improve:
		return "The goal does not say what is better when it is done."
	case Better:
		return "The goal does not say how to tell that it is better."
	case Carry:
		return "The goal does not say what is there when the work is done."
	case NoObject:
		return "The goal does not say what exactly is meant."
	case Ask:
		return "A question leaves nothing behind that could be checked."
	default:
		return "The goal names no action and no result."
	}
}

// class says what a verb does to the question whether a goal has an end.
type class int

const (
	noVerb  class = iota
	produce       // makes or changes something: the goal is concrete when the object is
	repair        // likewise, but often said without an object
	support       // an action that is no result: use, keep, run
	endless       // has no end of its own
)

// verb is a verb at the head of a clause.
type verb struct {
	class   class
	pattern Pattern // of an endless one
	words   int     // that it takes
	soft    bool    // endless, unless the object is an identifier
	text    string
}

// verbOf reads the verb, or the phrase with one, that some words begin with.
func verbOf(ws []word) verb {
	if len(ws) == 0 || ws[0].quoted {
		return verb{}
	}
	if v := phraseOf(ws); v.class != noVerb {
		return v
	}
	v := single(ws[0].text)
	v.words, v.text = 1, ws[0].text
	return v
}

// phraseOf reads a verb of several words.
func phraseOf(ws []word) verb {
	const longest = 4
	var parts []string
	for i := 0; i < min(longest, len(ws)) && !ws[i].quoted; i++ {
		parts = append(parts, ws[i].text)
		if ws[i].tail != "" {
			break
		}
	}
	for n := len(parts); n > 1; n-- {
		text := strings.Join(parts[:n], " ")
		if v := phrase(text); v.class != noVerb {
			v.words, v.text = n, text
			return v
		}
	}
	return verb{}
}

func phrase(s string) verb {
	switch s {
	case "become an expert", "become good", "become better", "become fluent", "become familiar", "get better", "get good", "get familiar", "get fluent", "get started", "read about", "learn about", "learn more", "study up", "brush up", "skill up", "get into":
		return verb{class: endless, pattern: Learn}
	case "find out", "figure out", "get to know", "make sense", "get an understanding", "gain an understanding", "gain understanding", "get a feel", "get an overview", "gain insight", "gain insights", "get insight", "get insights", "build an understanding", "develop an understanding", "wrap your head":
		return verb{class: endless, pattern: Understand}
	case "think about", "think of", "play with", "play around", "experiment with", "try out", "come up", "toy with", "mess around":
		return verb{class: endless, pattern: Explore}
	case "look into", "look at", "look through", "dig into", "dive into", "read up", "check out", "have a look", "take a look", "do research", "do some research", "drill into", "go through", "go over", "keep an eye":
		return verb{class: endless, pattern: Research, soft: true}
	case "speed up":
		return verb{class: endless, pattern: Optimize}
	case "level up", "take care":
		return verb{class: endless, pattern: Improve, soft: true}
	case "go on", "go ahead", "carry on", "keep going", "keep working", "keep on", "keep at", "work on", "work with", "keep it up", "keep pushing", "make progress", "make some progress", "make more progress", "help with", "help out", "help me with", "help us with", "help me out", "take over", "move on", "deal with":
		return verb{class: endless, pattern: Carry, soft: true}
	case "clean up", "tidy up", "sort out", "fix up", "straighten out", "finish up", "wrap up":
		return verb{class: repair}
	case "get rid", "set up", "make sure", "roll out", "roll back", "turn on", "turn off", "turn into", "put together", "write down", "write up", "build out", "hook up", "wire up", "factor out", "break up", "break down", "point out", "bring up", "spin up", "split up", "fill in", "fill out", "switch over", "move over", "get it":
		return verb{class: produce}
	}
	return verb{}
}

func single(s string) verb {
	switch s {
	case "learn", "study", "master", "practise", "practice", "familiarize", "familiarise", "memorize":
		return verb{class: endless, pattern: Learn}
	case "understand", "grasp", "comprehend":
		return verb{class: endless, pattern: Understand}
	case "explore", "discover", "brainstorm", "consider", "ponder", "experiment", "play", "think":
		return verb{class: endless, pattern: Explore}
	case "research":
		return verb{class: endless, pattern: Research}
	case "investigate", "analyze", "analyse", "review", "evaluate", "assess", "examine", "inspect", "audit", "look", "observe", "survey", "dig":
		return verb{class: endless, pattern: Research, soft: true}
	case "optimize", "optimise", "tune", "streamline", "accelerate", "minimize", "minimise", "maximize", "maximise", "reduce", "increase", "decrease", "lower", "raise", "boost", "shrink", "grow", "scale", "speed":
		return verb{class: endless, pattern: Optimize}
	case "improve", "enhance", "polish", "beautify", "perfect", "strengthen", "better", "elevate", "refine":
		return verb{class: endless, pattern: Improve}
	case "continue", "proceed", "work", "help", "assist", "resume":
		return verb{class: endless, pattern: Carry, soft: true}
	case "fix", "refactor", "clean", "cleanup", "tidy", "simplify", "restructure", "reorganize", "reorganise", "rework", "rewrite", "modernize", "modernise", "debug", "repair", "resolve", "finish", "handle", "solve", "do", "make", "harden", "secure", "redo", "overhaul", "maintain", "manage", "address", "revamp", "complete", "change", "develop", "finalize":
		return verb{class: repair}
	case "add", "build", "create", "deploy", "design", "document", "implement", "rebuild", "redesign", "release", "ship", "test", "update", "upgrade", "write", "append", "amend", "author", "compose", "define", "draft", "edit", "emit", "establish", "export", "extend", "generate", "insert", "introduce", "list", "modify", "note", "place", "prepare", "print", "produce", "provide", "publish", "put", "record", "render", "save", "set", "store", "summarize", "summarise", "describe", "explain", "collect", "translate", "configure", "correct", "compile", "log", "report", "outline", "sketch", "scaffold", "plot", "draw", "persist", "dump", "port", "convert", "copy", "move", "rename", "remove", "delete", "drop", "replace", "bump", "migrate", "split", "merge", "install", "enable", "disable", "limit", "support", "allow", "switch", "connect", "integrate", "verify", "ensure", "validate", "close", "revert", "tag", "find", "get", "cache", "return", "show", "display", "hide", "extract", "expose", "wire", "hook", "measure", "benchmark", "profile", "count", "format", "sort", "parse", "download", "upload", "fetch", "import", "load", "sync", "synchronize", "automate", "send", "wrap", "mark", "pin", "unify", "inline", "deduplicate", "cover", "adapt", "adjust", "rebase", "setup", "bring", "give", "compare", "identify", "reproduce", "bundle", "package", "containerize", "dockerize", "refresh", "encrypt", "reject", "accept", "catch", "cut", "cap", "link", "embed", "substitute", "swap", "isolate", "decouple", "vendor", "train", "crawl", "scrape", "query", "announce", "provision", "guard", "restore", "recover", "undo":
		return verb{class: produce}
	case "use", "keep", "run", "read", "start", "try", "check", "ask", "follow", "take", "be", "call", "commit", "push", "begin", "stop", "open", "apply", "go", "let", "focus", "remember", "prefer", "respect", "stick", "spend", "pay", "feel", "choose", "pick", "search", "execute", "answer":
		return verb{class: support}
	}
	return verb{}
}

// gerund gives the verb for a form such as "improving"; itself when there is none.
func gerund(s string) verb {
	stem, ok := strings.CutSuffix(s, "ing")
	if !ok || len(stem) < 3 {
		return verb{}
	}
	for _, base := range []string{stem, stem + "e", stem[:len(stem)-1]} {
		if v := single(base); v.class == endless || v.class == repair {
			v.words, v.text = 1, base
			return v
		}
	}
	return verb{}
}

// opening reports words that may stand before the verb of a clause.
func opening(s string) bool {
	switch s {
	case "please", "kindly", "just", "now", "then", "also", "finally", "first", "firstly", "second", "secondly", "third", "thirdly", "next", "lastly", "last", "afterwards", "later", "let's", "lets", "ok", "okay", "hi", "hey", "hello", "and", "or", "but", "so", "maybe", "perhaps", "further", "furthermore", "additionally", "moreover", "always", "again", "can", "could", "would", "will", "shall", "you", "should", "must", "need", "needs", "have", "has", "to", "i", "we", "want", "wants", "like", "love", "i'd", "we'd", "i'll", "i'm", "we're", "trying", "going", "try", "my", "our", "your", "goal", "goals", "task", "tasks", "aim", "objective", "mission", "job", "is", "the", "us", "me", "plus", "&", "todo", "more", "really", "simply", "both", "either", "trying's", "would've", "hoping", "attempt", "start", "begin", "by", "help", "it", "that":
		return true
	}
	return false
}

// function reports words that carry no meaning of their own.
func function(s string) bool {
	switch s {
	case "a", "an", "the", "my", "our", "your", "his", "her", "their", "its", "some", "any", "more", "most", "less", "few", "bit", "little", "lot", "lots", "up", "down", "out", "off", "over", "of", "in", "on", "at", "to", "for", "from", "by", "with", "within", "and", "or", "but", "so", "as", "if", "then", "than", "is", "are", "was", "were", "be", "been", "am", "do", "does", "did", "can", "could", "will", "would", "shall", "should", "may", "might", "must", "have", "has", "had", "i", "we", "you", "he", "she", "they", "me", "us", "him", "please", "again", "really", "very", "just", "now", "here", "there", "too", "also", "quite", "much", "many", "only", "even", "still", "already", "soon", "today", "asap", "thanks", "thank", "how", "what", "why", "which", "who", "when", "where", "way", "ways", "about", "into", "onto", "&", "i'd", "i'm", "we're", "let's", "lets", "ever", "around", "through", "across", "via", "per", "own", "new", "current", "existing", "whole", "entire", "complete", "every", "each", "both", "other", "further", "overall", "general", "generally", "completely", "totally", "possible", "think", "such", "not", "no", "don't", "this", "that", "these", "those", "one", "ones", "sure", "need", "needs", "needed", "want", "like", "whenever", "wherever", "however", "kind", "sort", "bunch", "necessary", "once", "while", "well", "until", "till", "whereby":
		return true
	}
	return false
}

// generic reports nouns that could mean anything in a project.
func generic(s string) bool {
	switch s {
	case "it", "them", "all", "everything", "something", "anything", "nothing", "things", "thing", "stuff", "whatever", "code", "codebase", "code-base", "project", "app", "apps", "application", "program", "software", "system", "systems", "repo", "repository", "product", "work", "works", "working", "job", "task", "tasks", "mess", "bug", "bugs", "issue", "issues", "problem", "problems", "quality", "performance", "feature", "features", "improvement", "improvements", "change", "changes", "progress", "optimization", "optimizations", "refactoring", "fixes", "place", "places", "part", "parts", "business", "process", "processes", "situation", "state", "source", "solution", "solutions", "idea", "ideas", "everywhere", "someone", "somehow", "goal", "goals", "run", "running", "runs":
		return true
	}
	return false
}

// hollow reports objects that say nothing even to a verb of making.
func hollow(s string) bool {
	return slices.Contains([]string{"it", "them", "all", "everything", "something", "anything", "nothing", "things", "thing", "stuff", "whatever", "code", "work", "feature", "features", "improvement", "improvements", "change", "changes", "progress", "optimization", "optimizations", "fixes", "bugs", "issues", "problems", "ideas", "solution", "solutions"}, s)
}

// praise reports words of quality that nobody can check.
func praise(s string) bool {
	switch s {
	case "better", "best", "faster", "fast", "nicer", "nice", "good", "great", "perfect", "awesome", "beautiful", "pretty", "prettier", "cool", "cooler", "clean", "cleaner", "robust", "reliable", "scalable", "efficient", "maintainable", "readable", "usable", "useful", "modern", "professional", "smart", "smarter", "simple", "simpler", "easier", "easy", "smoother", "smooth", "stronger", "strong", "safer", "safe", "cheaper", "stable", "secure", "optimal", "optimized", "improved", "amazing", "excellent", "fancy", "solid", "production-ready", "elegant", "user-friendly", "interesting", "quick", "quicker", "quickly", "properly", "correct", "correctly", "right", "neat", "neater", "tidy", "tidier", "slow", "slower", "bad", "broken", "high-quality", "snappier", "snappy", "lighter", "leaner", "performant", "flexible", "appealing", "attractive", "intuitive", "shiny", "polished", "state-of-the-art", "perfectly", "happy", "ready", "wrong":
		return true
	}
	return false
}
