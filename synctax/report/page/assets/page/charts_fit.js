/* Charts of the fit and of bandwidth. */

const rowsOf = (columns, wanted) => {
  const n = columns[wanted[0]].length;
  return Array.from({ length: n }, (_, i) => wanted.map((name) => columns[name][i]));
};
const complete = (points) => points.filter((p) => p.every((x) => x !== null));
const positive = (points) => complete(points).filter((p) => p.every((x) => x > 0));

const line = (name, k, points, more = {}) => ({
  type: "line",
  name,
  data: points,
  symbol: "none",
  color: colors.series[k],
  lineStyle: { width: 2, type: DASHES[k % DASHES.length] },
  ...more,
});

const pdf = () => {
  const columns = data.fit.pdf;
  const laws = data.fit.curve;
  const bars = complete(rowsOf(columns, ["z_lo", "z_hi", "density", "count"]));
  return {
    option: base({
      tooltip: tooltip({
        trigger: "item",
        formatter: (p) =>
          p.seriesName === "measured"
            ? `z from ${round3(p.value[0])} to ${round3(p.value[1])}\n${count(p.value[3])} maxima, density ${round3(p.value[2])}`
            : `${p.seriesName}: density ${round3(p.value[1])} at z = ${round3(p.value[0])}`,
      }),
      xAxis: axis("block maximum, standardised (z)", { scale: true, splitLine: { show: false } }),
      yAxis: upright("density"),
      series: [
        {
          type: "custom",
          name: "measured",
          color: colors.calm,
          encode: { x: [0, 1], y: 2 },
          data: bars,
          renderItem: (params, api) => {
            const [left, top] = api.coord([api.value(0), api.value(2)]);
            const [right, bottom] = api.coord([api.value(1), 0]);
            return {
              type: "rect",
              shape: { x: left, y: top, width: Math.max(1, right - left - 1), height: bottom - top },
              style: { fill: colors.calm, opacity: 0.55 },
            };
          },
        },
        line("Gumbel", 0, complete(rowsOf(laws, ["z", "gumbel_density"]))),
        line("GEV", 1, complete(rowsOf(laws, ["z", "gev_density"]))),
      ],
    }),
  };
};

/** Least and largest: by a loop, for a call takes only so many arguments. */
const extent = (values) => {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
};

const qq = () => {
  const columns = data.fit.qq;
  const gumbel = complete(rowsOf(columns, ["gumbel_z", "z"]));
  const gev = complete(rowsOf(columns, ["gev_z", "z"]));
  const all = gumbel.concat(gev).flat();
  const bounds = complete(rowsOf(columns, ["gumbel_z", "gumbel_lo_z", "gumbel_hi_z"]));
  return {
    option: base({
      tooltip: tooltip({
        trigger: "item",
        formatter: (p) =>
          `${p.seriesName}\nmeasured z = ${round3(p.value[1])}, expected ${round3(p.value[0])}`,
      }),
      xAxis: axis("quantile of the fit (z)", { scale: true }),
      yAxis: upright("measured (z)", { scale: true }),
      series: [
        band(`Gumbel, ${data.fit.level}`, bounds, colors.series[0]),
        dots(gumbel.length, { name: "Gumbel", data: gumbel, color: colors.series[0] }),
        dots(gev.length, { name: "GEV", data: gev, color: colors.series[1], symbol: "triangle" }),
        diagonal(...extent(all)),
      ],
    }),
  };
};

/** An axis of numbers of ranks, with a tick for each of them. */
const rankAxis = (points) => {
  const all = [...new Set(points.map((p) => p[0]))].sort((a, b) => a - b);
  return axis("ranks", {
    type: "log",
    logBase: 2,
    min: all[0],
    max: all[all.length - 1],
    axisTick: { show: true, customValues: all, lineStyle: { color: colors.calm } },
    axisLabel: { customValues: all, formatter: (x) => count(Math.round(x)) },
    splitLine: { show: false },
  });
};

