// <tl-live>: says whether the page follows along, and brings in what changed.
// The server renders; here a new rendering of the same page takes the place of the sections that differ.

import { notifyOfNews } from "./notify.js";
import { forgetSentDraft, restoreDrafts } from "./drafts.js";
import { tellTimes } from "./times.js";

/** The one place where text becomes HTML: pages of our own server, fetched from the address we are at. */
const trusted = /** @type {any} */ (globalThis).trustedTypes?.createPolicy("tl", { createHTML: (/** @type {string} */ html) => html });

/**
 * @param {string} html
 * @returns {Document}
 */
export function parsePage(html) {
  return new DOMParser().parseFromString(trusted ? trusted.createHTML(html) : html, "text/html");
}

/** Says the notice of a decision to those who hear the page, and begins at what is to be decided next: a new page would be read from its
 * beginning, without the notice, which is in it already. */
function announceReport() {
  const text = document.querySelector(".toast p")?.textContent ?? "";
  const said = document.createElement("p");
  said.className = "hidden";
  said.setAttribute("role", "status");
  document.body.append(said);
  setTimeout(() => { said.textContent = text; }, 300);
  const heading = document.querySelector("#item .title") ?? document.querySelector("main h1");
  // A field that the page focuses by itself is the place to go on.
  if (!(heading instanceof HTMLElement) || (document.activeElement ?? document.body) !== document.body) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

// The notice of a decision is said once: not again on a reload, and not in a link that is passed on.
const address = new URL(location.href);
if (address.searchParams.has("done")) {
  forgetSentDraft();
  announceReport();
  address.searchParams.delete("done");
  address.searchParams.delete("operation");
  history.replaceState(history.state, "", address);
}

// The answer to a form has the form's address, which cannot be read again: the page names its own.
const own = /** @type {HTMLElement | null} */ (document.querySelector("[data-address]"));
if (own && location.pathname.startsWith("/do/")) history.replaceState(history.state, "", own.dataset.address);

/** Whether somebody is in the middle of writing or deciding there. */
function isInUse(/** @type {Element} */ section) {
  if (section.querySelector(":popover-open")) return true;
  const fields = /** @type {NodeListOf<HTMLTextAreaElement>} */ (section.querySelectorAll("textarea"));
  return [...fields].some((field) => field.value !== "");
}

/** What the server last said, by section: what the browser did to it since does not count. */
const rendered = new Map([...document.querySelectorAll("[data-live]")].map((section) => [section.id, section.outerHTML]));

restoreDrafts();
tellTimes();
setInterval(tellTimes, 30_000);

/** What the reader opened stays open, and what they closed stays closed. */
function keepOpen(/** @type {Element} */ old, /** @type {Element} */ next) {
  const [before, after] = [old, next].map((section) => [...section.querySelectorAll("details")]);
  const title = (/** @type {Element} */ one) => one.querySelector("summary")?.textContent;
  after.forEach((one, at) => {
    const same = before.find((other) => title(other) === title(one)) ?? (before.length === after.length ? before[at] : undefined);
    if (same) one.open = same.open;
  });
}

/** The number of pending decisions, in the title, the icon and the navigation. */
function refreshFrame(/** @type {Document} */ fresh) {
  document.title = fresh.title;
  for (const query of ["link[rel=icon]", "header.top nav"]) {
    const [old, next] = [document.querySelector(query), fresh.querySelector(query)];
    // What has the focus stays: a reader in the navigation must not be thrown out of it.
    const left = old?.scrollLeft ?? 0;
    if (old && next && old.outerHTML !== next.outerHTML && !old.contains(document.activeElement)) old.replaceWith(document.adoptNode(next));
    if (next?.isConnected) next.scrollLeft = left;
  }
}

// Where the pages do not fit side by side, the present one is in sight.
const pages = document.querySelector("header.top nav");
const present = pages?.querySelector("[aria-current]");
if (pages && present instanceof HTMLElement) pages.scrollLeft = present.offsetLeft - pages.clientWidth / 2 + present.clientWidth / 2;

/** Says that there is something new where the reader is, and lets them bring it in: what is being read stays in its place. */
function offerNews(/** @type {Document} */ fresh) {
  const news = [...document.querySelectorAll("[data-pull]")].filter((one) => {
    const next = /** @type {HTMLElement | null} */ (fresh.getElementById(one.id));
    return next?.dataset.pull !== /** @type {HTMLElement} */ (one).dataset.pull;
  });
  const shown = document.querySelector("a.news");
  if (news.length === 0) {
    shown?.remove();
    return;
  }
  const [queue, next] = [document, fresh].map((page) => page.getElementById("queue")?.dataset.pull?.split(" ").filter(Boolean) ?? []);
  const added = next.filter((one) => !queue.includes(one)).length;
  const gone = queue.filter((one) => !next.includes(one)).length;
  const parts = [added > 0 ? `${added} new` : "", gone > 0 ? `${gone} decided` : ""].filter(Boolean);
  // The same element while there is news: one that is being clicked or focused must not go away.
  const pill = /** @type {HTMLAnchorElement} */ (shown ?? document.createElement("a"));
  const isReordered = parts.length === 0 && queue.join(" ") !== next.join(" ");
  const text = `${parts.join(", ") || (isReordered ? "An agent waits" : "This plan changed")} · Show`;
  if (pill.textContent !== text) pill.textContent = text;
  if (shown) return;
  pill.className = "news";
  pill.href = location.href;
  pill.setAttribute("role", "status");
  document.querySelector(".inbox, form.editor")?.before(pill);
}

/** Says above everything what is wrong, until the server answers again. */
export function showBanner(/** @type {string} */ text) {
  const shown = document.querySelector(".banner");
  const banner = shown ?? document.createElement("p");
  banner.className = "banner";
  banner.setAttribute("role", "alert");
  banner.textContent = text;
  if (!shown) document.querySelector("header.top")?.after(banner);
}

async function refresh() {
  if (location.pathname.startsWith("/do/")) return;
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!answer.ok) return;
  showPage(parsePage(await answer.text()));
}

