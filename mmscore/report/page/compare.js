// The page of a comparison: two or more runs side by side.

const two = page.names.length === 2;
const SHOWN_RUNS = 4; // whose answers the list shows; an opened sample shows all

list.badge = (i) => badgeOf(wordAt("outcome", i), named("outcome", wordAt("outcome", i)));
list.answerHeads = () => page.names.slice(0, SHOWN_RUNS);
list.answers = (i) => list.answerHeads().map((_, place) => wordAt(`read:${place}`, i));

list.detail = (i, texts) => make("div", {},
  make("div", { class: "detail" },
    make("div", {}, section(say("sent"), conversation(texts)), choiceList(texts, page.names.map((name, place) => [name, texts.runs[place]?.read]))),
    make("div", {}, section(say("facts"), factList([
      [say("expected"), texts.target], ...commonFacts(i), [say("repeat"), askingsOf(i).length > 1 ? String(numberAt("repeat", i)) : null], ...mediaFacts(texts),
    ])))),
  section(say("replies"), make("div", { class: "beside" }, page.names.map((name, place) => answerOf(i, name, place, texts.runs[place])))));

function answerOf(i, name, place, run) {
  const score = numberAt(`score:${place}`, i);
  const result = resultOf(score);
  const status = wordAt(`status:${place}`, i);
  const badge = result !== "unscored" ? badgeOf(result, result === "partly" ? score.toFixed(3) : null)
    : badgeOf("warn", named("status", status && status !== "ok" ? status : null) ?? named("result", result));
  return make("div", { class: "asking" },
    make("p", {}, make("b", {}, name), " ", badge),
    run ? [make("p", { class: "soft", dir: "auto" }, say("read"), ": ", shownAnswer(run.read)), box(name, run.reply || run.error),
      folded(say("reasoning"), run.reasoning), judgeTable(run.verdicts)] : make("p", { class: "soft" }, say("not asked")));
}

list.record = (i, texts) => {
  const found = { outcome: wordAt("outcome", i) };
  page.names.forEach((name, place) => {
    found[`${page.metric} ${name}`] = numberAt(`score:${place}`, i);
    found[`extracted ${name}`] = texts?.runs[place]?.read ?? wordAt(`read:${place}`, i);
    found[`reply ${name}`] = texts?.runs[place]?.reply ?? null;
  });
  return found;
};

// --- what the comparison came to ---------------------------------------------------------------

const pointsIn = (value) => known(value) ? points(value) : "—";
const spanIn = (pair) => pair ? say("from to", ...pair.map(points)) : "—";

function summary() {
  const facts = [[say("samples"), say("in all runs", page.num)]];
  const left = page.scores.filter(([, , , , number]) => number).map(([name, , , , number]) => `${name} ${count(number)}`);
  if (left.length) facts.push([say("left out"), left.join(" · ")]);
  if (two) {
    const { pair } = page;
    facts.push([say("difference"), `${pointsIn(pair.difference)} (${page.names[1]} − ${page.names[0]})`], [say("interval", ""), spanIn(pair.interval)]);
    if (pair.clustered) facts.push([say("by image"), spanIn(pair.clustered)]);
    if (known(pair.p)) facts.push(["McNemar", `p = ${probability(pair.p)}`]);
  } else if (page.cochran) {
    const [q, freedom, p] = page.cochran;
    facts.push(["Cochran Q", say("cochran", q.toFixed(2), freedom, probability(p))]);
  }
  return facts;
}

function outcomes() {
  const rows = tally(facetOf("outcome")).map(([name, number]) => ({
    name, shownName: named("outcome", name), num: number, shown: number / samples.count, low: null, high: null,
  }));
  return make("section", { class: "card" }, make("h3", {}, say("outcome")), bars(say("outcome"), rows, "outcome"));
}

function scoresOf() {
  const rows = page.scores.map(([name, shown, low, high]) => ({ name, shown, low, high, num: page.num }));
  return make("section", { class: "card" }, make("h3", {}, labelOf(page.metric)), bars(say("score"), rows, ""));
}

