// Package api is the JSON API of a running server: what operators see and do,
// for scripts and programs.
//
// openapi.yaml describes all of it, is served by it, and is held to it by tests.
// A request goes one way:
//
//	routes ──► call: path, parameters, body ──► operator ──► answer or problem
//
// Whoever calls it may do everything. Who may call it is decided before.
package api
