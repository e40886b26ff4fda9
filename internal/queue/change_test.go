package queue

import "testing"

// TestChangesOfJobThatCameAndWent: a job that is put and deleted in one turn leaves its id to be written, which must not be given out
// again after a crash.
func TestChangesOfJobThatCameAndWent(t *testing.T) {
	m := New(Config{Limits: Limits{MaxJobSize: 100}, Durable: true})
	s := newScene(t, m)
	s.expect(s.put("anna", 0, 0, 60, "x"), "anna INSERTED 1")
	s.expect(s.say("anna", "delete 1"), "anna DELETED")
	c := m.Changes()
	if c.Empty() || c.NextID != 2 || !c.Urgent || len(c.Saved)+len(c.Deleted) != 0 {
		t.Errorf("the turn changes %+v; want nothing but the next id, at once", *c)
	}
	m.Committed()
	s.expect(s.say("anna", "peek 1"), "anna NOT_FOUND")
	if c := m.Changes(); !c.Empty() {
		t.Errorf("a turn without a change changes %+v", *c)
	}
}
