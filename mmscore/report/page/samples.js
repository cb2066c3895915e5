// Samples are numbers 0, 1, 2 ...; what is short of all of them stands in columns, their texts in
// parts that are read when one of theirs is shown or searched.

const samples = held("samples");
const columns = samples.columns;
const images = held("images");
const lines = held("lines");

// The words of a sample in a column: none, one or several.
function wordsAt(name, i) {
  const column = columns[name];
  const code = column ? column.codes[i] : -1;
  if (Array.isArray(code)) return code.map((one) => column.values[one]);
  return code < 0 ? [] : [column.values[code]];
}

const wordAt = (name, i) => wordsAt(name, i)[0] ?? null;
const numberAt = (name, i) => columns[name]?.[i] ?? null;
const factNames = Object.keys(columns).filter((name) => name.startsWith("fact:"));

const parts = [];

// What is shown when a sample is opened; null where the page does not carry it.
function textsOf(i) {
  if (i >= samples.carried) return null;
  const place = Math.floor(i / samples.part);
  if (!parts[place]) {
    parts[place] = held(`part-${place}`);
    document.getElementById(`part-${place}`).remove();
  }
  const [messages, choices, target, ...rest] = parts[place][i % samples.part];
  const [media, runs] = rest.slice(5);
  return {
    messages, choices, media, target: target ?? wordAt("expected", i), ...answerIn(rest, wordAt("read", i)),
    runs: runs?.map((run, k) => run && answerIn(run, wordAt(`read:${k}`, i))),
  };
}

// One run's answer; a reply that is what was read is held once.
function answerIn([reply, reasoning, read, verdicts, error], shortRead) {
  const whole = read ?? shortRead;
  return { reply: reply === 0 ? whole : reply, reasoning, read: whole, verdicts, error };
}

const lineText = (piece) => typeof piece === "number" ? lines[piece] : piece;
const messageText = ([, ...pieces]) => pieces.map(lineText).join("\n");

// What a benchmark says to nearly every sample of a subset, its instructions, tells none apart.
function headline(i) {
  const texts = textsOf(i);
  if (!texts) return wordAt("id", i);
  const last = texts.messages.findLast(([role]) => role === "user") ?? texts.messages[0] ?? [""];
  const own = last.slice(1).filter((piece) => typeof piece === "string").join(" ").trim();
  return own || messageText(last).trim() || wordAt("id", i);
}

// --- results -----------------------------------------------------------------------------------

const RESULTS = ["right", "partly", "wrong", "unscored"];

function resultOf(score) {
  if (!known(score)) return "unscored";
  return score >= 1 ? "right" : score <= 0 ? "wrong" : "partly";
}

function resultColumn(name) {
  const codes = Array.from({ length: samples.count }, (_, i) => RESULTS.indexOf(resultOf(numberAt(name, i))));
  return { values: RESULTS, codes };
}

if (page.kind === "run") columns.result = resultColumn(`score:${page.primary}`);
else page.names.forEach((_, k) => { columns[`result:${k}`] = resultColumn(`score:${k}`); });

const fellShort = (i) => page.kind === "run" ? wordAt("result", i) !== "right" : wordAt("outcome", i) !== "both";

// The samples in the order of the data set, and all askings of one sample.
const natural = Array.from({ length: samples.count }, (_, i) => i)
  .sort((a, b) => numberAt("index", a) - numberAt("index", b) || (numberAt("repeat", a) ?? 0) - (numberAt("repeat", b) ?? 0));
const askings = new Map();
for (const i of natural) {
  const id = columns.id.codes[i];
  if (askings.has(id)) askings.get(id).push(i);
  else askings.set(id, [i]);
}
const askingsOf = (i) => askings.get(columns.id.codes[i]);

// --- search ------------------------------------------------------------------------------------

const strings = (value) => typeof value === "string" ? value
  : value !== null && typeof value === "object" ? Object.values(value).map(strings).join("\n") : "";
const searched = ["id", "subset", "status", "rule", "finish", "expected", "read", "verdict", ...factNames];
const haystacks = new Array(samples.count);
const sharedLines = new Array(samples.count);

// All that is shown of a sample in small letters, and the shared lines that it has.
function prepareSearch(i) {
  const texts = textsOf(i);
  const columnWords = searched.flatMap((name) => wordsAt(name, i));
  if (page.kind === "compare") page.names.forEach((_, place) => columnWords.push(...wordsAt(`read:${place}`, i)));
  sharedLines[i] = texts ? texts.messages.flat().filter((piece) => typeof piece === "number") : [];
  haystacks[i] = [...columnWords, texts ? strings(texts) : ""].join("\n").toLowerCase();
}

// Whether a sample has all the words of a search; a function, for it is asked of every sample.
function searchFor(text) {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => ({
    word, inLines: new Set(lines.flatMap((line, place) => line.toLowerCase().includes(word) ? [place] : [])),
  }));
  return (i) => {
    if (haystacks[i] === undefined) prepareSearch(i);
    return wanted.every(({ word, inLines }) =>
      haystacks[i].includes(word) || (inLines.size > 0 && sharedLines[i].some((place) => inLines.has(place))));
  };
}

// While nothing else is to do, so that the first search is as fast as the second.
function prepareSearches() {
  let next = 0;
  const idle = window.requestIdleCallback ?? ((work) => setTimeout(() => work({ timeRemaining: () => 8 }), 20));
  const work = (time) => {
    while (next < samples.count && time.timeRemaining() > 2) {
      for (const end = Math.min(samples.count, next + 64); next < end; next += 1) {
        if (haystacks[next] === undefined) prepareSearch(next);
      }
    }
    if (next < samples.count) idle(work);
  };
  idle(work);
}
