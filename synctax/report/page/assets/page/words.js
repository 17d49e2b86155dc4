/* Numbers, elements and names as people read them.

   Text from traces enters the page by textContent, and charts as text on a canvas;
   nothing makes HTML of it. */

const round3 = (x) => {
  const digits = x === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(x))));
  return x.toLocaleString("en", { maximumFractionDigits: Math.min(digits, 3) });
};

const scaled = (x, units) => {
  if (x === null || !Number.isFinite(x)) return "–";
  let value = x;
  let k = 0;
  while (Math.abs(value) >= 999.5 && k < units.length - 1) {
    value /= 1000;
    k += 1;
  }
  return `${round3(value)} ${units[k]}`;
};

const duration = (us) => scaled(us, ["µs", "ms", "s"]);
const size = (bytes) => (bytes < 0 ? "–" : scaled(bytes, ["B", "kB", "MB", "GB", "TB"]));
const rate = (gb) => scaled(gb, ["GB/s", "TB/s", "PB/s"]);
const count = (n) => n.toLocaleString("en");
const percent = (share) => {
  if (share === null || !Number.isFinite(share)) return "–";
  const x = 100 * share;
  return `${x >= 9.95 || x === 0 ? Math.round(x) : x.toFixed(1)} %`;
};

// ---- elements ----

const make = (tag, settings = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(settings)) {
    if (key === "text") element.textContent = value;
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
};

// ---- names in charts ----

/** Invisible: it keeps names apart without a trace of it on the screen. */
const UNSEEN = "\u200b";

/** Names as series and categories: ECharts keeps them as keys of plain objects, so names
    that every object has, such as hasOwnProperty, are made others, and equal ones two. */
const forCharts = (list) => {
  const seen = new Set();
  return list.map((name) => {
    let own = name in Object.prototype ? UNSEEN + name : name;
    while (own !== "" && seen.has(own)) own += UNSEEN;
    seen.add(own);
    return own;
  });
};

const LEGEND_CHARS = 32;
const cut = (name, most) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);
