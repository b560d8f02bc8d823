// Package installer holds scripts/install.sh to what it promises. It has no code of its own.
//
// The tests run the script on folders of releases that they make up, most of them bad, and
// compare all there is below a scratch home before and after. With AUTOPILOT_PACKAGE_TEST
// in the environment ('make package-test') they run it in three shells instead of one, and
// from servers on the loopback, with curl and two kinds of wget; a tool that is missing is
// then a failure.
package installer
