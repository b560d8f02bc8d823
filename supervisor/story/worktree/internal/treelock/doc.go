// Package treelock keeps processes apart that make, change or remove the same work tree.
//
// # Guarantees
//
// At most one process holds the lock of a name. A lock may be handed on to a process that
// its holder starts, such as git: then it holds until that has ended too.
//
// # On failure and crash
//
// The kernel gives a lock back when its last holder ends, however that ends. A file that
// its holder has deleted is no lock any more for those who wait for it: they open anew.
//
// # What it refuses to do
//
// It takes no lock away, and follows no symbolic link to one.
package treelock
