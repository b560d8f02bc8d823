// Package vigil is what is done beside a run for the night: the machine is kept awake,
// sleep all the same is noticed and said, samples of the machine are kept, the service
// manager is told how the run is, and so is a person.
//
// Nothing of it is needed for the work. What fails is said in the log once, and the run
// goes on.
package vigil
