/* What all charts share: axes, tooltips, points, bands. */

/** Below this, taxes are noise of the clock; logarithmic axes start here. */
const FLOOR_US = 1;
/** From so many points on they are drawn in one go, as dots. */
const LARGE_POINTS = 3000;
const SYMBOLS = [
  "circle",
  "triangle",
  "rect",
  "diamond",
  "path://M0 0H10L5 10Z",
  "path://M4 0h2v4h4v2h-4v4h-2v-4h-4v-2h4z",
  "path://M0 0H10L0 10H10Z",
  "circle",
  "emptyCircle",
];
const DASHES = ["solid", "dashed", "dotted", [8, 3, 2, 3], [12, 4], [4, 4], [2, 6]];

const charts = new Map();
let printing = false;

/** In tooltips braces would set a style of the chart's; such text stays as it reads. */
const plain = (name) =>
  cut(name.replaceAll("{", "❴").replaceAll("}", "❵").replaceAll("|", "∣"), 72);

const tooltip = (more) => ({
  renderMode: "richText",
  confine: true,
  backgroundColor: colors.ground,
  borderColor: colors.line,
  borderWidth: 1,
  padding: [8, 10],
  textStyle: { color: colors.text, fontSize: 13, fontFamily: colors.font, lineHeight: 18 },
  axisPointer: { lineStyle: { color: colors.calm }, shadowStyle: { color: colors.raised } },
  ...more,
});

const base = (more) => ({
  animation: false,
  color: colors.series,
  backgroundColor: "transparent",
  textStyle: { fontFamily: colors.font, color: colors.text },
  grid: { left: 8, right: 24, top: 54, bottom: 30, containLabel: true },
  legend: {
    type: "scroll",
    top: 3,
    formatter: (name) => cut(name, LEGEND_CHARS),
    left: 0,
    right: 10,
    itemWidth: 18,
    itemHeight: 10,
    itemGap: 14,
    textStyle: { color: colors.text, fontSize: 12 },
    pageTextStyle: { color: colors.quiet },
    pageIconColor: colors.link,
    pageIconInactiveColor: colors.gap,
    inactiveColor: colors.gap,
  },
  ...more,
});

const axis = (name, more = {}) => ({
  type: "value",
  name,
  nameLocation: "middle",
  nameGap: 28,
  nameTextStyle: { color: colors.quiet, fontSize: 12 },
  axisLine: { show: true, onZero: false, lineStyle: { color: colors.calm } },
  axisTick: { show: true, lineStyle: { color: colors.calm } },
  splitLine: { lineStyle: { color: colors.line, opacity: 0.55 } },
  ...more,
  axisLabel: { color: colors.quiet, fontSize: 12, hideOverlap: true, ...more.axisLabel },
});

/** Names of vertical axes stand level above the axis, where they need no turned head, and
    begin a little left of it: not more than the shortest labels are wide. */
const NAME_BEFORE_PX = 12;
const upright = (name, more = {}) =>
  axis(name, {
    nameLocation: "end",
    nameGap: 10,
    nameTextStyle: { color: colors.quiet, fontSize: 12, align: "left", padding: [0, 0, 0, -NAME_BEFORE_PX] },
    ...more,
  });

const logarithmic = (format, more = {}) => ({
  type: "log",
  logBase: 10,
  axisLabel: { formatter: (x) => format(x) },
  minorTick: { show: true, splitNumber: 9, lineStyle: { color: colors.line } },
  ...more,
});

const taxLabel = (us) => (us <= FLOOR_US ? `≤ ${duration(FLOOR_US)}` : duration(us));
const shares = { min: 0, max: 1, axisLabel: { formatter: (x) => `${Math.round(100 * x)} %` } };
const floored = (us) => Math.max(us, FLOOR_US);

const nothing = (text = "No collective matches the filters") =>
  base({
    title: {
      text,
      left: "center",
      top: "middle",
      textStyle: { color: colors.quiet, fontSize: 14, fontWeight: 400 },
    },
  });

