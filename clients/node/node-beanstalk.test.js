'use strict';
// node-beanstalk: promises, null or false instead of an error for most of what is not found, statistics by js-yaml 4.

const { test, before, after } = require('node:test');
const assert = require('node:assert/strict');
// The package exports only its Pool; the plain client stands in its own file.
const { Client } = require('node-beanstalk/dist/Client');
const { Pool } = require('node-beanstalk');
const server = require('./server');
const { oddTube, lookalikes, jobFields, tubeFields, serverFields, counted } = require('./statistics');
const { Coverage } = require('./coverage');

const coverage = new Coverage();
const opened = [];
const bytes = { serialize: (body) => Buffer.from(body), deserialize: (buffer) => buffer };
const none = Number.MAX_SAFE_INTEGER;
let client, reference;

async function connect(options) {
  const raw = new Client({ host: server.host, port: server.port, ...options });
  opened.push(raw);
  const covered = coverage.over(raw);
  await covered.connect();
  return covered;
}

async function inTube(name, options) {
  const c = await connect(options);
  assert.equal(await c.use(name), name);
  assert.equal(await c.watch(name), 2);
  assert.equal(await c.ignore('default'), true);
  return c;
}

before(async () => {
  reference = await server.isReference();
  client = await connect();
});

after(() => Promise.all(opened.filter((c) => c.isConnected).map((c) => c.disconnect(true))));

test('tubes', async () => {
  const c = await connect();
  assert.equal(c.isConnected, true);
  assert.equal(await c.listTubeUsed(), 'default');
  assert.equal(await c.use(oddTube), oddTube);
  assert.equal(await c.listTubeUsed(), oddTube);
  assert.deepEqual(await c.listTubes(), ['default', oddTube]);
  assert.equal(await c.watch(oddTube), 2);
  assert.deepEqual(await c.listTubesWatched(), ['default', oddTube]);
  assert.equal(await c.ignore('default'), true);
  assert.deepEqual(await c.listTubesWatched(), [oddTube]);
  assert.equal(await c.ignore(oddTube), false, 'NOT_IGNORED');
  // The library lets a leading dash pass, the server must not.
  await assert.rejects(c.use('-dash'), { code: 'ErrErrorResponseStatus', message: /'BAD_FORMAT'/ });
  await assert.rejects(c.watch('-dash'), { code: 'ErrErrorResponseStatus', message: /'BAD_FORMAT'/ });
  await c.disconnect();
  assert.equal(c.isConnected, false);
});

test('the life of a job, with its statistics', async () => {
  const c = await inTube('nb-life');
  const { id, state } = await c.put({ a: 1 }, 60, 7);
  assert.equal(state, 'ready');
  const known = { id, tube: 'nb-life', pri: 7, ttr: 60 };
  const check = async (want) => jobFields(await c.statsJob(id), { ...known, ...want });
  const job = { id, payload: { a: 1 } };

  await check({ state: 'ready' });
  assert.deepEqual(await c.peek(id), job);
  assert.deepEqual(await c.peekReady(), job);
  assert.deepEqual(await c.reserve(), job);
  await check({ state: 'reserved', 'time-left': [55, 60], reserves: 1 });
  assert.equal(await c.touch(id), true);
  assert.equal(await c.release(id, 9, 100), 'delayed');
  known.pri = 9;
  await check({ state: 'delayed', delay: 100, 'time-left': [95, 100], reserves: 1, releases: 1 });
  assert.deepEqual(await c.peekDelayed(), job);
  assert.equal(await c.kickJob(id), true);
  await check({ state: 'ready', delay: 100, reserves: 1, releases: 1, kicks: 1 });
  assert.deepEqual(await c.reserveWithTimeout(0), job);
  assert.equal(await c.bury(id, 11), true);
  known.pri = 11;
  await check({ state: 'buried', delay: 100, reserves: 2, releases: 1, buries: 1, kicks: 1 });
  assert.deepEqual(await c.peekBuried(), job);
  assert.deepEqual(await c.reserveJob(id), job);
  assert.equal(await c.bury(id, 11), true);
  assert.equal(await c.kick(10), 1);
  await check({ state: 'ready', delay: 100, reserves: 3, releases: 1, buries: 2, kicks: 2 });
  assert.equal(await c.delete(id), true);
  assert.equal(await c.statsJob(id), null);
  assert.equal((await c.put('later', 60, 0, 60)).state, 'delayed');
});

test('bodies', async () => {
  const c = await inTube('nb-bodies', { serializer: bytes });
  const every = Buffer.from([...Array(256).keys()]);
  for (const body of [Buffer.alloc(0), Buffer.from('\r\n'), Buffer.from('\r\nRESERVED 1 1\r\nb\r\n'), every,
    Buffer.concat(Array(255).fill(every)), Buffer.alloc(65535, 0xff)]) {
    const { id } = await c.put(body);
    assert.deepEqual(await c.peek(id), { id, payload: body });
    assert.deepEqual(await c.reserve(), { id, payload: body });
    assert.equal(await c.delete(id), true);
  }
});

