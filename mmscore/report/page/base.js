"use strict";
// Everything that comes from a data set or a model becomes text nodes, never markup.

const held = (id) => JSON.parse(document.getElementById(id).textContent);
const page = held("page");
const words = held("words");

// Attributes are named by this script alone; values may be anything but for src, which must be an
// image inside the page.
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "src" && !value.startsWith("data:image/")) continue;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const button = (attributes, ...children) => make("button", { type: "button", ...attributes }, ...children);
const hidden = (text) => make("span", { class: "unseen" }, text);

// --- words -------------------------------------------------------------------------------------

let language = "en";

// The words of a key in the page's language, {0} {1} ... filled in. Two forms are one and many,
// told apart by the first value.
function say(key, ...values) {
  const found = words[language][key] ?? words.en[key] ?? key;
  const form = Array.isArray(found) ? found[values[0] === 1 ? 0 : 1] : found;
  return form.replace(/\{(\d)\}/g, (_, place) => {
    const value = values[place];
    return typeof value === "number" ? count(value) : String(value ?? "");
  });
}

// The words for a value that mmscore itself gives (a status, a result); others are shown as they are.
const named = (key, value) => words[language][`${key}:${value}`] ?? value;

function labelOf(metric) {
  const label = page.labels[metric] ?? metric;
  return label.split(" ").map((word) => words[language][`metric:${word}`] ?? word).join(" ");
}

// --- numbers -----------------------------------------------------------------------------------

const known = (value) => value !== null && value !== undefined;
const count = (value) => value.toLocaleString("en-US");
const percent = (value) => known(value) ? `${(Math.round(value * 1000 + 1e-9) / 10).toFixed(1)}%` : "—";
const range = (low, high) => known(low) ? `${(low * 100).toFixed(1)}–${(high * 100).toFixed(1)}%` : "";
const points = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value * 100).toFixed(1)}`;

function seconds(value) {
  if (value < 0.9995) return `${value.toFixed(3)} s`;
  if (value < 59.95) return `${value.toFixed(1)} s`;
  const minutes = Math.floor(Math.round(value) / 60);
  const rest = (part) => String(Math.round(part)).padStart(2, "0");
  if (minutes < 60) return `${minutes} min ${rest(Math.round(value) % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${rest(minutes % 60)} min`;
}

function probability(p) {
  if (p >= 0.0001) return p.toFixed(4);
  return p.toExponential(1);
}
