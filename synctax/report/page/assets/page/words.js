/* Numbers, elements and names as people read them.

   Text from traces enters the page by textContent, and charts as text on a canvas;
   nothing makes HTML of it. */

const MINUS = "−";

/** So many decimals, thousands apart; of two numbers equally near the even one, as Python
    writes them, and not the larger. */
const fixed = (x, places) => {
  let text = x.toFixed(places);
  const tie = /^50*$/.test(x.toFixed(places + 50).slice(-50));
  if (tie && "13579".includes(text.at(-1))) text = x.toFixed(places + 1).slice(0, -1);
  const [whole, part] = text.split(".");
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (part ? `.${part}` : "");
};

const round3 = (x) => {
  if (x < 0) return MINUS + round3(-x);
  const places = x === 0 ? 0 : Math.min(3, Math.max(0, 2 - Math.floor(Math.log10(x))));
  const text = fixed(x, places);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
};

/** A number in the largest of [factor, unit] that it reaches, else in the last of them. */
const scaled = (x, units) => {
  if (x === null || !Number.isFinite(x)) return "–";
  if (x < 0) return MINUS + scaled(-x, units);
  // 999.7 µs would read as 1,000 µs
  const reached = units.find(([factor]) => x >= 0.9995 * factor);
  const [factor, unit] = reached ?? units[units.length - 1];
  return `${round3(x / factor)} ${unit}`;
};

// as synctax.texts writes them: time_us, size_bytes, rate_gb_per_s, percent
const TIMES = [[3.6e9, "h"], [1e6, "s"], [1e3, "ms"], [1, "µs"]];
const SIZES = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];
const duration = (us) => scaled(us, TIMES);
const size = (bytes) => (bytes < 0 ? "–" : scaled(bytes, SIZES));
const rate = (gb) => (gb === null || !Number.isFinite(gb) ? "–" : `${scaled(1e9 * gb, SIZES)}/s`);
const count = (n) => n.toLocaleString("en");
const percent = (share) => {
  if (share === null || !Number.isFinite(share)) return "–";
  // what is nearly all or nothing is not called so
  const [x, less] = [100 * Math.abs(share), share < 0];
  if (x > 0 && Math.abs(share) < 0.0005) return less ? "> −0.1 %" : "< 0.1 %";
  if (x >= 99.95 && x < 100) return less ? "< −99.9 %" : "> 99.9 %";
  const near = (x > 0 && x < 9.95) || (x >= 99 && x < 100);
  return `${less ? MINUS : ""}${fixed(x, near ? 1 : 0)} %`;
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
