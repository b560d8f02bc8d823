// Package secret knows secrets by the names of variables and files, and the programs that
// show or send what stands in a file.
package secret
