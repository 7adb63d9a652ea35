// Ctrl-K: plans, texts, notes, the log and pages in one list. `?`: the keys of this page.

import { keyOf } from "./keys.js";

/** @typedef {{ label: string, note: string, address: string, group: string, press?: HTMLElement }} Choice */

const WAIT = 120;

/** Where a hit of the search is read. */
function addressOf(/** @type {{ kind: string, id: string }} */ hit) {
  const path = hit.id.split("/").map(encodeURIComponent).join("/");
  switch (hit.kind) {
    case "plan": case "comment": return `/nodes/${path}`;
    case "prose": return `/prose/${path}`;
    case "log": return `/operations/${path}`;
    case "memory": return `/memory?entry=${encodeURIComponent(hit.id)}`;
    default: return `/memory?text=${encodeURIComponent(hit.id)}`;
  }
}

/** Pages and what can be done on this one, as far as they have the words. */
function listActions(/** @type {string} */ text) {
  const wanted = text.toLowerCase();
  const links = /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll("header.top nav a, header.top .themes a, header.top .menu a")]);
  const own = new Map(links.map((link) => [link.pathname + link.search, link]));
  /** @type {Choice[]} */ const found = [...own.values()].map((link) => ({
    label: (link.closest(".themes") ? "Theme: " : "Open ") + (link.firstChild?.textContent ?? "").trim(),
    note: "", address: link.href, group: "Actions",
  }));
  for (const [label, address] of [["Open the outline", "/outline"], ["Open stats: words and targets", "/stats"], ["Open now: counts and ready work", "/now"], ["Open settings", "/settings"], ["Undo: open the timeline", "/timeline"], ["Move or reshape a plan: open the tree", "/tree"], ["Decide about everything", "/decide"], ["New plan", "/new"]]) {
    found.push({ label, note: "", address, group: "Actions" });
  }
  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll(".plan-actions .menu a"))) {
    found.unshift({ label: link.textContent ?? "", note: "", address: link.href, group: "On this page" });
  }
  // What can be done on this page comes first: its buttons and links with a key.
  found.unshift(...listKeyed().map(({ element, key, label }) => ({ label, note: key, address: "", group: "On this page", press: element })));
  // Names are unique here: the same page is in the header and among the others.
  const matching = found.filter((one, at) => one.label.toLowerCase().includes(wanted) && found.findIndex((other) => other.label === one.label) === at);
  return matching.sort((one, other) => rankOf(one.label, wanted) - rankOf(other.label, wanted));
}

/** How well a label has the words: those that begin with them first. */
function rankOf(/** @type {string} */ label, /** @type {string} */ wanted) {
  const text = label.toLowerCase();
  return text.startsWith(wanted) ? 0 : text.includes(` ${wanted}`) ? 1 : 2;
}

async function fetchJson(/** @type {string} */ address) {
  const answer = await fetch(address);
  return answer.ok ? answer.json() : null;
}

/** Asks the server for plans by name, and for texts. @returns {Promise<Choice[]>} */
async function findChoices(/** @type {string} */ text) {
  const query = encodeURIComponent(text);
  const [tree, hits] = await Promise.all([fetchJson(`/api/tree?text=${query}&limit=8`), fetchJson(`/api/search?text=${query}&limit=12`)]);
  /** @type {Choice[]} */ const plans = (tree?.rows ?? []).map((/** @type {any} */ row) => ({
    label: row.title ?? row.entity_id, note: row.path, address: addressOf({ kind: "plan", id: row.path }), group: "Plans",
  }));
  const known = new Set(plans.map((one) => one.address));
  /** @type {Choice[]} */ const texts = (hits?.hits ?? []).map((/** @type {any} */ hit) => ({
    label: hit.title ?? (hit.kind === "log" ? `Operation ${hit.id}` : hit.id), note: `${hit.kind}: ${hit.snippet.text}`, address: addressOf(hit), group: "Texts",
  }));
  return [...plans, ...texts.filter((one) => !known.has(one.address))];
}

function makeElement(/** @type {string} */ name, /** @type {Record<string, string>} */ attributes, /** @type {(string | Node)[]} */ ...content) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...content);
  return made;
}

