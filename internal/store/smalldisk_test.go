package store

import (
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// smallDisk is a file system of a limited size, of which others can take some.
type smallDisk struct {
	vfs.FS
	mutex  sync.Mutex
	total  int64
	others int64
	used   int64
	least  int64 // the least that was free
	files  map[string]*space
}

// space is what a file takes: what is written or set aside, whichever is more.
type space struct{ size int64 }

func newSmallDisk(below vfs.FS, total int64) *smallDisk {
	return &smallDisk{FS: below, total: total, least: total, files: make(map[string]*space)}
}

// occupy has others leave so many bytes free.
func (d *smallDisk) occupy(free int64) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.others = d.total - d.used - free
}

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	free := max(0, d.total-d.used-d.others)
	return vfs.DiskUsage{AvailBytes: uint64(free), TotalBytes: uint64(d.total), UsedBytes: uint64(d.total - free)}, nil
}

// grow makes a file as large as that, if there is room.
func (d *smallDisk) grow(s *space, size int64) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	more := max(0, size-s.size)
	if more > 0 && d.used+d.others+more > d.total {
		return syscall.ENOSPC
	}
	d.used += more
	s.size += more
	d.least = min(d.least, d.total-d.used-d.others)
	return nil
}

// leastFree is the least that was free when something was written.
func (d *smallDisk) leastFree() int64 {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.least
}

func (d *smallDisk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, category)
	if err != nil {
		return nil, err
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.forget(name)
	s := new(space)
	d.files[name] = s
	return &smallFile{File: f, disk: d, space: s}, nil
}

// forget gives back what a file takes.
func (d *smallDisk) forget(name string) {
	if s := d.files[name]; s != nil {
		d.used -= s.size
		delete(d.files, name)
	}
}

func (d *smallDisk) Remove(name string) error {
	err := d.FS.Remove(name)
	if err == nil {
		d.mutex.Lock()
		defer d.mutex.Unlock()
		d.forget(name)
	}
	return err
}

func (d *smallDisk) move(from, to string) *space {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	s := d.files[from]
	if s == nil {
		s = new(space)
	}
	delete(d.files, from)
	d.forget(to)
	d.files[to] = s
	return s
}

func (d *smallDisk) Rename(from, to string) error {
	err := d.FS.Rename(from, to)
	if err == nil {
		d.move(from, to)
	}
	return err
}

func (d *smallDisk) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.ReuseForWrite(from, to, category)
	if err != nil {
		return nil, err
	}
	return &smallFile{File: f, disk: d, space: d.move(from, to)}, nil
}

// smallFile is a file that is written.
type smallFile struct {
	vfs.File
	disk   *smallDisk
	space  *space
	offset int64
}

func (f *smallFile) Write(p []byte) (int, error) {
	if err := f.disk.grow(f.space, f.offset+int64(len(p))); err != nil {
		return 0, err
	}
	n, err := f.File.Write(p)
	f.offset += int64(n)
	return n, err
}

func (f *smallFile) Preallocate(offset, length int64) error {
	if err := f.disk.grow(f.space, offset+length); err != nil {
		return err
	}
	return f.File.Preallocate(offset, length)
}
