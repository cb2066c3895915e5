// The list of samples: its controls, its table, its pages.

const PAGE = 50;
const FEW = 60; // values that a menu can hold; more are typed
let first = 0;
let added = new Set();
const list = {};

// --- controls ----------------------------------------------------------------------------------

const tallies = new Map();

// A facet's values with how many samples have each, the commonest first.
function tally(facet) {
  if (!tallies.has(facet.key)) {
    const counts = new Array(facet.column.values.length).fill(0);
    for (const code of facet.column.codes) {
      for (const one of Array.isArray(code) ? code : [code]) if (one >= 0) counts[one] += 1;
    }
    const order = counts.map((_, place) => place).filter((place) => counts[place] > 0);
    order.sort((a, b) => counts[b] - counts[a]);
    tallies.set(facet.key, order.map((place) => [facet.column.values[place], counts[place]]));
  }
  return tallies.get(facet.key);
}

function menu(facet) {
  const select = make("select", { "aria-label": facet.name(), onchange: () => setFilter(facet.key, select.value) },
    make("option", { value: "" }, say("any", facet.name())),
    tally(facet).map(([value, number]) => make("option", { value }, `${shownValue(facet, value)} (${count(number)})`)));
  return { element: select, set: (value) => { select.value = value; } };
}

function typed(facet) {
  const id = `values-${facets.indexOf(facet)}`;
  const suggestions = make("datalist", { id });
  const suggest = () => {
    const start = input.value.toLowerCase();
    const fitting = tally(facet).filter(([value]) => value.toLowerCase().includes(start));
    suggestions.replaceChildren(...fitting.slice(0, FEW).map(([value]) => make("option", { value })));
  };
  const input = make("input", {
    type: "text", list: id, "aria-label": facet.name(), placeholder: say("any", facet.name()), autocomplete: "off",
    oninput: suggest, onfocus: suggest, onchange: () => {
      if (input.value !== (state.filters.get(facet.key) ?? "")) {
        if (input.value) state.filters.set(facet.key, input.value);
        else state.filters.delete(facet.key);
        refresh(true);
      }
    },
  });
  return { element: make("span", { class: "typed" }, input, suggestions), set: (value) => { input.value = value; } };
}

const several = (facet) => facet.column && tally(facet).length > 1;
const always = (facet) => (["result", "outcome", "status", "subset", "rule", "finish"].includes(facet.key)
  || facet.key.startsWith("result:") || (facet.kind === "fact" && page.groups.includes(facet.key.slice(5)) && tally(facet).length <= FEW));

function tools() {
  const search = make("input", {
    type: "search", id: "search", placeholder: say("search hint"), "aria-label": say("search"),
    oninput: () => { state.search = search.value.trim(); refresh(false); },
  });
  const choices = facets.filter(several);
  const offered = choices.filter((facet) => always(facet) || added.has(facet.key) || state.filters.has(facet.key));
  const controls = offered.map((facet) => [facet.key, tally(facet).length <= FEW ? menu(facet) : typed(facet)]);
  const rest = choices.filter((facet) => !offered.includes(facet));
  const more = make("select", { "aria-label": say("more filters"), onchange: () => { added.add(more.value); drawTools(); } },
    make("option", { value: "" }, say("more filters")), rest.map((facet) => make("option", { value: facet.key }, facet.name())));
  const sort = make("select", { "aria-label": say("sort"), onchange: () => { state.sort = sort.value; state.down = !["", "score", "outcome"].includes(sort.value); refresh(true); } },
    make("option", { value: "" }, say("data order")), orders().map((key) => make("option", { value: key }, say("by", say(key).toLowerCase()))));
  const turn = button({ onclick: () => { state.down = !state.down; refresh(true); } });
  list.sync = () => {
    for (const [key, control] of controls) control.set(state.filters.get(key) ?? "");
    if (search.value.trim() !== state.search) search.value = state.search;
    sort.value = state.sort;
    turn.hidden = !state.sort;
    turn.textContent = state.down ? "↓" : "↑";
    turn.setAttribute("aria-label", say(state.down ? "descending" : "ascending"));
    turn.title = say(state.down ? "descending" : "ascending");
  };
  return make("div", { class: "tools", role: "search", "aria-label": say("filters") },
    search, controls.map(([, control]) => control.element), rest.length ? more : null,
    make("span", { class: "sorting" }, sort, turn));
}

