// Command dist builds a release: archives for linux and darwin, packages for linux, and
// what belongs to them.
//
// It writes a folder that can be put behind a URL as it is: latest.txt, install.sh, and
// for the version a folder with an archive and a bill of materials (CycloneDX) for every
// target, deb and rpm packages, and SHA256SUMS of them all. A version that comes before a
// release, such as 1.2.3-rc.1, does not become what latest.txt names, and leaves install.sh.
//
// The same commit gives the same bytes, wherever and whenever it is built with the same
// Go: no time but that of the commit (SOURCE_DATE_EPOCH where it is set) and no path,
// user or order of files gets in. A tree with changes is built too, and its commit is
// stamped as dirty. Who can be trusted with a release is not decided here: nothing is
// signed.
//
// Everything is made beside its place and renamed at the end, so a build that fails or is
// killed leaves the last one as it was. It uses the go command, git where there is no
// SOURCE_DATE_EPOCH, and the program that makes packages; it publishes nothing.
package main
