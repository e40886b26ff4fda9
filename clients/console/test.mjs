// The console in a real browser, in front of a real server. `run` starts both.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';

import { faults } from './contrast.mjs';
import { hostileBody, hostileTube, longTube, make } from './scene.mjs';

const { HARICOT_ADDR: address, HARICOT_HTTP: base, HARICOT_PICTURES: pictures } = process.env;
if (!address || !base) throw new Error('HARICOT_ADDR and HARICOT_HTTP must say where the server is; see run');
if (pictures) fs.mkdirSync(pictures, { recursive: true });

let scene;
let browser;
before(async () => {
  scene = await make(address);
  // The worker that has held its jobs the longest comes first.
  [scene.connection] = /\/connections\/\d+/.exec(await (await fetch(`${base}/connections`)).text());
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: process.getuid() === 0 ? ['--no-sandbox'] : [],
  });
});
after(async () => {
  await browser?.close();
  scene?.end();
});

// visit opens a page and has work done with it. Whatever the browser complains about fails the test.
async function visit(where, { height = 800, javaScriptEnabled = true, complaints } = {}, work) {
  const context = await browser.newContext({ viewport: { width: 1280, height }, colorScheme: 'light', reducedMotion: 'reduce', javaScriptEnabled });
  const heard = [];
  try {
    const page = await context.newPage();
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) heard.push(`${message.type()}: ${message.text()}`);
    });
    page.on('pageerror', (error) => heard.push(`uncaught: ${error.message}`));
    await page.goto(base + where);
    await work(page);
    if (complaints) complaints(heard);
    else assert.deepEqual(heard, [], `what the browser says about ${where}`);
  } finally {
    await context.close();
  }
}

const tubeAt = (name) => `/tubes/${encodeURIComponent(name)}`;

// pages are all kinds of pages, by the name of their pictures.
const pages = () => ({
  overview: '/',
  tubes: '/tubes',
  'tubes-filtered': '/tubes?filter=e&sort=ready',
  'tubes-none': '/tubes?filter=nothing-has-this-name',
  connections: '/connections',
  connection: scene.connection,
  tube: tubeAt('thumbnails'),
  'tube-paused': tubeAt('reports'),
  'tube-hostile': tubeAt(hostileTube),
  'tube-long': tubeAt(longTube),
  'tube-buried': `${tubeAt('billing')}?state=buried`,
  buried: '/buried',
  'buried-tube': `${tubeAt('billing')}/buried`,
  job: `/jobs/${scene.ids.buried}`,
  'job-reserved': `/jobs/${scene.ids.reserved}`,
  'job-hostile': `/jobs/${scene.ids.hostile}`,
  search: '/search',
  'search-found': '/search?q=card_declined',
  put: '/put',
  missing: '/nowhere',
});

// looks are the ways in which each page is looked at.
const looks = [['light', 1280], ['dark', 1280], ['light', 390], ['dark', 390]];

test('every page is right in light and dark, wide and narrow', async (t) => {
  for (const [name, where] of Object.entries(pages())) {
    const complaints = (heard) => assert.deepEqual(heard.filter((line) => name !== 'missing' || !line.includes('404')), []);
    await t.test(name, () => visit(where, { complaints }, async (page) => {
      assert.equal(await page.locator('h1').count(), 1);
      for (const [theme, width] of looks) {
        await page.setViewportSize({ width, height: 800 });
        await page.emulateMedia({ colorScheme: theme });
        await checkLook(page, theme);
        if (pictures) await page.screenshot({ path: path.join(pictures, `${name}-${theme}-${width}.png`), fullPage: true });
      }
    }));
  }
});

async function checkLook(page, theme) {
  const { tooWide, hidden, ground } = await page.evaluate(() => ({
    tooWide: document.documentElement.scrollWidth - innerWidth,
    hidden: [...document.querySelectorAll('.rows, .panel, .grid, .findings')].filter((e) => e.scrollWidth > e.clientWidth + 1)
      .map((e) => `${e.outerHTML.slice(0, 100)} is ${e.scrollWidth - e.clientWidth} px too wide`),
    ground: getComputedStyle(document.body).backgroundColor,
  }));
  assert.ok(tooWide <= 0, `the page is ${tooWide} px wider than the window`);
  assert.deepEqual(hidden, [], `what is cut off at ${page.viewportSize().width} px`);
  assert.equal(ground, theme === 'light' ? 'rgb(247, 247, 245)' : 'rgb(20, 23, 26)');
  const { texts, found } = await page.evaluate(faults);
  assert.ok(texts > 10, `only ${texts} texts were seen`);
  assert.deepEqual(found, [], `what is too faint in ${theme}`);
}

test('what is too faint is found', async () => {
  await visit('/tubes', {}, async (page) => {
    await page.evaluate(() => { document.querySelector('h1').style.color = 'rgb(0 0 0 / 30%)'; });
    const { found } = await page.evaluate(faults);
    assert.equal(found.length, 1);
    assert.match(found[0], /^"Tubes" has [12]\.\d\d to 1/);
  });
});

