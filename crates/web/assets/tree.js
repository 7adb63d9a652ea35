// <tl-tree>: a window on a list of any length. Only the rows in sight exist; the server folds, filters, counts and renders.

import { keyOf } from "./keys.js";
import { parsePage } from "./live.js";

const AHEAD = 30;

class Tree extends HTMLElement {
  /** Rendered rows, by their number in the list. @type {Map<number, HTMLElement>} */ #rows = new Map();
  #total = 0;
  #height = 40;
  #asked = "";
  #turn = 0;
  /** Path of the row that the keys are at. */
  #current = "";
  #dragged = "";
  #fold = "";
  #toggled = "";

  connectedCallback() {
    const list = this.querySelector("ol");
    const form = document.querySelector("form.filter");
    if (!list || !(form instanceof HTMLFormElement)) return;
    this.list = list;
    this.form = form;
    this.#height = this.querySelector(".row")?.getBoundingClientRect().height || 40;
    this.#fold = this.dataset.fold ?? "";
    this.#toggled = this.dataset.toggled ?? "";
    this.#take(list);
    this.dataset.windowed = "";
    const nav = document.querySelector("nav.pages");
    if (nav instanceof HTMLElement) nav.hidden = true;
    this.addEventListener("scroll", () => this.#show(), { passive: true });
    this.addEventListener("tl-changed", () => this.#again(false));
    this.addEventListener("keydown", (event) => this.#key(event));
    // On a fresh page nothing has the focus: an arrow key begins at the first row.
    document.addEventListener("keydown", (event) => {
      if (document.activeElement !== document.body || event.defaultPrevented || !event.key.startsWith("Arrow")) return;
      this.#focus(this.#first() === 0 ? 0 : Math.ceil(this.scrollTop / this.#height)).catch(() => {});
      event.preventDefault();
    });
    this.addEventListener("focusin", (event) => this.#note(event));
    this.addEventListener("click", (event) => this.#click(event));
    this.#listenToDrags();
    form.addEventListener("input", () => this.#again(true));
    form.addEventListener("submit", (event) => { event.preventDefault(); this.#again(true); });
    form.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowDown") return;
      event.preventDefault();
      this.#focus(0);
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !(event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement)) {
        event.preventDefault();
        form.querySelector("input")?.focus();
      }
    });
    // Back from a plan leads to the row it was opened from.
    const place = () => `tl-tree|${location.search}`;
    const [visit] = performance.getEntriesByType("navigation");
    this.#show();
    if (/** @type {PerformanceNavigationTiming | undefined} */ (visit)?.type === "back_forward") this.scrollTop = Number(sessionStorage.getItem(place()));
    addEventListener("pagehide", () => sessionStorage.setItem(place(), String(this.scrollTop)));
    this.#again(false);
  }

  #query() {
    const query = new URLSearchParams([...new FormData(this.form)].map(([name, value]) => [name, String(value)]).filter(([, value]) => value));
    if (this.#fold) query.set("fold", this.#fold);
    if (this.#toggled) query.set("toggled", this.#toggled);
    return query;
  }

  /** Forgets what is known and asks for what is in sight. */
  async #again(/** @type {boolean} */ filtered) {
    const turn = ++this.#turn;
    if (filtered) {
      await new Promise((done) => { setTimeout(done, 100); });
      if (turn !== this.#turn) return;
      this.#remember();
      this.scrollTop = 0;
    }
    this.#asked = "";
    await this.#ask(turn);
  }

  /** Keeps what is shown in the address, for Back and for links. */
  #remember() {
    const query = this.#query().toString();
    history.replaceState(null, "", query ? `/tree?${query}` : "/tree");
  }

  #first() {
    return Math.max(0, Math.floor(this.scrollTop / this.#height) - AHEAD);
  }

  #most() {
    return Math.ceil(this.clientHeight / this.#height) + 2 * AHEAD;
  }

  async #ask(/** @type {number} */ turn) {
    const query = this.#query();
    query.set("offset", String(this.#first()));
    query.set("limit", String(this.#most()));
    const asked = query.toString();
    if (asked === this.#asked) return;
    this.#asked = asked;
    const answer = await fetch(`/tree/rows?${asked}`);
    if (!answer.ok || turn !== this.#turn) return;
    const list = parsePage(await answer.text()).querySelector("ol");
    if (!list) return;
    this.#take(list);
    this.#show();
  }

  /** Takes the rows of a rendered window over. */
  #take(/** @type {HTMLElement} */ list) {
    this.#total = Number(list.dataset.total);
    const offset = Number(list.dataset.offset);
    const rows = /** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll(":scope > li"));
    this.#rows = new Map([...rows].map((row, at) => [offset + at, this.#placed(/** @type {HTMLElement} */ (document.adoptNode(row)), offset + at)]));
    const found = document.getElementById("found");
    if (found) found.textContent = list.dataset.count ?? "";
  }

  #placed(/** @type {HTMLElement} */ row, /** @type {number} */ at) {
    row.dataset.at = String(at);
    row.style.setProperty("top", `${at * this.#height}px`);
    row.tabIndex = -1;
    // One stop of the tab key for the whole tree; the keys reach the rest.
    for (const link of row.querySelectorAll("a")) link.tabIndex = -1;
    row.draggable = row.querySelector(".move") !== null;
    return row;
  }

  /** Puts the rows in sight into the page. */
  #show() {
    const list = this.list;
    if (!list) return;
    const had = list.contains(document.activeElement);
    list.style.setProperty("height", `${this.#total * this.#height}px`);
    const first = this.#first();
    const last = Math.min(this.#total, first + this.#most());
    const rows = [];
    let missing = false;
    for (let at = first; at < last; at++) {
      const row = this.#rows.get(at);
      if (row) rows.push(row);
      else missing = true;
    }
    const kept = rows.length === list.children.length && rows.every((row, at) => list.children[at] === row);
    if (!kept) list.replaceChildren(...rows);
    const current = rows.find((row) => row.dataset.path === this.#current) ?? rows.find((row) => Number(row.dataset.at) * this.#height >= this.scrollTop);
    for (const row of rows) row.tabIndex = row === current ? 0 : -1;
    // A row that was replaced by its new rendering is focused again.
    if (had && !kept && current?.dataset.path === this.#current) current.focus({ preventScroll: true });
    if (missing) this.#ask(this.#turn).catch(() => {});
  }

  #note(/** @type {FocusEvent} */ event) {
    const row = /** @type {HTMLElement} */ (event.target).closest("li");
    this.#current = row?.dataset.path ?? this.#current;
  }

  #click(/** @type {MouseEvent} */ event) {
    const fold = /** @type {Element} */ (event.target).closest("a.fold");
    const row = fold?.closest("li");
    if (!row || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.#toggle(row);
  }

  /** Folds or opens a plan. */
  async #toggle(/** @type {HTMLElement} */ row) {
    const path = row.dataset.path ?? "";
    const toggled = this.#toggled.split(",").filter(Boolean);
    const others = toggled.filter((one) => one !== path);
    if (others.length === toggled.length) others.push(path);
    this.#toggled = others.join(",");
    this.#current = path;
    row.focus({ preventScroll: true });
    this.#remember();
    await this.#again(false);
  }

  #key(/** @type {KeyboardEvent} */ event) {
    const row = /** @type {HTMLElement | null} */ (document.activeElement?.closest("li") ?? null);
    if (!row || !this.contains(row) || event.altKey || event.ctrlKey || event.metaKey) return;
    const at = Number(row.dataset.at);
    const page = Math.max(1, Math.floor(this.clientHeight / this.#height) - 1);
    const moves = /** @type {Record<string, number>} */ ({ ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: this.#total - 1 });
    const to = moves[event.key];
    const expanded = row.getAttribute("aria-expanded");
    if (to !== undefined) this.#focus(Math.min(Math.max(to, 0), this.#total - 1));
    else if (event.key === "ArrowRight" && expanded === "false") this.#toggle(row);
    else if (event.key === "ArrowRight" && expanded === "true") this.#focus(at + 1);
    else if (event.key === "ArrowLeft" && expanded === "true") this.#toggle(row);
    else if (event.key === "ArrowLeft") this.#focusParent(row, at);
    else if (event.key === "Enter" && document.activeElement === row) /** @type {HTMLElement | null} */ (row.querySelector("a.name"))?.click();
    else if (keyOf(event) === "m") /** @type {HTMLElement | null} */ (row.querySelector("a.move"))?.click();
    else return;
    event.preventDefault();
  }

  /** Goes to the plan above; it is among the rows, or the keys stay. */
  #focusParent(/** @type {HTMLElement} */ row, /** @type {number} */ at) {
    const level = Number(row.getAttribute("aria-level"));
    for (let above = at - 1; above >= 0 && this.#rows.has(above); above--) {
      if (Number(this.#rows.get(above)?.getAttribute("aria-level")) < level) {
        this.#focus(above);
        return;
      }
    }
  }

  async #focus(/** @type {number} */ at) {
    const top = at * this.#height;
    if (top < this.scrollTop) this.scrollTop = top;
    else if (top + this.#height > this.scrollTop + this.clientHeight) this.scrollTop = top + this.#height - this.clientHeight;
    await this.#ask(this.#turn);
    const row = this.#rows.get(at);
    if (!row) return;
    this.#current = row.dataset.path ?? "";
    this.#show();
    row.focus({ preventScroll: true });
  }

  /** A plan that is dropped on another one leads to the preview of that move. */
  #listenToDrags() {
    const rowOf = (/** @type {Event} */ event) => /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest?.("li.row"));
    const mark = (/** @type {HTMLElement | null} */ row, /** @type {string} */ place) => {
      this.querySelectorAll("[data-drop]").forEach((one) => one.removeAttribute("data-drop"));
      if (row) row.dataset.drop = place;
    };
    const placeOf = (/** @type {DragEvent} */ event, /** @type {HTMLElement} */ row) => {
      const { top, height } = row.getBoundingClientRect();
      const part = (event.clientY - top) / height;
      return part < 0.3 ? "before" : part > 0.7 ? "after" : "under";
    };
    this.addEventListener("dragstart", (event) => {
      this.#dragged = rowOf(event)?.dataset.path ?? "";
      event.dataTransfer?.setData("text/plain", this.#dragged);
    });
    this.addEventListener("dragover", (event) => {
      const row = rowOf(event);
      if (!row || !this.#dragged || row.dataset.path === this.#dragged) return;
      event.preventDefault();
      mark(row, placeOf(event, row));
    });
    this.addEventListener("dragend", () => { this.#dragged = ""; mark(null, ""); });
    this.addEventListener("drop", (event) => {
      const row = rowOf(event);
      if (!row || !this.#dragged) return;
      event.preventDefault();
      const move = new URLSearchParams({ node: this.#dragged, place: placeOf(event, row), target: row.dataset.path ?? "" });
      location.assign(`/shape/move?${move}`);
    });
  }
}

customElements.define("tl-tree", Tree);
