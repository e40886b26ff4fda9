// Tubes, jobs, the buried view and the search in a real browser, in front of a real server. `run` starts both.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';

import { faults } from './contrast.mjs';
import { connect } from './queue.mjs';

const { HARICOT_ADDR: address, HARICOT_HTTP: base } = process.env;
if (!address || !base) throw new Error('HARICOT_ADDR and HARICOT_HTTP must say where the server is; see run');

let browser;
const clients = [];
before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: process.getuid() === 0 ? ['--no-sandbox'] : [],
  });
});
after(async () => {
  await browser?.close();
  clients.forEach((client) => client.close());
});

async function open() {
  const client = await connect(address);
  clients.push(client);
  return client;
}

// bury puts jobs into a tube and buries them.
async function bury(tube, ...bodies) {
  const client = await open();
  await client(`use ${tube}`);
  await client(`watch ${tube}`);
  await client('ignore default');
  const ids = [];
  for (const body of bodies) {
    const id = await client.put(body);
    await client(`reserve-job ${id}`);
    await client(`bury ${id} 1024`);
    ids.push(id);
  }
  return { client, ids };
}

// visit opens a page and has work done with it. Whatever the browser complains about fails the test.
async function visit(where, { expected, ...options }, work) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce', ...options });
  const heard = [];
  try {
    const page = await context.newPage();
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) heard.push(`${message.type()}: ${message.text()}`);
    });
    page.on('pageerror', (error) => heard.push(`uncaught: ${error.message}`));
    await page.goto(base + where);
    await work(page);
    assert.deepEqual(heard.filter((line) => !expected?.test(line)), [], `what the browser says about ${where}`);
  } finally {
    await context.close();
  }
}

const notice = (page) => page.locator('[data-notice]').innerText();

test('buried jobs are gone through by keyboard', async () => {
  const { client, ids } = await bury('triage', '{"n":1}', '{"n":2}', '{"n":3}', '{"n":4}');
  await visit('/tubes/triage/buried', {}, async (page) => {
    const press = async (key) => {
      const went = page.waitForNavigation();
      await page.keyboard.press(key);
      await went;
    };
    const shown = () => page.locator('#body-view').innerText();
    await press('n');
    assert.match(await shown(), /"n": 2/);
    await press('b');
    assert.match(await shown(), /"n": 1/);
    await press('r');
    assert.equal(await notice(page), `Kicked job ${ids[0]}.`);
    assert.match(await shown(), /"n": 2/);

    // Deleting asks first: Escape leaves it, Enter does it.
    await page.keyboard.press('x');
    await page.getByRole('button', { name: `Delete job ${ids[1]}` }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: `Delete job ${ids[1]}` }).waitFor({ state: 'hidden' });
    await page.keyboard.press('x');
    await press('Enter');
    assert.equal(await notice(page), `Deleted job ${ids[1]}.`);
    assert.match(await shown(), /"n": 3/);

    await press('e');
    await page.fill('#body', '{"n":33}');
    await page.keyboard.press('n'); // is text in a field
    assert.equal(await page.inputValue('#body'), '{"n":33}n');
    await page.fill('#body', '{"n":33}');
    await page.getByRole('button', { name: `Replace job ${ids[2]}` }).click();
    await page.getByText('has taken the place of job').waitFor();
    assert.match(await shown(), /"n": 4/);

    await page.keyboard.press('?');
    assert.match(await page.getByRole('dialog').innerText(), /Kick \(try again\)/);
  });
  const { body } = await client('stats-tube triage');
  assert.match(body.toString(), /current-jobs-ready: 2\n[^]*current-jobs-buried: 1\n/);
});

test('the page of a tube is live', async () => {
  const client = await open();
  await client('use lively');
  await client.put('the first');
  await visit('/tubes/lively', {}, async (page) => {
    assert.equal(await page.locator('tbody tr').count(), 1);
    await page.fill('#length', '7m'); // what is being written stays
    await client.put('<b>the second</b>');
    await page.getByText('<b>the second</b>').waitFor({ timeout: 20_000 });
    await page.getByText('2 ready jobs').waitFor({ timeout: 20_000 });
    assert.equal(await page.inputValue('#length'), '7m');
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    assert.equal(await notice(page), 'Tube lively is paused for 7m.');
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('gives out jobs again').waitFor();
  });
});

test('a body is copied as it is', async () => {
  const client = await open();
  await client('use copied');
  const text = '{"b":1,"a":[2, 3],"large":12345678901234567890}';
  const id = await client.put(text);
  await visit(`/jobs/${id}`, { permissions: ['clipboard-read', 'clipboard-write'] }, async (page) => {
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), text);
    assert.match(await page.locator('#body-view').innerText(), /"large": 12345678901234567890/);
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download' }).click();
    assert.equal((await download).suggestedFilename(), `job-${id}.txt`);
  });
});

test('every view of a body can be had', async () => {
  const client = await open();
  await client('use views');
  const bodies = {
    JSON: '{"a":1}', YAML: 'a: 1\nb: [2]\n', MessagePack: Buffer.from([0x81, 0xa1, 0x61, 0x01]), Text: '<i>plain</i>', Hex: Buffer.from([0, 1, 0xff]),
  };
  for (const [name, body] of Object.entries(bodies)) {
    const id = await client.put(body);
    await visit(`/jobs/${id}`, {}, async (page) => {
      const tabs = page.getByRole('navigation', { name: 'Views of the body' });
      assert.equal(await tabs.locator('[aria-current]').innerText(), name);
      for (const tab of await tabs.getByRole('link').allInnerTexts()) {
        await tabs.getByRole('link', { name: tab, exact: true }).click();
        assert.equal(await tabs.locator('[aria-current]').innerText(), tab);
        assert.notEqual(await page.locator('#body-view').innerText(), '');
      }
    });
  }
});

