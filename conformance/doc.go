// Package conformance plays readable scripts of the beanstalk protocol against
// servers.
//
// The scripts are in testdata; README.md describes their format and rules.txt
// lists the rules they show. What they expect was recorded from the reference
// server beanstalkd, and where haricot differs on purpose they hold both
// outcomes and the reason. The tests of this package play them against
// beanstalkd itself, against haricot in fake time over a network in memory, and
// against haricot over TCP and unix sockets.
//
// Another server is tested by implementing [Target] and playing every script
// that [Load] returns with [Script.Play].
package conformance
