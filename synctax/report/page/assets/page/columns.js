/* Columns of the collectives: what their codes stand for, and who has which colour. */

/** Classes with a colour of their own; the others share the last one. */
const MOST_COLORS = 7;

const column = (name) => table[name];
const roleOf = (row) => data.role_of_group[table.group[row]];
const groupName = (row) => names.groups[table.group[row]];
const title = (row) => `${groupName(row)} ${names.ops[table.op[row]]} #${table.index[row]}`;
/** Role and operation, then the ranks: these may be many, and are cut first. */
const kindOf = (row) => {
  const [role, group, op] = [names.roles[roleOf(row)], groupName(row), names.ops[table.op[row]]];
  return group.startsWith(`${role} `) ? `${role} ${op} ${group.slice(role.length + 1)}` : `${group} ${op}`;
};
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
