'use strict';
// The server under test: its address, its process and which of the two servers it is.

const net = require('node:net');

const address = process.env.HARICOT_ADDR;
if (!address) throw new Error('HARICOT_ADDR is not set; it must name the server to test as host:port');
const [host, port] = [address.slice(0, address.lastIndexOf(':')), Number(address.slice(address.lastIndexOf(':') + 1))];

// converse sends lines and returns all that the server answers until it closes. The lines must end with a quit.
function converse(lines) {
  return new Promise((resolve, reject) => {
    const chunks = [];
    const socket = net.connect(port, host, () => socket.write(lines));
    socket.on('data', (data) => chunks.push(data));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
  });
}

async function statistic(name) {
  const reply = await converse('stats\r\nquit\r\n');
  return new RegExp(`^${name}: "?(.*?)"?$`, 'm').exec(reply)[1];
}

// isReference tells whether the server is beanstalkd (1.x). Its replies quote nothing or too much, so some checks that
// hold for haricot are left out for it; each of those places says why.
async function isReference() {
  return (await statistic('version')).startsWith('1.');
}

// drain puts the server into drain mode by signal and returns when it is there.
async function drain() {
  process.kill(await processId(), 'SIGUSR1');
  await waitForDraining('true');
}

// undrain ends drain mode. beanstalkd has no way back and would die from the signal.
async function undrain() {
  process.kill(await processId(), 'SIGUSR2');
  await waitForDraining('false');
}

// processId returns the pid that the server reports, which must be the pid of the process that was started.
async function processId() {
  const pid = Number(await statistic('pid'));
  const started = process.env.HARICOT_PID;
  if (started && Number(started) !== pid) throw new Error(`the server reports pid ${pid}, but ${started} was started`);
  return pid;
}

async function waitForDraining(want) {
  const deadline = Date.now() + 5000;
  while ((await statistic('draining')) !== want) {
    if (Date.now() > deadline) throw new Error(`draining did not become ${want}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

// waiting returns when exactly n connections are blocked in a reserve.
async function waiting(n) {
  const deadline = Date.now() + 5000;
  while (Number(await statistic('current-waiting')) !== n) {
    if (Date.now() > deadline) throw new Error(`never were ${n} connections waiting`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

// nudge has the holder of an expired reservation send a command. beanstalkd 1.12 now and then loses the timer of a
// connection when those of others run out at about the same time, until that connection is heard of again.
async function nudge(reference, command) {
  if (!reference) return;
  await new Promise((resolve) => setTimeout(resolve, 1200));
  await command();
}

module.exports = { host, port, isReference, drain, undrain, waiting, nudge };
