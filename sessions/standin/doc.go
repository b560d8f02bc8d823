// Package standin is a scripted stand-in for the claude command line: it takes
// the arguments a supervisor gives, prints the event stream the real one prints,
// and does what a script tells it, so that every ending of a session can be had
// on demand, without network and without an account.
//
// It is what the demo runs on and what the command's tests drive. It is not a
// model of Claude: what it does not need it does not have. Behaviour that
// depends on the real program is tested with the real program.
//
// # The script
//
// The file named by STANDIN_SCRIPT holds one section per process, separated by
// lines of three dashes; the last section serves every further process. Each
// line is a verb and its arguments:
//
//	say TEXT                 an answer of the model; the next result repeats it
//	big BYTES [result]       an answer of that many bytes, in one line; the result repeats it
//	think DUR                stay silent, waiting for the model
//	hang                     stay silent for ever
//	bash CMD                 run a shell command as a tool, in a session of its own
//	bare-tool DUR            a tool that only takes time
//	leave CMD                start a shell command in the background, in its own session
//	hold CMD                 the same, holding stdout open
//	write FILE TEXT          write a file as a tool
//	commit TEXT              git add and commit everything
//	agents N [VERB]          start N sub-agents at once; VERB is fail, stop, spiral or die
//	mcp-server               leave a process in the session's own group
//	usage IN OUT USD         tokens and cost of the next result
//	retry STATUS KIND N      N api_retry events
//	limit SECONDS            usage limit that resets in so many seconds; ends the turn
//	api-error STATUS KIND    the turn ends with an API error
//	report JSON              structured output of the next result
//	empty                    the turn ends in success with an empty answer
//	result [SUBTYPE]         print a result; success unless named
//	wake                     another init, turn and result in the same process
//	record JSON              append a line to sessions.jsonl of the repository
//	raw TEXT                 print a line as it is
//	ignore SIGNAL... [FILE]  ignore INT, TERM or HUP, and append each one to a file
//	mark FILE                append the session id to a file
//	dump FILE                append how it was started as JSON: args, argument, stdin, cwd, env
//	linger DUR               stay after the last result
//	crash                    kill itself
//	exit CODE                end at once with a status
//	refuse TEXT              as the first line: do not start, with TEXT on stderr
//
// A section that ends without result, exit or crash prints a success.
//
// # Sessions without tools
//
// A process that is started with an empty --tools can only answer. It takes its
// section from the file named by STANDIN_REFLECT_SCRIPT, which has the same form
// and a count of its own, so that a script of the work does not have to know when
// a supervisor asks for an opinion. Without that variable its report is an
// assessment of a goal: not reached, good progress, half of it done, to be
// continued. The verbs do what they do elsewhere; that such a process runs no
// tools is up to the script.
package standin
