/* What happens when: first drawing, filters, theme, print, sizes. */

const TYPING_MS = 120;

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
