// Package service tells the service manager that started this program how it is: that it
// is up, what it does, that it is alive, and that it is about to end. It speaks the
// notification protocol of systemd (sd_notify(3)); anywhere else it does nothing.
//
// # The watchdog
//
// The manager kills a service that has not said for a while that it is alive. Alive
// means more here than a process that is there: what the beat stands for is asked each
// time, and a loop that has shown no life for longer than its longest step may take
// stops the beat. A machine that slept is no reason: the manager counts without sleep.
//
// The library for this protocol reads the environment of its own process only and gives
// signs of life for that process alone, which is a guard here; so the few lines are ours.
//
// Messages that cannot be sent are lost. Nothing here ever fails or waits.
package service
