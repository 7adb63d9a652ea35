// Keys by their place where a layout has no Latin letters: `j` is pressed with the same finger on every keyboard.

/** The key that was pressed, as a Latin layout names it. */
export function keyOf(/** @type {KeyboardEvent} */ event) {
  const { key, code } = event;
  const letter = key.length === 1 && key.charCodeAt(0) > 127 ? /^Key([A-Z])$/.exec(code)?.[1] : undefined;
  if (!letter) return key;
  return event.shiftKey ? letter : letter.toLowerCase();
}
