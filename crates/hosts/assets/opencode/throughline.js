// Throughline in OpenCode. Written by `tl init --host opencode`; `tl host uninstall opencode` takes it away.
//
// OpenCode has no hooks that start a program, so this plugin hands each event to `tl hook opencode` and does what it
// answers. It decides nothing and needs nothing but Node's or Bun's own modules.
import { spawn } from "node:child_process"

const PROGRAM = "tl"
const STRICT = false
const TIMEOUT_MS = 5000
// Enough to tell what was said; a tool's whole output is not needed to decide anything.
const EXCERPT = 4000

// Hooks that hand over what somebody typed.
const PROMPTS = ["chat.message", "command.execute.before"]

// Whether the program was not found; then the agent is told that nothing is checked.
let missing = false
const MISSING =
  "Throughline: `" + PROGRAM + "` was not found on this machine, so the gates of this project are off. " +
  "Next: `npm install --global throughline` (or `cargo install throughline`), then `tl host doctor --fix`."

// Starts the program with the payload on its input. Resolves with its answer, or with null when it could not answer.
function run(payload, directory) {
  return new Promise((resolve) => {
    let child
    let output = ""
    let timer
    const finish = (answer) => {
      clearTimeout(timer)
      resolve(answer)
    }
    try {
      child = spawn(PROGRAM, ["hook", "opencode"], { cwd: directory, stdio: ["pipe", "pipe", "ignore"] })
    } catch {
      return finish(null)
    }
    timer = setTimeout(() => {
      child.kill("SIGKILL")
      finish(null)
    }, TIMEOUT_MS)
    child.on("error", (error) => {
      missing = error.code === "ENOENT"
      finish(null)
    })
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (piece) => (output += piece))
    child.on("close", (code) => {
      if (code !== 0) return finish(null)
      if (output.trim() === "") return finish({})
      try {
        const answer = JSON.parse(output)
        finish(answer && typeof answer === "object" ? answer : {})
      } catch {
        finish(null)
      }
    })
    // The program may end without reading everything.
    child.stdin.on("error", () => {})
    child.stdin.end(payload)
  })
}

function excerpt(_key, value) {
  return typeof value === "string" && value.length > EXCERPT ? value.slice(0, EXCERPT) : value
}

function text(hook, ctx, parent, input, output, replacer) {
  const event = (value, change) => {
    try {
      return JSON.parse(JSON.stringify(value ?? null, change))
    } catch {
      return null
    }
  }
  return JSON.stringify({
    hook_event_name: hook,
    directory: ctx.directory,
    worktree: ctx.worktree,
    parentID: parent,
    input: event(input),
    output: event(output, replacer),
  })
}

export const Throughline = async (ctx) => {
  const ask = async (hook, input, output, replacer) => {
    const session = input?.sessionID ?? input?.properties?.sessionID
    const parent = PROMPTS.includes(hook) ? await parentOf(session) : parents.get(session)
    return run(text(hook, ctx, parent ?? undefined, input, output, replacer), ctx.directory)
  }

  // Sessions of subagents, and whose they are: what an agent is sent by another was not typed by a person.
  const parents = new Map()
  const parentOf = async (session) => {
    if (!session || parents.has(session)) return parents.get(session)
    try {
      const found = await ctx.client.session.get({ path: { id: session } })
      parents.set(session, found.data?.parentID ?? null)
    } catch {
      // Who cannot be asked is taken for a subagent: then nothing it says is a person's word.
      return "unknown"
    }
    return parents.get(session)
  }

  // What is to be in the system prompt, per session and agent: asked once, again after a compaction, and put into
  // every request, because OpenCode builds the prompt anew for each.
  const system = new Map()
  const forget = (session) => {
    for (const key of system.keys()) if (key.startsWith(session + "\n")) system.delete(key)
  }

  return {
    "tool.execute.before": async (input, output) => {
      const answer = await ask("tool.execute.before", input, output)
      if (answer === null && STRICT) throw new Error("Throughline could not run, so nothing may happen; see: tl host doctor")
      if (answer?.deny) throw new Error(answer.deny)
    },

    "tool.execute.after": async (input, output) => {
      const answer = await ask("tool.execute.after", input, output, excerpt)
      if (!answer?.append || !output) return
      // Tools of OpenCode give {title, output, metadata}; those of MCP servers give {content: [...]}.
      if (Array.isArray(output.content)) output.content.push({ type: "text", text: answer.append })
      else output.output = (output.output ? output.output + "\n" : "") + answer.append
    },

    "chat.message": async (input, output) => {
      const answer = await ask("chat.message", input, output, excerpt)
      if (answer?.deny) throw new Error(answer.deny)
      const part = output.parts.find((part) => part.type === "text" && !part.synthetic)
      if (answer?.prompt_append && part) part.text += "\n\n" + answer.prompt_append
    },

    "command.execute.before": async (input, output) => {
      const answer = await ask("command.execute.before", input, output, excerpt)
      if (answer?.deny) throw new Error(answer.deny)
      const part = output.parts?.find((part) => part.type === "text")
      if (answer?.prompt_append && part) part.text += "\n\n" + answer.prompt_append
    },

    "experimental.chat.system.transform": async (input, output) => {
      if (!input?.sessionID) return
      const key = input.sessionID + "\n" + (output.system[0] ?? "").slice(0, 200)
      let answer = system.get(key)
      if (answer === undefined) {
        answer = ask("experimental.chat.system.transform", { sessionID: input.sessionID }, output, excerpt)
        system.set(key, answer)
      }
      answer = await answer
      // A program that could not answer is asked again next time.
      if (answer === null) system.delete(key)
      if (answer?.system) output.system.push(answer.system)
      else if (answer === null && missing) output.system.push(MISSING)
    },

    // A command of ours that the agent's shell runs belongs to this session.
    "shell.env": async (input, output) => {
      if (input?.sessionID && output?.env) output.env.THROUGHLINE_SESSION = parents.get(input.sessionID) ?? input.sessionID
    },

    "experimental.session.compacting": async (input, output) => {
      const answer = await ask("experimental.session.compacting", input, output, excerpt)
      if (Array.isArray(answer?.context)) output.context.push(...answer.context)
      if (answer?.prompt) output.prompt = answer.prompt
    },

    event: async ({ event }) => {
      const info = event.properties?.info
      if (event.type === "session.created" && info?.parentID) parents.set(info.id, info.parentID)
      if (!["session.compacted", "session.idle", "session.deleted"].includes(event.type)) return
      const session = event.properties?.sessionID ?? event.properties?.info?.id
      if (event.type !== "session.idle" && session) forget(session)
      const answer = await ask("event:" + event.type, event, null)
      if (event.type === "session.idle" && answer?.followup && session) {
        await ctx.client.session.promptAsync({
          path: { id: session },
          body: { parts: [{ type: "text", text: answer.followup }] },
        })
      }
    },
  }
}
