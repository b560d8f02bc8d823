// Package release knows what a release is called and whether there is a newer one.
//
// A folder of releases, on disk or behind a URL, holds latest.txt, one line with a
// version, and a folder for each version with archives and SHA256SUMS. Latest reads
// latest.txt and nothing else; this package never downloads or replaces a program.
//
// What stands there is a stranger's text: it is bounded in size and time, and has to be a
// version, else it is refused and not repeated. Plain HTTP is refused but on the loopback,
// after a redirect too, and so are URLs with a name or password, which would end up in
// messages. The environment's proxy is used. Nothing is kept on disk, so a crash leaves
// nothing.
package release
