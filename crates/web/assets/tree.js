// <tl-tree>: a window on a list of any length. Only the rows in sight exist; the server filters and counts.

/** @typedef {{ path: string, entity_id: string, title: string | null, status: string, progress: string, phase?: string, duplicate?: boolean, depth: number }} Row */

const AHEAD = 30;
const WORDS = /** @type {Record<string, [string, string]>} */ ({
  draft: ["○", "draft"],
  approved: ["✓", "approved"],
  "requires-revalidation": ["↻", "stale"],
  invalid: ["✗", "invalid"],
});

/**
 * @param {string} name
 * @param {string} className
 * @param {...(string | Node)} content
 */
function element(name, className, ...content) {
  const made = document.createElement(name);
  made.className = className;
  made.append(...content);
  return made;
}

class Tree extends HTMLElement {
  /** @type {Map<number, Row>} */ #rows = new Map();
  #total = 0;
  #height = 40;
  #asked = "";
  #turn = 0;
  #focused = "";

  connectedCallback() {
    const list = this.querySelector("ol");
    const form = document.querySelector("form.filter");
    if (!list || !(form instanceof HTMLFormElement)) return;
    this.list = list;
    this.form = form;
    this.#height = this.querySelector(".row")?.getBoundingClientRect().height || 40;
    this.#total = Number(this.dataset.total);
    this.dataset.windowed = "";
    list.style.setProperty("height", `${this.#total * this.#height}px`);
    const nav = document.querySelector("nav.pages");
    if (nav instanceof HTMLElement) nav.hidden = true;
    this.addEventListener("scroll", () => this.#show(), { passive: true });
    this.addEventListener("tl-changed", () => this.#again(false));
    this.addEventListener("keydown", (event) => this.#key(event));
    form.addEventListener("input", () => this.#again(true));
    form.addEventListener("submit", (event) => { event.preventDefault(); this.#again(true); });
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !(event.target instanceof HTMLInputElement)) {
        event.preventDefault();
        form.querySelector("input")?.focus();
      }
    });
    // Back from a plan leads to the row it was opened from.
    const place = () => `tl-tree|${location.search}`;
    const [visit] = performance.getEntriesByType("navigation");
    if (/** @type {PerformanceNavigationTiming | undefined} */ (visit)?.type === "back_forward") this.scrollTop = Number(sessionStorage.getItem(place()));
    addEventListener("pagehide", () => sessionStorage.setItem(place(), String(this.scrollTop)));
    this.#again(false);
  }

  #query() {
    return new URLSearchParams([...new FormData(this.form)].map(([name, value]) => [name, String(value)]));
  }

  /** Forgets what is known and asks for what is in sight. */
  async #again(/** @type {boolean} */ filtered) {
    const turn = ++this.#turn;
    if (filtered) {
      await new Promise((done) => { setTimeout(done, 120); });
      if (turn !== this.#turn) return;
      history.replaceState(null, "", `/tree?${this.#query()}`);
      this.scrollTop = 0;
    }
    this.#asked = "";
    await this.#ask(turn);
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
    const answer = await fetch(`/api/tree?${asked}`);
    if (!answer.ok || turn !== this.#turn) return;
    const window = await answer.json();
    this.#total = window.total;
    this.#rows = new Map(window.rows.map((/** @type {Row} */ row, /** @type {number} */ at) => [window.offset + at, row]));
    const found = document.getElementById("found");
    const filtered = ["text", "status", "phase"].some((name) => query.get(name));
    if (found) found.textContent = `${this.#total} ${filtered ? "found" : "plans"}`;
    this.#show();
  }

  /** Puts the rows in sight into the page. */
  #show() {
    const list = this.list;
    if (!list) return;
    if (list.contains(document.activeElement)) this.#focused = document.activeElement?.getAttribute("href") ?? "";
    // Somebody who went elsewhere stays there.
    else if (document.activeElement !== document.body) this.#focused = "";
    list.style.setProperty("height", `${this.#total * this.#height}px`);
    const first = this.#first();
    const last = Math.min(this.#total, first + this.#most());
    const rows = [];
    let missing = false;
    for (let at = first; at < last; at++) {
      const row = this.#rows.get(at);
      if (row) rows.push(this.#row(row, at));
      else missing = true;
    }
    list.replaceChildren(...rows);
    // A row that is not there for a moment is focused again when it is back.
    if (this.#focused) /** @type {HTMLElement | null} */ (list.querySelector(`a[href="${CSS.escape(this.#focused)}"]`))?.focus({ preventScroll: true });
    if (missing) this.#ask(this.#turn).catch(() => {});
  }

  #row(/** @type {Row} */ row, /** @type {number} */ at) {
    const link = document.createElement("a");
    link.href = "/nodes/" + row.path.split("/").map(encodeURIComponent).join("/");
    const name = element("span", "name", row.title ?? row.entity_id);
    name.dir = "auto";
    link.append(name, element("span", "quiet path", row.path));
    if (row.duplicate) link.append(element("span", "tag", "duplicate"));
    if (row.phase) link.append(element("span", "tag", row.phase));
    if (row.progress !== "pending") link.append(element("span", "tag", row.progress));
    const [shape, word] = WORDS[row.status] ?? ["?", row.status];
    const mark = element("span", "shape", shape);
    mark.setAttribute("aria-hidden", "true");
    const status = element("span", "status", mark, word);
    status.dataset.status = row.status;
    link.append(status);
    const item = element("li", "row", link);
    item.dataset.depth = String(Math.min(row.depth, 12));
    item.style.setProperty("top", `${at * this.#height}px`);
    item.setAttribute("aria-setsize", String(this.#total));
    item.setAttribute("aria-posinset", String(at + 1));
    return item;
  }

  #key(/** @type {KeyboardEvent} */ event) {
    const item = document.activeElement?.closest("li");
    if (!item || !this.contains(item)) return;
    const at = Number(item.getAttribute("aria-posinset")) - 1;
    const page = Math.max(1, Math.floor(this.clientHeight / this.#height) - 1);
    const moves = /** @type {Record<string, number>} */ ({ ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: this.#total - 1 });
    const to = moves[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.#focus(Math.min(Math.max(to, 0), this.#total - 1));
  }

  async #focus(/** @type {number} */ at) {
    this.#focused = "";
    const top = at * this.#height;
    if (top < this.scrollTop) this.scrollTop = top;
    else if (top + this.#height > this.scrollTop + this.clientHeight) this.scrollTop = top + this.#height - this.clientHeight;
    await this.#ask(this.#turn);
    this.#show();
    /** @type {HTMLElement | null} */ (this.querySelector(`li[aria-posinset="${at + 1}"] a`))?.focus({ preventScroll: true });
  }
}

customElements.define("tl-tree", Tree);
