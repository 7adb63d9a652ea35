// <tl-live>: says whether the page follows along, and brings in what changed.
// The server renders; here a new rendering of the same page takes the place of the sections that differ.

/** The one place where text becomes HTML: pages of our own server, fetched from the address we are at. */
const trusted = /** @type {any} */ (globalThis).trustedTypes?.createPolicy("tl", { createHTML: (/** @type {string} */ html) => html });

/**
 * @param {string} html
 * @returns {Document}
 */
function parsed(html) {
  return new DOMParser().parseFromString(trusted ? trusted.createHTML(html) : html, "text/html");
}

// The notice of a decision is said once: not again on a reload, and not in a link that is passed on.
const address = new URL(location.href);
if (address.searchParams.has("done")) {
  address.searchParams.delete("done");
  history.replaceState(history.state, "", address);
}

/** Whether somebody is in the middle of writing there. */
function isInUse(/** @type {Element} */ section) {
  const fields = /** @type {NodeListOf<HTMLTextAreaElement>} */ (section.querySelectorAll("textarea"));
  return [...fields].some((field) => field.value !== "");
}

/** What the server last said, by section: what the browser did to it since does not count. */
const rendered = new Map([...document.querySelectorAll("[data-live]")].map((section) => [section.id, section.outerHTML]));

/** The number of pending decisions, in the title, the icon and the navigation. */
function refreshFrame(/** @type {Document} */ fresh) {
  document.title = fresh.title;
  for (const query of ["link[rel=icon]", "header.top nav"]) {
    const [old, next] = [document.querySelector(query), fresh.querySelector(query)];
    // What has the focus stays: a reader in the navigation must not be thrown out of it.
    if (old && next && old.outerHTML !== next.outerHTML && !old.contains(document.activeElement)) old.replaceWith(document.adoptNode(next));
  }
}

async function refresh() {
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!answer.ok) return;
  const fresh = parsed(await answer.text());
  refreshFrame(fresh);
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
}

class Live extends HTMLElement {
  connectedCallback() {
    this.textContent = "connecting";
    const events = new EventSource("/api/live");
    let planned = 0;
    const changed = () => {
      // Many operations at once are one change of the page.
      clearTimeout(planned);
      planned = setTimeout(() => {
        const tree = document.querySelector("tl-tree");
        tree?.dispatchEvent(new CustomEvent("tl-changed"));
        refresh().catch(() => {});
        this.dataset.changes = String(Number(this.dataset.changes ?? 0) + 1);
      }, 100);
    };
    events.addEventListener("begin", () => { this.textContent = "● live"; });
    events.addEventListener("operation", changed);
    events.addEventListener("reset", changed);
    events.addEventListener("error", () => { this.textContent = "○ not connected"; });
    addEventListener("pagehide", () => events.close());
  }
}

customElements.define("tl-live", Live);
