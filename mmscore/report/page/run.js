// The page of one run.

list.badge = (i) => {
  const result = wordAt("result", i);
  if (result === "unscored") {
    const status = wordAt("status", i);
    return badgeOf("warn", status === "ok" ? named("result", result) : named("status", status));
  }
  return badgeOf(result, result === "partly" ? numberAt(`score:${page.primary}`, i).toFixed(3) : null);
};
list.answerHeads = () => [say("read")];
list.answers = (i) => [wordAt("read", i) ?? textsOf(i)?.error];

list.detail = (i, texts) => {
  const twice = texts.reply !== null && texts.reply === texts.read;
  const usage = [numberAt("in", i), numberAt("out", i)];
  const scores = page.metrics.map((metric) => [labelOf(metric), numberAt(`score:${metric}`, i)])
    .filter(([, value]) => known(value)).map(([name, value]) => [name, String(value)]);
  return make("div", { class: "detail" },
    make("div", {},
      section(say("sent"), conversation(texts)),
      choiceList(texts, [[say("read"), texts.read]]),
      boxed(say("reply"), texts.reply),
      folded(say("reasoning"), texts.reasoning),
      judgeTable(texts.verdicts),
      boxed(say("error"), texts.error),
      repeats(i)),
    make("div", {}, section(say("scored as"), factList([
      [say("expected"), texts.target], [say("read"), twice && texts.read ? say("whole reply") : shownAnswer(texts.read)], [say("rule"), wordAt("rule", i)], ...scores,
    ])), section(say("facts"), factList([
      ...commonFacts(i), [say("repeat"), askingsOf(i).length > 1 ? String(numberAt("repeat", i)) : null],
      [say("status"), named("status", wordAt("status", i))], [say("finish"), wordAt("finish", i)],
      [say("tokens"), known(usage[0]) || known(usage[1]) ? say("in out", ...usage.map((one) => one ?? "?")) : null],
      [say("seconds"), known(numberAt("seconds", i)) ? seconds(numberAt("seconds", i)) : null],
      [say("first"), known(numberAt("first", i)) ? seconds(numberAt("first", i)) : null],
      [say("waited"), numberAt("waited", i) >= 0.05 ? seconds(numberAt("waited", i)) : null],
      [say("attempts"), numberAt("attempts", i) > 1 ? String(numberAt("attempts", i)) : null],
      ...mediaFacts(texts),
    ]))));
};

// All askings of the sample side by side.
function repeats(i) {
  const all = askingsOf(i);
  if (all.length < 2) return null;
  return section(say("repeats", all.length), make("div", { class: "beside" }, all.map((one) => {
    const texts = textsOf(one);
    const name = say("repeat number", numberAt("repeat", one) ?? 0);
    return make("div", { class: one === i ? "asking current" : "asking" },
      make("p", {}, button({ class: "link", onclick: () => openSample(one) }, name), " ", list.badge(one)),
      make("p", { class: "soft", dir: "auto" }, say("read"), ": ", shownAnswer(wordAt("read", one))),
      box(name, texts ? texts.reply || texts.error : say("texts left out")));
  })));
}

list.record = (i, texts) => {
  const found = {
    status: wordAt("status", i), reply: texts?.reply ?? null, extracted: texts?.read ?? wordAt("read", i),
    rule: wordAt("rule", i), judge: (texts?.verdicts ?? []).map(([judge, verdict, why, error]) => `${judge}: ${verdict ?? error}${why ? ` (${why})` : ""}`).join(" | "),
    error: texts?.error ?? null, finish_reason: wordAt("finish", i), prompt_tokens: numberAt("in", i),
    completion_tokens: numberAt("out", i), seconds: numberAt("seconds", i), first_token_seconds: numberAt("first", i),
    attempts: numberAt("attempts", i), media: (texts?.media ?? []).map(([, name]) => name).join(" | "),
  };
  for (const metric of page.metrics) found[metric] = numberAt(`score:${metric}`, i);
  return found;
};

// --- what the run came to ----------------------------------------------------------------------

const joined = (parts) => parts.filter(Boolean).join(" · ");

