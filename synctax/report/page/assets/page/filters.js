/* Which collectives the form leaves. */

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
