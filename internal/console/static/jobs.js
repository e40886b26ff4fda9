// Keys of pages about jobs: an element names its key as data-key, and is pressed by it. The help lists them.
(() => {
  'use strict';
  const names = { n: 'Next', b: 'Previous', r: 'Kick (try again)', e: 'Edit and requeue', x: 'Delete (asks)' };
  const keyed = (key) => [...document.querySelectorAll(`[data-key="${key}"]`)].find((e) => e.getClientRects().length > 0);

  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
    if (!(event.key in names) || document.querySelector('dialog[open]')) return;
    if (event.target.closest?.('input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]')) return;
    const element = keyed(event.key);
    if (!element) return;
    event.preventDefault();
    element.click();
    // What asks first is answered with Enter, or left with Escape.
    const ask = element.closest('details');
    if (ask?.open) ask.querySelector('form button')?.focus();
  });
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    const ask = document.activeElement?.closest?.('details.ask[open], details[name="deed"][open]');
    if (!ask) return;
    ask.open = false;
    ask.querySelector('summary').focus();
  });

  const list = document.querySelector('#help dl');
  for (const [key, name] of Object.entries(names)) {
    if (!list || !keyed(key)) continue;
    const term = document.createElement('dt');
    const kbd = document.createElement('kbd');
    const what = document.createElement('dd');
    kbd.textContent = key;
    what.textContent = name;
    term.append(kbd);
    list.append(term, what);
  }
})();
