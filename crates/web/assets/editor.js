// The editor of a plan: the preview follows what is typed, and an unsaved text comes back with the version it was written on.

import { placeOf } from "./drafts.js";
import { parsePage } from "./live.js";

const PAUSE = 300;

const form = document.querySelector("form.editor");
const field = form?.querySelector("textarea");
const version = form?.querySelector("[name=version]");

if (form instanceof HTMLFormElement && field instanceof HTMLTextAreaElement && version instanceof HTMLInputElement) {
  const opened = field.value;
  const key = placeOf(field);
  let planned = 0;
  let turn = 0;

  const preview = async () => {
    const now = ++turn;
    const body = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, String(value)]));
    body.set("step", "preview");
    const answer = await fetch("/do/edit", { method: "POST", body });
    const next = answer.ok ? parsePage(await answer.text()).getElementById("preview") : null;
    // An answer that was overtaken shows an older text.
    if (next && now === turn) document.getElementById("preview")?.replaceChildren(...document.adoptNode(next).childNodes);
  };

  /** Says that the text is one that was not saved, and offers the one of the server. */
  const sayRestored = (/** @type {string} */ shown, /** @type {string} */ shownVersion) => {
    const note = document.createElement("p");
    note.className = "restored";
    note.setAttribute("role", "status");
    note.textContent = "This is your unsaved text from before. ";
    const discard = document.createElement("button");
    discard.type = "button";
    discard.className = "small";
    discard.textContent = "Discard it";
    discard.addEventListener("click", () => {
      sessionStorage.removeItem(key);
      [field.value, version.value] = [shown, shownVersion];
      note.remove();
      preview().catch(() => {});
    });
    note.append(discard);
    form.before(note);
  };

  const kept = JSON.parse(sessionStorage.getItem(key) ?? "null");
  // After a conflict the page itself has the typed text, on the present version.
  if (kept && kept.text !== field.value && !document.getElementById("problem")) {
    const shown = [field.value, version.value];
    // On the version it was written on: if that is no longer the present one, saving says what changed.
    [field.value, version.value] = [kept.text, kept.version];
    sayRestored(shown[0] ?? "", shown[1] ?? "");
    preview().catch(() => {});
  }
  field.addEventListener("input", () => {
    if (field.value === opened) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify({ text: field.value, version: version.value }));
    clearTimeout(planned);
    planned = setTimeout(() => preview().catch(() => {}), PAUSE);
  });
}
