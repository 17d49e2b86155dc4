/* The two critical paths as lanes on one time axis. */

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
      grid: { left: 16, right: 24, top: 8, bottom: 28, containLabel: true },
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
