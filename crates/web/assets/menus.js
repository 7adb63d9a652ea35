// Menus close as those of other programs do: on Escape, on a click elsewhere, and when another one opens. Without a script their summary does it.

const MENUS = "details.menu[open], details.move-menu[open]";

function openMenus() {
  return /** @type {HTMLDetailsElement[]} */ ([...document.querySelectorAll(MENUS)]);
}

document.addEventListener("click", ({ target }) => {
  for (const menu of openMenus()) if (!menu.contains(/** @type {HTMLElement} */ (target))) menu.open = false;
});

// `toggle` does not bubble. A menu that is opened by a key closes the others too.
document.addEventListener("toggle", ({ target }) => {
  if (!(target instanceof HTMLElement) || !target.matches(MENUS)) return;
  for (const menu of openMenus()) if (menu !== target) menu.open = false;
}, { capture: true });

document.addEventListener("keydown", (event) => {
  const [menu] = openMenus();
  // A field in a menu may have a use for it.
  if (event.key !== "Escape" || !menu || event.defaultPrevented) return;
  // One key closes one thing.
  event.stopImmediatePropagation();
  menu.open = false;
  menu.querySelector("summary")?.focus();
});
