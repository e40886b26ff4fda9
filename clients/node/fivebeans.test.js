'use strict';
// fivebeans: callbacks, errors as strings, ids and counts as strings, bodies as Buffers, statistics by js-yaml 3.6.

const { test, before, after } = require('node:test');
const assert = require('node:assert/strict');
const { once } = require('node:events');
const { client: Client, worker: Worker } = require('fivebeans');
const server = require('./server');
const { oddTube, lookalikes, jobFields, tubeFields, serverFields, counted } = require('./statistics');
const { Coverage } = require('./coverage');

const coverage = new Coverage();
const opened = [];
let client, reference;

async function connect() {
  const raw = new Client(server.host, server.port);
  opened.push(raw);
  const covered = coverage.over(raw);
  const connected = once(raw, 'connect');
  covered.connect();
  await connected;
  return covered;
}

// ask runs one command. It returns what the callback gets behind the error: nothing, one value or an array of values.
function ask(c, command, ...args) {
  return new Promise((resolve, reject) => {
    c[command](...args, (error, ...results) => {
      if (error) reject(new Error(error));
      else resolve(results.length > 1 ? results : results[0]);
    });
  });
}

async function inTube(name) {
  const c = await connect();
  assert.equal(await ask(c, 'use', name), name);
  assert.equal(await ask(c, 'watch', name), '2');
  assert.equal(await ask(c, 'ignore', 'default'), '1');
  return c;
}

before(async () => {
  reference = await server.isReference();
  client = await connect();
});

after(() => opened.forEach((c) => c.stream.destroy()));

test('tubes', async () => {
  const c = await connect();
  assert.equal(await ask(c, 'list_tube_used'), 'default');
  assert.equal(await ask(c, 'use', oddTube), oddTube);
  assert.equal(await ask(c, 'list_tube_used'), oddTube);
  assert.deepEqual(await ask(c, 'list_tubes'), ['default', oddTube]);
  assert.equal(await ask(c, 'watch', oddTube), '2');
  assert.deepEqual(await ask(c, 'list_tubes_watched'), ['default', oddTube]);
  assert.equal(await ask(c, 'ignore', 'default'), '1');
  assert.deepEqual(await ask(c, 'list_tubes_watched'), [oddTube]);
  await assert.rejects(ask(c, 'ignore', oddTube), { message: 'NOT_IGNORED' });
  await assert.rejects(ask(c, 'use', 'two words'), { message: 'BAD_FORMAT' });
  await assert.rejects(ask(c, 'watch', 'x'.repeat(201)), { message: 'BAD_FORMAT' });
  await ask(c, 'use', 'default');
});

test('the life of a job, with its statistics', async () => {
  const c = await inTube('fivebeans-life');
  const id = await ask(c, 'put', 7, 0, 60, 'body');
  const known = { id: Number(id), tube: 'fivebeans-life', pri: 7, ttr: 60 };
  const check = async (want) => jobFields(await ask(c, 'stats_job', id), { ...known, ...want });
  const job = [id, Buffer.from('body')];

  await check({ state: 'ready' });
  assert.deepEqual(await ask(c, 'peek', id), job);
  assert.deepEqual(await ask(c, 'peek_ready'), job);
  assert.deepEqual(await ask(c, 'reserve'), job);
  await check({ state: 'reserved', 'time-left': [55, 60], reserves: 1 });
  await ask(c, 'touch', id);
  await ask(c, 'release', id, 9, 100);
  known.pri = 9;
  await check({ state: 'delayed', delay: 100, 'time-left': [95, 100], reserves: 1, releases: 1 });
  assert.deepEqual(await ask(c, 'peek_delayed'), job);
  await ask(c, 'kick_job', id);
  await check({ state: 'ready', delay: 100, reserves: 1, releases: 1, kicks: 1 });
  assert.deepEqual(await ask(c, 'reserve_with_timeout', 0), job);
  await ask(c, 'bury', id, 11);
  known.pri = 11;
  await check({ state: 'buried', delay: 100, reserves: 2, releases: 1, buries: 1, kicks: 1 });
  assert.deepEqual(await ask(c, 'peek_buried'), job);
  assert.equal(await ask(c, 'kick', 10), '1');
  await check({ state: 'ready', delay: 100, reserves: 2, releases: 1, buries: 1, kicks: 2 });
  await ask(c, 'destroy', id);
  await assert.rejects(ask(c, 'stats_job', id), { message: 'NOT_FOUND' });
});

