// Contrast as WCAG 2 measures it, of everything that can be seen on a page.

// faults runs in the page and returns what is too faint: text that has less than 4.5 to 1 against what is behind it (3 to
// 1 if it is large), and edges of fields and buttons that have less than 3 to 1.
export function faults() {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  // Any colour that CSS knows, as red, green, blue and opacity.
  const colour = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, bottom) => top.slice(0, 3).map((v, i) => v * top[3] + bottom[i] * (1 - top[3]));
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (light + 0.05) / (dark + 0.05);
  };
  const ground = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.unshift(colour(getComputedStyle(e).backgroundColor));
    return layers.reduce((below, layer) => over(layer, below), colour(getComputedStyle(document.documentElement).colorScheme === 'dark' ? '#000' : '#fff').slice(0, 3));
  };
  const visible = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && e.getClientRects().length > 0 &&
    !e.closest('.hidden, .skip, option, :disabled, script, style, title, desc');

  const found = [];
  const check = (element, text, style, least) => {
    const behind = ground(element);
    const value = ratio(over(colour(style.color), behind), behind);
    if (value < least) found.push(`"${text.trim().slice(0, 40)}" has ${value.toFixed(2)} to 1, not ${least}`);
  };
  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !visible(element)) continue;
    const style = getComputedStyle(element);
    const size = Number.parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    check(element, node.data, style, large ? 3 : 4.5);
    texts++;
  }
  for (const field of document.querySelectorAll('input:not([type=hidden]), textarea, select, button, .button')) {
    if (!visible(field)) continue;
    const style = getComputedStyle(field);
    if (field.value) check(field, field.value, style, 4.5);
    if (field.placeholder) check(field, field.placeholder, getComputedStyle(field, '::placeholder'), 4.5);
    if (!field.matches('[type=checkbox], [type=radio]') && style.borderTopStyle === 'solid') {
      const [around, edge] = [ground(field.parentElement), colour(style.borderTopColor)];
      const value = Math.max(ratio(over(edge, around), around), ratio(ground(field), around));
      if (value < 3) found.push(`the edge of ${field.outerHTML.slice(0, 80)} has ${value.toFixed(2)} to 1, not 3`);
    }
  }
  return { texts, found };
}
