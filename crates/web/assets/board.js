// <tl-board>: cards that are dragged, or moved by keys. Each move sends the form in the card's menu; what is refused is shown.

import { parsePage, showPage, showToast } from "./live.js";
import { sayNotSent } from "./sending.js";

/** @typedef {{ card: HTMLElement, cell: HTMLElement }} Spot */

class Board extends HTMLElement {
  /** @type {HTMLElement | null} */ #dragged = null;

  connectedCallback() {
    for (const card of this.#cards()) card.draggable = this.#form(card) !== null;
    this.addEventListener("dragstart", (event) => this.#start(event));
    this.addEventListener("dragend", () => this.#end());
    this.addEventListener("dragover", (event) => this.#over(event));
    this.addEventListener("drop", (event) => this.#drop(event));
    this.addEventListener("keydown", (event) => this.#key(event));
    // On a fresh page nothing has the focus: an arrow key begins at the first card.
    document.addEventListener("keydown", (event) => {
      if (document.activeElement !== document.body || event.defaultPrevented || !event.key.startsWith("Arrow")) return;
      const first = this.querySelector(".board-card .name");
      if (!(first instanceof HTMLElement)) return;
      first.focus();
      event.preventDefault();
    });
    this.addEventListener("submit", (event) => {
      if (!(event.target instanceof HTMLFormElement)) return;
      event.preventDefault();
      this.#send(event.target);
    });
  }

  #cards() {
    return /** @type {HTMLElement[]} */ ([...this.querySelectorAll(".board-card")]);
  }

  #form(/** @type {HTMLElement} */ card) {
    return /** @type {HTMLFormElement | null} */ (card.querySelector("form"));
  }

  #start(/** @type {DragEvent} */ event) {
    this.#dragged = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest(".board-card"));
    if (!this.#dragged) return;
    this.#dragged.dataset.dragged = "";
    event.dataTransfer?.setData("text/plain", this.#dragged.dataset.path ?? "");
  }

  #end() {
    this.#dragged?.removeAttribute("data-dragged");
    this.#dragged = null;
    this.#mark(null);
  }

  #mark(/** @type {HTMLElement | null} */ cell) {
    this.querySelectorAll("[data-over]").forEach((one) => one.removeAttribute("data-over"));
    if (cell) cell.dataset.over = "";
  }

  #cellOf(/** @type {Event} */ event) {
    return /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest?.(".cell"));
  }

  #over(/** @type {DragEvent} */ event) {
    const cell = this.#cellOf(event);
    if (!this.#dragged || !cell || !cell.dataset.column) return;
    event.preventDefault();
    this.#mark(cell);
  }

  #drop(/** @type {DragEvent} */ event) {
    const cell = this.#cellOf(event);
    if (!this.#dragged || !cell) return;
    event.preventDefault();
    this.#move(this.#dragged, cell.dataset.column ?? "");
  }

  #key(/** @type {KeyboardEvent} */ event) {
    const link = document.activeElement;
    const card = /** @type {HTMLElement | null} */ (link?.closest(".board-card") ?? null);
    // In the menu the keys belong to its fields.
    if (!card || link?.closest("form") || event.altKey || event.ctrlKey || event.metaKey) return;
    const step = /** @type {Record<string, number>} */ ({ ArrowLeft: -1, ArrowRight: 1 })[event.key];
    const row = /** @type {Record<string, number>} */ ({ ArrowUp: -1, ArrowDown: 1 })[event.key];
    if (step && event.shiftKey) this.#moveBeside(card, step);
    else if (step) this.#focusBeside(card, step);
    else if (row) this.#focusNear(card, row);
    else return;
    event.preventDefault();
  }

