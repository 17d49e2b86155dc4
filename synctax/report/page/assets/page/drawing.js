/* Charts are made, drawn anew, marked and, where one fails, left out. */

const OF_COLLECTIVES = {
  "tax-cdf": taxCdf,
  last,
  timeline,
  variation,
  classes,
  ranks: rankBars,
};
const OF_FITS = { qq, pdf, growth, bandwidth };

/** Every rank of the heat map needs a line of its own. */
const HEAT_PX = { frame: 90, rank: 3, least: 300, most: 900 };

const open = (name) => {
  const element = byId(`chart-${name}`);
  if (name === "last") {
    const { frame, rank, least, most } = HEAT_PX;
    element.style.height = `${Math.max(least, Math.min(most, frame + rank * ranks.length))}px`;
  }
  const chart = echarts.init(element, null, { renderer: "canvas" });
  const entry = { element, chart, rowsOf: [] };
  chart.on("click", (p) => {
    const rows = entry.rowsOf[p.seriesIndex];
    if (rows) choose(rows[p.dataIndex], element);
  });
  chart.getZr().on("mousemove", () => {
    chart.getZr().setCursorStyle(entry.rowsOf.length ? "crosshair" : "default");
  });
  charts.set(name, entry);
  sizes.observe(element);
  return entry;
};

/** Captions tell of how many collectives charts are made, as the filters are. */
const tellCount = (element, n) => {
  const place = element.closest("figure").querySelector("figcaption .n");
  if (place && n !== undefined) place.textContent = `${count(n)} collective${n === 1 ? "" : "s"}`;
};

/** A chart that fails leaves a sentence in its place, and the others as they are. */
const failed = (name, element, error) => {
  console.error(`chart ${name}:`, error);
  const entry = charts.get(name);
  charts.delete(name);
  sizes.unobserve(element);
  if (entry) entry.chart.dispose();
  element.hidden = true;
  element.after(make("p", { class: "missing", text: "This chart could not be drawn." }));
};

/** Lines that are drawn without symbols have keys without, so that their dashes are seen. */
const withLineKeys = (legend, series) => {
  const bare = new Set();
  for (const one of series) if (one.type === "line" && one.symbol === "none") bare.add(one.name);
  const shown = legend.data || series.map((one) => one.name);
  const keys = shown
    .filter((name) => name !== undefined)
    .map((name) => (bare.has(name) ? { name, itemStyle: { opacity: 0 } } : { name }));
  return { ...legend, itemWidth: bare.size > 0 ? 22 : legend.itemWidth, data: keys };
};

const drawOne = (name, recipe) => {
  const entry = charts.get(name) || open(name);
  const { option, rowsOf: found = [], n } = recipe();
  option.legend = withLineKeys(option.legend, option.series || []);
  entry.rowsOf = found;
  entry.chart.setOption(option, true);
  tellCount(entry.element, n);
};

const draw = (recipes) => {
  for (const [name, recipe] of Object.entries(recipes)) {
    const element = byId(`chart-${name}`);
    if (element === null || element.hidden) continue;
    try {
      drawOne(name, recipe);
    } catch (error) {
      failed(name, element, error);
    }
  }
};

const markChosen = () => {
  const points = { timeline: timelinePoint, variation: variationPoint };
  for (const [name, point] of Object.entries(points)) {
    const entry = charts.get(name);
    if (entry && entry.rowsOf.length > 0) {
      entry.chart.setOption({ series: [ring(state.chosen < 0 ? null : point(state.chosen))] });
    }
  }
};

const drawAll = () => {
  readColors();
  draw(OF_COLLECTIVES);
  draw(OF_FITS);
  drawLanes();
};
