'use strict';
// jackd: promises, job ids as strings, statistics as text.

const { test, before, after } = require('node:test');
const assert = require('node:assert/strict');
const Jackd = require('jackd');
const server = require('./server');
const { oddTube, lookalikes, jobFields, tubeFields, serverFields, counted } = require('./statistics');
const { Coverage } = require('./coverage');

const coverage = new Coverage();
const opened = [];
let client, reference;

async function connect(options) {
  const raw = new Jackd(options);
  opened.push(raw);
  const covered = coverage.over(raw);
  await covered.connect({ host: server.host, port: server.port });
  return covered;
}

// inTube returns a connection that uses and watches only that tube.
async function inTube(name) {
  const c = await connect();
  assert.equal(await c.use(name), name);
  assert.equal(await c.watch(name), 2);
  assert.equal(await c.ignore('default'), 1);
  return c;
}

// fields reads statistics as jackd's users must: the library hands over the text. Quotes are taken off.
function fields(text) {
  const lines = text.split('\n');
  assert.equal(lines.shift(), '---');
  assert.equal(lines.pop(), '');
  return Object.fromEntries(lines.map((line) => {
    const [, key, value] = /^([a-z-]+): (.*)$/.exec(line);
    if (/^\d+(\.\d+)?$/.test(value) && key !== 'id') return [key, Number(value)];
    if (value === 'true' || value === 'false') return [key, value === 'true'];
    return [key, value.replace(/^"(.*)"$/, '$1')];
  }));
}

before(async () => {
  reference = await server.isReference();
  client = await connect();
});

after(() => opened.forEach((c) => c.socket.destroy()));

test('tubes', async () => {
  const c = await connect();
  assert.equal(c.isConnected(), true);
  assert.equal(await c.listTubeUsed(), 'default');
  assert.equal(await c.use(oddTube), oddTube);
  assert.equal(await c.getCurrentTube(), oddTube);
  assert.equal(await c.listTubes(), `---\n- default\n- ${oddTube}\n`);
  assert.equal(await c.watch(oddTube), 2);
  assert.equal(await c.watch(oddTube), 2);
  assert.equal(await c.listTubesWatched(), `---\n- default\n- ${oddTube}\n`);
  assert.equal(await c.ignore('default'), 1);
  assert.equal(await c.listTubesWatched(), `---\n- ${oddTube}\n`);
  await assert.rejects(c.ignore(oddTube), { message: 'NOT_IGNORED' });
  await assert.rejects(c.use('two words'), { message: 'BAD_FORMAT' });
  await assert.rejects(c.watch('-dash'), { message: 'BAD_FORMAT' });
  await assert.rejects(c.ignore('x'.repeat(201)), { message: 'BAD_FORMAT' });
});

test('the life of a job, with its statistics', async () => {
  const c = await inTube('jackd-life');
  const id = await c.put('body', { priority: 7, delay: 0, ttr: 60 });
  const known = { id, tube: 'jackd-life', pri: 7, ttr: 60 };
  const check = async (want) => jobFields(fields(await c.statsJob(id)), { ...known, ...want });

  await check({ state: 'ready' });
  assert.deepEqual(await c.peekReady(), { id, payload: Buffer.from('body') });
  assert.deepEqual(await c.peek(id), { id, payload: Buffer.from('body') });
  assert.deepEqual(await c.reserve(), { id, payload: Buffer.from('body') });
  await check({ state: 'reserved', 'time-left': [55, 60], reserves: 1 });
  await c.touch(id);
  await c.release(id, { priority: 9, delay: 100 });
  known.pri = 9;
  await check({ state: 'delayed', delay: 100, 'time-left': [95, 100], reserves: 1, releases: 1 });
  assert.equal((await c.peekDelayed()).id, id);
  await c.kickJob(id);
  await check({ state: 'ready', delay: 100, reserves: 1, releases: 1, kicks: 1 });
  assert.equal((await c.reserveWithTimeout(0)).id, id);
  await c.bury(id, 11);
  known.pri = 11;
  await check({ state: 'buried', delay: 100, reserves: 2, releases: 1, buries: 1, kicks: 1 });
  assert.equal((await c.peekBuried()).id, id);
  assert.deepEqual(await c.reserveJob(id), { id, payload: Buffer.from('body') });
  await c.bury(id, 11);
  assert.equal(await c.kick(10), 1);
  await check({ state: 'ready', delay: 100, reserves: 3, releases: 1, buries: 2, kicks: 2 });
  await c.delete(id);
  await assert.rejects(c.statsJob(id), { message: 'Unexpected response: NOT_FOUND', response: 'NOT_FOUND' });
});

test('bodies', async () => {
  const c = await inTube('jackd-bodies');
  const ascii = String.fromCharCode(...Array(128).keys());
  for (const body of ['\r\n', 'a\r\nRESERVED 1 1\r\nb\r\n', ascii, 'é€😀', 'x'.repeat(65535)]) {
    const id = await c.put(body);
    assert.deepEqual(await c.reserveWithTimeout(1), { id, payload: Buffer.from(body) });
    await c.delete(id);
  }
  // Objects, Buffers included, are sent as JSON, so that text is the only way to send bytes of one's own.
  await c.put({ a: [1, 2] });
  assert.equal((await c.peekReady()).payload.toString(), '{"a":[1,2]}');
  const legacy = await connect({ useLegacyStringPayloads: true });
  await legacy.watch('jackd-bodies');
  const job = await legacy.reserve();
  assert.equal(job.payload, '{"a":[1,2]}');
  await legacy.delete(job.id);
});

