// Package wrap says what a command runs that is one of its arguments: what stands behind
// sudo, env, xargs, find -exec, ssh, docker exec and the like. [Steps] is pure: it reads
// arguments, and what flows into the command, and walks nothing by itself.
package wrap
