// Keys of the inbox, of a plan's page and of a decision about several plans. Each presses what is on the page, so that a key does
// nothing the mouse cannot do.

import { keyOf } from "./keys.js";

/** The links of the queue, in order. */
function queueLinks() {
  return /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll("#queue a[data-item]")]);
}

/** Opens the plan so many places further in the queue. */
function moveInQueue(/** @type {number} */ by) {
  const links = queueLinks();
  const at = links.findIndex((link) => link.hasAttribute("aria-current"));
  links[at === -1 ? 0 : at + by]?.click();
}

/** Whether keys are letters of a text there. */
function isWriting(/** @type {EventTarget | null} */ target) {
  return target instanceof HTMLElement && target.matches("input:not([type=checkbox]), select, textarea, [contenteditable]");
}

function goBack() {
  const back = document.querySelector(".inbox[data-open] .back");
  if (back instanceof HTMLAnchorElement && back.offsetParent !== null) back.click();
}

document.addEventListener("keydown", (event) => {
  const { target } = event;
  const key = keyOf(event);
  if (key === "Enter" && (event.ctrlKey || event.metaKey) && target instanceof HTMLTextAreaElement) {
    target.form?.requestSubmit();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isWriting(target)) return;
  const isOpen = document.querySelector(":popover-open") !== null;
  // Escape closes a dialog by itself.
  if (isOpen) return;
  if (key === "Escape") goBack();
  else if (key === "j") moveInQueue(1);
  else if (key === "k") moveInQueue(-1);
  else {
    const pressed = key.length === 1 ? document.querySelector(`[data-key="${CSS.escape(key)}"]`) : null;
    if (!(pressed instanceof HTMLElement)) return;
    event.preventDefault();
    pressed.click();
  }
});

// The chosen plan is in sight, also in a long queue.
document.querySelector("#queue a[aria-current]")?.scrollIntoView({ block: "nearest" });
