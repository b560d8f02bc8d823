// Package conformance tests what every reflector owes its caller, whoever it
// asks. Only test files import it.
//
// [Test] is for all of them. It gives a reflector inputs from empty to huge and
// hostile, and wants a valid assessment of each, an input that is left alone, an
// end when the context ends, and a reflector that can be used again.
// [TestAsking] does that for one that asks a model, and scripts the model's
// replies besides: bad ones, failures, silence.
//
// The suite sees a reflector only through its interface and compares results,
// never times; a call that does not return fails the test after half a minute
// and is left behind. It refuses to say whether an assessment is right.
package conformance