test('statistics of tubes', async () => {
  const c = await inTube(oddTube);
  const known = { name: oddTube, 'current-using': 1, 'current-watching': 1, 'current-jobs-reserved': 1,
    'current-jobs-delayed': 1, 'total-jobs': 3 };
  const check = async (want) => tubeFields(await c.statsTube(oddTube), { ...known, ...want });
  await c.put('urgent', 60, 1);
  await c.put('urgent too', 60, 1023);
  await c.put('later', 60, 0, 60);
  await c.reserve();
  await check({ 'current-jobs-urgent': 1, 'current-jobs-ready': 1 });
  assert.equal(await c.pauseTube(oddTube, 30), true);
  await check({ 'current-jobs-urgent': 1, 'current-jobs-ready': 1, 'cmd-pause-tube': 1, pause: 30,
    'pause-time-left': [25, 30] });
  assert.equal(await c.reserveWithTimeout(0), null);
  assert.equal(await c.pauseTube(oddTube, 0), true);
  const { id } = await c.reserve();
  await c.delete(id);
  await check({ 'cmd-delete': 1, 'cmd-pause-tube': 2 });
});

// beanstalkd 1.12 writes such names bare, and the parser makes numbers and the like of them.
test('tube names that look like something else to YAML', async (t) => {
  if (reference) return t.skip('beanstalkd 1.12 quotes no names');
  const c = await connect();
  for (const name of lookalikes) {
    assert.equal(await c.use(name), name);
    assert.strictEqual((await c.statsTube(name)).name, name);
    const { id } = await c.put('');
    assert.strictEqual((await c.statsJob(id)).tube, name);
    await c.delete(id);
  }
});

test('statistics of the server', async () => {
  const c = await inTube('nb-stats');
  const first = await c.stats();
  serverFields(first, reference);
  const { id } = await c.put('a', 60, 0, 60);
  await c.peekDelayed();
  await c.kickJob(id);
  await c.reserveJob(id);
  await c.bury(id);
  await c.peekBuried();
  await c.kick(1);
  await c.pauseTube('nb-stats', 0);
  await c.use('nb-stats');
  await c.watch('nb-stats');
  await c.ignore('nb-stats');
  await c.delete(id);
  // kick-job and reserve-job have no counter.
  counted(first, await c.stats(), { 'cmd-put': 1, 'cmd-peek-delayed': 1, 'cmd-bury': 1, 'cmd-peek-buried': 1,
    'cmd-kick': 1, 'cmd-pause-tube': 1, 'cmd-use': 1, 'cmd-watch': 1, 'cmd-ignore': 1, 'cmd-delete': 1, 'total-jobs': 1 });
});

test('errors', async () => {
  const c = await inTube('nb-errors', { maxPayloadSize: 1 << 20 });
  for (const command of ['delete', 'touch', 'bury', 'kickJob']) assert.equal(await c[command](none), false, command);
  for (const command of ['release', 'peek', 'reserveJob', 'statsJob']) assert.equal(await c[command](none), null, command);
  for (const command of ['peekReady', 'peekDelayed', 'peekBuried']) assert.equal(await c[command](), null, command);
  assert.equal(await c.statsTube('nb-none'), null);
  assert.equal(await c.pauseTube('nb-none', 1), false);
  assert.equal(await c.reserveWithTimeout(0), null);
  await assert.rejects(c.put('x'.repeat(65534)), { code: 'JOB_TOO_BIG' }); // Two quotation marks make it 65536.
  await assert.rejects(c.kick('many'), { message: /'BAD_FORMAT'/ });
  const { id } = await c.put('short', 1);
  await c.reserve();
  await assert.rejects(c.reserve(), { code: 'DEADLINE_SOON' });
  await assert.rejects(c.reserveWithTimeout(5), { code: 'DEADLINE_SOON' });
  await c.delete(id);
});

test('a waiting worker gets the job', async () => {
  const worker = await inTube('nb-wait');
  const producer = await inTube('nb-wait');
  const waiting = worker.reserve();
  await server.waiting(1);
  assert.equal(worker.isWorking, true);
  assert.equal(worker.queueSize, 1);
  const { id } = await producer.put('now');
  assert.deepEqual(await waiting, { id, payload: 'now' });
  await worker.disconnect();
  assert.equal((await producer.reserveWithTimeout(5)).id, id);
  await producer.delete(id);
});

test('the pool of the library', async () => {
  const pool = new Pool({ capacity: 2, clientOptions: { host: server.host, port: server.port } });
  const covered = coverage.over(pool);
  const [a, b] = [await covered.connect(), await covered.connect()];
  await a.use('nb-pool');
  await b.watch('nb-pool');
  const { id } = await a.put('through the pool');
  assert.deepEqual(await b.reserve(), { id, payload: 'through the pool' });
  assert.equal(await b.delete(id), true);
  const third = covered.connect();
  assert.equal(pool.waitingCount, 1);
  coverage.over(a).releaseClient();
  assert.equal(await third, a);
  a.releaseClient();
  b.releaseClient();
  await covered.disconnect();
  assert.equal(covered.getState(), 'disconnected');
  covered.restore();
  assert.equal(covered.getState(), 'live');
  coverage.complete(pool, ['createPendingPromise', 'handleClientRelease']);
});

test('draining', async () => {
  await server.drain();
  // The client takes DRAINING for a general error before put gets to see it.
  await assert.rejects(client.put('refused'), { code: 'ErrErrorResponseStatus', message: /'DRAINING'/ });
  if (reference) return; // beanstalkd cannot leave drain mode.
  await server.undrain();
  assert.equal(await client.delete((await client.put('accepted')).id), true);
});

test('every command of the library was used', () => {
  coverage.complete(client, ['waitQueue', 'payloadToBuffer', 'readCommandResponse', 'dispatchCommand']);
});
