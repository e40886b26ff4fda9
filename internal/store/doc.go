// Package store keeps the queue on disk, so that nothing that a client was told
// of is lost.
//
// A directory belongs to one store at a time and has
//
//	FORMAT    the version of the layout, written last when a store is made
//	LOCK      held while the store is open
//	ballast   space kept in reserve, so that jobs can be deleted on a full disk
//	db/       a Pebble database
//
// The database has, under one-letter prefixes, for every job a header and a
// body apart from it, so that recovery reads headers only and a change of state
// does not rewrite a body; for every paused tube its pause; and the lowest id
// that no job has had. format.go has the layout.
//
// Everything that changed in one turn of the engine is one batch, and at most
// one fsync.
package store