test('bodies and names that mean harm stay text', async () => {
  for (const where of [`/jobs/${scene.ids.hostile}`, tubeAt(hostileTube), '/search?q=script', '/', '/tubes']) {
    await visit(where, {}, async (page) => {
      assert.equal(await page.evaluate(() => window.harmed), undefined, `${where} ran what a body has`);
      assert.equal(await page.locator('main img, main script:not([src^="/static/"])').count(), 0);
    });
  }
  await visit(`/jobs/${scene.ids.hostile}`, {}, async (page) => {
    assert.ok((await page.locator('main').innerText()).includes(hostileBody), 'the body is not shown as it is');
  });
});

test('a script that gets into a page does not run', async () => {
  const complaints = (heard) => assert.ok(heard.some((line) => line.includes('Content Security Policy')), `heard ${heard}`);
  await visit('/', { complaints }, async (page) => {
    const harmed = await page.evaluate(() => {
      const script = document.createElement('script');
      script.textContent = 'window.harmed = true';
      document.body.append(script);
      const span = document.createElement('span');
      span.setAttribute('onclick', 'window.harmed = true');
      document.body.append(span);
      span.click();
      return window.harmed;
    });
    assert.equal(harmed, undefined);
  });
});

test('the overview is live, and keeps focus, scroll and nodes', async () => {
  await visit('/', { height: 400 }, async (page) => {
    const link = page.locator('#patient-thumbnails a');
    await link.focus();
    await page.evaluate(() => {
      scrollTo(0, 150);
      document.querySelector('#patient-thumbnails a').kept = true;
    });
    const scrolled = await page.evaluate(() => scrollY);
    assert.ok(scrolled > 0);
    await scene.put('thumbnails', '{"image":"one more"}');
    await page.getByText('41 ready jobs are waiting').waitFor({ timeout: 15_000 });
    assert.deepEqual(await page.evaluate(() => ({
      y: scrollY, focus: document.activeElement.textContent, kept: document.activeElement.kept,
    })), { y: scrolled, focus: 'thumbnails', kept: true });
    // What has gone goes.
    assert.equal(await page.locator('[id="patient-soon-gone"]').count(), 0);
    const id = await scene.put('soon-gone', 'x');
    await page.locator('[id="patient-soon-gone"]').waitFor({ timeout: 15_000 });
    await (await scene.open())(`delete ${id}`);
    await page.locator('[id="patient-soon-gone"]').waitFor({ state: 'detached', timeout: 15_000 });
  });
});

test('updating can be stopped', async () => {
  await visit('/', {}, async (page) => {
    await page.keyboard.press('p');
    const button = page.getByRole('button', { name: 'Paused' });
    assert.equal(await button.getAttribute('aria-pressed'), 'true');
    let asked = 0;
    page.on('request', () => asked++);
    await page.waitForTimeout(4500); // more than two updates
    assert.equal(asked, 0);
    const next = page.waitForRequest(`${base}/`);
    await button.click();
    await next;
  });
});

test('a filter works while it is typed, is in the address, and survives updates', async () => {
  await visit('/tubes?sort=name', {}, async (page) => {
    await page.keyboard.press('/');
    await page.keyboard.type('bill');
    await page.getByText('1 of ').waitFor();
    assert.equal(new URL(page.url()).searchParams.get('filter'), 'bill');
    const update = page.waitForResponse((r) => r.request().headers()['hx-request'] && r.url().includes('filter=bill'));
    await update;
    await page.waitForResponse((r) => r.request().headers()['hx-request'] && r.url().includes('filter=bill'));
    assert.deepEqual(await page.locator('tbody th').allInnerTexts(), ['billing']);
    assert.equal(await page.evaluate(() => document.activeElement.value), 'bill');
    await page.reload();
    assert.equal(await page.locator('#filter').inputValue(), 'bill');
    assert.deepEqual(await page.locator('tbody th').allInnerTexts(), ['billing']);
  });
});

test('the page says when the server no longer answers', async () => {
  const complaints = (heard) => assert.deepEqual(heard.filter((line) => !/ERR_FAILED|Failed to fetch/.test(line)), []);
  await visit('/', { complaints }, async (page) => {
    await page.route('**/*', (route) => route.abort());
    const banner = page.getByText('No answer from the server');
    await banner.waitFor({ timeout: 15_000 });
    assert.match(await banner.innerText(), /from .*\d+:\d\d/);
    await page.unroute('**/*');
    await banner.waitFor({ state: 'hidden', timeout: 15_000 });
  });
});

test('what has gone can still be read', async () => {
  const client = await scene.open();
  await client('use short-lived');
  await visit('/connections?filter=short-lived', { complaints: (heard) => assert.deepEqual(heard.filter((line) => !line.includes('404')), []) }, async (page) => {
    await page.locator('tbody th a').click();
    await page.getByText('(puts go there)').waitFor();
    client.close();
    await page.getByText('This has gone').waitFor({ timeout: 15_000 });
    assert.ok(await page.getByText('(puts go there)').isVisible());
    assert.equal(await page.locator('h1').count(), 1);
  });
});

