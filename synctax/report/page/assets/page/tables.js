/* Tables that sort, and scroll in frames of their own. */

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
