/* The two critical paths of the collective that is chosen: sentences and events. */

/** Events of a path that are listed one by one; shorter ones are summed up beyond. */
const MOST_EVENTS = 300;

const panel = byId("paths");
const lanes = { chart: null, path: null, items: [] };
const string = (i) => named(names.strings, i);

const choose = (row, opener) => {
  state.chosen = row;
  state.opener = opener;
  showPaths();
  paintList();
  markChosen();
  if (opener === list.host) {
    const box = panel.getBoundingClientRect();
    const below = box.top + Math.min(box.height, 0.62 * innerHeight) - innerHeight;
    if (below > 0) scrollBy(0, below);
  } else {
    moveTo(Math.max(0, list.order.indexOf(row)));
    panel.scrollIntoView({ block: "start" });
    panel.querySelector("h3").focus({ preventScroll: true });
  }
};

const leave = () => {
  const opener = state.opener;
  state.chosen = -1;
  state.opener = null;
  showPaths();
  paintList();
  markChosen();
  if (opener === list.host) list.host.focus({ preventScroll: true });
  else if (opener) opener.scrollIntoView({ block: "nearest" });
};

const showPaths = () => {
  if (lanes.chart) lanes.chart.dispose();
  Object.assign(lanes, { chart: null, path: null, items: [] });
  panel.replaceChildren();
  if (state.chosen < 0) return;
  const path = pathOfNumber[table.path[state.chosen]];
  const close = make("button", { type: "button", text: "Close (Esc)" });
  close.addEventListener("click", leave);
  const heading = make("h3", { tabindex: "-1", text: path ? path.name : title(state.chosen) });
  panel.append(make("div", { class: "paths-head" }, heading, close));
  if (!path) {
    panel.append(make("p", { class: "note", text: whyNoPaths(state.chosen) }));
    return;
  }
  lanes.path = path;
  panel.append(...sentences(path));
  const chart = make("div", { class: "lanes", role: "img", "aria-label": laneLabel(path) });
  panel.append(chart);
  panel.append(make("div", { class: "sides" }, sideOf(path, "slow"), sideOf(path, "fast")));
  lanes.chart = echarts.init(chart, null, { renderer: "canvas" });
  sizes.observe(chart);
  lanes.chart.on("mouseover", (p) => link(lanes.items[p.dataIndex] || null));
  lanes.chart.on("mouseout", () => link(null));
  drawLanes();
};

const whyNoPaths = (row) => {
  if (table.counted[row] !== 1) {
    return `It does not count (${named(names.status, table.status[row])}), so nobody is blamed for it.`;
  }
  return `Its critical paths are not in this page; here are ${data.paths_note}.`;
};

const laneLabel = (path) =>
  `Critical paths of rank ${path.slow.rank} (${duration(path.slow.window_us)}) and ` +
  `rank ${path.fast.rank} (${duration(path.fast.window_us)}) on one time axis`;

const SENTENCE_CHARS = 110;
const short = (text) =>
  text.length > SENTENCE_CHARS ? `${text.slice(0, SENTENCE_CHARS - 1)}…` : text;

const culpritOf = (path) => {
  const line = make("p", {});
  if (path.culprit < 0 || !(path.culprit_us > 0)) {
    line.append("No single event explains half of that.");
    return line;
  }
  const wait = table.tax_us[path.row];
  const share = wait > 0 ? ` (${percent(path.culprit_us / wait)} of the tax)` : "";
  line.append(
    "Culprit: ",
    make("span", { class: "culprit", title: string(path.culprit), text: short(string(path.culprit)) }),
    `, by ${duration(path.culprit_us)}${share}`,
  );
  if (path.before) {
    const before = event(path.before);
    line.append(`; it ran ${duration(-before.at)} before both left and took ${duration(before.took)}`);
  }
  line.append(".");
  return line;
};

/** Who made whom wait, since when, with what. */
const sentences = (path) => {
  const { slow, fast } = path;
  const first = make("p", {});
  first.append(
    make("strong", {
      text: `Rank ${slow.rank} made rank ${fast.rank} wait ${duration(table.tax_us[path.row])}.`,
    }),
    path.apart
      ? ` ${sentenceCase(path.apart)}.`
      : ` After ${path.fence}, rank ${slow.rank} needed ${duration(slow.window_us)} to arrive, ` +
          `rank ${fast.rank} ${duration(fast.window_us)}.`,
  );
  const told = [first, culpritOf(path)];
  if (path.origin >= 0) told.push(make("p", { text: `${sentenceCase(string(path.origin))}.` }));
  for (const [side, word] of [
    [slow, "last"],
    [fast, "first"],
  ]) {
    if (side.tied) {
      told.push(make("p", { class: "note", text: `Others arrived ${word} with rank ${side.rank}: they are tied.` }));
    }
  }
  return told;
};

const sentenceCase = (text) => text.charAt(0).toUpperCase() + text.slice(1);

const event = (ev) => ({
  at: ev[0],
  took: ev[1],
  kind: string(ev[2]),
  thread: string(ev[3]),
  name: string(ev[4]),
  gap: ev[5],
  gapKind: string(ev[6]),
  pair: ev[7],
  longer: ev[8],
  culprit: ev[9] === 1,
});

