// Package binlog reads the directory in which a beanstalkd keeps its log.
//
// The directory has files binlog.N, read in the order of the numbers N, and
// lock, on which a running beanstalkd holds a POSIX lock. A file is
//
//	version   4 bytes: 7, or 5 of beanstalkd 1.4
//	records   one after the other
//	zeros     up to the end of the file, which was made at its full size
//
// and a record is
//
//	length    of the tube's name: 4 bytes in version 7, 8 in version 5
//	name      absent in a short record, which tells a change of a job's state
//	job       80 bytes in version 7, 77 in version 5; record.go has the layout
//	body      with its CRLF; absent in a short record
//
// all of it as the machine had it in memory; read is what little-endian
// machines of 64 bits write, and 32-bit ones that align alike. There are no
// checksums, so a record is taken for good if every field has a possible value
// and the body ends in CRLF. Where that is not so, reading goes on at the next
// place at which a record can be told with near certainty, and the gap is
// reported: beanstalkd itself gives up the rest of the file there. It also does
// so at the largest jobs that it has taken; those are read here as all others.
//
// Nothing in the directory is changed.
package binlog
