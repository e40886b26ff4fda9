// Package admin is the HTTP server beside the queue. It decides who may ask what,
// and hands requests to those that answer: metrics, the API and the console,
// none of which it knows.
//
//	starting ──► open ──► closed
//	   │           │
//	   │           └ everything is answered; /readyz tells whether puts are taken
//	   └ only /healthz and /readyz are, and the profiles if they are wanted
package admin
