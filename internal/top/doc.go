// Package top is a server's tubes on a full screen, live: what haricot top shows.
//
// A [Model] is all that is known and chosen: it is told what happens ([Event]: keys, samples, a lost connection), answers with what
// is to be done ([Request]), and draws itself as lines ([Frame]). It knows no terminal, no connection and no clock. Around it stand a
// watcher, a goroutine that has the connection, and a screen, which is the terminal; [Run] joins the three.
//
// It speaks the protocol only, by package remote, and so shows beanstalkd as well. All texts of the server, names of tubes and bodies of jobs
// foremost, are made printable before they are drawn.
package top
