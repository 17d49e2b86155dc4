/* Colours of the style sheet, light, dark and on paper. */

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
