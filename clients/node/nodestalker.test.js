'use strict';
// nodestalker: an event emitter for each command, replies as arrays of words, statistics by js-yaml 3.

const { test, before, after } = require('node:test');
const assert = require('node:assert/strict');
const { once } = require('node:events');
const { Client } = require('nodestalker');
const server = require('./server');
const { oddTube, lookalikes, jobFields, tubeFields, serverFields, counted } = require('./statistics');
const { Coverage } = require('./coverage');

const coverage = new Coverage();
const opened = [];
const none = '18446744073709551615';
let client, reference;

function connect(raw = false) {
  const c = Client(`${server.host}:${server.port}`, raw);
  opened.push(c);
  return coverage.over(c);
}

// ask runs one command; an error holds the words of the reply.
function ask(c, command, ...args) {
  return new Promise((resolve, reject) => {
    c[command](...args).onSuccess(resolve).onError((words) => reject(new Error(words.join(' '))));
  });
}

async function inTube(name, raw) {
  const c = connect(raw);
  assert.deepEqual(await ask(c, 'use', name), [name]);
  assert.deepEqual(await ask(c, 'watch', name), ['2']);
  assert.deepEqual(await ask(c, 'ignore', 'default'), ['1']);
  return c;
}

async function put(c, ...args) {
  return (await ask(c, 'put', ...args))[0];
}

before(async () => {
  reference = await server.isReference();
  client = connect();
  await ask(client, 'use', 'default');
});

after(() => opened.filter((c) => c.conn).forEach((c) => coverage.over(c).disconnect()));

test('tubes', async () => {
  const c = connect();
  assert.deepEqual(await ask(c, 'list_tube_used'), ['default']);
  assert.deepEqual(await ask(c, 'use', oddTube), [oddTube]);
  assert.deepEqual(await ask(c, 'listTubeUsed'), [oddTube]);
  assert.deepEqual(await ask(c, 'list_tubes'), ['default', oddTube]);
  assert.deepEqual(await ask(c, 'listTubes'), ['default', oddTube]);
  assert.deepEqual(await ask(c, 'watch', oddTube), ['2']);
  assert.deepEqual(await ask(c, 'list_tubes_watched'), ['default', oddTube]);
  assert.deepEqual(await ask(c, 'ignore', 'default'), ['1']);
  assert.deepEqual(await ask(c, 'listTubesWatched'), [oddTube]);
  assert.deepEqual(await ask(c, 'ignore', oddTube), ['NOT_IGNORED']);
  await assert.rejects(ask(c, 'use', 'two words'), { message: 'BAD_FORMAT' });
  await assert.rejects(ask(c, 'command', { command: 'nonsense\r\n', expected: 'OK' }), { message: 'UNKNOWN_COMMAND' });
  c.disconnect();
});

test('the life of a job, with its statistics', async () => {
  const c = await inTube('ns-life');
  const id = await put(c, 'body', 7, 0, 60);
  const known = { id: Number(id), tube: 'ns-life', pri: 7, ttr: 60 };
  const check = async (want) => jobFields(await ask(c, 'stats_job', id), { ...known, ...want });
  const job = { id, data: 'body' };

  await check({ state: 'ready' });
  assert.deepEqual(await ask(c, 'peek', id), job);
  assert.deepEqual(await ask(c, 'peek_ready'), job);
  assert.deepEqual(await ask(c, 'peekReady'), job);
  assert.deepEqual(await ask(c, 'reserve'), job);
  await check({ state: 'reserved', 'time-left': [55, 60], reserves: 1 });
  assert.deepEqual(await ask(c, 'touch', id), ['TOUCHED']);
  assert.deepEqual(await ask(c, 'release', id, 9, 100), ['RELEASED']);
  known.pri = 9;
  await check({ state: 'delayed', delay: 100, 'time-left': [95, 100], reserves: 1, releases: 1 });
  assert.deepEqual(await ask(c, 'peek_delayed'), job);
  assert.deepEqual(await ask(c, 'peekDelayed'), job);
  assert.deepEqual(await ask(c, 'kick', 10), ['1']);
  await check({ state: 'ready', delay: 100, reserves: 1, releases: 1, kicks: 1 });
  assert.deepEqual(await ask(c, 'reserve_with_timeout', 0), job);
  assert.deepEqual(await ask(c, 'bury', id, 11), ['BURIED']);
  known.pri = 11;
  await check({ state: 'buried', delay: 100, reserves: 2, releases: 1, buries: 1, kicks: 1 });
  assert.deepEqual(await ask(c, 'peek_buried'), job);
  assert.deepEqual(await ask(c, 'peekBuried'), job);
  assert.deepEqual(await ask(c, 'deleteJob', id), ['DELETED']);
  assert.deepEqual(await ask(c, 'statsJob', id), ['NOT_FOUND']);
});