test('bodies', async () => {
  const c = await inTube('fivebeans-bodies');
  const every = Buffer.from([...Array(256).keys()]);
  for (const body of [Buffer.alloc(0), Buffer.from('\r\n'), Buffer.from('\r\nRESERVED 1 1\r\nb\r\n'), every,
    Buffer.concat(Array(255).fill(every)), Buffer.alloc(65535, 0xff)]) {
    const id = await ask(c, 'put', 0, 0, 60, body);
    assert.deepEqual(await ask(c, 'peek', id), [id, body]);
    assert.deepEqual(await ask(c, 'reserve'), [id, body]);
    await ask(c, 'destroy', id);
  }
});

test('replies to many commands sent at once come in order', async () => {
  const c = await inTube('fivebeans-pipeline');
  const ids = await Promise.all(Array.from({ length: 200 }, (_, i) => ask(c, 'put', 0, 0, 60, `job ${i}`)));
  const jobs = await Promise.all(ids.map(() => ask(c, 'reserve')));
  assert.deepEqual(jobs, ids.map((id, i) => [id, Buffer.from(`job ${i}`)]));
  await Promise.all(ids.map((id) => ask(c, 'destroy', id)));
});

test('statistics of tubes', async () => {
  const c = await inTube(oddTube);
  const known = { name: oddTube, 'current-using': 1, 'current-watching': 2, 'current-jobs-reserved': 1,
    'current-jobs-delayed': 1, 'total-jobs': 3 };
  const check = async (want) => tubeFields(await ask(c, 'stats_tube', oddTube), { ...known, ...want });
  await ask(c, 'put', 1, 0, 60, 'urgent');
  await ask(c, 'put', 1023, 0, 60, 'also urgent');
  await ask(c, 'put', 0, 60, 60, 'later');
  await ask(c, 'reserve');
  await check({ 'current-jobs-urgent': 1, 'current-jobs-ready': 1 });
  await ask(c, 'pause_tube', oddTube, 30);
  await check({ 'current-jobs-urgent': 1, 'current-jobs-ready': 1, 'cmd-pause-tube': 1, pause: 30,
    'pause-time-left': [25, 30] });
  await assert.rejects(ask(c, 'reserve_with_timeout', 0), { message: 'TIMED_OUT' });
  await ask(c, 'pause_tube', oddTube, 0);
  const [id] = await ask(c, 'reserve');
  await ask(c, 'destroy', id);
  await check({ 'cmd-delete': 1, 'cmd-pause-tube': 2 });
});

// beanstalkd 1.12 writes such names bare, and the parser makes numbers and the like of them.
test('tube names that look like something else to YAML', async (t) => {
  if (reference) return t.skip('beanstalkd 1.12 quotes no names');
  const c = await connect();
  for (const name of lookalikes) {
    assert.equal(await ask(c, 'use', name), name);
    assert.strictEqual((await ask(c, 'stats_tube', name)).name, name);
    const id = await ask(c, 'put', 0, 0, 60, '');
    assert.strictEqual((await ask(c, 'stats_job', id)).tube, name);
    await ask(c, 'destroy', id);
  }
});

test('statistics of the server', async () => {
  const c = await inTube('fivebeans-stats');
  const first = await ask(c, 'stats');
  serverFields(first, reference);
  const id = await ask(c, 'put', 0, 0, 60, 'a');
  await ask(c, 'peek', id);
  await ask(c, 'peek_ready');
  await ask(c, 'reserve_with_timeout', 0);
  await ask(c, 'touch', id);
  await ask(c, 'bury', id, 0);
  await ask(c, 'kick', 1);
  await ask(c, 'stats_job', id);
  await ask(c, 'stats_tube', 'default');
  await ask(c, 'list_tubes');
  await ask(c, 'list_tube_used');
  await ask(c, 'list_tubes_watched');
  await ask(c, 'destroy', id);
  const second = await ask(c, 'stats');
  counted(first, second, { 'cmd-put': 1, 'cmd-peek': 1, 'cmd-peek-ready': 1, 'cmd-reserve-with-timeout': 1,
    'cmd-touch': 1, 'cmd-bury': 1, 'cmd-kick': 1, 'cmd-stats-job': 1, 'cmd-stats-tube': 1, 'cmd-list-tubes': 1,
    'cmd-list-tube-used': 1, 'cmd-list-tubes-watched': 1, 'cmd-delete': 1, 'total-jobs': 1 });
});

