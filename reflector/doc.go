// Package reflector looks back at what the sessions of a run did and decides
// whether to go on, to stop, or to ask a person.
//
// # How a reflection goes
//
//	Due: is one due, and why  ->  Input: what happened, from the stream and git
//	  ->  a Reflector: Assessment, seven fields  ->  Decide: a table of named rules
//
// Due and Decide are pure functions. A Reflector may ask a model, so it may
// fail; Decide never sees an assessment that is not valid, and a reflection that
// failed leaves the run to its fixed limits.
//
// # What is believed
//
// An assessment is the opinion of a model about texts that another model wrote.
// It can slow a run down, end it or ask for a person. Under the extended rules it
// can never make a goal count as reached while one of the goal's checks fails; the
// strict ones take its word.
//
// # What it refuses
//
// A reply that holds no JSON object of the schema, or two that differ, is sent back
// once, with the reason. A second bad reply is an error.
package reflector
