// Package shared is what the coordinator of a cohort and the supervisors of its stories
// tell each other. They are processes of their own, and files are all that they have in
// common.
//
// The folder of a cohort has a folder for each story, named like the story, with
//
//	task.json       what to do and within which limits     coordinator, before a supervisor starts
//	allotment.json  the story's part of the machine        coordinator, every few seconds
//	spend.json      what the story has used so far         supervisor
//	beat            empty; its time says "I am alive"      supervisor
//
// # Guarantees
//
// Each file has one writer and is replaced as a whole: a reader finds the old content or
// the new one, at any instant and also when the writer was killed. Loading tells a file
// that is missing (the error wraps [io/fs.ErrNotExist]) from one that is broken (any
// other error, which names the file). What loading would call broken is not saved. New
// files have mode 0600, new folders 0700.
//
// The task and the spending survive a power cut. The allotment and the beat need not,
// because they mean nothing without the processes; they are not synced and therefore
// quick.
//
// # On failure and crash
//
// A full disk is told as *statedir.FullError and leaves the old content; beating goes on
// there. A supervisor that was killed leaves its spending, which still counts; the one
// that goes on with its story begins with it. A supervisor whose coordinator ended keeps
// the last allotment that it has seen, is told that it is not fresh, and can ask the
// process table whether anybody will write another.
//
// Freshness is judged by the wall clock, and so is nothing else: after a suspend
// everything is old for a moment, and everybody still lives.
//
// # What it refuses to do
//
// It decides nothing and sends nothing. It keeps no two writers of one file apart; the
// locks of the cohort and of the runs do. While a cohort runs, nobody may remove the
// folder of a story, or its spending would be forgotten.
//
// # Rough edges
//
// Stories whose names differ in case alone share a folder where the file system makes no
// difference between them.
package shared
