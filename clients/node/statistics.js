'use strict';
// What a library must have made of the three statistics replies: every field, in order, with its value.

const assert = require('node:assert/strict');
const os = require('node:os');

const jobKeys = ['id', 'tube', 'state', 'pri', 'age', 'delay', 'ttr', 'time-left', 'file', 'reserves', 'timeouts',
  'releases', 'buries', 'kicks'];

const tubeKeys = ['name', 'current-jobs-urgent', 'current-jobs-ready', 'current-jobs-reserved', 'current-jobs-delayed',
  'current-jobs-buried', 'total-jobs', 'current-using', 'current-watching', 'current-waiting', 'cmd-delete',
  'cmd-pause-tube', 'pause', 'pause-time-left'];

const counterKeys = ['cmd-put', 'cmd-peek', 'cmd-peek-ready', 'cmd-peek-delayed', 'cmd-peek-buried', 'cmd-reserve',
  'cmd-reserve-with-timeout', 'cmd-delete', 'cmd-release', 'cmd-use', 'cmd-watch', 'cmd-ignore', 'cmd-bury', 'cmd-kick',
  'cmd-touch', 'cmd-stats', 'cmd-stats-job', 'cmd-stats-tube', 'cmd-list-tubes', 'cmd-list-tube-used',
  'cmd-list-tubes-watched', 'cmd-pause-tube', 'job-timeouts', 'total-jobs'];

const serverKeys = ['current-jobs-urgent', 'current-jobs-ready', 'current-jobs-reserved', 'current-jobs-delayed',
  'current-jobs-buried', ...counterKeys, 'max-job-size', 'current-tubes', 'current-connections', 'current-producers',
  'current-workers', 'current-waiting', 'total-connections', 'pid', 'version', 'rusage-utime', 'rusage-stime', 'uptime',
  'binlog-oldest-index', 'binlog-current-index', 'binlog-records-migrated', 'binlog-records-written', 'binlog-max-size',
  'draining', 'id', 'hostname', 'os', 'platform'];

// oddTube is legal and uses every kind of character a tube name may have.
const oddTube = 'a-b+c/d;e.f$g_h(i)09Z';

// lookalikes are legal tube names that YAML 1.1 or 1.2 reads as something other than a string when they stand bare.
const lookalikes = ['123', '017', '0x1F', '1e3', '1_000', '_1', '+_1', '+1', '.5', '.inf', '.NaN', 'true', 'False',
  'null', '2024-01-31'];

// jobFields checks all fields of stats-job. Fields not in want are 0; age and time-left are given as [least, most].
function jobFields(stats, want) {
  fields(stats, jobKeys, { age: [0, 30], ...want });
}

// tubeFields does the same for stats-tube.
function tubeFields(stats, want) {
  fields(stats, tubeKeys, want);
}

function fields(stats, keys, want) {
  assert.deepEqual(Object.keys(stats), keys);
  for (const key of keys) {
    const expected = want[key] ?? 0;
    if (Array.isArray(expected)) within(key, stats[key], ...expected);
    else assert.strictEqual(stats[key], expected, key);
  }
}

function within(key, value, least, most) {
  assert.ok(Number.isInteger(value) && value >= least && value <= most, `${key}: ${value}, want ${least} to ${most}`);
}

// serverFields checks all fields of stats that do not depend on what was done before.
function serverFields(stats, reference) {
  assert.deepEqual(Object.keys(stats), serverKeys);
  for (const key of serverKeys.slice(0, serverKeys.indexOf('version'))) within(key, stats[key], 0, 2 ** 32);
  assert.equal(stats['max-job-size'], 65535);
  assert.ok(stats['current-tubes'] >= 1 && stats['current-connections'] >= 1);
  assert.ok(stats['total-connections'] >= stats['current-connections']);
  if (process.env.HARICOT_PID) assert.equal(stats.pid, Number(process.env.HARICOT_PID));
  assert.match(stats.version, /^\d+\.\d+$/);
  for (const key of ['rusage-utime', 'rusage-stime']) assert.ok(stats[key] >= 0 && typeof stats[key] === 'number', key);
  within('uptime', stats.uptime, 0, 600);
  for (const key of ['binlog-oldest-index', 'binlog-current-index', 'binlog-records-migrated',
    'binlog-records-written']) assert.strictEqual(stats[key], 0, key);
  assert.strictEqual(stats['binlog-max-size'], 10485760);
  assert.strictEqual(stats.draining, false);
  assert.strictEqual(stats.platform, os.machine());
  // beanstalkd 1.12 quotes none of these: an os that begins with # is a comment to YAML, an id of digits a number. And
  // its version is smaller, read as a number, than the 1.8 that some clients ask for.
  if (reference) return;
  assert.ok(Number(stats.version) >= 1.8);
  assert.match(stats.id, /^[0-9a-f]{16}$/);
  assert.strictEqual(stats.hostname, os.hostname());
  assert.strictEqual(stats.os, os.version());
}

// counted checks every counter between two stats replies; those not in want must not have moved.
function counted(before, after, want) {
  const moved = {};
  for (const key of counterKeys) {
    if (after[key] !== before[key]) moved[key] = after[key] - before[key];
  }
  assert.deepEqual(moved, { 'cmd-stats': 1, ...want });
}

module.exports = { oddTube, lookalikes, jobFields, tubeFields, serverFields, counted };
