// How the samples that are shown are spread: what was given for what, and three histograms.

const BINS = 20;
const COMMONEST = 20;

function patterns() {
  list.patterns = make("div", { class: "patterns" });
  if (page.kind !== "run") return null;
  return make("details", { class: "fold patterns-fold", open: !phone.matches }, make("summary", {}, say("patterns")), list.patterns);
}

function drawPatterns() {
  const charts = ["seconds", "length", "in", "out"].map(facetOf).filter(Boolean).map(histogram).filter(Boolean);
  const legend = make("p", { class: "legend" }, make("i", { class: "key-all" }), say("key all"), make("i", { class: "key-wrong" }), say("key wrong"));
  list.patterns.replaceChildren(...[
    charts.length ? make("div", {}, make("div", { class: "charts" }, charts), legend) : null, page.kind === "run" ? confusions() : null,
  ].filter(Boolean));
}

// --- histograms --------------------------------------------------------------------------------

// A round number at or above a width: 1, 2 or 5 times a power of ten.
function roundUp(width) {
  const power = 10 ** Math.floor(Math.log10(width));
  return [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= width * (1 - 1e-9));
}

// Bins of equal width, the last one open: a single slow reply would leave all others in the first.
function binsOf(facet) {
  const having = shown.filter((i) => known(facet.numbers[i]));
  if (!having.length) return null;
  const ordered = having.map((i) => facet.numbers[i]).sort((a, b) => a - b);
  const top = ordered[Math.floor(0.99 * (ordered.length - 1))];
  const whole = facet.key !== "seconds";
  const width = Math.max(roundUp(Math.max(top, 1e-6) / BINS), whole ? 1 : 0);
  const number = Math.min(BINS, Math.floor(top / width) + 1);
  const bins = Array.from({ length: number }, (_, place) => ({
    low: Number((place * width).toPrecision(12)), high: place + 1 === number ? Infinity : Number(((place + 1) * width).toPrecision(12)), all: 0, wrong: 0,
  }));
  for (const i of having) {
    const bin = bins[Math.min(number - 1, Math.floor(facet.numbers[i] / width + 1e-9))];
    bin.all += 1;
    if (fellShort(i)) bin.wrong += 1;
  }
  return { bins, median: ordered[Math.floor((ordered.length - 1) / 2)] };
}

function histogram(facet) {
  const found = binsOf(facet);
  if (!found) return null;
  const most = Math.max(...found.bins.map((bin) => bin.all));
  const bars = found.bins.map((bin) => {
    const value = `${bin.low}..${bin.high === Infinity ? "" : bin.high}`;
    const text = say("bin", rangeWords(facet, value), bin.all, bin.wrong);
    const bar = button({
      class: "bin", title: text, "aria-label": text, tabindex: "-1", "aria-pressed": String(state.filters.get(facet.key) === value),
      disabled: bin.all === 0, onclick: () => setFilter(facet.key, value),
    }, make("span", { class: "bin-all" }), make("span", { class: "bin-wrong" }));
    bar.children[0].style.height = `${(100 * bin.all) / most}%`;
    bar.children[1].style.height = `${(100 * bin.wrong) / most}%`;
    return bar;
  });
  roving(bars.filter((bar) => !bar.disabled));
  const end = found.bins.at(-1);
  return make("figure", { class: "chart" },
    make("figcaption", {}, make("b", {}, facet.name()), ` ${say("median", facet.show(found.median))}`),
    make("div", { class: "bins", role: "group", "aria-label": facet.name() }, bars),
    make("div", { class: "axis", "aria-hidden": "true" }, make("span", {}, facet.show(0)), make("span", {}, `${facet.show(end.low)}+`)));
}

// One stop of the Tab key for a row of bars; arrows go from bar to bar.
function roving(bars) {
  if (bars.length) bars[0].tabIndex = 0;
  bars.forEach((bar, place) => bar.addEventListener("keydown", (event) => {
    const next = bars[place + { ArrowRight: 1, ArrowLeft: -1 }[event.key]];
    if (!next) return;
    event.preventDefault();
    bar.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }));
}

