/* The list of collectives: only rows in sight are in the document. */

const ROW_PX = 30;

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
    text: kindOf,
    // long names are cut, numbers are not
    tail: (r) => ` #${table.index[r]}`,
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
  const cells = COLUMNS.map((column, c) => {
    const kind = column.tail ? "parted" : column.number ? "number" : "name";
    const cell = make("div", { role: "gridcell", "aria-colindex": String(c + 1), class: kind });
    if (column.tail) cell.append(make("span", {}), make("span", {}));
    return cell;
  });
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
    const tail = column.tail ? column.tail(row) : "";
    if (cell.textContent !== text + tail) {
      if (column.tail) {
        cell.firstChild.textContent = text;
        cell.lastChild.textContent = tail;
      } else {
        cell.textContent = text;
      }
      if (!column.number) cell.title = text + tail;
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