for (const javaScriptEnabled of [true, false]) {
  test(`many jobs are deleted after a count, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async () => {
    const tube = `many.${javaScriptEnabled}`;
    await bury(tube, '{"kind":"a"}', '{"kind":"b"}', '{"kind":"a"}');
    await visit(`/tubes/${tube}/buried`, { javaScriptEnabled }, async (page) => {
      await page.getByText('Many at once').click();
      await page.fill('#term-field', 'kind');
      await page.fill('#term-value', 'a');
      await page.getByRole('button', { name: 'Count, to delete' }).click();
      assert.equal(await page.locator('h1').innerText(), 'Delete 2 jobs?');
      await page.getByRole('button', { name: 'Delete 2 jobs' }).click();
      assert.equal(await notice(page), 'Deleted 2 jobs.');
      assert.match(await page.locator('#body-view').innerText(), /"b"/);
    });
  });

  test(`a job is put, and mistakes are told beside the field, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async () => {
    await visit('/put', { javaScriptEnabled, expected: /status of 422/ }, async (page) => {
      await page.fill('#tube', 'put.here');
      await page.fill('#delay', 'soon');
      await page.fill('#body', '\n<b>two</b>\nlines\n');
      await page.getByRole('button', { name: 'Put', exact: true }).click();
      assert.match(await page.locator('#delay-fault').innerText(), /“soon” is no time/);
      assert.equal(await page.inputValue('#body'), '\n<b>two</b>\nlines\n');
      await page.fill('#delay', '1h30m');
      await page.getByRole('button', { name: 'Put', exact: true }).click();
      assert.match(await notice(page), /^Put job \d+ into tube put\.here\.$/);
      assert.match(await page.locator('main').innerText(), /Ready in\s+1h 29m/);
      assert.equal(await page.locator('#body-raw').textContent(), '\n<b>two</b>\nlines\n');
    });
  });
}

test('a reserved job tells who holds it and what taking it means', async () => {
  const { client } = await bury('held', 'x');
  await client('kick 1');
  const { words } = await client('reserve');
  await visit(`/jobs/${words[1]}`, {}, async (page) => {
    assert.match(await page.locator('main').innerText(), /A worker holds this job \(127\.0\.0\.1:\d+/);
    await page.getByText('Release…').click();
    await page.getByRole('button', { name: 'Release' }).click();
    assert.equal(await notice(page), `Released job ${words[1]}.`);
    assert.match(await page.locator('.badge').first().innerText(), /ready/);
  });
});

test('the search finds, and says when nothing is found', async () => {
  await bury('sought', '{"user":{"id":4711}}', '{"user":{"id":4712}}');
  await visit('/search', {}, async (page) => {
    await page.keyboard.press('/');
    await page.keyboard.type('user');
    await page.getByText('JSON field, age, tries').click();
    await page.fill('#term-field', 'user.id');
    await page.fill('#term-value', '4712');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    assert.equal(await page.locator('tbody tr').count(), 1);
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^Job \d+$/ }).waitFor();
    await page.goto(`${base}/search?q=nobody-has-this-text`);
    assert.match(await page.locator('main').innerText(), /No jobs whose body has “nobody-has-this-text” in it/);
  });
});

test('what opens, asks and complains is right in light and dark, wide and narrow', async () => {
  const { ids } = await bury('looks', '{"a":1}', '<script>', 'x'.repeat(3000));
  const worker = await open();
  await worker('watch looks.held');
  await worker('use looks.held');
  await worker.put('{"a":1}');
  const { words } = await worker('reserve');
  const openAll = (page) => page.evaluate(() => {
    document.querySelectorAll('main details').forEach((e) => { e.removeAttribute('name'); e.open = true; });
  });
  const places = {
    '/tubes/looks/buried': openAll,
    [`/jobs/${ids[0]}`]: openAll,
    [`/jobs/${ids[2]}`]: openAll,
    [`/jobs/${words[1]}`]: openAll,
    [`/jobs/${words[1]}/edit`]: openAll,
    '/tubes/looks.held?state=reserved': openAll,
    '/search?q=a&field=a&older=soon&min_tries=x': openAll,
    '/search?q=a': openAll,
    '/bulk?tube=looks.held&do=delete': openAll,
    '/bulk?tube=looks&do=move&to=elsewhere': openAll,
    '/put': async (page) => {
      await page.fill('#tube', '<b>');
      await page.fill('#ttr', 'long');
      await page.getByRole('button', { name: 'Put', exact: true }).click();
      await page.locator('#ttr-fault').waitFor();
    },
  };
  for (const [where, prepare] of Object.entries(places)) {
    await visit(where, { expected: /status of 422/ }, async (page) => {
      await prepare(page);
      for (const [colorScheme, width] of [['light', 1280], ['dark', 1280], ['light', 390], ['dark', 390]]) {
        await page.setViewportSize({ width, height: 800 });
        await page.emulateMedia({ colorScheme });
        const tooWide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(tooWide <= 0, `${where} is ${tooWide} px wider than a window of ${width}`);
        const { texts, found } = await page.evaluate(faults);
        assert.ok(texts > 10, `only ${texts} texts were seen on ${where}`);
        assert.deepEqual(found, [], `what is too faint on ${where} in ${colorScheme}`);
      }
    });
  }
});
