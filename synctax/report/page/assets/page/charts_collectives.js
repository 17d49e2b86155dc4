/* Charts of the collectives that the filters leave. */

/** Time bins of the heat map at most, and cells: more take long to draw, and to read. */
const MOST_BINS = 120;
const MOST_CELLS = 16000;
/** Points of a distribution's curve: more than a chart has pixels would change nothing. */
const MOST_CURVE_POINTS = 400;

const counted = () => state.shown.filter((row) => table.counted[row] === 1);

/** How many of ascending numbers are at most x. */
const atMost = (sorted, x) => {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
};

const curve = (sorted) => {
  const n = sorted.length;
  const stride = Math.max(1, n / MOST_CURVE_POINTS);
  const points = [[0, 0]];
  for (let k = 0; k < n; k += stride) {
    const i = Math.floor(k);
    points.push([sorted[i], (i + 1) / n]);
  }
  points.push([sorted[n - 1], 1], [1, 1]);
  return points;
};

const taxCdf = () => {
  const lists = new Map();
  for (const row of counted()) {
    if (table.share[row] === null) continue;
    const key = roleOf(row) * names.ops.length + table.op[row];
    if (!lists.has(key)) lists.set(key, []);
    lists.get(key).push(table.share[row]);
  }
  if (lists.size === 0) return { option: nothing(), n: 0 };
  const called = forCharts(
    [...lists.keys()].map((key) => {
      const op = key % names.ops.length;
      return `${named(names.roles, (key - op) / names.ops.length)} ${names.ops[op]}`;
    }),
  );
  const known = [...lists.values()].map((values, k) => [called[k], Float64Array.from(values).sort()]);
  const series = known.map(([name, sorted], k) => ({
    type: "line",
    name,
    step: "end",
    symbol: "none",
    lineStyle: { width: 2, type: DASHES[k % DASHES.length] },
    data: curve(sorted),
  }));
  return {
    n: known.reduce((sum, [, sorted]) => sum + sorted.length, 0),
    option: base({
      tooltip: tooltip({
        trigger: "axis",
        formatter: (parts) =>
          [`at most ${percent(parts[0].axisValue)} of it is waiting in`]
            .concat(
              known.map(([name, sorted]) => {
                const share = atMost(sorted, parts[0].axisValue) / sorted.length;
                return `${percent(share)} of ${plain(name)}`;
              }),
            )
            .join("\n"),
      }),
      xAxis: axis("share of the collective spent waiting", shares),
      yAxis: upright("share of collectives", shares),
      series,
    }),
  };
};

const rankNames = ranks.map(String);

const binning = (rows) => {
  const bins = Math.max(1, Math.min(MOST_BINS, Math.floor(MOST_CELLS / ranks.length), Math.ceil(rows.length / 4)));
  let low = Infinity;
  let high = -Infinity;
  for (const row of rows) {
    low = Math.min(low, when(row));
    high = Math.max(high, when(row));
  }
  const width = (high - low) / bins || 1;
  return { bins, low, width, of: (row) => Math.min(bins - 1, Math.floor((when(row) - low) / width)) };
};

/** In each bin: how often each rank was last, of the collectives it took part in.
    Cells of 0 are the ground. */
const lastCells = (rows, binned) => {
  const { bins } = binned;
  const last = new Int32Array(bins * ranks.length);
  const part = new Int32Array(bins * ranks.length);
  const inGroup = new Int32Array(bins * names.groups.length);
  for (const row of rows) {
    const bin = binned.of(row);
    inGroup[bin * names.groups.length + table.group[row]] += 1;
    if (table.last[row] >= 0) last[bin * ranks.length + table.last[row]] += 1;
  }
  const members = data.ranks_of_group;
  for (let bin = 0; bin < bins; bin += 1) {
    for (let g = 0; g < names.groups.length; g += 1) {
      const n = inGroup[bin * names.groups.length + g];
      if (n > 0) for (const r of members[g]) part[bin * ranks.length + r] += n;
    }
  }
  const cells = [];
  for (let at = 0; at < last.length; at += 1) {
    if (last[at] > 0) {
      const rank = at % ranks.length;
      cells.push([(at - rank) / ranks.length, rank, last[at] / part[at], last[at], part[at]]);
    }
  }
  return cells;
};

