// Times as people say them; the exact one is in the tooltip, and stays in the text of what is older than a week.

const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60]];
const WEEK = 7 * 86400;

/** How long ago something was, or when it will be. */
function relative(/** @type {number} */ seconds) {
  if (Math.abs(seconds) < 60) return seconds > 0 ? "in a moment" : "just now";
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ["minute", 60];
  return words.format(Math.trunc(seconds / size), unit);
}

export function tellTimes() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    if (!(time instanceof HTMLElement)) continue;
    const seconds = (Date.parse(time.getAttribute("datetime") ?? "") - Date.now()) / 1000;
    if (!(Math.abs(seconds) < WEEK)) continue;
    time.title ||= time.textContent ?? "";
    time.textContent = relative(seconds);
  }
}