test('statistics of tubes', async () => {
  const c = await inTube(oddTube);
  const stats = async (want) => tubeFields(fields(await c.statsTube(oddTube)), { name: oddTube, ...want });
  const shared = { 'current-using': 1, 'current-watching': 1 };
  await c.put('urgent', { priority: 1 });
  await c.put('ready', { priority: 5000 });
  await c.put('later', { delay: 60 });
  await c.reserve();
  // This connection and those of the first test, which have not gone away, use and watch the tube.
  shared['current-using'] = shared['current-watching'] = 2;
  await stats({ ...shared, 'current-jobs-ready': 1, 'current-jobs-reserved': 1, 'current-jobs-delayed': 1, 'total-jobs': 3 });
  await c.pauseTube(oddTube, { delay: '30\r\n' }); // The library forgets the end of this line.
  await stats({ ...shared, 'current-jobs-ready': 1, 'current-jobs-reserved': 1, 'current-jobs-delayed': 1, 'total-jobs': 3,
    'cmd-pause-tube': 1, pause: 30, 'pause-time-left': [25, 30] });
  await assert.rejects(c.reserveWithTimeout(0), { message: 'TIMED_OUT' });
  await c.pauseTube(oddTube, { delay: '0\r\n' });
  const { id } = await c.reserveWithTimeout(0);
  await c.delete(id);
  await stats({ ...shared, 'current-jobs-reserved': 1, 'current-jobs-delayed': 1, 'total-jobs': 3, 'cmd-delete': 1,
    'cmd-pause-tube': 2 });
  for (const name of lookalikes) {
    await c.use(name);
    assert.match(await c.statsTube(name), new RegExp(`^name: "?${name.replace(/[.+]/g, '\\$&')}"?$`, 'm'));
  }
});

test('statistics of the server', async () => {
  const c = await inTube('jackd-stats');
  const first = fields(await c.stats());
  serverFields(first, reference);
  await c.delete(await c.put('a'));
  await c.put('b');
  const { id } = await c.reserve();
  await c.release(id);
  await assert.rejects(c.delete('99999999'), { message: 'NOT_FOUND' });
  const second = fields(await c.stats());
  counted(first, second, { 'cmd-put': 2, 'cmd-delete': 2, 'cmd-reserve': 1, 'cmd-release': 1, 'total-jobs': 2 });
  assert.equal(second['current-jobs-ready'], first['current-jobs-ready'] + 1);
  assert.equal(second['current-producers'], first['current-producers'] + 1);
  assert.equal(second['current-workers'], first['current-workers'] + 1);
});

test('errors', async () => {
  const c = await inTube('jackd-errors');
  const none = '18446744073709551615';
  for (const refused of [c.delete(none), c.release(none), c.bury(none, 0), c.touch(none), c.kickJob(none), c.peek(none),
    c.reserveJob(none), c.peekReady(), c.peekDelayed(), c.peekBuried(), c.pauseTube('jackd-none', { delay: '1\r\n' })]) {
    await assert.rejects(refused, { message: 'NOT_FOUND' });
  }
  await assert.rejects(c.statsTube('jackd-none'), { response: 'NOT_FOUND' });
  await assert.rejects(c.reserveWithTimeout(0), { message: 'TIMED_OUT' });
  await assert.rejects(c.put('x'.repeat(65536)), { message: 'JOB_TOO_BIG' });
  await assert.rejects(c.kick('many'), { message: 'BAD_FORMAT' });
  const id = await c.put('short', { ttr: 1 });
  await c.reserve();
  await assert.rejects(c.reserve(), { message: 'DEADLINE_SOON' });
  await c.delete(id);
});

test('a waiting worker gets the job, and a job comes back when its time is up', async () => {
  const worker = await inTube('jackd-wait');
  const second = await inTube('jackd-wait');
  const waiting = worker.reserve();
  await server.waiting(1);
  const id = await second.put('for the waiting one', { ttr: 1 });
  assert.deepEqual(await waiting, { id, payload: Buffer.from('for the waiting one') });
  const again = second.reserveWithTimeout(5);
  await server.nudge(reference, () => worker.listTubeUsed());
  assert.equal((await again).id, id);
  await assert.rejects(worker.touch(id), { message: 'NOT_FOUND' });
  assert.equal(fields(await second.statsJob(id)).timeouts, 1);
  await second.delete(id);
});

test('a connection that closes gives back its jobs', async () => {
  const staying = await inTube('jackd-close');
  for (const end of ['quit', 'close', 'disconnect']) {
    const leaving = await inTube('jackd-close');
    const id = await leaving.put(end);
    await leaving.reserve();
    const gone = new Promise((resolve) => leaving.socket.once('close', resolve));
    await leaving[end]();
    assert.equal((await staying.reserveWithTimeout(5)).id, id);
    await gone;
    assert.equal(leaving.isConnected(), false);
    await staying.delete(id);
  }
});

test('draining', async () => {
  await server.drain();
  await assert.rejects(client.put('refused'), { message: 'DRAINING' });
  if (reference) return; // beanstalkd cannot leave drain mode.
  await server.undrain();
  await client.delete(await client.put('accepted'));
});

test('every command of the library was used', () => {
  coverage.complete(client, ['processChunk', 'flushExecutions', 'write', 'createReserveHandlers', 'createPeekHandlers',
    'createYamlCommandHandlers', 'createCommandHandler', 'decodeAsciiWhenLegacy']);
});