  /** The cells of the card's lane: as many as there are columns. */
  #lane(/** @type {HTMLElement} */ card) {
    const cells = /** @type {HTMLElement[]} */ ([...this.querySelectorAll(".cell")]);
    const columns = this.querySelectorAll(".column-head").length;
    const at = cells.findIndex((cell) => cell.contains(card));
    const first = at - (at % columns);
    return { cells: cells.slice(first, first + columns), at: at - first };
  }

  #moveBeside(/** @type {HTMLElement} */ card, /** @type {number} */ step) {
    const { cells, at } = this.#lane(card);
    const column = cells[at + step]?.dataset.column;
    if (column) this.#move(card, column);
  }

  #focusBeside(/** @type {HTMLElement} */ card, /** @type {number} */ step) {
    const { cells, at } = this.#lane(card);
    for (let next = at + step; cells[next]; next += step) {
      const name = cells[next].querySelector(".board-card .name");
      if (name instanceof HTMLElement) {
        name.focus();
        return;
      }
    }
  }

  #focusNear(/** @type {HTMLElement} */ card, /** @type {number} */ step) {
    const column = /** @type {HTMLElement | null} */ (card.closest(".cell"))?.dataset.column ?? "";
    const cards = this.#cards().filter((one) => /** @type {HTMLElement | null} */ (one.closest(".cell"))?.dataset.column === column);
    const next = cards[cards.indexOf(card) + step]?.querySelector(".name");
    if (next instanceof HTMLElement) next.focus();
  }

  #move(/** @type {HTMLElement} */ card, /** @type {string} */ column) {
    const form = this.#form(card);
    const field = /** @type {HTMLSelectElement | null} */ (form?.querySelector("select[name=to]") ?? null);
    if (!form || !field || field.value === column) return;
    field.value = column;
    if (column === "blocked") this.#askReason(form);
    else this.#send(form);
  }

  /** Opens the menu of a card where its reason is typed; without one it is sent as well. */
  #askReason(/** @type {HTMLFormElement} */ form, question = "Why is it blocked? Enter moves it.") {
    const menu = /** @type {HTMLDetailsElement | null} */ (form.closest("details"));
    const reason = form.querySelector("input[name=reason]");
    if (!menu || !(reason instanceof HTMLInputElement)) return;
    menu.open = true;
    reason.focus();
    reason.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      // The card is where it was: the select must not say otherwise.
      form.reset();
      menu.open = false;
      /** @type {HTMLElement | null | undefined} */ (menu.closest(".board-card")?.querySelector(".name"))?.focus();
    });
    const said = document.getElementById("board-said");
    if (said) said.textContent = question;
  }

  async #send(/** @type {HTMLFormElement} */ form) {
    const card = /** @type {HTMLElement | null} */ (form.closest(".board-card"));
    const { name, path } = card?.dataset ?? {};
    const data = new URLSearchParams([...new FormData(form)].map(([key, value]) => [key, String(value)]));
    const answer = await fetch(form.action, { method: "POST", body: data }).catch(() => null);
    if (!answer?.ok) {
      // The card is where it was: the select must not say otherwise.
      form.reset();
      if (answer) this.#refuse(parsePage(await answer.text()), form, data.get("to") ?? "");
      else sayNotSent();
      return;
    }
    const page = parsePage(await answer.text());
    const said = document.getElementById("board-said");
    if (said) said.textContent = `${name} is in ${data.get("to")}.`;
    showPage(page);
    showToast(page);
    const moved = document.querySelector(`.board-card[data-path="${CSS.escape(path ?? "")}"] .name`);
    if (moved instanceof HTMLElement) moved.focus();
  }

  /** Shows why a move was refused, and what to do: a phase can be skipped with a reason. */
  #refuse(/** @type {Document} */ page, /** @type {HTMLFormElement} */ form, /** @type {string} */ column) {
    const why = page.querySelector("main > *, .notice");
    const dialog = document.createElement("dialog");
    dialog.className = "refused-move";
    const close = document.createElement("button");
    close.textContent = "Close";
    close.addEventListener("click", () => dialog.close());
    why?.querySelector("p:last-child")?.remove();
    const explain = document.createElement("button");
    explain.className = "primary";
    explain.textContent = "Move it with a reason";
    explain.addEventListener("click", () => {
      dialog.close();
      const field = /** @type {HTMLSelectElement | null} */ (form.querySelector("select[name=to]"));
      if (field) field.value = column;
      this.#askReason(form, "Why is a phase skipped? Enter moves it.");
    });
    const buttons = document.createElement("div");
    buttons.className = "buttons";
    buttons.append(...(form.action.endsWith("/do/phase") ? [explain] : []), close);
    dialog.append(...(why ? [document.adoptNode(why)] : ["The server refused this."]), buttons);
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }
}

customElements.define("tl-board", Board);
