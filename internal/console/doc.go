// Package console is the web pages of a server: what is going on, what is wrong
// and what can be done about it.
//
// Pages are made on the server and work without JavaScript: every list is a
// table, every filter a form that gets, every change a form that posts and is
// answered with a redirect. Where there is JavaScript, htmx fetches the same page
// again every few seconds and changes what differs, so what is live needs no
// code of its own, and the address always says what is shown.
//
// Names of tubes and bodies of jobs are written by strangers. They reach pages
// through html/template only, and the Content-Security-Policy lets no script and
// no style run that is not a file of this package.
package console
