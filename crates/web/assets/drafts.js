// What was typed survives: a lost server, a refusal, a reload. Kept for this tab alone, until it was sent.

const SENT = "tl-sent";

/** Whether a field is the text of a plan, which the editor keeps together with its version. */
function isPlanText(/** @type {HTMLTextAreaElement} */ field) {
  return field.dataset.version !== undefined;
}

/** The place of a field: its page, its form, and what the form is about. */
export function placeOf(/** @type {HTMLTextAreaElement} */ field) {
  if (isPlanText(field)) {
    const node = field.form?.elements.namedItem("node");
    return `tl-edit|${node instanceof HTMLInputElement ? node.value : ""}`;
  }
  const about = field.form?.querySelector("[name=item], [name=tick]");
  const item = about instanceof HTMLInputElement ? about.value : "";
  return ["tl-draft", location.pathname, field.form?.getAttribute("action"), item, field.id || field.name].join("|");
}

/** Forgets the draft that the server has taken. */
export function forgetSentDraft() {
  for (const sent of (sessionStorage.getItem(SENT) ?? "").split("\n")) sessionStorage.removeItem(sent);
  sessionStorage.removeItem(SENT);
}

/** Puts drafts back into empty fields, and opens what hides them. */
export function restoreDrafts() {
  for (const field of document.querySelectorAll("textarea")) {
    const draft = sessionStorage.getItem(placeOf(field));
    if (!draft || field.value || isPlanText(field)) continue;
    field.value = draft;
    const dialog = field.closest("[popover]");
    if (dialog instanceof HTMLElement) dialog.showPopover();
    for (let above = field.closest("details"); above; above = above.parentElement?.closest("details") ?? null) above.open = true;
  }
}

document.addEventListener("input", ({ target }) => {
  if (target instanceof HTMLTextAreaElement && !isPlanText(target)) sessionStorage.setItem(placeOf(target), target.value);
});
// Of the window, which hears of it last: one that was held back is not sent.
addEventListener("submit", ({ target, defaultPrevented }) => {
  if (defaultPrevented) return;
  const fields = target instanceof HTMLFormElement ? [...target.querySelectorAll("textarea")] : [];
  sessionStorage.setItem(SENT, fields.map(placeOf).join("\n"));
});