/** Shows what the answer to a form reports, with its undo. */
export function showToast(/** @type {Document} */ answer) {
  document.querySelector("main > .toast")?.remove();
  const toast = answer.querySelector("main > .toast");
  if (toast) document.querySelector("main")?.prepend(document.adoptNode(toast));
}

/** Puts a new rendering of this page in place of what differs. */
export function showPage(/** @type {Document} */ fresh) {
  refreshFrame(fresh);
  offerNews(fresh);
  // In the inbox the reader brings in what is new: another rendering may be about another plan.
  if (document.querySelector("[data-pull]")) return;
  for (const section of document.querySelectorAll("[data-live]")) {
    const next = fresh.getElementById(section.id);
    const html = next?.outerHTML ?? "";
    if (rendered.get(section.id) === html || isInUse(section)) continue;
    rendered.set(section.id, html);
    const focused = section.contains(document.activeElement) ? document.activeElement?.textContent : null;
    if (!next) {
      section.replaceChildren();
      continue;
    }
    keepOpen(section, next);
    section.replaceWith(document.adoptNode(next));
    if (focused) {
      const again = [...next.querySelectorAll("a, button, summary")].find((one) => one.textContent === focused);
      /** @type {HTMLElement | undefined} */ (again)?.focus();
    }
  }
  // A section that was not there before belongs where its neighbour is.
  for (const next of [...fresh.querySelectorAll("[data-live]")]) {
    if (document.getElementById(next.id)) continue;
    const before = next.previousElementSibling?.id && document.getElementById(next.previousElementSibling.id);
    rendered.set(next.id, next.outerHTML);
    if (before) before.after(document.adoptNode(next));
    else document.querySelector("main > h1, main > header")?.after(document.adoptNode(next));
  }
  tellTimes();
}

/** Time without a server until the page says so: a reload of the network takes less. */
const PATIENCE = 2000;
/** Interval of the sections that change without an operation: who works, and who waits. */
const POLL = 10_000;
/** Time until a closed connection is tried again; one that only broke, the browser tries by itself. */
const RETRY = 5000;

class Live extends HTMLElement {
  #planned = 0;
  #offline = 0;

  connectedCallback() {
    this.textContent = "connecting";
    this.#connect();
    setInterval(() => {
      if (!document.hidden && document.querySelector("[data-poll]")) refresh().catch(() => {});
    }, POLL);
  }

  #connect() {
    const events = new EventSource("/api/live");
    events.addEventListener("begin", () => this.#online());
    events.addEventListener("operation", () => this.#changed());
    events.addEventListener("reset", () => this.#changed());
    events.addEventListener("error", () => {
      this.textContent = "○ not connected";
      const isClosed = events.readyState === EventSource.CLOSED;
      this.#offline ||= setTimeout(() => this.#say(isClosed), PATIENCE);
      if (isClosed) setTimeout(() => this.#connect(), RETRY);
    });
    addEventListener("pagehide", () => events.close());
  }

  #changed() {
    // Many operations at once are one change of the page.
    clearTimeout(this.#planned);
    this.#planned = setTimeout(() => {
      document.querySelector("tl-tree")?.dispatchEvent(new CustomEvent("tl-changed"));
      refresh().catch(() => {});
      notifyOfNews().catch(() => {});
      this.dataset.changes = String(Number(this.dataset.changes ?? 0) + 1);
    }, 100);
  }

  #online() {
    this.textContent = "● live";
    clearTimeout(this.#offline);
    this.#offline = 0;
    const banner = document.querySelector(".banner");
    // The server that is back may have seen changes that no event tells.
    if (banner) this.#changed();
    banner?.remove();
  }

  /** Says above everything that the page is no longer current, and what to do. */
  #say(/** @type {boolean} */ isSignedOut) {
    if (document.querySelector(".banner")) return;
    showBanner(isSignedOut
      ? "This browser is signed out, or the server refuses it. Open the address that tl serve prints; what you typed here is kept in this tab."
      : "The server does not answer, so this page may be out of date. It continues by itself when tl serve runs again; what you typed is kept.");
  }
}

customElements.define("tl-live", Live);
