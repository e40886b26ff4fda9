// A scene to look at: tubes in every state that the console has to tell apart, with names and bodies that mean harm.

import { connect } from './queue.mjs';

export const hostileTube = 'a/b+c;d.$e_(f)';
export const longTube = `${'very-long-name-of-a-tube.'.repeat(7)}end`;
export const hostileBody = '<script>window.harmed = true</script><img src=x onerror="window.harmed = true">';

// make fills a server and returns what it has made, and a function that ends it.
export async function make(address) {
  const clients = [];
  const open = async () => {
    const client = await connect(address);
    clients.push(client);
    return client;
  };
  const producer = await open();
  const put = async (tube, body, options) => {
    await producer(`use ${tube}`);
    return producer.put(body, options);
  };
  const scene = { ids: {} };

  // No workers.
  for (let i = 0; i < 40; i++) scene.ids.ready = await put('thumbnails', JSON.stringify({ image: i, width: 320 }));
  // All buried.
  const grave = await open();
  await grave('watch billing');
  for (let i = 0; i < 12; i++) {
    await put('billing', JSON.stringify({ invoice: 1000 + i, error: { code: 'card_declined', tries: 3 } }));
    const { words } = await grave('reserve-with-timeout 5');
    await grave(`bury ${words[1]} 1024`);
    scene.ids.buried ??= Number(words[1]);
  }
  grave.close();
  // Paused.
  for (let i = 0; i < 5; i++) await put('reports', `report ${i}`);
  await producer('pause-tube reports 3600');
  // Delayed only.
  for (let i = 0; i < 30; i++) scene.ids.delayed = await put('webhooks', `{"url":"https://example.org/${i}"}`, { delay: 3600 + i });
  // A worker that holds its jobs.
  const worker = await open();
  await worker('watch exports');
  await worker('ignore default');
  for (let i = 0; i < 3; i++) {
    scene.ids.reserved = await put('exports', `export ${i}`, { ttr: 3600 });
    await worker('reserve-with-timeout 5');
  }
  // Names and bodies that mean harm.
  scene.ids.hostile = await put(hostileTube, hostileBody);
  await put(longTube, 'x'.repeat(5000));
  await put('..', 'a tube whose name is a step up');
  await producer('use default');

  // Jobs that come and go: one in fifty milliseconds, and a worker that waits for each.
  const [source, drain] = [await open(), await open()];
  await source('use emails');
  await drain('watch emails');
  await drain('ignore default');
  let n = 0;
  const pulse = setInterval(() => source.put(`mail ${n++}`).catch(() => {}), 50);
  (async () => {
    for (;;) {
      const { words } = await drain('reserve');
      await drain(`delete ${words[1]}`);
    }
  })().catch(() => {}); // until the connection is closed

  scene.open = open;
  scene.put = put;
  scene.end = () => {
    clearInterval(pulse);
    clients.forEach((client) => client.close());
  };
  return scene;
}