// A difference as a bar from the middle, with its interval.
function differenceTrack(row, most) {
  const box = make("div", { class: "track middle", "aria-hidden": "true" });
  const place = (value) => 50 + (50 * value) / most;
  const fill = make("div", { class: row.difference < 0 ? "fill worse" : "fill better" });
  fill.style.left = `${place(Math.min(0, row.difference))}%`;
  fill.style.width = `${(50 * Math.abs(row.difference)) / most}%`;
  box.append(fill);
  if (row.interval) {
    const whisker = make("div", { class: "whisker" });
    whisker.style.left = `${place(row.interval[0])}%`;
    whisker.style.width = `${place(row.interval[1]) - place(row.interval[0])}%`;
    box.append(whisker);
  }
  return box;
}

function groupCard([name, rows]) {
  const key = name === "subset" ? "subset" : `fact:${name}`;
  const facet = facetOf(key);
  const most = Math.max(0.01, ...rows.flatMap((row) => (row.interval ?? []).map(Math.abs)), ...rows.map((row) => Math.abs(row.difference ?? 0)));
  const heads = two ? [...page.names, say("difference"), say("bar"), say("interval", ""), say("gained"), say("lost")] : page.names;
  const title = name === "subset" || name === "category" ? say(name).toLowerCase() : name;
  return make("section", { class: "card wide" }, make("h3", {}, say("by", title)), make("div", { class: "scrolled-x", tabindex: "0", role: "group", "aria-label": say("by", title) },
    make("table", { class: "small groups" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, title), make("th", { scope: "col", class: "number" }, say("samples")),
        heads.map((head) => make("th", { scope: "col", class: head === say("bar") ? "track-cell" : "number" }, head === say("bar") ? hidden(head) : head)))),
      make("tbody", {}, rows.map((row) => make("tr", {},
        make("th", { scope: "row" }, facet ? button({ class: "link", "data-key": key, "data-value": row.name, "aria-pressed": "false", onclick: () => setFilter(key, row.name) }, row.name) : row.name),
        make("td", { class: "number" }, count(row.num)), row.scores.map((score) => make("td", { class: "number" }, percent(score))),
        two ? [make("td", { class: "number" }, make("b", {}, pointsIn(row.difference))), make("td", { class: "track-cell" }, differenceTrack(row, most)),
          make("td", { class: "number" }, spanIn(row.interval)), make("td", { class: "number" }, count(row.gained)), make("td", { class: "number" }, count(row.lost))] : null))))));
}

function pairCard() {
  if (two) return null;
  const heads = [say("difference"), say("interval", ""), say("gained"), say("lost"), "McNemar p", "Holm p"];
  return make("section", { class: "card wide" }, make("h3", {}, say("pairs")), make("div", { class: "scrolled-x", tabindex: "0", role: "group", "aria-label": say("pairs") },
    make("table", { class: "small" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, say("pair")), heads.map((head) => make("th", { scope: "col", class: "number" }, head)))),
      make("tbody", {}, page.pairs.map((pair) => make("tr", {}, make("th", { scope: "row" }, `${page.names[pair.second]} − ${page.names[pair.first]}`),
        [pointsIn(pair.difference), spanIn(pair.interval), count(pair.gained), count(pair.lost), known(pair.p) ? probability(pair.p) : "—", known(pair.holm) ? probability(pair.holm) : "—"]
          .map((text) => make("td", { class: "number" }, text))))))));
}

function header() {
  return make("header", { class: "head" },
    make("div", {}, make("h1", {}, page.title), make("p", { class: "model" }, page.names.join(" / "))),
    two ? make("div", { class: "score" }, make("b", {}, pointsIn(page.pair.difference)),
      make("p", {}, [say("points"), page.pair.interval ? say("interval", spanIn(page.pair.interval)) : "", say("samples of", page.num)].filter(Boolean).join(" · "))) : null);
}

list.draw = () => [
  header(), ...[...page.warnings, ...(page.num ? [] : [say("no common")])].map((text) => make("p", { class: "warning", role: "note" }, text)),
  make("section", { class: "card", "aria-label": say("summary") }, factList(summary())),
  make("section", { class: "wide", "aria-label": say("scores") }, make("div", { class: "top" }, make("h2", {}, say("scores"))),
    make("div", { class: "grid" }, scoresOf(), samples.count ? outcomes() : null), pairCard(), page.num ? page.sections.map(groupCard) : null),
];
