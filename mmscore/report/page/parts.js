// The pieces that an opened sample is made of.

const badgeOf = (result, text) => make("span", { class: `badge ${result}` }, text ?? named("result", result));

function section(title, ...children) {
  const content = children.flat(Infinity).filter(Boolean);
  return content.length ? make("section", {}, make("h3", {}, title), content) : null;
}

// Text of any length in a box that scrolls, and that the keyboard can reach to scroll it.
const box = (title, text) => text
  ? make("div", { class: "text box", dir: "auto", tabindex: "0", role: "group", "aria-label": title }, text)
  : null;

const boxed = (title, text) => section(title, box(title, text));

function folded(title, text) {
  return text ? make("details", { class: "fold" }, make("summary", {}, title), box(title, text)) : null;
}

function factList(facts) {
  const list = make("dl", {});
  for (const [name, value] of facts) {
    if (known(value) && value !== "") list.append(make("div", {}, make("dt", {}, name), make("dd", { dir: "auto" }, value)));
  }
  return list.children.length ? list : null;
}

// --- media -------------------------------------------------------------------------------------

const imageOf = ([number]) => images[number] ?? null;
const pictured = images.length > 0;
const imagesOf = (i) => (textsOf(i)?.media ?? []).filter(imageOf);

function imageButton(all, place) {
  const [, name] = all[place];
  return button(
    { class: "picture", onclick: () => showImages(all, place), "aria-label": say("enlarge", name), title: say("enlarge", name) },
    make("img", { src: imageOf(all[place]), alt: "", loading: "lazy" }),
  );
}

// The image as large as the window, over everything else.
function showImages(all, place) {
  const dialog = make("dialog", { class: "viewer", "aria-label": say("image") });
  const show = (next) => {
    place = (next + all.length) % all.length;
    const [, name, mime, notes] = all[place];
    dialog.replaceChildren(
      make("div", { class: "viewer-tools" },
        all.length > 1 ? button({ onclick: () => show(place - 1), "aria-label": say("previous image") }, "‹") : null,
        make("span", {}, all.length > 1 ? `${place + 1} / ${all.length} ` : "", name, notes ? ` (${notes})` : "", hidden(mime)),
        all.length > 1 ? button({ onclick: () => show(place + 1), "aria-label": say("next image") }, "›") : null,
        button({ onclick: () => dialog.close(), autofocus: true }, say("close"))),
      make("img", { src: imageOf(all[place]), alt: name, onclick: () => dialog.close() }),
    );
  };
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "ArrowRight" && all.length > 1) show(place + 1);
    if (event.key === "ArrowLeft" && all.length > 1) show(place - 1);
  });
  show(place);
  openDialog(dialog);
}

function openDialog(dialog) {
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// Every medium by name: one that the page does not hold is told of, not passed over.
function mediaFacts(texts) {
  return texts.media.map((one) => {
    const [, name, mime, notes] = one;
    const more = [notes, imageOf(one) || !mime.startsWith("image/") ? "" : say("not in page")].filter(Boolean).join("; ");
    return [mime || say("medium"), more ? `${name} (${more})` : name];
  });
}

// --- messages ----------------------------------------------------------------------------------

// All messages in order, media in their places; where no place is kept, before the text of the
// last user message.
function conversation(texts) {
  const shownMedia = texts.media.filter(imageOf);
  const placed = texts.messages.flat().some(Array.isArray);
  const last = texts.messages.findLastIndex(([role]) => role === "user");
  return texts.messages.map(([role, ...pieces], place) => {
    const content = [];
    if (!placed && place === last) shownMedia.forEach((_, n) => content.push(imageButton(shownMedia, n)));
    let run = [];
    const flush = () => { if (run.length) content.push(make("span", {}, run.join("\n"))); run = []; };
    for (const piece of pieces) {
      if (!Array.isArray(piece)) { run.push(lineText(piece)); continue; }
      flush();
      const medium = texts.media[piece[0]];
      if (!medium) continue;
      const at = shownMedia.indexOf(medium);
      content.push(at >= 0 ? imageButton(shownMedia, at) : make("span", { class: "soft" }, `[${medium[1]}]`));
    }
    flush();
    const name = named("role", role);
    return make("div", { class: "message" },
      texts.messages.length > 1 ? make("p", { class: "role" }, name) : null,
      make("div", { class: "text box", dir: "auto", tabindex: "0", role: "group", "aria-label": name }, content));
  });
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

function choiceList(texts, reads) {
  if (!texts.choices.length) return null;
  return section(say("choices"), make("ol", { class: "choices" }, texts.choices.map((text, place) => {
    const letter = LETTERS[place] ?? String(place + 1);
    const has = (answer) => typeof answer === "string" && /^[A-Z]+$/.test(answer) && answer.includes(letter);
    const marks = [has(texts.target) ? make("span", { class: "mark right" }, say("expected")) : null,
      ...reads.map(([name, read]) => has(read) ? make("span", { class: "mark" }, name) : null)];
    return make("li", { dir: "auto" }, make("b", {}, letter), " ", text, " ", marks);
  })));
}

function judgeTable(verdicts) {
  if (!verdicts.length) return null;
  const reasons = verdicts.some(([, , why]) => why);
  return section(say("judge"), make("table", { class: "small" },
    make("thead", {}, make("tr", {}, [say("judge"), say("verdict"), reasons ? say("reason") : null].filter(Boolean)
      .map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, verdicts.map(([judge, verdict, why, error]) => make("tr", {},
      make("th", { scope: "row" }, judge), make("td", {}, verdict ?? error ?? "—"),
      reasons ? make("td", { dir: "auto" }, why ?? "") : null)))));
}

const commonFacts = (i) => [
  [say("sample"), wordAt("id", i)], [say("subset"), wordAt("subset", i)],
  ...factNames.map((name) => [name.slice("fact:".length), wordsAt(name, i).join(", ")]),
];

async function copy(text, from) {
  const before = from.textContent;
  try {
    await navigator.clipboard.writeText(text);
    from.textContent = say("copied");
  } catch {
    window.prompt(say("copy by hand"), text);
  }
  setTimeout(() => { from.textContent = before; }, 1500);
}