class Palette {
  #dialog = /** @type {HTMLDialogElement} */ (makeElement("dialog", { class: "palette", "aria-label": "Search and commands" }));
  #field = /** @type {HTMLInputElement} */ (makeElement("input", {
    type: "search", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", "aria-autocomplete": "list",
    "aria-label": "Search plans, texts, notes, the log and pages", placeholder: "Search or jump to …", autocomplete: "off", spellcheck: "false",
  }));
  #list = makeElement("ul", { id: "palette-list", role: "listbox", "aria-label": "Results" });
  #said = makeElement("p", { class: "hidden", role: "status" });
  /** @type {Choice[]} */ #choices = [];
  #at = 0;
  #turn = 0;

  constructor() {
    this.#dialog.append(this.#field, this.#list, this.#said);
    this.#field.addEventListener("input", () => this.#ask());
    this.#dialog.addEventListener("keydown", (event) => this.#key(event));
    this.#dialog.addEventListener("click", (event) => { if (event.target === this.#dialog) this.#dialog.close(); });
    this.#list.addEventListener("click", (event) => {
      const row = /** @type {Element} */ (event.target).closest("[role=option]");
      if (row) this.#go(Number(/** @type {HTMLElement} */ (row).dataset.at));
    });
    document.body.append(this.#dialog);
  }

  open() {
    if (this.#dialog.open) return;
    this.#dialog.showModal();
    this.#field.select();
    this.#ask();
  }

  async #ask() {
    const turn = ++this.#turn;
    const text = this.#field.value.trim();
    const actions = listActions(text);
    if (!text) {
      this.#show(actions);
      return;
    }
    await new Promise((done) => { setTimeout(done, WAIT); });
    if (turn !== this.#turn) return;
    // Punctuation alone is no search.
    const found = /[\p{L}\p{N}]/u.test(text) ? await findChoices(text) : [];
    // What can be done here is short and named by these words; the log has them in every other line.
    if (turn === this.#turn) this.#show([...actions, ...found]);
  }

  #show(/** @type {Choice[]} */ choices) {
    this.#choices = choices;
    /** @type {HTMLElement[]} */ const rows = [];
    let group = "";
    choices.forEach((choice, at) => {
      if (choice.group !== group) rows.push(makeElement("li", { role: "presentation", class: "group" }, choice.group));
      group = choice.group;
      const row = makeElement("li", { role: "option", id: `palette-${at}` }, makeElement("span", { class: "label", dir: "auto" }, choice.label), makeElement("span", { class: "note", dir: "auto" }, choice.note));
      row.dataset.at = String(at);
      rows.push(row);
    });
    this.#list.replaceChildren(...rows);
    this.#said.textContent = choices.length ? `${choices.length} ${choices.length === 1 ? "result" : "results"}` : "No results";
    if (!choices.length) this.#list.append(makeElement("li", { role: "presentation", class: "group" }, "No results"));
    this.#select(0);
  }

  #select(/** @type {number} */ at) {
    this.#at = Math.max(0, Math.min(at, this.#choices.length - 1));
    for (const row of this.#list.querySelectorAll("[role=option]")) {
      const is = row.id === `palette-${this.#at}`;
      row.setAttribute("aria-selected", String(is));
      if (is) row.scrollIntoView({ block: "nearest" });
    }
    this.#field.setAttribute("aria-activedescendant", this.#choices.length ? `palette-${this.#at}` : "");
  }

  #key(/** @type {KeyboardEvent} */ event) {
    const step = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1 })[event.key];
    if (step) this.#select(this.#at + step);
    else if (event.key === "Enter") this.#go(this.#at);
    else return;
    event.preventDefault();
  }

  #go(/** @type {number} */ at) {
    const choice = this.#choices[at];
    if (!choice) return;
    this.#dialog.close();
    if (choice.press) choice.press.click();
    else location.assign(choice.address);
  }
}

/** The buttons and links of this page that have a key. */
function listKeyed() {
  const elements = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("main [data-key]")]);
  const keyed = elements.map((element) => ({
    element,
    key: element.dataset.key ?? "",
    label: [...element.childNodes].filter((node) => node.nodeName !== "KBD").map((node) => node.textContent).join("").trim(),
  }));
  return keyed.filter(({ key, label }, at) => label && keyed.findIndex((one) => one.key === key) === at);
}

/** The keys of this page: those of every page, those of its buttons, and what it says about itself. */
function listKeys() {
  const rows = [["Ctrl K", "search and jump"], ["/", "filter, where the page has one"], ["?", "these keys"], ["Esc", "back one step"]];
  for (const { key, label } of listKeyed()) rows.push([key, label]);
  return rows;
}

function showKeys() {
  const dialog = /** @type {HTMLDialogElement} */ (makeElement("dialog", { class: "keys-dialog", "aria-labelledby": "keys-title" }));
  const list = makeElement("dl", {}, ...listKeys().map(([key, label]) => makeElement("div", {}, makeElement("dt", {}, makeElement("kbd", {}, key)), makeElement("dd", {}, label))));
  const own = document.querySelector("main .keys")?.cloneNode(true);
  const close = makeElement("button", { type: "button" }, "Close");
  close.addEventListener("click", () => dialog.close());
  dialog.append(makeElement("h2", { id: "keys-title" }, "Keys"), list, ...(own?.textContent?.trim() ? [own] : []), close);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** @type {Palette | undefined} */ let palette;

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && keyOf(event).toLowerCase() === "k") {
    event.preventDefault();
    palette ??= new Palette();
    palette.open();
    return;
  }
  const target = /** @type {Element} */ (event.target);
  const isTyping = target.matches?.("input, textarea, select, [contenteditable]");
  if (event.key === "?" && !isTyping && !event.ctrlKey && !event.metaKey && !event.defaultPrevented && !document.querySelector("dialog[open]")) {
    event.preventDefault();
    showKeys();
  }
});
