// What is shown: filters that combine, a search, an order. All of it stands in the page's address,
// so that a link shows the same to another reader.

// A facet is what can be filtered by: words of a column, or a range of numbers.
function facetsOfPage() {
  const found = [];
  const choice = (key, name, kind) => {
    if (columns[key]) found.push({ key, column: columns[key], name, kind: kind ?? key });
  };
  const numbers = (key, show) => {
    if (columns[key]?.some(known)) found.push({ key, numbers: columns[key], show, name: () => say(key) });
  };
  if (page.kind === "run") choice("result", () => say("result"));
  else {
    choice("outcome", () => say("outcome"));
    page.names.forEach((name, place) => choice(`result:${place}`, () => say("result of", name), "result"));
    page.names.forEach((name, place) => choice(`status:${place}`, () => say("status of", name), "status"));
  }
  for (const key of ["status", "subset", "rule", "finish", "verdict", "expected", "read"]) choice(key, () => say(key));
  if (page.kind === "compare") page.names.forEach((name, place) => choice(`read:${place}`, () => say("read of", name)));
  for (const key of factNames) choice(key, () => key.slice("fact:".length), "fact");
  numbers("seconds", seconds);
  for (const key of ["length", "in", "out"]) numbers(key, count);
  return found;
}

const facets = facetsOfPage();
const facetOf = (key) => facets.find((facet) => facet.key === key);
const shownValue = (facet, value) => facet.numbers ? rangeWords(facet, value) : named(facet.kind, value);

function rangeWords(facet, value) {
  const [low, high] = ends(value);
  if (high === Infinity) return say("from", facet.show(low));
  return say("from to", facet.show(low), facet.show(high));
}

function ends(value) {
  const [low, high] = value.split("..");
  return [Number(low) || 0, high ? Number(high) : Infinity];
}

function matcher(facet, value) {
  if (facet.numbers) {
    const [low, high] = ends(value);
    return (i) => known(facet.numbers[i]) && facet.numbers[i] >= low && facet.numbers[i] < high;
  }
  const code = facet.column.values.indexOf(value);
  const { codes } = facet.column;
  if (code < 0) return () => false;
  return (i) => codes[i] === code || (Array.isArray(codes[i]) && codes[i].includes(code));
}

// --- state -------------------------------------------------------------------------------------

const state = { filters: new Map(), search: "", sort: "", down: false, open: null };
let shown = natural;

const ORDERS = page.kind === "run"
  ? { score: () => columns[`score:${page.primary}`], seconds: () => columns.seconds, length: () => columns.length, in: () => columns.in, out: () => columns.out }
  : { outcome: () => columns.outcome?.codes };
const orders = () => Object.keys(ORDERS).filter((key) => ORDERS[key]()?.some(known));

function choose() {
  const tests = [...state.filters].map(([key, value]) => matcher(facetOf(key), value));
  if (state.search) tests.push(searchFor(state.search));
  shown = tests.length ? natural.filter((i) => tests.every((test) => test(i))) : natural;
  const numbers = ORDERS[state.sort]?.();
  if (!numbers) return;
  const turn = state.down ? -1 : 1;
  shown = [...shown].sort((a, b) => {
    if (!known(numbers[a]) || !known(numbers[b])) return known(numbers[b]) - known(numbers[a]);
    return turn * (numbers[a] - numbers[b]);
  });
}

const filtered = () => state.filters.size > 0 || state.search !== "";

// --- the address -------------------------------------------------------------------------------

function address(parts = state) {
  const found = new URLSearchParams();
  if (languageChosen) found.set("lang", language);
  for (const [key, value] of parts.filters) found.set(key, value);
  if (parts.search) found.set("q", parts.search);
  if (parts.sort) found.set("sort", (parts.down ? "-" : "") + parts.sort);
  if (parts.open !== null) {
    found.set("sample", wordAt("id", parts.open));
    if (numberAt("repeat", parts.open)) found.set("repeat", numberAt("repeat", parts.open));
  }
  return `#${found}`;
}

const linkTo = (parts) => location.href.split("#")[0] + address({ ...state, ...parts });

function readAddress() {
  const found = new URLSearchParams(location.hash.slice(1));
  state.filters = new Map([...found].filter(([key]) => facetOf(key)));
  state.search = found.get("q") ?? "";
  const sort = found.get("sort") ?? "";
  state.down = sort.startsWith("-");
  state.sort = orders().includes(sort.replace("-", "")) ? sort.replace("-", "") : "";
  state.open = sampleCalled(found.get("sample"), Number(found.get("repeat") ?? 0));
  const wanted = found.get("lang");
  languageChosen = Object.hasOwn(words, wanted ?? "");
  language = languageChosen ? wanted : languageOfBrowser();
}

function sampleCalled(id, repeat) {
  const code = id === null ? -1 : (columns.id?.values ?? []).indexOf(id);
  const found = askings.get(code) ?? [];
  return found.find((i) => (numberAt("repeat", i) ?? 0) === repeat) ?? found[0] ?? null;
}

let languageChosen = false;

function languageOfBrowser() {
  const wanted = (navigator.languages ?? [navigator.language]).map((name) => name.slice(0, 2).toLowerCase());
  return wanted.find((name) => Object.hasOwn(words, name)) ?? "en";
}

// Typing replaces the address; a choice is a step that the browser's Back takes again.
function keepAddress(step) {
  if (address() === location.hash) return;
  if (step) history.pushState(null, "", address());
  else history.replaceState(null, "", address());
}

function setFilter(key, value) {
  if (!value || state.filters.get(key) === value) state.filters.delete(key);
  else state.filters.set(key, value);
  refresh(true);
}

function clearFilters() {
  state.filters.clear();
  state.search = "";
  refresh(true);
}