// --- given against expected --------------------------------------------------------------------

const scored = (i) => wordAt("result", i) !== "unscored" && wordAt("expected", i) !== null;

function confusions() {
  const found = shown.filter(scored);
  if (!found.length) return null;
  const lettered = found.filter((i) => known(numberAt("choices", i)) && /^[A-Z]$/.test(wordAt("expected", i)));
  return lettered.length > found.length / 2 ? letterTable(lettered) : answerTable(found.filter(fellShort));
}

function both(expected, read) {
  const same = state.filters.get("expected") === expected && state.filters.get("read") === read;
  for (const [key, value] of [["expected", expected], ["read", read]]) {
    if (same) state.filters.delete(key);
    else state.filters.set(key, value);
  }
  refresh(true);
}

const confusionBox = (title, table) => make("div", { class: "confusions" }, make("h3", {}, title),
  make("div", { class: "scrolled", tabindex: "0", role: "group", "aria-label": title }, table));

// The answers that were most often given for another.
function answerTable(found) {
  const counts = new Map();
  for (const i of found) {
    const pair = [wordAt("expected", i), wordAt("read", i)];
    if (pair[1] === null) continue;
    const key = JSON.stringify(pair);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const rows = [...counts].sort((a, b) => b[1] - a[1]).slice(0, COMMONEST);
  if (!rows.length) return null;
  return confusionBox(say("confusions", rows.length), make("table", { class: "small" }, make("thead", {}, make("tr", {}, [say("expected"), say("read"), say("number")].map((name, place) =>
      make("th", { scope: "col", class: place === 2 ? "number" : null }, name)))),
    make("tbody", {}, rows.map(([key, number]) => {
      const [expected, read] = JSON.parse(key);
      return make("tr", {}, make("td", { dir: "auto" }, shownAnswer(expected)), make("td", { dir: "auto" }, shownAnswer(read)),
        make("td", { class: "number" }, button({ class: "link", "aria-label": say("show pair", expected, read, number), onclick: () => both(expected, read) }, count(number))));
    }))));
}

// Letters given against letters expected; the two last rows tell a letter that a model prefers.
function letterTable(found) {
  const most = Math.max(...found.map((i) => numberAt("choices", i)));
  const letters = [...LETTERS.slice(0, Math.min(most, LETTERS.length))];
  const others = found.some((i) => !letters.includes(wordAt("read", i)));
  const cells = new Map();
  const add = (key) => cells.set(key, (cells.get(key) ?? 0) + 1);
  for (const i of found) {
    const [expected, read] = [wordAt("expected", i), wordAt("read", i)];
    const given = letters.includes(read) ? read : "";
    add(`${expected} ${given}`);
    add(`expected ${expected}`);
    add(`given ${given}`);
  }
  const heads = others ? [...letters, ""] : letters;
  const share = (kind) => make("tr", { class: "share" }, make("th", { scope: "row" }, say(kind)),
    heads.map((letter) => make("td", { class: "number" }, letter || kind === "share given" ? percent((cells.get(`${kind.slice(6)} ${letter}`) ?? 0) / found.length) : "")));
  return confusionBox(say("letters"), make("table", { class: "small matrix" }, make("caption", {}, say("letters caption")),
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, say("expected")), heads.map((letter) => make("th", { scope: "col", class: "number" }, letter || say("none"))))),
      make("tbody", {}, letters.map((expected) => make("tr", {}, make("th", { scope: "row" }, expected), heads.map((given) => {
        const number = cells.get(`${expected} ${given}`) ?? 0;
        const content = number && given ? button({ class: "link", "aria-label": say("show pair", expected, given, number), onclick: () => both(expected, given) }, count(number)) : count(number);
        return make("td", { class: expected === given ? "number hit" : number ? "number miss" : "number" }, content);
      }))), share("share expected"), share("share given"))));
}
