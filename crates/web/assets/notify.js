// Browser notifications of what begins to wait for a person, while this tab is not looked at. Chosen per browser, on the page Settings.

const CHOSEN = "tl-notify";
const SEEN = "tl-notified";

/** @typedef {{ path: string, name: string, cause: string }} Waiting */

/** Whether this browser is to notify, and may. */
function isOn() {
  return "Notification" in globalThis && localStorage.getItem(CHOSEN) === "yes" && Notification.permission === "granted";
}

/** What waits now, as the inbox lists it. @returns {Promise<Waiting[]>} */
async function listWaiting() {
  const answer = await fetch("/api/inbox");
  if (!answer.ok) return [];
  const inbox = await answer.json();
  const plans = inbox.groups.flatMap((/** @type {any} */ group) => group.items.map((/** @type {any} */ item) => ({
    path: item.path,
    name: item.title ?? item.entity_id,
    cause: item.stopped?.length ? `${item.stopped[0].host} waits for it` : group.cause === "new" ? "new plan" : "changed plan",
  })));
  const findings = inbox.findings.map((/** @type {any} */ one) => ({ path: `review ${one.subject} ${one.item.id}`, name: one.item.check, cause: `review of ${one.subject}` }));
  return [...plans, ...findings];
}

/** The page of an item. */
function addressOf(/** @type {Waiting} */ item) {
  return item.path.startsWith("review ") ? "/reviews" : `/?plan=${encodeURIComponent(item.path)}`;
}

/** Shows one notification for one item, and one for several. */
function show(/** @type {Waiting[]} */ fresh) {
  const [first] = fresh;
  if (!first) return;
  const project = document.querySelector("header.top .brand")?.textContent ?? "";
  const title = fresh.length === 1 ? `${first.name} waits for you` : `${fresh.length} decisions wait for you`;
  const body = fresh.length === 1 ? `${project} · ${first.cause}` : `${project} · ${fresh.slice(0, 3).map((one) => one.name).join(", ")}`;
  // The same tag in every tab of the project: the browser shows one of them.
  const notification = new Notification(title, { body, tag: `tl ${location.host} ${fresh.map((one) => one.path).join(" ")}`, icon: `/icons/${fresh.length}` });
  const address = fresh.length === 1 ? addressOf(first) : "/";
  notification.addEventListener("click", () => {
    globalThis.focus();
    location.assign(address);
    notification.close();
  });
  document.querySelector("tl-live")?.setAttribute("data-notified", title);
}

/** Notifies about what was not there the last time. What waits when the page is opened is on the page. */
export async function notifyOfNews() {
  if (!isOn()) return;
  const waiting = await listWaiting();
  const seen = /** @type {string[] | null} */ (JSON.parse(sessionStorage.getItem(SEEN) ?? "null"));
  sessionStorage.setItem(SEEN, JSON.stringify(waiting.map((one) => one.path)));
  if (seen && document.visibilityState === "hidden") show(waiting.filter((one) => !seen.includes(one.path)));
}

/** Makes the switch of the page Settings work; without a script it stays hidden. */
function setUpSwitch() {
  const part = document.getElementById("browser-notifications");
  const button = part?.querySelector("button");
  const said = part?.querySelector("[role=status]");
  if (!part || !button || !said) return;
  part.hidden = !("Notification" in globalThis);
  const render = () => {
    button.textContent = isOn() ? "Stop notifying in this browser" : "Notify in this browser";
    said.textContent = Notification.permission === "denied" ? "The browser does not allow notifications of this page: allow them beside its address." : isOn() ? "On: this tab tells you while it is open in the background." : "Off.";
  };
  const sayUnanswered = () => {
    if (Notification.permission === "default") said.textContent = "Off: the browser did not give permission. Allow notifications of this page beside its address.";
  };
  button.addEventListener("click", async () => {
    const wasOn = isOn();
    if (wasOn) localStorage.removeItem(CHOSEN);
    // Until it is answered nothing else on the page says what happens.
    else {
      said.textContent = "The browser asks for permission beside the address.";
      if ((await Notification.requestPermission()) === "granted") localStorage.setItem(CHOSEN, "yes");
    }
    render();
    if (!wasOn) sayUnanswered();
    notifyOfNews().catch(() => {});
  });
  render();
}

setUpSwitch();
notifyOfNews().catch(() => {});
