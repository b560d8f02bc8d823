// Package messagesapi is a scripted Messages API on the loopback interface, for tests that run the real Claude Code CLI
// without a model, an account or a network.
//
// A test gives a [Script], a function from a parsed [Request] to a [Reply], and points the CLI at the server with [Env].
// Replies are ordinary answers (text, tool calls, any size, any usage), HTTP errors as the real service words them, and
// faults: silence, a stall or a reset in mid-stream, a slow stream. A request with "stream": true is answered with
// server-sent events in the order of the public Messages API, one without it with a JSON message.
//
// Guarantees. The script is called once per POST to /v1/messages, by several goroutines at once when several requests
// are open, so a script that keeps state guards it itself. Requests are recorded before the script sees them. The server
// sets no time limit of its own: a hang lasts until the client goes or the server closes. It closes with the test.
//
// Failure. A request that cannot be parsed is answered with status 400 and fails the test. Other paths are answered with
// an empty 404, and fail the test only under [StartStrict]. A panic in a script ends that connection, as net/http does.
//
// It refuses to check keys, models, prompts or tool schemas, and it keeps nothing on disk. It holds the body of every
// request in memory until the test ends.
package messagesapi
