// Package stream sends events to a browser or program that listens, as lines of
// text/event-stream (the format of the HTML standard), and bounds how many listen.
//
// What is sent is in the frame of one event, whatever it holds: line ends in data cannot
// begin another event. A reader that takes nothing for a while is let go.
package stream