const listed = (side) => {
  if (side.ev.length <= MOST_EVENTS) return side.ev.map((_, i) => i);
  const weight = (ev) => ev[1] + ev[5] + Math.abs(ev[8] || 0) + (ev[9] ? Infinity : 0);
  return [...side.ev.keys()]
    .sort((a, b) => weight(side.ev[b]) - weight(side.ev[a]))
    .slice(0, MOST_EVENTS)
    .sort((a, b) => a - b);
};

const eventLine = (which, index, ev) => {
  const line = make("tr", { "data-side": which, "data-event": String(index), tabindex: "-1" });
  if (ev.culprit) line.className = "is-culprit";
  const where = [ev.thread, ev.kind].filter((x) => x !== "").join(" · ");
  const label = make("span", { class: "clip", text: ev.name, title: ev.name });
  if (ev.culprit) label.classList.add("culprit");
  const idle = ev.gap > 0 ? `${duration(ev.gap)} ${ev.gapKind}` : "";
  line.append(
    make("td", { "data-value": String(ev.at), text: duration(ev.at) }),
    make("td", { class: "name" }, label, make("span", { class: "where clip", text: where })),
    make("td", { "data-value": String(ev.took), text: duration(ev.took) }),
    make("td", { "data-value": String(ev.gap), text: idle }),
  );
  if (which === "slow") {
    const longer = ev.longer === null || ev.longer === undefined ? "" : duration(ev.longer);
    line.append(make("td", { "data-value": String(ev.longer), text: longer }));
  }
  return line;
};

const restLine = (side, from, to, width) => {
  let took = 0;
  for (let i = from; i < to; i += 1) took += side.ev[i][1];
  const text = `… ${count(to - from)} short events, ${duration(took)} in all`;
  return make("tr", { class: "rest" }, make("td", { colspan: String(width), text }));
};

const sideOf = (path, which) => {
  const side = path[which];
  const heads = ["at", "event", "took", "then idle"].concat(which === "slow" ? ["longer by"] : []);
  const head = make("tr", {});
  heads.forEach((text, i) => {
    head.append(make("th", { scope: "col", text, ...(i === 1 ? {} : { "data-kind": "number" }) }));
  });
  const body = make("tbody", {});
  if (which === "slow" && path.before) {
    body.append(beforeLine(event(path.before), heads.length));
  }
  if (side.gap_us > 0) {
    const text = `${duration(side.gap_us)} idle first (${string(side.gap_kind)})`;
    body.append(make("tr", { class: "gap" }, make("td", { colspan: String(heads.length), text })));
  }
  let next = 0;
  for (const i of listed(side)) {
    if (i > next) body.append(restLine(side, next, i, heads.length));
    body.append(eventLine(which, i, event(side.ev[i])));
    next = i + 1;
  }
  if (next < side.ev.length) body.append(restLine(side, next, side.ev.length, heads.length));
  body.addEventListener("mouseover", (e) => link(itemOf(e.target.closest("tr[data-event]"))));
  body.addEventListener("mouseleave", () => link(null));
  body.addEventListener("focusin", (e) => link(itemOf(e.target.closest("tr[data-event]"))));
  body.addEventListener("keydown", walkRows);
  const first = body.querySelector("tr[data-event]");
  if (first) first.tabIndex = 0;
  const word = which === "slow" ? "last" : "first";
  const caption = `rank ${side.rank}, ${word} to arrive: ${count(side.ev.length)} events, ${duration(side.window_us)}`;
  return make(
    "div",
    { class: "side" },
    make("h4", { text: caption }),
    make(
      "div",
      { class: "scroll", role: "region", "aria-label": `Events of rank ${side.rank}`, tabindex: "0" },
      make("table", {}, make("thead", {}, head), body),
    ),
  );
};

const beforeLine = (ev, width) =>
  make(
    "tr",
    { class: "gap" },
    make("td", { colspan: String(width), text: `before: ${ev.name}, ${duration(ev.took)}` }),
  );

const walkRows = (e) => {
  const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[e.key];
  const here = e.target.closest("tr[data-event]");
  if (!step || !here) return;
  let next = here[step];
  while (next && !next.dataset.event) next = next[step];
  e.preventDefault();
  if (next) {
    here.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
};

const itemOf = (line) => line && { side: line.dataset.side, index: Number(line.dataset.event) };

/** An event and its counterpart on the other rank light up, in lists and chart. */
const link = (item) => {
  for (const line of panel.querySelectorAll(".linked")) line.classList.remove("linked");
  if (lanes.chart) lanes.chart.dispatchAction({ type: "downplay" });
  if (!item || item.index < 0 || !lanes.path) return;
  const pair = lanes.path[item.side].ev[item.index][7];
  const other = item.side === "slow" ? "fast" : "slow";
  const both = [[item.side, item.index]].concat(pair >= 0 ? [[other, pair]] : []);
  for (const [side, index] of both) {
    const line = panel.querySelector(`tr[data-side="${side}"][data-event="${index}"]`);
    if (line) line.classList.add("linked");
    const at = lanes.items.findIndex((x) => x.side === side && x.index === index);
    if (lanes.chart && at >= 0) {
      lanes.chart.dispatchAction({ type: "highlight", seriesIndex: 0, dataIndex: at });
    }
  }
};
