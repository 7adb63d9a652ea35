// The four hooks of the first design, as one would write them in JavaScript: a process each, the state in a JSON file.
// Only a yardstick for `cargo xtask bench`: usage `seed_hooks.js HOOK STATE.json < event.json`.
const fs = require("node:fs")
const crypto = require("node:crypto")

const [hook, path] = process.argv.slice(2)
const event = JSON.parse(fs.readFileSync(0, "utf8"))
const text = event.tool_input.content ?? ""
const state = fs.existsSync(path) ? JSON.parse(fs.readFileSync(path, "utf8")) : { act: { status: "approved" }, children: {} }
if (hook === "hierarchy_validation") {
  if (state.act.status !== "approved") console.log(JSON.stringify({ decision: "block" }))
} else if (hook === "state_sync") {
  state.act.hash = crypto.createHash("sha256").update(text).digest("hex")
  fs.writeFileSync(path, JSON.stringify(state))
} else if (hook === "consistency_check") {
  if (new Set(text.match(/^- (\w+)/gm)).size > 1000) console.log("warning")
} else if (hook === "invalidation_cascade") {
  for (let n = 0; n < 220; n++) state.children["node-" + n] = "requires-revalidation"
  fs.writeFileSync(path, JSON.stringify(state))
}