test('the keyboard is enough', async () => {
  await visit('/', {}, async (page) => {
    const press = (...keys) => keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
    const focused = () => page.evaluate(() => document.activeElement.closest('[data-row]')?.id ?? document.activeElement.id);

    await press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
    await press('Enter');
    assert.equal(await focused(), 'main');

    await press('?');
    assert.ok(await page.getByRole('dialog').isVisible());
    await press('j'); // belongs to the dialog: nothing moves
    await press('Escape');
    assert.ok(await page.getByRole('dialog').isHidden());

    await press('g', 't');
    await page.waitForURL(`${base}/tubes`);
    const rows = await page.locator('[data-row]').evaluateAll((list) => list.map((row) => row.id));
    await press('j');
    assert.equal(await focused(), rows[0]);
    await press('j', 'j');
    assert.equal(await focused(), rows[2]);
    await press('k');
    assert.equal(await focused(), rows[1]);
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.equal(outline, 'solid', 'the focus cannot be seen');
    const target = await page.evaluate(() => document.activeElement.href);
    await press('Enter');
    await page.waitForURL(target);

    await press('g', 'c');
    await page.waitForURL(`${base}/connections`);
    await press('/');
    assert.equal(await focused(), 'filter');
    await press('j'); // is text here
    assert.equal(await page.locator('#filter').inputValue(), 'j');
    await press('Escape', 'g', 'o');
    await page.waitForURL(`${base}/`);
    await press('/');
    assert.equal(await focused(), 'find');
    await page.keyboard.type(String(scene.ids.ready));
    await press('Enter');
    await page.waitForURL((url) => url.pathname !== '/');
    assert.ok((await page.locator('main').innerText()).includes(String(scene.ids.ready)));
  });
});

test('a theme that was chosen holds on every page', async () => {
  await visit('/', {}, async (page) => {
    const theme = page.getByRole('button', { name: /^Theme/ });
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const [light, dark] = ['rgb(247, 247, 245)', 'rgb(20, 23, 26)'];
    assert.equal(await ground(), light);
    await theme.click(); // light, whatever the system says
    await page.emulateMedia({ colorScheme: 'dark' });
    assert.equal(await ground(), light);
    await theme.click();
    assert.equal(await ground(), dark);
    await page.emulateMedia({ colorScheme: 'light' });
    await page.goto(`${base}/tubes`);
    assert.equal(await ground(), dark);
    await theme.click();
    assert.equal(await ground(), light);
  });
});

test('without JavaScript lists, filters, pages and actions work', async () => {
  const client = await scene.open();
  for (let i = 0; i < 3; i++) {
    await client('watch plain');
    const id = await scene.put('plain', `plain ${i}`, { priority: 0 });
    await client(`reserve-job ${id}`);
    await client(`bury ${id} 0`);
  }
  await visit('/tubes', { javaScriptEnabled: false }, async (page) => {
    assert.ok(await page.getByRole('button', { name: 'Live' }).isHidden(), 'a button that does nothing is shown');
    await page.fill('#filter', 'PLAI');
    await page.getByRole('button', { name: 'Show' }).click();
    assert.deepEqual(await page.locator('tbody th').allInnerTexts(), ['plain']);
    await page.getByRole('link', { name: 'Buried', exact: true }).last().click();
    assert.equal(await page.locator('th[aria-sort="descending"]').innerText(), 'Buried ↓'.replace(' ↓', ''));
    assert.deepEqual(await page.locator('tbody th').allInnerTexts(), ['plain']);

    await page.getByRole('link', { name: 'plain' }).click();
    assert.ok((await page.locator('main').innerText()).includes('3'));
    await page.goto(`${base}/tubes/plain/buried`);
    await page.getByRole('button', { name: /^Kick/ }).first().click();
    assert.match(await page.locator('[data-notice]').innerText(), /./);
  });
  const { body } = await client('stats-tube plain');
  assert.match(body.toString(), /current-jobs-buried: [012]\n/);
});

test('ten thousand tubes', async (t) => {
  const client = await scene.open();
  const made = [];
  for (let i = 0; i < 10_000; i++) {
    made.push(client(`use many-${i}`), client.put(`job of ${i}`, { delay: 3600 }));
  }
  await Promise.all(made);
  await visit('/tubes?sort=name', {}, async (page) => {
    const began = performance.now();
    await page.goto(`${base}/tubes`);
    t.diagnostic(`the list appears after ${Math.round(performance.now() - began)} ms`);
    assert.match(await page.locator('.count').innerText(), /^10,0\d\d tubes$/);
    assert.equal(await page.locator('tbody tr').count(), 100);
    assert.match(await page.locator('tbody tr').first().innerText(), /No workers/);
    await page.getByRole('link', { name: 'Next' }).click();
    assert.match(await page.locator('.pages').innerText(), /101–200 of 10,0\d\d/);
    await page.fill('#filter', 'many-4321');
    await page.getByText('1 of 10,0').waitFor();
    assert.deepEqual(await page.locator('tbody th').allInnerTexts(), ['many-4321']);
  });
});
