"use strict";
// Everything that comes from a data set or a model becomes text nodes, never markup.
const data = JSON.parse(document.getElementById("data").textContent);
const thumbnails = new Map(Object.entries(data.thumbnails));
const STEP = 60;

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== "") element.append(child);
  }
  return element;
}

const percent = (value) =>
  value === null ? "—" : `${(Math.round(value * 1000 + 1e-9) / 10).toFixed(1)}%`;
const range = (row) =>
  row.low === null ? "" : `${(row.low * 100).toFixed(1)}–${(row.high * 100).toFixed(1)}%`;
const count = (value) => value.toLocaleString("en-US");

function bars(rows, pick, offer = (name) => `Show the samples of ${name}`) {
  const box = make("div", { class: "bars" });
  for (const row of rows) {
    const total = row.name === "OVERALL" ? " total" : "";
    const words = `${row.name}: ${percent(row.shown)}, 95% interval ${range(row) || "unknown"}, ${row.num} samples`;
    const track = make("div", { class: "track", role: "img", "aria-label": words, title: words });
    if (row.shown !== null) {
      const fill = make("div", { class: "fill" });
      fill.style.width = `${100 * Math.min(1, Math.max(0, row.shown))}%`;
      track.append(fill);
    }
    if (row.low !== null) {
      const whisker = make("div", { class: "whisker" });
      whisker.style.left = `${row.low * 100}%`;
      whisker.style.width = `${(row.high - row.low) * 100}%`;
      track.append(whisker);
    }
    const name = pick && !total
      ? make("button", { class: "link name", type: "button", title: offer(row.name), onclick: () => pick(row.name) }, row.name)
      : make("span", { class: `name${total}`, title: row.name }, row.name);
    box.append(
      name, track, make("span", { class: `value${total}` }, percent(row.shown)),
      make("span", { class: "range" }, range(row)), make("span", { class: "num" }, `n ${count(row.num)}`),
    );
  }
  return box;
}

const fields = Object.fromEntries(data.samples.fields.map((name, place) => [name, place]));
const samples = data.samples.rows.map((row, place) => ({
  place,
  get: (name) => row[fields[name]],
  text: null,
}));

function result(sample) {
  const value = sample.get("scores")[data.metrics.indexOf(data.primary)];
  if (value === null || value === undefined) return "not scored";
  return value >= 1 ? "right" : value <= 0 ? "wrong" : "partly right";
}

function badge(sample) {
  const found = result(sample);
  const status = sample.get("status");
  if (found === "not scored") return make("span", { class: "badge warn" }, status === "ok" ? found : status);
  if (found !== "partly right") return make("span", { class: `badge ${found}` }, found);
  return make("span", { class: "badge" }, sample.get("scores")[data.metrics.indexOf(data.primary)].toFixed(3));
}

function searched(sample) {
  if (sample.text === null) {
    sample.text = ["id", "question", "target", "reply", "extracted", "error", "choices"]
      .map((name) => sample.get(name) || "").concat(sample.get("media").map((one) => one.place))
      .join("\n").toLowerCase();
  }
  return sample.text;
}

// What a benchmark says to nearly every sample of a subset, its instructions, tells none apart.
const linesOf = (sample) => (sample.get("question") || "").split("\n").map((line) => line.trim()).filter(Boolean);
const opening = (sample, line) => `${sample.get("subset")}\n${line.slice(0, 40)}`;
const sizes = new Map();
const shared = new Map();
const add = (counts, key) => counts.set(key, (counts.get(key) || 0) + 1);
for (const sample of samples) {
  add(sizes, sample.get("subset"));
  for (const key of new Set(linesOf(sample).map((line) => opening(sample, line)))) add(shared, key);
}
const common = (sample, line) => shared.get(opening(sample, line)) > 0.9 * sizes.get(sample.get("subset"));

function headline(sample) {
  const lines = linesOf(sample);
  const own = lines.filter((line) => !common(sample, line));
  return own.length ? own.join(" ") : lines[0] || sample.get("id");
}

const thumbnail = (sample) =>
  sample.get("media").map((one) => thumbnails.get(one.place)).find((uri) => uri) || null;
const pictured = thumbnails.size > 0;