const pointTip = (row) => {
  const lines = [`${plain(title(row))}${table.step[row] >= 0 ? `, step ${table.step[row]}` : ""}`];
  lines.push(`tax ${duration(table.tax_us[row])} (${percent(table.share[row])} of the kernel)`);
  if (table.last[row] >= 0) lines.push(`${lastRank(row)} was last`);
  const culprit = named(names.culprits, table.culprit[row]);
  const kind = named(names.classes, table.class[row]);
  if (culprit) lines.push(`${plain(culprit)}${kind ? ` (${plain(kind)})` : ""}`);
  return lines.join("\n");
};

/** A band between two curves, on any axes. */
const band = (name, points, color) => ({
  type: "custom",
  name,
  silent: true,
  clip: true,
  z: 1,
  itemStyle: { color, opacity: 0.3 },
  data: points.length > 1 ? [[points[0][0], points[0][1]]] : [],
  renderItem: (params, api) => ({
    type: "polygon",
    shape: {
      points: [
        ...points.map(([x, , high]) => api.coord([x, high])),
        ...points.map(([x, low]) => api.coord([x, low])).reverse(),
      ],
    },
    style: { fill: color, opacity: 0.16 },
  }),
});

/** Points of a series in a chart of `all` points; one by one only while these are few. */
const dots = (all, more) => ({
  type: "scatter",
  large: all > LARGE_POINTS,
  largeThreshold: 0,
  symbolSize: all > LARGE_POINTS ? 3.5 : 7,
  itemStyle: { opacity: all > LARGE_POINTS ? 0.7 : 0.8 },
  emphasis: { scale: 1.6 },
  ...more,
});

const ring = (point) => ({
  id: "chosen",
  type: "scatter",
  silent: true,
  z: 20,
  symbol: "circle",
  symbolSize: 17,
  itemStyle: { color: "transparent", borderColor: colors.text, borderWidth: 2 },
  tooltip: { show: false },
  data: point === null ? [] : [point],
});

/** Rows of `shown` by colour, with their points in one flat array a colour. */
const byColor = (rows, point) => {
  const lists = Array.from({ length: NOT_ATTRIBUTED + 1 }, () => []);
  for (const row of rows) if (point(row) !== null) lists[colorOfRow(row)].push(row);
  return lists
    .map((list, k) => {
      const flat = new Float64Array(2 * list.length);
      list.forEach((row, i) => {
        const [x, y] = point(row);
        flat[2 * i] = x;
        flat[2 * i + 1] = y;
      });
      return { k, rows: list, flat };
    })
    .filter((part) => part.rows.length > 0);
};

const scattered = (rows, point, more) => {
  const parts = byColor(rows, point);
  const series = parts.map((part) =>
    dots(rows.length, {
      name: colorNames[part.k],
      data: part.flat,
      symbol: rows.length > LARGE_POINTS ? "circle" : SYMBOLS[part.k],
      color: colors.series[part.k],
    }),
  );
  const chosen = state.chosen < 0 ? null : point(state.chosen);
  return {
    rowsOf: parts.map((part) => part.rows),
    n: parts.reduce((sum, part) => sum + part.rows.length, 0),
    option: base({
      tooltip: tooltip({
        trigger: "item",
        formatter: (p) => {
          const part = parts[p.seriesIndex];
          return part ? pointTip(part.rows[p.dataIndex]) : "";
        },
      }),
      toolbox: {
        show: !printing,
        top: 24,
        right: 4,
        itemSize: 14,
        iconStyle: { borderColor: colors.quiet },
        emphasis: { iconStyle: { borderColor: colors.link, textFill: colors.text } },
        feature: {
          dataZoom: {
            title: { zoom: "drag to zoom", back: "zoom back" },
            brushStyle: { color: colors.hit, opacity: 0.5 },
          },
        },
      },
      ...more,
      series: [...series, ...(more.series || []), ring(chosen)],
    }),
  };
};