function summary() {
  const { coverage: cover, usage, timing, judge } = page;
  const replied = cover.asked - cover.failed;
  const facts = [[say("samples"), joined([
    say("n scored", cover.scored), cover.failed && say("n failed", cover.failed), cover.no_score && say("n without score", cover.no_score),
    cover.pending && say("n pending", cover.pending), cover.not_asked && say("n not asked", cover.not_asked), say("n planned", cover.planned),
  ])]];
  const subsets = page.scores.filter((row) => row.metric === page.primary && row.num);
  const main = page.overall.find((row) => row.metric === page.primary);
  if (subsets.length > 1) facts.push([say("averages"), joined([say("micro", percent(main.shown)), say("macro", percent(page.macro[page.primary]), subsets.length)])]);
  const clusters = page.clustered[page.primary];
  if (clusters) facts.push([say("by image"), say("clusters", range(clusters.low, clusters.high), clusters.clusters)]);
  facts.push([say("endings"), joined(Object.entries(page.status).filter(([, number]) => number).map(([name, number]) => `${named("status", name)} ${count(number)}`))]);
  if (replied) facts.push([say("replies"), joined([say("truncated share", percent(page.shares.truncated)), say("no answer share", percent(page.shares.no_answer))])]);
  const bounds = page.bounds[page.primary];
  if (bounds?.low !== null && bounds) facts.push([say("bounds"), say("bounds of", percent(bounds.low), percent(bounds.high))]);
  const again = page.repeats[page.primary];
  if (again) facts.push([say("by repeat"), joined([again.scores.map(percent).join(" "), known(again.deviation) && say("deviation", (again.deviation * 100).toFixed(2))])]);
  if (again) {
    const figures = Object.entries(again.pass_at ?? {}).map(([k, one]) => `pass@${k} ${percent(one.score)}`);
    if (again.majority) figures.push(say("majority", percent(again.majority.score)));
    if (figures.length) facts.push([say("together"), joined(figures)]);
  }
  const unknown = Object.entries(page.unknown_finish_reasons ?? {});
  if (unknown.length) facts.push([say("unknown endings"), unknown.map(([word, number]) => `${word} ${count(number)}`).join(" · ")]);
  if (usage.replies) {
    facts.push([say("tokens"), joined([say("in out", usage.prompt_tokens, usage.completion_tokens), usage.missing && say("usage missing", percent(usage.missing_share)),
      usage.reused && say("reused", usage.reused)])]);
  }
  if (known(usage.cost)) facts.push([say("cost"), usage.cost.toLocaleString("en-US", { maximumSignificantDigits: 4 })]);
  if (timing.requests) {
    facts.push([say("time"), joined([
      known(timing.seconds) && seconds(timing.seconds), say("requests", timing.requests, timing.retries),
      timing.latency && say("latency", seconds(timing.latency.p50), seconds(timing.latency.p99)),
      timing.first_token && say("first token", seconds(timing.first_token.p50)),
      timing.waited >= 0.05 && say("waited in all", seconds(timing.waited)),
      timing.output_tokens_per_second && say("tokens per second", timing.output_tokens_per_second.toFixed(1)),
    ])]);
  }
  if (page.changed_media) facts.push([say("media"), say("changed media", page.changed_media)]);
  if (judge) {
    const who = Object.keys(judge.models ?? {}).join(", ");
    facts.push([say("judge"), joined([who, judge.strategy, judge.prompt, say("judged", percent(judge.share), judge.judged), judge.failed && say("unjudged", judge.failed)])]);
  }
  return facts;
}

function warnings() {
  const found = [];
  const { coverage: cover } = page;
  if (cover.not_asked || page.stopped) found.push(say("unfinished", cover.not_asked, cover.planned) + (page.stopped ? ` (${page.stopped})` : ""));
  if (page.shares.truncated > 0.05) found.push(say("truncated often", percent(page.shares.truncated), percent(page.finished_only[page.primary])));
  if (cover.asked && !cover.scored) found.push(say("nothing scored"));
  return found;
}

const failures = () => page.failures.length ? make("section", { class: "card" }, make("h3", {}, say("why failed")),
  make("table", { class: "small" }, make("thead", {}, make("tr", {}, make("th", { scope: "col", class: "number" }, say("number")), make("th", { scope: "col" }, say("status")), make("th", { scope: "col" }, say("reason")))),
    make("tbody", {}, page.failures.map(([status, sentence, number]) => make("tr", {}, make("td", { class: "number" }, count(number)),
      make("td", {}, button({ class: "link", onclick: () => setFilter("status", status) }, named("status", status))), make("td", {}, sentence)))))) : null;

function scoreCards(metric) {
  const mine = (rows) => rows.filter((one) => one.metric === metric);
  const subsets = mine(page.scores);
  const overall = mine(page.overall).map((one) => ({ ...one, total: true }));
  const cards = [make("section", { class: "card" }, make("h3", {}, say("by", say("subset").toLowerCase())), bars(say("subset"), subsets.length > 1 ? [...subsets, ...overall] : subsets, "subset"))];
  for (const [name, rows] of page.sections) {
    cards.push(make("section", { class: "card" }, make("h3", {}, say("by", name === "category" ? say("category") : name)), bars(name, mine(rows), `fact:${name}`)));
  }
  cards.push(failures());
  return cards.filter(Boolean);
}

let metricShown = page.primary;

function scoreSection() {
  const grid = make("div", { class: "grid" });
  const show = (metric) => { metricShown = metric; grid.replaceChildren(...scoreCards(metric)); markBars(); };
  const select = make("select", { "aria-label": say("metric"), onchange: () => show(select.value) },
    page.metrics.map((metric) => make("option", { value: metric }, labelOf(metric))));
  select.value = metricShown;
  const several = page.metrics.length > 1;
  const turn = (metric) => { select.value = metric; show(metric); };
  const every = page.overall.map((one) => ({ ...one, shownName: labelOf(one.metric), act: () => turn(one.metric) }));
  grid.append(...scoreCards(metricShown));
  return make("section", { class: "wide", "aria-label": say("scores") },
    make("div", { class: "top" }, make("h2", {}, say("scores")), several ? select : null),
    several ? make("section", { class: "card every" }, make("h3", {}, say("all metrics")), bars(say("metric"), every)) : null, grid);
}

function header() {
  const main = page.overall.find((one) => one.metric === page.primary);
  return make("header", { class: "head" },
    make("div", {}, make("h1", {}, page.title), make("p", { class: "model" }, page.model)),
    make("div", { class: "score" }, make("b", {}, percent(main.shown)),
      make("p", {}, joined([labelOf(page.primary), known(main.low) && say("interval", range(main.low, main.high)), say("samples of", main.num)]))));
}

list.draw = () => [
  header(), ...warnings().map((text) => make("p", { class: "warning", role: "note" }, text)),
  make("section", { class: "card", "aria-label": say("summary") }, factList(summary())), scoreSection(),
];
