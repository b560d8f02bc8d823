// Package goal analyses a goal in words before anything is started: is it clear
// when it is reached, which files does it ask for, and into which parts does it
// fall. It is pure, knows English only, and asks no model; Prompt and Merge let
// a model add to what was found.
//
// # When a goal is ambiguous
//
//	text -> blocks (paragraphs, list items) -> clauses (verb and object)
//	clause: vague | concrete | neither
//	ambiguous = nothing said, or a vague clause and no concrete one
//
// A clause is vague when its verb has no end of its own (learn, explore, improve)
// or when its object says nothing (fix it, clean up). It is concrete when it names
// a file to be made, a figure, a command that has to pass or a state that can be
// looked at, or when a verb of making stands with an object of its own. Unknown
// words are never a reason to call a goal ambiguous, and a goal that is not in
// English is judged only for being empty. Quotations and what is forbidden ("do
// not ...", "without ...") are neither vague nor concrete.
//
// # Guarantees
//
// Analyse never fails, takes time linear in the text, and bounds every list and
// every text in its result, save the goal itself. Offsets are those of bytes in the
// goal as given. A suggestion is never ambiguous itself. Equal texts give equal
// results; nothing is kept between calls, so there is nothing that a crash could
// lose.
//
// # What it refuses
//
// It invents no file, figure or part that the goal does not name: the list of
// milestones may have one entry and the list of criteria none. Paths that are
// absolute or leave the folder are no deliverables. A model's reply that does not
// satisfy the schema is an error and changes nothing; no reply can change
// Deliverables, and none can make an empty goal clear.
//
// # Rough edges
//
// It looks at forms, not at sense. An aim in unknown words passes, however vague,
// and a verb such as "improve" is vague whatever its object, unless a figure, a
// file, a means or a purpose stands with it. A bare README or LICENSE is no
// deliverable, since the name of the file may have an ending.
package goal
