// What was typed survives: a lost server, a refusal, a reload. Kept for this tab alone, until it was sent.

const SENT = "tl-sent";

/** The place of a field: its page, its form, and what the form is about. */
function placeOf(/** @type {HTMLTextAreaElement} */ field) {
  const about = field.form?.querySelector("[name=item], [name=tick]");
  const item = about instanceof HTMLInputElement ? about.value : "";
  return ["tl-draft", location.pathname, field.form?.getAttribute("action"), item, field.name].join("|");
}

/** Forgets the draft that the server has taken. */
export function forgetSentDraft() {
  const sent = sessionStorage.getItem(SENT);
  if (sent) sessionStorage.removeItem(sent);
  sessionStorage.removeItem(SENT);
}

/** Puts drafts back into empty fields, and opens what hides them. */
export function restoreDrafts() {
  for (const field of document.querySelectorAll("textarea")) {
    const draft = sessionStorage.getItem(placeOf(field));
    if (!draft || field.value) continue;
    field.value = draft;
    for (let above = field.closest("details"); above; above = above.parentElement?.closest("details") ?? null) above.open = true;
  }
}

document.addEventListener("input", ({ target }) => {
  if (target instanceof HTMLTextAreaElement) sessionStorage.setItem(placeOf(target), target.value);
});
document.addEventListener("submit", ({ target }) => {
  const field = target instanceof HTMLFormElement ? target.querySelector("textarea") : null;
  if (field) sessionStorage.setItem(SENT, placeOf(field));
  else sessionStorage.removeItem(SENT);
});
