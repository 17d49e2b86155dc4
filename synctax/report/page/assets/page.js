"use strict";

/* Charts, filters, sorting, the list of collectives and the two critical paths of one.

   Text from traces enters the page by textContent, and charts as text on a canvas; nothing
   here makes HTML of it. Everything is drawn from the columns in #page-data. */

(() => {
  const root = document.documentElement;
  root.classList.replace("no-js", "js");

  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("page-data").textContent);
  const names = data.names;
  const ranks = data.ranks;
  const table = data.collectives;
  const total = table.group.length;
  const pathOfNumber = data.paths;

  /** Below this, taxes are noise of the clock; logarithmic axes start here. */
  const FLOOR_US = 1;
  /** Time bins of the heat map at most, and cells: more take long to draw, and to read. */
  const MOST_BINS = 120;
  const MOST_CELLS = 16000;
  /** Points of a distribution's curve: more than a chart has pixels would change nothing. */
  const MOST_CURVE_POINTS = 400;
  /** From so many points on they are drawn in one go, as dots. */
  const LARGE_POINTS = 3000;
  /** Events of a path that are listed one by one; shorter ones are summed up beyond. */
  const MOST_EVENTS = 300;
  /** Classes with a colour of their own; the others share the last one. */
  const MOST_COLORS = 7;
  const ROW_PX = 30;
  const TYPING_MS = 120;

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

  // ---- numbers in words ----

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

  // ---- columns ----

  const column = (name) => table[name];
  const roleOf = (row) => data.role_of_group[table.group[row]];
  const groupName = (row) => names.groups[table.group[row]];
  const title = (row) => `${groupName(row)} ${names.ops[table.op[row]]} #${table.index[row]}`;
  const named = (list, i) => (i >= 0 && i < list.length ? list[i] : "");
  const roleNames = forCharts(names.roles);
  const lastRank = (row) => (table.last[row] < 0 ? "" : `rank ${ranks[table.last[row]]}`);
  const aligned = data.clock === "aligned";

  const firstUs = (() => {
    let least = Infinity;
    for (const x of table.start_us) if (x !== null && x < least) least = x;
    return least === Infinity ? 0 : least;
  })();
  const when = (row) =>
    !aligned || table.start_us[row] === null ? row : (table.start_us[row] - firstUs) / 1000;

  /** Sums of tax by class, largest first, say which classes have colours of their own. */
  const colorOfClass = (() => {
    const sums = new Float64Array(names.classes.length);
    for (let i = 0; i < total; i += 1) {
      if (table.class[i] >= 0) sums[table.class[i]] += table.tax_us[i] || 0;
    }
    const order = [...sums.keys()].sort((a, b) => sums[b] - sums[a]);
    const colors = new Int32Array(names.classes.length).fill(MOST_COLORS);
    order.slice(0, MOST_COLORS).forEach((c, k) => {
      colors[c] = k;
    });
    return colors;
  })();
  const SHARED = MOST_COLORS;
  const NOT_ATTRIBUTED = MOST_COLORS + 1;
  const colorOfRow = (row) =>
    table.class[row] < 0 ? NOT_ATTRIBUTED : colorOfClass[table.class[row]];
  const colorNames = (() => {
    const list = new Array(NOT_ATTRIBUTED + 1).fill("");
    colorOfClass.forEach((k, c) => {
      if (k < SHARED) list[k] = names.classes[c];
    });
    list[SHARED] = "other classes";
    list[NOT_ATTRIBUTED] = "not attributed";
    return forCharts(list);
  })();

  // ---- filters ----

  const form = byId("filters");
  const state = { shown: new Int32Array(0), chosen: -1, opener: null };

  const fieldValue = (id) => {
    const field = byId(id);
    return field === null ? "" : field.value.trim();
  };

  const groupTest = (value) => {
    if (value === "") return null;
    const role = /^role-(\d+)$/.exec(value);
    if (role) return (row) => roleOf(row) === Number(role[1]);
    const group = Number(value.replace(/^group-/, ""));
    return (row) => table.group[row] === group;
  };

  const opTest = (value) => {
    if (value === "") return null;
    const op = Number(value);
    return (row) => table.op[row] === op;
  };

  const stepTest = (from, to) => {
    const known = data.steps || [-Infinity, Infinity];
    const lowest = from === "" || Number(from) <= known[0] ? null : Number(from);
    const highest = to === "" || Number(to) >= known[1] ? null : Number(to);
    if (lowest === null && highest === null) return null;
    return (row) => {
      const step = table.step[row];
      return (
        step >= 0 && (lowest === null || step >= lowest) && (highest === null || step <= highest)
      );
    };
  };

  const holding = (list, word) => list.map((name) => name.toLowerCase().includes(word));

  /** A word is a rank ("rank 5", "5"), a number of a collective ("#39"), or part of a name. */
  const wordTest = (word) => {
    if (/^#\d+$/.test(word)) return (row) => table.index[row] === Number(word.slice(1));
    const number = /^(rank)?(\d+)$/.exec(word);
    if (number) {
      const rank = ranks.indexOf(Number(number[2]));
      if (rank >= 0 || number[1]) return (row) => rank >= 0 && table.last[row] === rank;
    }
    const groups = holding(names.groups, word);
    const ops = holding(names.ops, word);
    const classes = holding(names.classes, word);
    const culprits = holding(names.culprits, word);
    const statuses = holding(names.status, word);
    return (row) =>
      groups[table.group[row]] ||
      ops[table.op[row]] ||
      classes[table.class[row]] ||
      culprits[table.culprit[row]] ||
      statuses[table.status[row]];
  };

  const textTests = (text) =>
    text
      .toLowerCase()
      .replace(/\brank\s+(\d+)/g, "rank$1")
      .split(/\s+/)
      .filter((word) => word !== "")
      .map(wordTest);

  const select = () => {
    const tests = [
      groupTest(fieldValue("filter-group")),
      opTest(fieldValue("filter-op")),
      stepTest(fieldValue("filter-from"), fieldValue("filter-to")),
      ...textTests(fieldValue("filter-text")),
    ].filter((test) => test !== null);
    const kept = new Int32Array(total);
    let n = 0;
    for (let row = 0; row < total; row += 1) {
      if (tests.every((test) => test(row))) {
        kept[n] = row;
        n += 1;
      }
    }
    return kept.slice(0, n);
  };

  // ---- colours ----

  let colors = {};
  const readColors = () => {
    const style = getComputedStyle(root);
    const of = (name) => style.getPropertyValue(`--${name}`).trim();
    colors = Object.fromEntries(
      ["ground", "raised", "line", "text", "quiet", "link", "culprit", "gap", "calm", "bar", "hit"].map(
        (name) => [name, of(name)],
      ),
    );
    colors.series = [1, 2, 3, 4, 5, 6, 7, 8].map((k) => of(`series-${k}`)).concat(colors.quiet);
    colors.heat = [0, 1, 2, 3].map((k) => of(`heat-${k}`));
    colors.font = style.fontFamily;
  };

  // ---- charts: what they share ----

  const charts = new Map();
  let printing = false;
  const narrow = (element) => element.clientWidth < 560;

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

  /** Names of vertical axes stand level above the axis, where they need no turned head. */
  const upright = (name, more = {}) =>
    axis(name, {
      nameLocation: "end",
      nameGap: 10,
      nameTextStyle: { color: colors.quiet, fontSize: 12, align: "left", padding: [0, 0, 0, -34] },
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

  // ---- charts of collectives ----

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
          data: Array.from({ length: binned.bins }, (_, bin) => label(bin)),
          splitLine: { show: false },
        }),
        yAxis: upright("rank", {
          type: "category",
          data: rankNames,
          inverse: true,
          nameLocation: "start",
          splitLine: { show: false },
          nameTextStyle: { color: colors.quiet, fontSize: 12, align: "left", padding: [0, 0, 0, -22] },
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
    const kindOf = (row) => (table.class[row] < 0 ? -1 : colorOfRow(row));
    const sums = taxBy(roleOf, names.roles.length, kindOf, kinds);
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
          xAxis: axis("share of the group's tax", shares),
          yAxis: axis("", {
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

  // ---- charts of the fit and of bandwidth ----

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
          band("Gumbel, 95 %", bounds, colors.series[0]),
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
          band("Gumbel, 95 %", bands[0], colors.series[0]),
          band("GEV, 95 %", bands[1], colors.series[1]),
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
        band(`${key}, 95 %`, positive(list.interval), colors.series[k % SHARED]),
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

  // ---- drawing ----

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

  const drawOne = (name, recipe) => {
    const entry = charts.get(name) || open(name);
    const { option, rowsOf: found = [], n } = recipe();
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

  // ---- list of collectives ----

  const position = (list) => {
    const order = [...list.keys()].sort((a, b) => list[a].localeCompare(list[b], "en", { numeric: true }));
    const places = new Int32Array(list.length);
    order.forEach((i, place) => {
      places[i] = place;
    });
    return (i) => (i >= 0 ? places[i] : null);
  };

  const placeOfGroup = position(names.groups);
  const placeOfClass = position(names.classes);
  const placeOfCulprit = position(names.culprits);
  const placeOfStatus = position(names.status);
  const placeOfOp = position(names.ops);
  const mostIndex = table.index.reduce((most, x) => Math.max(most, x), 0) + 1;
  const or = (value) => (value < 0 ? null : value);
  const orDash = (text) => (text === "" ? "–" : text);

  const COLUMNS = [
    {
      name: "collective",
      key: (r) =>
        (placeOfGroup(table.group[r]) * names.ops.length + placeOfOp(table.op[r])) * mostIndex +
        table.index[r],
      text: title,
    },
    { name: "tax", number: true, key: (r) => table.tax_us[r], text: (r) => duration(table.tax_us[r]) },
    { name: "waits", number: true, key: (r) => table.share[r], text: (r) => percent(table.share[r]) },
    { name: "last", number: true, key: (r) => or(table.last[r]), text: (r) => orDash(lastRank(r)) },
    {
      name: "class",
      key: (r) => placeOfClass(table.class[r]),
      text: (r) => orDash(named(names.classes, table.class[r])),
    },
    {
      name: "culprit",
      key: (r) => placeOfCulprit(table.culprit[r]),
      text: (r) => orDash(named(names.culprits, table.culprit[r])),
    },
    {
      name: "step",
      number: true,
      key: (r) => or(table.step[r]),
      text: (r) => (table.step[r] < 0 ? "–" : count(table.step[r])),
    },
    {
      name: aligned ? "at" : "order",
      number: true,
      key: when,
      text: (r) => (aligned ? duration(1000 * when(r)) : count(r + 1)),
    },
    {
      name: "transfer",
      number: true,
      key: (r) => table.transfer_us[r],
      text: (r) => duration(table.transfer_us[r]),
    },
    {
      name: "payload",
      number: true,
      key: (r) => or(table.payload_bytes[r]),
      text: (r) => size(table.payload_bytes[r]),
    },
    {
      name: "status",
      key: (r) => placeOfStatus(table.status[r]),
      text: (r) => named(names.status, table.status[r]),
    },
  ];

  const list = { host: byId("collectives"), by: 1, down: true, order: new Int32Array(0), active: 0 };

  const sortList = () => {
    const { key } = COLUMNS[list.by];
    const keys = new Float64Array(total);
    const absent = list.down ? -Infinity : Infinity;
    for (const row of state.shown) {
      const value = key(row);
      keys[row] = value === null || value === undefined ? absent : value;
    }
    const sign = list.down ? -1 : 1;
    list.order = state.shown.slice().sort((a, b) => {
      const gap = keys[a] - keys[b];
      return gap === 0 || Number.isNaN(gap) ? a - b : sign * gap;
    });
  };

  const buildList = () => {
    const { host } = list;
    host.setAttribute("role", "grid");
    host.setAttribute("aria-colcount", String(COLUMNS.length));
    host.setAttribute("aria-readonly", "true");
    if (!host.hasAttribute("aria-label")) {
      host.setAttribute("aria-label", "Collectives; Enter shows the two critical paths of one");
    }
    const heads = COLUMNS.map((column, c) => {
      const button = make("button", { type: "button", class: "sorter", text: column.name });
      button.addEventListener("click", () => {
        list.down = list.by === c ? !list.down : Boolean(column.number);
        list.by = c;
        fillList();
      });
      const head = make("div", { role: "columnheader", "aria-colindex": String(c + 1) }, button);
      if (column.number) head.className = "number";
      head.dataset.kind = column.number ? "number" : "text";
      return head;
    });
    list.heads = heads;
    const head = make("div", { role: "row", class: "grid-head", "aria-rowindex": "1" }, ...heads);
    list.rows = make("div", { class: "grid-rows", role: "rowgroup" });
    list.body = make("div", { class: "grid-body", role: "presentation" }, list.rows);
    host.replaceChildren(make("div", { role: "rowgroup", class: "grid-top" }, head), list.body);
    host.addEventListener("scroll", () => {
      if (!list.waiting) {
        list.waiting = true;
        requestAnimationFrame(() => {
          list.waiting = false;
          paintList();
        });
      }
    });
    host.addEventListener("keydown", listKey);
    host.addEventListener("click", (event) => {
      const line = event.target.closest(".grid-row");
      if (line) {
        list.active = Number(line.dataset.place);
        choose(list.order[list.active], host);
      }
    });
    new ResizeObserver(paintList).observe(host);
  };

  const newLine = () => {
    const cells = COLUMNS.map((column, c) =>
      make("div", { role: "gridcell", "aria-colindex": String(c + 1), class: column.number ? "number" : "name" }),
    );
    return make("div", { role: "row", class: "grid-row" }, ...cells);
  };

  const fillLine = (line, place) => {
    const row = list.order[place];
    line.id = `collective-${row}`;
    line.dataset.place = String(place);
    line.setAttribute("aria-rowindex", String(place + 2));
    line.setAttribute("aria-selected", String(row === state.chosen));
    line.classList.toggle("active", place === list.active);
    line.classList.toggle("uncounted", table.counted[row] !== 1);
    COLUMNS.forEach((column, c) => {
      const cell = line.children[c];
      const text = column.text(row);
      if (cell.textContent !== text) {
        cell.textContent = text;
        if (!column.number) cell.title = text;
      }
    });
  };

  /** Only rows in sight are in the document, however many there are. */
  const paintList = () => {
    const { host, rows, order } = list;
    const first = Math.max(0, Math.floor(host.scrollTop / ROW_PX) - 4);
    const lastPlace = Math.min(order.length, Math.ceil((host.scrollTop + host.clientHeight) / ROW_PX) + 4);
    const wanted = Math.max(0, lastPlace - first);
    while (rows.children.length < wanted) rows.append(newLine());
    while (rows.children.length > wanted) rows.lastElementChild.remove();
    rows.style.transform = `translateY(${first * ROW_PX}px)`;
    for (let k = 0; k < wanted; k += 1) fillLine(rows.children[k], first + k);
    const active = order[list.active];
    if (active !== undefined && byId(`collective-${active}`)) {
      host.setAttribute("aria-activedescendant", `collective-${active}`);
    } else {
      host.removeAttribute("aria-activedescendant");
    }
  };

  const fillList = () => {
    if (list.host === null) return;
    sortList();
    list.active = 0;
    list.host.scrollTop = 0;
    list.host.setAttribute("aria-rowcount", String(list.order.length + 1));
    list.body.style.height = `${Math.max(1, list.order.length) * ROW_PX}px`;
    list.heads.forEach((head, c) => {
      head.setAttribute("aria-sort", c !== list.by ? "none" : list.down ? "descending" : "ascending");
    });
    const empty = list.body.querySelector(".empty");
    if (empty) empty.remove();
    if (list.order.length === 0) {
      list.body.append(make("p", { class: "empty", text: "No collective matches the filters." }));
    }
    paintList();
  };

  const moveTo = (place) => {
    const { host, order } = list;
    list.active = Math.max(0, Math.min(order.length - 1, place));
    const top = list.active * ROW_PX;
    const room = host.clientHeight - 2 * ROW_PX;
    if (top < host.scrollTop) host.scrollTop = top;
    else if (top > host.scrollTop + room) host.scrollTop = top - room;
    paintList();
  };

  const listKey = (event) => {
    if (event.target !== list.host) return;
    const page = Math.max(1, Math.floor(list.host.clientHeight / ROW_PX) - 2);
    const jumps = {
      ArrowDown: list.active + 1,
      ArrowUp: list.active - 1,
      PageDown: list.active + page,
      PageUp: list.active - page,
      Home: 0,
      End: list.order.length - 1,
    };
    if (event.key in jumps) {
      event.preventDefault();
      moveTo(jumps[event.key]);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (list.order.length > 0) choose(list.order[list.active], list.host);
    }
  };

  // ---- the two critical paths ----

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

  /** What stands on the lanes: idle time (index -1), events, and the wait (index -2). */
  const laneItems = (path) => {
    const items = [];
    for (const which of ["slow", "fast"]) {
      const side = path[which];
      if (side.gap_us > 0) items.push({ side: which, index: -1, from: 0, to: side.gap_us, kind: string(side.gap_kind) });
      side.ev.forEach((ev, index) => {
        const end = ev[0] + ev[1];
        if (ev[5] > 0) items.push({ side: which, index: -1, from: end, to: end + ev[5], kind: string(ev[6]) });
        items.push({ side: which, index, from: ev[0], to: end, culprit: ev[9] === 1 });
      });
    }
    const culprits = new Set(path.slow.ev.filter((ev) => ev[9] === 1).map((ev) => ev[7]));
    for (const item of items) {
      item.counterpart = item.side === "fast" && item.index >= 0 && culprits.has(item.index);
    }
    if (path.slow.window_us > path.fast.window_us) {
      items.push({ side: "fast", index: -2, from: path.fast.window_us, to: path.slow.window_us });
    }
    return items;
  };

  /** The wait is the tax; where the windows differ by something else, that is told too. */
  const waitText = (path) => {
    const wait = `waits ${duration(table.tax_us[path.row])}`;
    const longer = path.slow.window_us - path.fast.window_us;
    return path.apart ? `${wait} (windows differ by ${duration(longer)})` : wait;
  };

  const laneTip = (item) => {
    const { slow, fast } = lanes.path;
    const took = duration(item.to - item.from);
    if (item.index === -2) return `rank ${fast.rank} ${waitText(lanes.path)} for rank ${slow.rank}`;
    const side = lanes.path[item.side];
    if (item.index === -1) return `rank ${side.rank} idle for ${took}${item.kind ? ` (${plain(item.kind)})` : ""}`;
    const ev = event(side.ev[item.index]);
    const lines = [plain(ev.name), `rank ${side.rank}, ${plain(ev.thread)}: ${took} at ${duration(ev.at)}`];
    const other = item.side === "slow" ? fast : slow;
    if (ev.pair >= 0) lines.push(`on rank ${other.rank}: ${duration(other.ev[ev.pair][1])}`);
    else lines.push(`no counterpart on rank ${other.rank}`);
    if (ev.culprit) lines.push("the culprit");
    return lines.join("\n");
  };

  const laneStyle = (item) => {
    const hatch = { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [1, 5], rotation: Math.PI / 4 };
    if (item.index === -2) {
      return { fill: colors.hit, stroke: colors.link, lineWidth: 1, decal: { ...hatch, color: colors.gap } };
    }
    if (item.index === -1) return { fill: colors.raised, decal: { ...hatch, color: colors.gap } };
    if (item.culprit) return { fill: colors.culprit };
    if (item.counterpart) return { fill: colors.bar, stroke: colors.culprit, lineWidth: 2 };
    return { fill: colors.bar };
  };

  const laneLabelOf = (item, width) => {
    if (width < 46 || item.index === -1) return null;
    const dark = item.index === -2;
    const text = dark
      ? waitText(lanes.path)
      : string(lanes.path[item.side].ev[item.index][4]);
    return {
      type: "text",
      silent: true,
      style: {
        text,
        fill: dark ? colors.text : colors.ground,
        font: `12px ${colors.font}`,
        width: width - 10,
        overflow: "truncate",
        verticalAlign: "middle",
      },
    };
  };

  const drawLane = (params, api) => {
    const item = lanes.items[params.dataIndex];
    const [x, y] = api.coord([item.from, api.value(2)]);
    const [end] = api.coord([item.to, api.value(2)]);
    const height = Math.min(44, api.size([0, 1])[1] * 0.62);
    const seam = item.index >= 0 && end - x > 3 ? 1 : 0;
    const shape = { x, y: y - height / 2, width: Math.max(1, end - x - seam), height };
    const children = [
      {
        type: "rect",
        shape: { ...shape, r: 1 },
        style: laneStyle(item),
        emphasis: { style: { stroke: colors.text, lineWidth: 2 } },
      },
    ];
    const label = laneLabelOf(item, end - x);
    if (label) children.push({ ...label, x: x + 5, y });
    return { type: "group", children };
  };

  const drawLanes = () => {
    if (!lanes.chart) return;
    try {
      setLanes();
    } catch (error) {
      const element = lanes.chart.getDom();
      lanes.chart = null;
      failed("paths", element, error);
    }
  };

  const setLanes = () => {
    const { slow, fast } = lanes.path;
    lanes.items = laneItems(lanes.path);
    lanes.chart.setOption(
      base({
        legend: { show: false },
        grid: { left: 4, right: 24, top: 8, bottom: 28, containLabel: true },
        tooltip: tooltip({ trigger: "item", formatter: (p) => laneTip(lanes.items[p.dataIndex]) }),
        dataZoom: [{ type: "inside", zoomOnMouseWheel: "shift", moveOnMouseWheel: false, filterMode: "none" }],
        xAxis: axis("time since the collective before", {
          min: 0,
          max: Math.max(slow.window_us, fast.window_us),
          axisLabel: { formatter: duration, showMaxLabel: false },
        }),
        yAxis: axis("", {
          type: "category",
          inverse: true,
          data: [`rank ${slow.rank}\nlast`, `rank ${fast.rank}\nfirst`],
          axisLabel: { color: colors.text, lineHeight: 16 },
          axisTick: { show: false },
          splitLine: { show: false },
        }),
        series: [
          {
            type: "custom",
            clip: true,
            encode: { x: [0, 1], y: 2 },
            renderItem: drawLane,
            data: lanes.items.map((item) => [item.from, item.to, item.side === "slow" ? 0 : 1]),
          },
        ],
      }),
      true,
    );
  };

  // ---- sortable tables ----

  const cellKey = (cell, numeric) => {
    if (!numeric) return cell ? cell.textContent.trim() : "";
    const value = cell && cell.dataset.value;
    return value === undefined || value === "" || value === "nan" ? null : Number(value);
  };

  const sortTable = (element, c, down) => {
    const numeric = element.tHead.rows[0].cells[c].dataset.kind === "number";
    const body = element.tBodies[0];
    const keyed = [...body.rows].map((line) => [cellKey(line.cells[c], numeric), line]);
    const compare = numeric
      ? (a, b) => a - b
      : (a, b) => a.localeCompare(b, "en", { numeric: true });
    keyed.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return down ? compare(b, a) : compare(a, b);
    });
    body.append(...keyed.map(([, line]) => line));
  };

  const makeSortable = (element) => {
    const heads = [...element.tHead.rows[0].cells];
    heads.forEach((head, c) => {
      const button = make("button", { type: "button", class: "sorter" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        const down = now === null ? head.dataset.kind === "number" : now === "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        sortTable(element, c, down);
      });
    });
  };

  /** Tables scroll in their own frame, which the keyboard reaches where it scrolls. */
  const frameTable = (element) => {
    let frame = element.closest(".scroll");
    if (frame === null) {
      frame = make("div", { class: "scroll" });
      element.replaceWith(frame);
      frame.append(element);
    }
    if (element.tBodies[0] && element.tBodies[0].rows.length > 24) frame.classList.add("tall");
    new ResizeObserver(() => {
      const scrolls = frame.scrollWidth > frame.clientWidth + 1 || frame.scrollHeight > frame.clientHeight + 1;
      if (scrolls) {
        frame.tabIndex = 0;
        frame.setAttribute("role", "region");
        frame.setAttribute("aria-label", element.caption ? element.caption.textContent : "table");
      } else {
        frame.removeAttribute("tabindex");
        frame.removeAttribute("role");
        frame.removeAttribute("aria-label");
      }
    }).observe(frame);
  };

  // ---- theme and print ----

  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches;

  const nameTheme = () => {
    const button = byId("theme");
    if (button) button.textContent = isDark() ? "Light theme" : "Dark theme";
  };

  const retheme = () => {
    nameTheme();
    drawAll();
  };

  /** Printed charts are drawn with the print style's colours, as wide as the paper. */
  const PAPER_PX = 680;
  const print = (now) => {
    if (now === printing) return;
    printing = now;
    drawAll();
    for (const { chart, element } of charts.values()) {
      chart.resize(now ? { width: Math.min(PAPER_PX, element.clientWidth || PAPER_PX) } : { width: "auto" });
    }
  };

  // ---- start ----

  const apply = () => {
    state.shown = select();
    const output = byId("filter-count");
    if (output) {
      const [from, to] = [fieldValue("filter-from"), fieldValue("filter-to")];
      const none = from !== "" && to !== "" && Number(from) > Number(to);
      output.textContent =
        `${count(state.shown.length)} of ${count(total)} collectives` +
        (none ? ": the first step is after the last" : "");
    }
    draw(OF_COLLECTIVES);
    fillList();
  };

  const listen = () => {
    let timer = 0;
    if (form) {
      form.addEventListener("submit", (e) => e.preventDefault());
      form.addEventListener("reset", () => setTimeout(apply));
      form.addEventListener("input", () => {
        clearTimeout(timer);
        timer = setTimeout(apply, TYPING_MS);
      });
    }
    const theme = byId("theme");
    if (theme) {
      theme.addEventListener("click", () => {
        root.dataset.theme = isDark() ? "light" : "dark";
        retheme();
      });
    }
    prefersDark.addEventListener("change", retheme);
    matchMedia("print").addEventListener("change", (e) => print(e.matches));
    addEventListener("beforeprint", () => print(true));
    addEventListener("afterprint", () => print(false));
    addEventListener("keydown", (e) => {
      if (e.key === "Escape" && state.chosen >= 0 && !/^(INPUT|SELECT)$/.test(e.target.tagName)) leave();
    });
  };

  const sizes = new ResizeObserver((entries) => {
    if (printing) return;
    for (const { target } of entries) {
      const chart = echarts.getInstanceByDom(target);
      const { clientWidth: width, clientHeight: height } = target;
      if (chart && width > 0 && (chart.getWidth() !== width || chart.getHeight() !== height)) {
        chart.resize();
      }
    }
  });

  readColors();
  nameTheme();
  for (const element of document.querySelectorAll("section table")) frameTable(element);
  for (const element of document.querySelectorAll("table.sortable")) makeSortable(element);
  if (list.host) buildList();
  listen();
  // the verdict is painted before anything is drawn
  requestAnimationFrame(() => {
    setTimeout(() => {
      try {
        apply();
        draw(OF_FITS);
      } finally {
        root.dataset.chartReady = "1";
      }
    });
  });
})();
