// Package llm asks a model behind an OpenAI-compatible endpoint: the service
// itself, a gateway, or a server on this machine.
//
// # What is sent
//
// One POST to chat/completions per try, not streamed, with the question's schema
// as response format (not in strict mode, which wants every property required)
// and once more in the system message, because some servers take a format and
// ignore it. A server that answers 400 or 422 is asked again in a simpler way:
// without temperature and top_p if it complains about those, then for any JSON
// object, then without a format. What worked is remembered for the life of the
// [Model]; what did not work in the end is not, because then something else was
// wrong. Temperature and top_p are sent as they are, also when they are 0.
//
// # Failure
//
// Statuses 429, 500, 502, 503 and 504, connections that fail or break off, and
// silence are tried again, up to Options.Attempts tries, with exponential
// back-off or after the time that Retry-After names, never later than
// Options.Max. A used up quota is not, nor is any other status: the error
// says what is wrong in words. A context that ends is
// no failure of the service; the error wraps its cause. Whoever asks again and
// again has to stand behind a breaker of its own.
//
// Odd answers come out like this:
//
//   - No text, a thought without an answer, an answer that was cut off at the
//     token limit, any other text: an Answer with the text as it came, which may
//     be empty. The caller finds that it does not parse and asks once more.
//     Thoughts are never taken for the answer.
//   - A refusal of the model or of a content filter: an error with the usage. It
//     does not count as a failure of the service.
//   - A web page, JSON of another kind, no choices: an error, not tried again.
//   - An error object with status 200, as gateways send it: the status that it
//     names, 502 if it names none.
//   - Half a JSON text: a connection that broke off.
//
// A crash leaves nothing behind. Nothing is written to disk.
//
// # What it refuses
//
// A key over plain http to another machine. A redirect, whose target would get
// the prompt and perhaps the key. An answer of more than 1 MB, after
// decompression. A proxy for the loopback interface. It reads no environment
// variables, but for the proxy settings that net/http knows.
//
// An error never contains the key, whatever the service echoes: it is replaced
// wherever it occurs in the text, as is what looks like another secret. The text
// of an answer is handed on as it came, but for a thought before it.
package llm