test('errors', async () => {
  const c = await inTube('fivebeans-errors');
  const none = '18446744073709551615';
  for (const command of [['destroy', none], ['release', none, 0, 0], ['bury', none, 0], ['touch', none], ['kick_job', none],
    ['peek', none], ['peek_ready'], ['peek_delayed'], ['peek_buried'], ['stats_job', none],
    ['stats_tube', 'fivebeans-none'], ['pause_tube', 'fivebeans-none', 1]]) {
    await assert.rejects(ask(c, ...command), { message: 'NOT_FOUND' }, command[0]);
  }
  await assert.rejects(ask(c, 'reserve_with_timeout', 0), { message: 'TIMED_OUT' });
  await assert.rejects(ask(c, 'put', 0, 0, 60, Buffer.alloc(65536)), { message: 'JOB_TOO_BIG' });
  await assert.rejects(ask(c, 'peek', 'x'), { message: 'BAD_FORMAT' });
  const id = await ask(c, 'put', 0, 0, 1, 'short');
  await ask(c, 'reserve');
  await assert.rejects(ask(c, 'reserve'), { message: 'DEADLINE_SOON' });
  await ask(c, 'destroy', id);
});

test('a waiting worker gets the job, also when it ends its side while waiting', async () => {
  const worker = await inTube('fivebeans-wait');
  const producer = await inTube('fivebeans-wait');
  const waiting = ask(worker, 'reserve');
  await server.waiting(1);
  const id = await ask(producer, 'put', 0, 0, 60, 'now');
  assert.deepEqual(await waiting, [id, Buffer.from('now')]);
  await ask(worker, 'destroy', id);

  const again = assert.rejects(ask(worker, 'reserve'), { message: 'TIMED_OUT' });
  await server.waiting(1);
  const closed = once(worker, 'close');
  worker.end();
  await again;
  await closed;
});

test('quit closes the connection, and its job is ready again', async () => {
  const leaving = await inTube('fivebeans-quit');
  const staying = await inTube('fivebeans-quit');
  const id = await ask(leaving, 'put', 0, 0, 60, 'left behind');
  await ask(leaving, 'reserve');
  const closed = once(leaving, 'close');
  leaving.quit(() => {});
  await closed;
  assert.equal((await ask(staying, 'reserve_with_timeout', 5))[0], id);
  await ask(staying, 'destroy', id);
});

test('the worker of the library', async () => {
  const producer = await inTube('fivebeans-worker');
  const put = (job) => ask(producer, 'put', 0, 0, 60, JSON.stringify(job));
  await put({ type: 'echo', payload: 'success' });
  const released = await put({ type: 'echo', payload: 'release' });
  const buried = await put({ type: 'unknown', payload: 'no handler' });
  const worker = new Worker({ id: 'w', host: server.host, port: server.port, timeout: 1, ignoreDefault: true,
    handlers: { echo: { type: 'echo', work: (payload, done) => done(payload, 100) } } });
  const events = [];
  for (const event of ['job.deleted', 'job.released', 'job.buried']) worker.on(event, (id) => events.push([event, id]));
  const last = once(worker, 'job.buried');
  worker.start(['fivebeans-worker']);
  await last;
  const stopped = once(worker, 'stopped');
  worker.stop();
  await stopped;
  assert.deepEqual(events.map(([event]) => event), ['job.deleted', 'job.released', 'job.buried']);
  assert.equal((await ask(producer, 'peek_delayed'))[0], released);
  assert.equal((await ask(producer, 'peek_buried'))[0], buried);
});

test('draining', async () => {
  await server.drain();
  await assert.rejects(ask(client, 'put', 0, 0, 60, 'refused'), { message: 'DRAINING' });
  if (reference) return; // beanstalkd cannot leave drain mode.
  await server.undrain();
  await ask(client, 'destroy', await ask(client, 'put', 0, 0, 60, 'accepted'));
});

test('every command of the library was used', () => {
  coverage.complete(client, ['tryHandlingResponse']);
});