/** Whole decades around curves; of a band only what lies two decades off at most. */
const decades = (curves, bands) => {
  const middle = curves.flat().map((p) => p[1]);
  const [low, high] = extent(middle);
  const [under, over] = extent(bands.flat().flatMap((p) => p.slice(1)));
  const least = Math.max(low / 100, Math.min(low, under));
  const most = Math.min(100 * high, Math.max(high, over));
  return { min: 10 ** Math.floor(Math.log10(least)), max: 10 ** Math.ceil(Math.log10(most)) };
};

const growth = () => {
  const columns = data.fit.growth;
  const gumbel = positive(rowsOf(columns, ["n", "tau_us"]));
  const gev = positive(rowsOf(columns, ["n", "tau_gev_us"]));
  const measured = positive(rowsOf(columns, ["n", "measured_us"]));
  const bands = [
    positive(rowsOf(columns, ["n", "tau_lo_us", "tau_hi_us"])),
    positive(rowsOf(columns, ["n", "tau_gev_lo_us", "tau_gev_hi_us"])),
  ];
  const curves = [gumbel, gev, measured];
  if (curves.flat().length === 0) return { option: nothing("There is nothing to draw") };
  return {
    option: base({
      tooltip: tooltip({
        trigger: "axis",
        formatter: (parts) =>
          [`${count(parts[0].axisValue)} ranks`]
            .concat(parts.map((p) => `${p.seriesName}: ${duration(p.value[1])}`))
            .join("\n"),
      }),
      xAxis: rankAxis(curves.flat()),
      yAxis: upright("mean wait of a rank", { ...logarithmic(duration), ...decades(curves, bands) }),
      series: [
        band(`Gumbel, ${data.fit.level}`, bands[0], colors.series[0]),
        band(`GEV, ${data.fit.level}`, bands[1], colors.series[1]),
        line("Gumbel", 0, gumbel),
        line("GEV", 1, gev),
        dots(measured.length, {
          name: "measured",
          data: measured,
          color: colors.text,
          symbol: "diamond",
          symbolSize: 9,
          z: 5,
        }),
      ],
    }),
  };
};

const bandwidth = () => {
  const columns = data.bandwidth;
  const lists = new Map();
  columns.n.forEach((n, i) => {
    const parts = [];
    if (new Set(columns.topology).size > 1) parts.push(columns.topology[i]);
    parts.push(`ε ${String(columns.elasticity[i]).replace("-", "−")}`);
    const key = parts.join(", ");
    if (!lists.has(key)) lists.set(key, { with: [], without: [], interval: [] });
    const list = lists.get(key);
    list.with.push([n, columns.gb_per_s[i]]);
    list.without.push([n, columns.hockney_gb_per_s[i]]);
    list.interval.push([n, columns.gb_per_s_lo[i], columns.gb_per_s_hi[i]]);
  });
  const curves = [...lists.values()].flatMap((list) => [positive(list.with), positive(list.without)]);
  const bands = [...lists.values()].map((list) => positive(list.interval));
  if (curves.flat().length === 0) return { option: nothing("There is nothing to draw") };
  const solid = { lineStyle: { width: 2, type: "solid" }, symbolSize: 6 };
  const dashed = { lineStyle: { width: 1.5, type: "dashed" } };
  const series = [...lists].flatMap(([key, list], k) => {
    const color = { color: colors.series[k % SHARED] };
    return [
      band(`${key}, interval`, positive(list.interval), colors.series[k % SHARED]),
      line(`${key} with tax`, k, positive(list.with), {
        ...solid,
        ...color,
        symbol: SYMBOLS[k % SYMBOLS.length],
      }),
      line(`${key} without`, k, positive(list.without), { ...dashed, ...color }),
    ];
  });
  return {
    option: base({
      tooltip: tooltip({
        trigger: "axis",
        formatter: (parts) =>
          [`${count(parts[0].axisValue)} ranks`]
            .concat(parts.map((p) => `${plain(p.seriesName)}: ${rate(p.value[1])}`))
            .join("\n"),
      }),
      legend: { ...base({}).legend, data: series.filter((s) => s.type === "line").map((s) => s.name) },
      xAxis: rankAxis(curves.flat()),
      yAxis: upright("bandwidth worth having", { ...logarithmic(rate), ...decades(curves, bands) }),
      series,
    }),
  };
};