function row(sample) {
  const image = thumbnail(sample);
  const cell = pictured
    ? make("span", { class: "thumb-cell" }, image ? make("img", { class: "thumb", src: image, alt: "", loading: "lazy" }) : "")
    : null;
  const read = sample.get("extracted") ?? sample.get("error") ?? "";
  const details = make(
    "details", { class: "sample" },
    make(
      "summary", {}, make("span", {}, badge(sample)), cell,
      make("span", { class: "cut", dir: "auto" }, headline(sample)),
      make("span", { class: "cut", dir: "auto", title: "Reference answer" }, sample.get("target") ?? "—"),
      make("span", { class: "cut", dir: "auto", title: "What was read out of the reply" }, read || "—"),
    ),
  );
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(detail(sample));
  });
  return details;
}

function block(title, text, boxed) {
  if (text === null || text === undefined || text === "") return null;
  return make("section", {}, make("h4", {}, title), make("div", { class: boxed ? "text box" : "text", dir: "auto" }, text));
}

function detail(sample) {
  const get = sample.get;
  const left = make(
    "div", {}, block("Question", get("question"), true),
    block("Choices", get("choices")), block("Reply", get("reply"), true),
    get("reasoning")
      ? make("section", {}, make("details", {}, make("summary", {}, "Reasoning"), make("div", { class: "text box", dir: "auto" }, get("reasoning"))))
      : null,
    block("Error", get("error")),
  );
  const facts = [["Sample", get("id")], ["Subset", get("subset")], ["Status", get("status")],
    ["Reference", get("target")], ["Read", get("extracted")], ["Rule", get("rule")]];
  if (get("repeat")) facts.push(["Repeat", get("repeat")]);
  data.metrics.forEach((metric, place) => {
    const value = get("scores")[place];
    if (value !== null && value !== undefined) facts.push([data.labels[metric], String(value)]);
  });
  data.groups.forEach((name, place) => facts.push([name, get("groups")[place].join(", ")]));
  facts.push(["Judge", get("judge")], ["Finished", get("finish")]);
  if (get("tokens")[0] !== null) facts.push(["Tokens", `${get("tokens")[0]} in, ${get("tokens")[1] ?? "?"} out`]);
  if (get("seconds") !== null) facts.push(["Time", `${get("seconds")} s`]);
  for (const one of get("media")) {
    facts.push([one.mime || "Medium", `${one.place}${one.notes ? ` (${one.notes})` : ""}`]);
  }
  const images = get("media").filter((one) => thumbnails.has(one.place))
    .map((one) => make("img", { src: thumbnails.get(one.place), alt: one.place }));
  return make("div", { class: "detail" }, left, make("div", {}, images, list(facts)));
}

function list(facts) {
  const box = make("dl", {});
  for (const [name, value] of facts) {
    if (value !== null && value !== undefined && value !== "") {
      box.append(make("dt", {}, name), make("dd", {}, String(value)));
    }
  }
  return box;
}

const filters = { search: "", result: "", status: "", subset: "" };
const controls = {};
let shown = [];
const holder = make("div", {});
const counter = make("span", { class: "count", role: "status", "aria-live": "polite" });
const more = make("button", { class: "more", type: "button", onclick: () => grow() });

function keep(sample) {
  return (!filters.result || result(sample) === filters.result)
    && (!filters.status || sample.get("status") === filters.status)
    && (!filters.subset || sample.get("subset") === filters.subset)
    && data.groups.every((name, place) => !filters[`by ${name}`] || sample.get("groups")[place].includes(filters[`by ${name}`]))
    && (!filters.search || filters.search.split(/\s+/).every((word) => searched(sample).includes(word)));
}

function refresh() {
  shown = samples.filter(keep);
  counter.textContent = `${count(shown.length)} of ${count(samples.length)} samples`;
  holder.replaceChildren();
  if (!shown.length) holder.append(make("div", { class: "empty" }, samples.length ? "No sample matches these filters." : "Nothing was asked yet."));
  grow();
}

function grow() {
  const start = holder.querySelectorAll(":scope > .sample").length;
  holder.append(...shown.slice(start, start + STEP).map(row));
  const left = shown.length - Math.min(shown.length, start + STEP);
  more.hidden = left === 0;
  more.textContent = `Show more (${count(left)} left)`;
}