function drawTools() {
  const fresh = tools();
  list.tools.replaceWith(fresh);
  list.tools = fresh;
  list.sync();
}

// What is filtered by, within reach wherever on the page one is.
function pill() {
  list.pill = make("aside", { class: "pill", "aria-label": say("filters on") });
  return list.pill;
}

function drawPill() {
  list.pill.hidden = !filtered();
  const chip = (text, remove) => make("li", {}, button({ class: "chip", onclick: remove, "aria-label": say("remove", text) }, text, make("span", { "aria-hidden": "true" }, " ×")));
  const chips = [...state.filters].map(([key, value]) => {
    const facet = facetOf(key);
    return chip(`${facet.name()}: ${shownValue(facet, value)}`, () => setFilter(key, ""));
  });
  if (state.search) chips.push(chip(`“${state.search}”`, () => { state.search = ""; refresh(true); }));
  list.pill.replaceChildren(make("ul", {}, chips), make("span", { class: "pill-tools" },
    make("a", { href: "#list", onclick: (event) => { event.preventDefault(); list.section.scrollIntoView(); list.heading.focus(); } }, say("of samples", shown.length, samples.count)),
    button({ onclick: clearFilters }, say("clear"))));
}

// --- the table ---------------------------------------------------------------------------------

// On a phone a row is the result, the image and the question.
const phone = window.matchMedia("screen and (max-width: 760px)");
phone.addEventListener("change", () => drawTable());

function answerHead(name, of) {
  const head = make("th", { scope: "col", class: "answer", title: name }, make("div", { class: "cut" }, name));
  head.style.width = `${Math.min(19, 62 / (of + 1))}%`;
  return head;
}

function headRow() {
  const key = state.sort && state.sort !== "score" ? state.sort : "seconds";
  const head = (name, attributes, sortKey) => make("th", {
    scope: "col", ...attributes, "aria-sort": sortKey && state.sort === sortKey ? (state.down ? "descending" : "ascending") : null,
  }, name);
  const numberHead = page.kind === "run" ? [head(say(key), { class: "number" }, key)] : [];
  return make("tr", {},
    head(page.kind === "run" ? say("result") : say("outcome"), { class: "result" }, page.kind === "run" ? "score" : "outcome"),
    pictured ? head(hidden(say("image")), { class: "thumb" }) : null,
    head(say("question"), { class: "question" }),
    phone.matches ? null : [[say("expected"), ...list.answerHeads()].map((name, _, all) => answerHead(name, all.length)), numberHead]);
}

const shownAnswer = (answer) => answer === "" ? say("empty") : answer ?? "—";

function row(i) {
  const media = pictured ? imagesOf(i) : [];
  const open = state.open === i;
  const toggle = (event) => { event.stopPropagation(); openSample(open ? null : i); };
  const cell = (kind, content) => make("td", { class: kind, dir: "auto" }, make("div", { class: "cut" }, content));
  const key = state.sort && state.sort !== "score" ? state.sort : "seconds";
  const value = page.kind === "run" ? facetOf(key) && numberAt(key, i) : null;
  const number = page.kind === "run" ? [make("td", { class: "number" }, known(value) ? facetOf(key).show(value) : "—")] : [];
  return make("tr", { class: open ? "row open" : "row", onclick: toggle },
    make("td", { class: "result" }, button({ class: "opener", "data-sample": String(i), "aria-expanded": String(open), onclick: toggle },
      list.badge(i), hidden(` ${say("sample")} ${wordAt("id", i)}`))),
    pictured ? make("td", { class: "thumb" }, media.length ? make("img", { src: imageOf(media[0]), alt: "", loading: "lazy" }) : "") : null,
    cell("question", headline(i)),
    phone.matches ? null : [wordAt("expected", i), ...list.answers(i)].map((answer) => cell("answer", shownAnswer(answer))), phone.matches ? null : number);
}

