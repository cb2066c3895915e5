// The page is drawn from its address, and drawn again when that changes.

// Scores as bars with their intervals; a bar of a subset or of a fact's value filters by it.
function bars(name, rows, key) {
  const facet = key && facetOf(key);
  return make("table", { class: "bars" }, make("caption", { class: "unseen" }, say("by", name)),
    make("thead", { class: "unseen" }, make("tr", {}, [name, say("bar"), say("score"), say("interval", ""), say("samples")].map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, rows.map((row) => {
      const act = row.act ?? (facet && !row.total ? () => setFilter(key, row.name) : null);
      const text = row.shownName ?? row.name;
      const filter = facet && !row.total ? { "data-key": key, "data-value": row.name, "aria-pressed": "false" } : {};
      return make("tr", { class: row.total ? "total" : null },
        make("th", { scope: "row", title: text }, act ? button({ class: "link", ...filter, onclick: act }, text) : text),
        make("td", { class: "track-cell" }, track(row)), make("td", { class: "value" }, percent(row.shown)),
        make("td", { class: "range" }, range(row.low, row.high)), make("td", { class: "num" }, `n ${count(row.num)}`));
    })));
}

function track(row) {
  const box = make("div", { class: "track", "aria-hidden": "true" });
  if (known(row.shown)) {
    const fill = make("div", { class: "fill" });
    fill.style.width = `${100 * Math.min(1, Math.max(0, row.shown))}%`;
    box.append(fill);
  }
  if (known(row.low)) {
    const whisker = make("div", { class: "whisker" });
    whisker.style.left = `${row.low * 100}%`;
    whisker.style.width = `${(row.high - row.low) * 100}%`;
    box.append(whisker);
  }
  return box;
}

// Bars that are filtered by look so.
function markBars() {
  for (const bar of document.querySelectorAll("[data-key]")) {
    bar.setAttribute("aria-pressed", String(state.filters.get(bar.dataset.key) === bar.dataset.value));
  }
}

// What the page does not hold, and why.
function leftOut() {
  const found = [];
  const [side, why] = samples.images;
  if (samples.count < samples.asked) found.push(say("samples left out", samples.asked - samples.count, samples.asked));
  if (samples.carried < samples.count) found.push(say("texts of samples left out", samples.count - samples.carried, samples.count));
  for (const [reason, sentence, number] of why) found.push(say(`image ${reason}`, number) + (sentence ? ` (${sentence})` : ""));
  if (side && pictured) found.push(say("image side", images.length, side));
  return found.length ? make("section", { class: "card wide" }, make("h2", {}, say("in page")), make("ul", { class: "plain" }, found.map((text) => make("li", {}, text)))) : null;
}

function languageSwitch() {
  return make("nav", { class: "languages", "aria-label": say("language") }, Object.keys(words).map((name) =>
    button({ lang: name, "aria-pressed": String(name === language), onclick: () => {
      language = name;
      languageChosen = true;
      keepAddress(false);
      draw();
    } }, words[name].name)));
}

function draw() {
  document.documentElement.lang = language === "zh" ? "zh-CN" : language;
  choose();
  const made = make("section", { class: "card wide" }, make("details", {}, make("summary", {}, say("how made")),
    make("pre", { tabindex: "0" }, JSON.stringify(page.made_of, null, 2))));
  document.getElementById("main").replaceChildren(...[
    make("div", { class: "bar" }, make("a", { class: "skip", href: "#list", onclick: (event) => { event.preventDefault(); list.heading.focus(); } }, say("to samples")), languageSwitch()),
    ...list.draw(), sampleSection(), leftOut(), made, make("footer", {}, footer()), pill(),
  ].filter(Boolean));
  refresh(false);
}

function footer() {
  const version = page.made_of.versions?.mmscore;
  return [version ? `mmscore ${version}` : "mmscore", page.made_of.started].filter(Boolean).join(" · ");
}

function follow() {
  readAddress();
  draw();
  if (state.open !== null) openSample(state.open, { step: false });
}

window.addEventListener("popstate", follow);
document.addEventListener("keydown", pressed);
follow();
prepareSearches();