function choose(name, label, values) {
  if (values.length < 2) return null;
  const select = make(
    "select", { "aria-label": label, onchange: () => { filters[name] = select.value; refresh(); } },
    make("option", { value: "" }, label), values.map((value) => make("option", { value }, value)),
  );
  controls[name] = select;
  return select;
}

function pick(name, value) {
  for (const key of Object.keys(filters)) filters[key] = "";
  for (const control of Object.values(controls)) control.value = "";
  filters[name] = value;
  if (controls[name]) controls[name].value = value;
  refresh();
  document.getElementById("samples").scrollIntoView();
}

const unique = (values) => [...new Set(values)];

function sampleCard() {
  const search = make("input", {
    type: "search", placeholder: "Search samples, or press /", "aria-label": "Search samples",
    oninput: () => { filters.search = search.value.trim().toLowerCase(); refresh(); },
  });
  controls.search = search;
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      search.focus();
    }
  });
  const groups = data.groups.map((name, place) =>
    choose(`by ${name}`, `Any ${name}`, unique(samples.flatMap((one) => one.get("groups")[place])).sort()));
  const heads = ["Result", pictured ? "" : null, "Question", "Reference", "Read from the reply"];
  return make(
    "section", { class: `card wide${pictured ? "" : " plainlist"}`, id: "samples" },
    make("div", { class: "top" }, make("h2", {}, "Samples"), counter),
    make(
      "div", { class: "tools" }, search,
      choose("result", "Any result", unique(samples.map(result)).sort()),
      choose("status", "Any status", unique(samples.map((one) => one.get("status"))).sort()),
      choose("subset", "Any subset", unique(samples.map((one) => one.get("subset")))), groups,
    ),
    make("div", { class: "columns", "aria-hidden": "true" }, heads.filter((one) => one !== null).map((one) => make("span", {}, one))),
    holder, more,
  );
}

function scoreCards(metric) {
  const mine = (rows) => rows.filter((one) => one.metric === metric);
  const subsets = mine(data.scores);
  const cards = [make("section", { class: "card" }, make("h3", {}, "By subset"),
    bars(subsets.length > 1 ? [...subsets, ...mine(data.overall)] : subsets, (name) => pick("subset", name)))];
  for (const part of data.sections) {
    const filter = data.groups.includes(part.name) ? (name) => pick(`by ${part.name}`, name) : null;
    cards.push(make("section", { class: "card" }, make("h3", {}, `By ${part.name}`), bars(mine(part.rows), filter)));
  }
  return cards;
}

function draw() {
  const main = data.overall.find((one) => one.metric === data.primary);
  const grid = make("div", { class: "grid" });
  const show = (metric) => grid.replaceChildren(...scoreCards(metric));
  const select = make(
    "select", { "aria-label": "Metric", onchange: () => show(select.value) },
    data.metrics.map((metric) => make("option", { value: metric }, data.labels[metric])),
  );
  select.value = data.primary;
  const several = data.metrics.length > 1;
  const choice = new Map(data.metrics.map((metric) => [data.labels[metric], metric]));
  const overall = data.overall.map((one) => ({ ...one, name: data.labels[one.metric] }));
  const turn = (name) => { select.value = choice.get(name); show(select.value); };
  const page = document.getElementById("page");
  page.replaceChildren(
    make(
      "header", { class: "head" },
      make("div", {}, make("h1", {}, data.title), make("div", { class: "model" }, data.model)),
      make("div", { class: "score" }, make("b", {}, percent(main.shown)),
        make("div", {}, `${data.labels[data.primary]}${main.low === null ? "" : `, 95% interval ${range(main)}`}`)),
    ),
    ...data.notes.filter(([name]) => name === "Warning").map(([, text]) => make("p", { class: "warning", role: "note" }, text)),
    make("section", { class: "card" }, list(data.notes.filter(([name]) => name !== "Warning"))),
    ...(several ? [
      make("section", { class: "card wide every" }, make("h3", {}, "All metrics"), bars(overall, turn, (name) => `Break down ${name}`)),
      make("div", { class: "top wide" }, make("h2", {}, "Scores"), select),
    ] : []),
    grid, sampleCard(),
    make("section", { class: "card wide" }, make("details", {}, make("summary", {}, "How this run was made"),
      make("pre", {}, `\n${JSON.stringify(data.provenance, null, 2)}`))),
    make("footer", {}, data.footer),
  );
  show(data.primary);
  refresh();
}

draw();
