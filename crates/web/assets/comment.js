// Comments at a place: marked words of a plan's text, or of its prose, go into the dialog as a quotation. Without a script they are pasted there.

const QUOTE_LIMIT = 1000;

/** The words that are marked in the text of the page, and the heading above them. */
function markedWords() {
  const selection = getSelection();
  const text = document.querySelector("#plan .prose, #prose .prose");
  if (!selection || selection.isCollapsed || !text?.contains(selection.anchorNode)) return null;
  const quote = selection.toString().trim();
  if (quote === "" || quote.length > QUOTE_LIMIT) return null;
  const headings = [...text.querySelectorAll("h1, h2, h3, h4, h5, h6")];
  const range = selection.getRangeAt(0);
  const above = headings.filter((heading) => range.comparePoint(heading, 0) <= 0).pop();
  return { quote, section: above?.textContent?.trim() ?? "", at: range.getBoundingClientRect() };
}

/** Opens the dialog with the marked words. */
function commentOnMarked() {
  const marked = markedWords();
  const dialog = document.getElementById("add-comment");
  const form = dialog?.querySelector("form");
  if (!dialog || !form) return;
  const field = (/** @type {string} */ name) => /** @type {HTMLTextAreaElement | null} */ (form.elements.namedItem(name));
  const [quote, section] = [field("quote"), field("section")];
  if (marked && quote && section) [quote.value, section.value] = [marked.quote, marked.section];
  dialog.showPopover();
}

const offer = document.createElement("button");
offer.type = "button";
offer.className = "offer primary small";
offer.textContent = "Comment";
offer.hidden = true;
offer.addEventListener("mousedown", (event) => event.preventDefault());
offer.addEventListener("click", () => {
  commentOnMarked();
  offer.hidden = true;
});

document.addEventListener("selectionchange", () => {
  const marked = document.getElementById("add-comment") ? markedWords() : null;
  offer.hidden = marked === null;
  if (!marked) return;
  if (!offer.isConnected) document.body.append(offer);
  offer.style.setProperty("top", `${Math.max(8, marked.at.top + scrollY - 40)}px`);
  offer.style.setProperty("left", `${Math.max(8, marked.at.left)}px`);
});

// The key and the button of the dialog take the marked words along.
document.addEventListener("click", ({ target }) => {
  if (target instanceof HTMLElement && target.closest("[popovertarget=add-comment]") && markedWords()) {
    const quote = document.getElementById("about-words");
    const marked = markedWords();
    if (quote instanceof HTMLTextAreaElement && marked) quote.value = marked.quote;
  }
}, { capture: true });