const last = () => {
  const rows = counted().filter((row) => table.last[row] >= 0);
  if (rows.length === 0) return { option: nothing(), n: 0 };
  const binned = binning(rows);
  const at = (bin) => binned.low + bin * binned.width;
  const label = (bin) => (aligned ? duration(1000 * at(bin)) : count(Math.round(at(bin)) + 1));
  return {
    n: rows.length,
    option: base({
      legend: { show: false },
      grid: {
        left: 8,
        right: 18,
        top: 46,
        bottom: 30,
        containLabel: true,
        show: true,
        backgroundColor: colors.heat[0],
        borderWidth: 0,
      },
      tooltip: tooltip({
        trigger: "item",
        formatter: (p) =>
          `rank ${rankNames[p.value[1]]}, ${label(p.value[0])} to ${label(p.value[0] + 1)}\n` +
          `last in ${count(p.value[3])} of ${count(p.value[4])} collectives (${percent(p.value[2])})`,
      }),
      visualMap: {
        min: 0,
        max: 1,
        dimension: 2,
        calculable: false,
        hoverLink: false,
        orient: "horizontal",
        right: 18,
        top: 0,
        itemWidth: 12,
        itemHeight: 110,
        inRange: { color: colors.heat },
        text: ["100 %", "0 %"],
        textStyle: { color: colors.quiet },
      },
      xAxis: axis(aligned ? "time since the first collective" : "collectives in order", {
        type: "category",
        // a label stands below the middle of its bin
        data: Array.from({ length: binned.bins }, (_, bin) => label(bin + 0.5)),
        splitLine: { show: false },
      }),
      yAxis: upright("rank", {
        type: "category",
        data: rankNames,
        inverse: true,
        nameLocation: "start",
        splitLine: { show: false },
        nameTextStyle: { color: colors.quiet, fontSize: 12, align: "left", padding: [0, 0, 0, -NAME_BEFORE_PX] },
      }),
      series: [
        {
          type: "heatmap",
          progressive: 0,
          data: lastCells(rows, binned),
          emphasis: { itemStyle: { borderColor: colors.text, borderWidth: 1 } },
        },
      ],
    }),
  };
};

const timelinePoint = (row) =>
  table.tax_us[row] === null ? null : [when(row), floored(table.tax_us[row])];

const timeline = () => {
  if (state.shown.length === 0) return { option: nothing(), rowsOf: [], n: 0 };
  return scattered(state.shown, timelinePoint, {
    grid: { left: 8, right: 34, top: 54, bottom: 66, containLabel: true },
    dataZoom: [
      {
        type: "slider",
        show: !printing,
        xAxisIndex: 0,
        height: 18,
        bottom: 8,
        filterMode: "none",
        showDataShadow: false,
        brushSelect: false,
        borderColor: colors.line,
        backgroundColor: "transparent",
        fillerColor: colors.hit,
        handleStyle: { color: colors.ground, borderColor: colors.calm },
        moveHandleStyle: { color: colors.calm },
        textStyle: { color: colors.quiet },
        labelFormatter: (x) => (aligned ? duration(1000 * x) : count(Math.round(x) + 1)),
      },
    ],
    xAxis: axis(aligned ? "time since the first collective" : "collectives in order", {
      scale: true,
      min: "dataMin",
      max: "dataMax",
      axisLabel: { formatter: (x) => (aligned ? duration(1000 * x) : count(Math.round(x) + 1)) },
      splitLine: { show: false },
    }),
    yAxis: upright("tax", { ...logarithmic(taxLabel), min: FLOOR_US }),
  });
};

const variationPoint = (row) =>
  table.variation_us[row] === null || table.tax_us[row] === null
    ? null
    : [floored(table.variation_us[row]), floored(table.tax_us[row])];

const variation = () => {
  const rows = state.shown.filter((row) => variationPoint(row) !== null);
  if (rows.length === 0) return { option: nothing(), rowsOf: [], n: 0 };
  let most = 10 * FLOOR_US;
  for (const row of rows) most = Math.max(most, ...variationPoint(row));
  const highest = 10 ** Math.ceil(Math.log10(most));
  const range = { min: FLOOR_US, max: highest };
  return scattered(rows, variationPoint, {
    grid: { left: 8, right: 30, top: 54, bottom: 30, containLabel: true },
    xAxis: axis("variation of the critical paths", { ...logarithmic(taxLabel), ...range }),
    yAxis: upright("tax", { ...logarithmic(taxLabel), ...range }),
    series: [diagonal(FLOOR_US, highest)],
  });
};