test('bodies', async () => {
  const text = await inTube('ns-text');
  for (const body of ['\r\n', 'a\r\nb\r\n\r\n', 'é€😀', 'x'.repeat(65535)]) {
    const id = await put(text, body);
    assert.deepEqual(await ask(text, 'reserve'), { id, data: body });
    await ask(text, 'deleteJob', id);
  }
  // The library measures what it has of a body as UTF-8 text, so a large binary one ends too soon for it.
  const raw = await inTube('ns-raw', true);
  for (const body of [Buffer.from([...Array(256).keys()]), Buffer.from('\r\n\0\r\n'), Buffer.alloc(65535, 'x')]) {
    const id = await put(raw, body);
    assert.deepEqual(await ask(raw, 'reserve'), { id, data: body });
    await ask(raw, 'deleteJob', id);
  }
});

test('statistics of tubes', async () => {
  const c = await inTube(oddTube);
  const known = { name: oddTube, 'current-using': 1, 'current-watching': 1, 'current-jobs-reserved': 1,
    'current-jobs-delayed': 1, 'total-jobs': 3 };
  const check = async (want) => tubeFields(await ask(c, 'stats_tube', oddTube), { ...known, ...want });
  await put(c, 'urgent', 1);
  await put(c, 'urgent too', 1023);
  await put(c, 'later', 0, 60);
  await ask(c, 'reserve');
  await check({ 'current-jobs-urgent': 1, 'current-jobs-ready': 1 });
  assert.deepEqual(await ask(c, 'pause_tube', oddTube, 30), ['PAUSED']);
  await check({ 'current-jobs-urgent': 1, 'current-jobs-ready': 1, 'cmd-pause-tube': 1, pause: 30,
    'pause-time-left': [25, 30] });
  await assert.rejects(ask(c, 'reserveWithTimeout', 0), { message: 'TIMED_OUT' });
  assert.deepEqual(await ask(c, 'pauseTube', oddTube, 0), ['PAUSED']);
  const { id } = await ask(c, 'reserve');
  await ask(c, 'deleteJob', id);
  await check({ 'cmd-delete': 1, 'cmd-pause-tube': 2 });
});

// beanstalkd 1.12 writes such names bare, and the parser makes numbers and the like of them.
test('tube names that look like something else to YAML', async (t) => {
  if (reference) return t.skip('beanstalkd 1.12 quotes no names');
  const c = connect();
  for (const name of lookalikes) {
    assert.deepEqual(await ask(c, 'use', name), [name]);
    assert.strictEqual((await ask(c, 'statsTube', name)).name, name);
    const id = await put(c, 'x');
    assert.strictEqual((await ask(c, 'statsJob', id)).tube, name);
    await ask(c, 'deleteJob', id);
  }
});

test('statistics of the server', async () => {
  const c = await inTube('ns-stats');
  const first = await ask(c, 'stats');
  serverFields(first, reference);
  const id = await put(c, 'a');
  await ask(c, 'reserve_with_timeout', 0);
  await ask(c, 'bury', id);
  await ask(c, 'kick', 1);
  await ask(c, 'reserve');
  await ask(c, 'release', id);
  await ask(c, 'deleteJob', id);
  counted(first, await ask(c, 'stats'), { 'cmd-put': 1, 'cmd-reserve-with-timeout': 1, 'cmd-bury': 1, 'cmd-kick': 1,
    'cmd-reserve': 1, 'cmd-release': 1, 'cmd-delete': 1, 'total-jobs': 1 });
});

test('errors', async () => {
  const c = await inTube('ns-errors');
  for (const [command, ...args] of [['deleteJob', none], ['release', none], ['bury', none], ['touch', none],
    ['pause_tube', 'ns-none', 1]]) {
    await assert.rejects(ask(c, command, ...args), { message: 'NOT_FOUND' }, command);
  }
  for (const [command, ...args] of [['peek', none], ['peek_ready'], ['peek_delayed'], ['peek_buried'],
    ['stats_job', none], ['stats_tube', 'ns-none'], ['statsTube', 'ns-none']]) {
    assert.deepEqual(await ask(c, command, ...args), ['NOT_FOUND'], command);
  }
  await assert.rejects(ask(c, 'reserve_with_timeout', 0), { message: 'TIMED_OUT' });
  await assert.rejects(ask(c, 'put', 'x'.repeat(65536)), { message: 'JOB_TOO_BIG' });
  const id = await put(c, 'short', 0, 0, 1);
  await ask(c, 'reserve');
  await assert.rejects(ask(c, 'reserve'), { message: 'DEADLINE_SOON' });
  await ask(c, 'deleteJob', id);
});

test('a waiting worker gets the job, and quit gives it back', async () => {
  const worker = await inTube('ns-wait');
  const producer = await inTube('ns-wait');
  const waiting = ask(worker, 'reserve');
  await server.waiting(1);
  const id = await put(producer, 'now');
  assert.deepEqual(await waiting, { id, data: 'now' });
  const closed = once(worker, 'close');
  worker.quit();
  await closed;
  assert.deepEqual(await ask(producer, 'reserve_with_timeout', 5), { id, data: 'now' });
  await ask(producer, 'deleteJob', id);
});

test('draining', async () => {
  await server.drain();
  await assert.rejects(ask(client, 'put', 'refused'), { message: 'DRAINING' });
  if (reference) return; // beanstalkd cannot leave drain mode.
  await server.undrain();
  await ask(client, 'deleteJob', await put(client, 'accepted'));
});

test('every command of the library was used', () => {
  coverage.complete(client, ['Instance', '_createPutCommand']);
});
