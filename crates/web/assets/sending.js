// A form is sent, and a page is left, only while the server answers: the browser's error page would take what is on this one away.

import { showBanner } from "./live.js";

const STAYED = "The server does not answer, so this page stays. It continues by itself when tl serve runs again.";

/** Forms that were checked and are on their way. @type {WeakSet<HTMLFormElement>} */
const checked = new WeakSet();

/** Says that a form was not sent. */
export function sayNotSent() {
  showBanner("Not sent: the server does not answer. What you typed is still here; send it again when tl serve runs.");
}

async function isServerThere() {
  try {
    // Any answer will do; this one is small.
    await fetch("/icons/0", { method: "HEAD", cache: "no-store" });
    return true;
  } catch {
    return false;
  }
}

document.addEventListener("submit", async (event) => {
  const { target: form, submitter } = event;
  if (event.defaultPrevented || !(form instanceof HTMLFormElement)) return;
  if (checked.delete(form)) return;
  event.preventDefault();
  // A second press while the first is checked sends nothing twice.
  if (form.dataset.checking !== undefined) return;
  form.dataset.checking = "";
  const isThere = await isServerThere();
  delete form.dataset.checking;
  if (!isThere) {
    sayNotSent();
    return;
  }
  checked.add(form);
  form.requestSubmit(submitter);
});

document.addEventListener("click", async (event) => {
  const link = /** @type {HTMLElement} */ (event.target).closest("a[href]");
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
  // Only while the connection is known to be lost: otherwise a link is as fast as it can be.
  if (!(link instanceof HTMLAnchorElement) || !isPlain || event.defaultPrevented || link.origin !== location.origin || !document.querySelector(".banner")) return;
  event.preventDefault();
  if (await isServerThere()) location.assign(link.href);
  else showBanner(STAYED);
});
