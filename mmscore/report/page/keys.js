// Keys, and copies of what is filtered.

const KEYS = {
  "/": ["key search", () => document.getElementById("search").focus()],
  j: ["key next", () => step(1)],
  k: ["key previous", () => step(-1)],
  w: ["key next wrong", () => step(1, fellShort)],
  W: ["key previous wrong", () => step(-1, fellShort)],
  i: ["key image", () => { const all = state.open === null ? [] : imagesOf(state.open); if (all.length) showImages(all, 0); }],
  c: ["key clear", clearFilters],
  Escape: ["key close", () => { if (state.open !== null) openSample(null); }],
  "?": ["key keys", showKeys],
};
const SAME = { ArrowRight: "j", ArrowLeft: "k", n: "j", p: "k" };
let keysOn = true;

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog")) return;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (typing && event.key === "Escape") event.target.blur();
  if (typing || event.target.closest?.(".chart")) return;
  const found = KEYS[SAME[event.key] ?? event.key];
  if (!found || (!keysOn && event.key.length === 1)) return;
  event.preventDefault();
  found[1]();
}

function showKeys() {
  const dialog = make("dialog", { class: "keys", "aria-label": say("keys") });
  const names = { Escape: "Esc", j: "j →", k: "k ←" };
  const toggle = make("input", { type: "checkbox", onchange: () => { keysOn = toggle.checked; } });
  toggle.checked = keysOn;
  dialog.append(make("h2", {}, say("keys")),
    make("dl", { class: "keylist" }, Object.entries(KEYS).map(([key, [text]]) =>
      make("div", {}, make("dt", {}, make("kbd", {}, names[key] ?? key)), make("dd", {}, say(text))))),
    make("label", {}, toggle, " ", say("keys on")),
    button({ onclick: () => dialog.close(), autofocus: true }, say("close")));
  openDialog(dialog);
}

// --- copies ------------------------------------------------------------------------------------

// One sample as a flat record, under the names of report.csv; what the page cut stays cut.
function record(i) {
  const texts = textsOf(i);
  const found = { id: wordAt("id", i), repeat: numberAt("repeat", i) ?? 0, subset: wordAt("subset", i) };
  for (const name of factNames) found[name.slice("fact:".length)] = wordsAt(name, i).join(" | ");
  found.question = texts ? texts.messages.map(messageText).at(-1) : null;
  found.choices = texts ? texts.choices.join(" | ") : null;
  found.target = texts?.target ?? wordAt("expected", i);
  return Object.assign(found, list.record(i, texts));
}

// A spreadsheet runs a cell that begins like a formula: such text gets an apostrophe before it.
function cell(value) {
  if (!known(value)) return "";
  const text = String(value);
  const guarded = typeof value === "string" && /^[=+\-@\t\r']/.test(text) && !/^[+-]?\d+(\.\d+)?$/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

function csvOf(records) {
  const names = [...new Set(records.flatMap((one) => Object.keys(one)))];
  const rows = records.map((one) => names.map((name) => cell(one[name])).join(","));
  return `\ufeff${[names.map(cell).join(","), ...rows].join("\n")}\n`;
}

function save(form) {
  const records = shown.map(record);
  const text = form === "csv" ? csvOf(records) : `${JSON.stringify(records, null, 2)}\n`;
  const type = form === "csv" ? "text/csv;charset=utf-8" : "application/json";
  const url = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: url, download: `samples.${form}` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
