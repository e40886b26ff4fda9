// A client of the queue, with as much of the protocol as the scene needs.

import net from 'node:net';

// connect returns a function that sends a line, with or without a body, and resolves to the answer: its words, and the
// body if it has one. Answers come in the order of the questions.
export async function connect(address) {
  const at = address.lastIndexOf(':');
  const socket = net.connect({ host: address.slice(0, at), port: Number(address.slice(at + 1)), noDelay: true });
  const waiting = [];
  let input = Buffer.alloc(0);
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  socket.on('error', () => {}); // followed by close
  socket.on('close', () => waiting.splice(0).forEach(({ reject }) => reject(new Error('the connection is closed'))));
  socket.on('data', (data) => {
    input = Buffer.concat([input, data]);
    for (;;) {
      const end = input.indexOf('\r\n');
      if (end < 0) return;
      const words = input.subarray(0, end).toString('latin1').split(' ');
      let next = end + 2;
      let body;
      if (words[0] === 'RESERVED' || words[0] === 'FOUND' || words[0] === 'OK') {
        const size = Number(words.at(-1));
        if (input.length < next + size + 2) return;
        body = input.subarray(next, next + size);
        next += size + 2;
      }
      input = input.subarray(next);
      waiting.shift()?.resolve({ words, body });
    }
  });

  const ask = (line, body) => new Promise((resolve, reject) => {
    waiting.push({ resolve, reject });
    socket.write(body === undefined ? `${line}\r\n` : Buffer.concat([Buffer.from(`${line}\r\n`), body, Buffer.from('\r\n')]));
  });
  ask.close = () => socket.destroy();
  // put puts a job into the tube that the connection uses, and resolves to its id.
  ask.put = async (text, { priority = 1024, delay = 0, ttr = 60 } = {}) => {
    const body = Buffer.from(text);
    const { words } = await ask(`put ${priority} ${delay} ${ttr} ${body.length}`, body);
    if (words[0] !== 'INSERTED') throw new Error(`put was answered with ${words.join(' ')}`);
    return Number(words[1]);
  };
  return ask;
}