function opened(i) {
  const texts = textsOf(i);
  const link = button({ onclick: () => copy(linkTo({ open: i }), link), title: say("copy link") }, say("link"));
  const tools = make("div", { class: "detail-tools" },
    button({ onclick: () => step(-1) }, say("previous")), button({ onclick: () => step(1) }, say("next")),
    button({ onclick: () => step(1, fellShort) }, say("next wrong")), link);
  const body = texts ? list.detail(i, texts) : make("p", { class: "soft" }, say("texts left out"));
  return make("tr", { class: "detail-row" }, make("td", { colspan: String(headRow().children.length) }, tools, body));
}

function drawTable() {
  const rows = shown.slice(first, first + PAGE);
  if (state.open !== null && !rows.includes(state.open)) rows.unshift(state.open);
  list.head.replaceChildren(headRow());
  list.body.replaceChildren(...rows.flatMap((i) => i === state.open ? [row(i), opened(i)] : [row(i)]));
  const all = shown.length;
  list.empty.hidden = all > 0;
  list.empty.textContent = say(samples.count ? "none match" : "none asked");
  list.table.hidden = rows.length === 0;
  list.count.textContent = say("of samples", all, samples.count);
  const last = Math.min(first + PAGE, all);
  list.where.textContent = all ? say("from to of", first + 1, last, all) : "";
  list.pager.hidden = all <= PAGE;
  list.back.disabled = first === 0;
  list.forth.disabled = last >= all;
}

function turnPage(by) {
  first = Math.max(0, Math.min(first + by * PAGE, Math.floor((shown.length - 1) / PAGE) * PAGE));
  drawTable();
  list.section.scrollIntoView();
}

// Show a sample, or close it; the keyboard goes with it.
function openSample(i, { focus = true, step: asStep = true } = {}) {
  const before = state.open;
  state.open = i;
  if (i !== null && shown.includes(i)) first = Math.floor(shown.indexOf(i) / PAGE) * PAGE;
  keepAddress(asStep);
  drawTable();
  const shownNow = list.body.querySelector(`[data-sample="${i ?? before}"]`);
  if (!shownNow) return;
  if (focus) shownNow.focus({ preventScroll: true });
  if (i !== null) shownNow.closest("tr").scrollIntoView();
}

// The next sample of what is shown, or the next that is so.
function step(by, wanted = () => true) {
  const from = state.open === null ? -1 : shown.indexOf(state.open);
  let at = from < 0 && by < 0 ? shown.length - 1 : from + by;
  while (at >= 0 && at < shown.length && !wanted(shown[at])) at += by;
  if (at >= 0 && at < shown.length) openSample(shown[at]);
}

function sampleSection() {
  list.count = make("p", { class: "count", role: "status" });
  list.heading = make("h2", { tabindex: "-1" }, say("samples"));
  list.tools = tools();
  list.head = make("thead", {});
  list.body = make("tbody", {});
  list.empty = make("p", { class: "empty" });
  list.table = make("table", { class: "samples" }, make("caption", { class: "unseen" }, say("samples")), list.head, list.body);
  list.where = make("span", {});
  list.back = button({ onclick: () => turnPage(-1) }, say("previous page"));
  list.forth = button({ onclick: () => turnPage(1) }, say("next page"));
  list.pager = make("nav", { class: "pager", "aria-label": say("pages") }, list.back, list.where, list.forth);
  const link = button({ onclick: () => copy(linkTo({}), link), title: say("copy view") }, say("link"));
  list.section = make("section", { class: "card wide", id: "list" },
    make("div", { class: "top" }, list.heading, list.count, make("div", { class: "actions" },
      button({ onclick: () => save("csv") }, "CSV"), button({ onclick: () => save("json") }, "JSON"), link,
      button({ onclick: showKeys }, say("keys")))),
    list.tools, patterns(), list.table, list.empty, list.pager);
  return list.section;
}

// Everything that depends on what is filtered, drawn again.
function refresh(asStep) {
  choose();
  first = 0;
  if (state.open !== null && shown.includes(state.open)) first = Math.floor(shown.indexOf(state.open) / PAGE) * PAGE;
  keepAddress(asStep);
  list.sync();
  drawTable();
  drawPatterns();
  drawPill();
  markBars();
}
