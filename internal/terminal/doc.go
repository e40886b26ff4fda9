// Package terminal writes to people and to the programs that stand in for them:
// tables that fit a window, the same as columns with tabs between them where there
// is no window, and lines of JSON.
//
// Bodies of jobs and names of tubes are text of strangers. Whatever this package
// writes of them is printable, so that nothing in it can reach a terminal: see [Clean].
package terminal
