// What pages do beyond links and forms: they stay up to date, and can be used by keyboard. Everything works without.
(() => {
  'use strict';
  const $ = (selector, root = document) => root.querySelector(selector);

  // Live parts fetch themselves every data-live seconds, unless nobody looks, somebody asked for peace, or text in them
  // is being selected, which a change would disturb.
  const pause = $('[data-pause]');
  const lost = $('[data-lost]');
  const gone = $('[data-gone]');
  let paused = false;
  let last = new Date();
  const elapsed = new WeakMap();

  function selecting(part) {
    const selection = getSelection();
    return selection && !selection.isCollapsed && part.contains(selection.anchorNode);
  }
  function busy(part) {
    const field = document.activeElement;
    return field && part.contains(field) && field.matches('input:not([type=checkbox]):not([type=radio]), textarea, select');
  }
  function tick() {
    if (paused || document.hidden) return;
    for (const part of document.querySelectorAll('[data-live]')) {
      const seconds = (elapsed.get(part) ?? 0) + 1;
      if (seconds < Number(part.dataset.live) || selecting(part) || busy(part)) {
        elapsed.set(part, seconds);
        continue;
      }
      elapsed.set(part, 0);
      part.dispatchEvent(new CustomEvent('refresh'));
    }
  }
  function setPaused(on) {
    paused = on;
    pause.setAttribute('aria-pressed', String(on));
    pause.textContent = on ? 'Paused' : 'Live';
    if (on) return;
    gone.hidden = true;
    tick();
  }
  function answered(ok) {
    if (ok) last = new Date();
    else $('[data-lost-since]').textContent = last.toLocaleTimeString();
    lost.hidden = ok;
  }
  document.addEventListener('htmx:after:request', (event) => answered(event.detail.ctx.response.status < 500));
  document.addEventListener('htmx:error', () => answered(false));
  // An error must not take the place of what is shown. What has gone is still worth reading.
  document.addEventListener('htmx:before:swap', (event) => {
    const status = event.detail?.ctx?.response?.status ?? 0;
    if (status < 400) return;
    event.preventDefault();
    if (status === 404 && gone.hidden) {
      $('[data-gone-since]').textContent = new Date().toLocaleTimeString();
      gone.hidden = false;
      setPaused(true);
    }
  });
  if ($('[data-live]')) {
    pause.hidden = false;
    pause.addEventListener('click', () => setPaused(!paused));
    setInterval(tick, 1000);
  }

  // The theme: as the system, light, dark.
  const themes = ['auto', 'light', 'dark'];
  const root = document.documentElement;
  const switcher = $('[data-theme-switch]');
  function showTheme() {
    const theme = root.dataset.theme ?? 'auto';
    switcher.textContent = { auto: 'Auto', light: 'Light', dark: 'Dark' }[theme];
    switcher.setAttribute('aria-label', `Theme: ${theme}`);
  }
  switcher.hidden = false;
  switcher.addEventListener('click', () => {
    const next = themes[(themes.indexOf(root.dataset.theme ?? 'auto') + 1) % themes.length];
    if (next === 'auto') delete root.dataset.theme;
    else root.dataset.theme = next;
    try {
      if (next === 'auto') localStorage.removeItem('haricot-theme');
      else localStorage.setItem('haricot-theme', next);
    } catch { /* storage is forbidden: it holds for this page */ }
    showTheme();
  });
  showTheme();

  // Filters apply while one types: the form is sent when there is a rest, and its answer replaces the list.
  let typing;
  document.addEventListener('input', (event) => {
    const form = event.target.closest('form[data-instant]');
    if (!form) return;
    clearTimeout(typing);
    typing = setTimeout(() => {
      const query = new URLSearchParams(new FormData(form));
      for (const [name, value] of [...query]) if (value === '') query.delete(name);
      const address = location.pathname + (query.size ? `?${query}` : '');
      history.replaceState(null, '', address);
      window.htmx.ajax('GET', address, {
        source: form, target: form.dataset.instant, select: form.dataset.instant, swap: 'outerMorph',
      });
    }, 200);
  });

  // Copying: a button names what it copies.
  document.addEventListener('click', async (event) => {
    const button = event.target.closest('[data-copy]');
    if (!button) return;
    const text = $(button.dataset.copy)?.textContent ?? '';
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = 'Copied';
    } catch {
      const range = document.createRange();
      range.selectNodeContents($(button.dataset.copy));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = 'Selected';
    }
    setTimeout(() => { button.textContent = label; }, 1500);
  });
  for (const button of document.querySelectorAll('[data-copy]')) button.hidden = false;

  // Keys.
  const help = $('#help');
  const helpButton = $('[data-help]');
  helpButton.hidden = false;
  helpButton.addEventListener('click', () => help.showModal());

  const places = { o: '/', t: '/tubes', c: '/connections', b: '/buried', s: '/search' };
  let going = 0; // when g was pressed
  function move(step) {
    const rows = [...document.querySelectorAll('[data-row]')].filter((row) => row.getClientRects().length > 0);
    if (rows.length === 0) return;
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step));
    const link = rows[next].matches('a') ? rows[next] : $('a, button', rows[next]);
    link?.focus();
    rows[next].scrollIntoView({ block: 'nearest' });
  }
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const field = event.target.closest?.('input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]');
    if (event.key === 'Escape' && field) return field.blur();
    if (field || help.open) return;
    const chord = Date.now() - going < 1500;
    going = 0;
    if (chord && places[event.key]) {
      location.assign(places[event.key]);
    } else if (event.key === 'g') {
      going = Date.now();
    } else if (event.key === '/') {
      const search = $('[data-search]') ?? $('#find');
      search.focus();
      search.select();
    } else if (event.key === 'j' || event.key === 'k') {
      move(event.key === 'j' ? 1 : -1);
    } else if (event.key === '?') {
      help.showModal();
    } else if (event.key === 'p' && !pause.hidden) {
      setPaused(!paused);
    } else {
      return;
    }
    event.preventDefault();
  });
})();