const diagonal = (low, high) => ({
  type: "line",
  name: "equal",
  silent: true,
  symbol: "none",
  z: 1,
  lineStyle: { color: colors.calm, width: 1, type: "dashed" },
  itemStyle: { color: colors.calm },
  data: [
    [low, low],
    [high, high],
  ],
});

/** Tax of the counted collectives shown, summed by two whole-number keys. */
const taxBy = (first, firstCount, second, secondCount) => {
  const sums = new Float64Array(firstCount * secondCount);
  let all = 0;
  let n = 0;
  for (const row of counted()) {
    const tax = table.tax_us[row] || 0;
    all += tax;
    if (first(row) >= 0 && second(row) >= 0) {
      sums[first(row) * secondCount + second(row)] += tax;
      n += 1;
    }
  }
  return { all, n, at: (i, j) => sums[i * secondCount + j] };
};

/** Edges of bars that are nothing would cut axes. */
const OVER_BARS = 3;

const shareBars = (more) =>
  base({
    // grey prints tell hatches apart, not colours
    aria: { enabled: printing, label: { enabled: false }, decal: { show: printing } },
    tooltip: tooltip({
      trigger: "axis",
      axisPointer: { type: "shadow", shadowStyle: { color: colors.raised, opacity: 0.5 } },
      formatter: (parts) =>
        [`${more.prefix}${plain(parts[0].axisValueLabel)}`]
          .concat(
            parts
              .filter((p) => p.value > 0)
              .map((p) => `${p.marker}${percent(p.value)} ${plain(p.seriesName)}`),
          )
          .join("\n"),
    }),
    ...more.option,
  });

const classes = () => {
  const kinds = SHARED + 1;
  const colored = (row) => (table.class[row] < 0 ? -1 : colorOfRow(row));
  const sums = taxBy(roleOf, names.roles.length, colored, kinds);
  if (sums.all === 0) return { option: nothing(), n: sums.n };
  const roles = [...names.roles.keys()];
  const ofRole = roles.map((r) => {
    let sum = 0;
    for (let k = 0; k < kinds; k += 1) sum += sums.at(r, k);
    return sum;
  });
  const kept = roles.filter((r) => ofRole[r] > 0).reverse();
  const used = [...Array(kinds).keys()].filter((k) => roles.some((r) => sums.at(r, k) > 0));
  return {
    n: sums.n,
    option: shareBars({
      prefix: "tax of ",
      option: {
        grid: { left: 8, right: 30, top: 40, bottom: 30, containLabel: true },
        xAxis: axis("share of the group's tax", { z: OVER_BARS, ...shares }),
        yAxis: axis("", {
          z: OVER_BARS,
          type: "category",
          data: kept.map((r) => roleNames[r]),
          axisLabel: { color: colors.text, formatter: (name) => cut(name, LEGEND_CHARS) },
          axisTick: { show: false },
        }),
        series: used.map((k) => ({
          type: "bar",
          name: colorNames[k],
          stack: "tax",
          color: colors.series[k],
          barMaxWidth: 42,
          itemStyle: { borderColor: colors.ground, borderWidth: 1 },
          data: kept.map((r) => sums.at(r, k) / ofRole[r]),
        })),
      },
    }),
  };
};

const rankBars = () => {
  const sums = taxBy(roleOf, names.roles.length, (row) => table.last[row], ranks.length);
  if (sums.all === 0) return { option: nothing(), n: sums.n };
  return {
    n: sums.n,
    option: shareBars({
      prefix: "of all tax, by rank ",
      option: {
        xAxis: axis("rank that was last", {
          z: OVER_BARS,
          type: "category",
          data: rankNames,
          splitLine: { show: false },
        }),
        yAxis: upright("share of the tax", { axisLabel: { formatter: (x) => percent(x) } }),
        series: roleNames.map((role, r) => ({
          type: "bar",
          name: role,
          stack: "tax",
          barMaxWidth: 42,
          itemStyle: { borderColor: colors.ground, borderWidth: ranks.length > 64 ? 0 : 1 },
          data: ranks.map((_, k) => sums.at(r, k) / sums.all),
        })),
      },
    }),
  };
};
