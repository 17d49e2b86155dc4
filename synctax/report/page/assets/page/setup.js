/* The data of the page. */

const root = document.documentElement;
root.classList.replace("no-js", "js");

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("page-data").textContent);
const names = data.names;
const ranks = data.ranks;
const table = data.collectives;
const total = table.group.length;
const pathOfNumber = data.paths;
