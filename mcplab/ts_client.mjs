// The TypeScript SDK's clients, v2 and v1, driven line by line (clients.py): a command per line in, an answer or an event
// per line out.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { join } from "node:path";

const settings = JSON.parse(process.argv[2]);
const require = createRequire(join(settings.modules, "here.js"));
const modern = settings.era === "modern";
const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");
let answer = { action: "cancel" };

const asked = async (request) => {
  say({ event: "asked", params: request.params });
  return answer;
};
const updated = (notification) => say({ event: "updated", uri: notification.params.uri });
const listChanged = () => say({ event: "list_changed" });

const about = { name: `mcplab-typescript-${settings.sdk}`, version: "1" };
const capabilities = settings.asks ? { elicitation: { form: {} } } : {};
let client, Stdio, Http;
if (settings.sdk === "v2") {
  const sdk = require("@modelcontextprotocol/client");
  Stdio = require("@modelcontextprotocol/client/stdio").StdioClientTransport;
  Http = sdk.StreamableHTTPClientTransport;
  client = new sdk.Client(about, { capabilities, versionNegotiation: { mode: modern ? "auto" : "legacy" } });
  if (settings.asks) client.setRequestHandler("elicitation/create", asked);
  client.setNotificationHandler("notifications/resources/updated", updated);
  client.setNotificationHandler("notifications/resources/list_changed", listChanged);
} else {
  const types = require("@modelcontextprotocol/sdk/types.js");
  const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
  Stdio = require("@modelcontextprotocol/sdk/client/stdio.js").StdioClientTransport;
  Http = require("@modelcontextprotocol/sdk/client/streamableHttp.js").StreamableHTTPClientTransport;
  client = new Client(about, { capabilities });
  if (settings.asks) client.setRequestHandler(types.ElicitRequestSchema, asked);
  client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, updated);
  client.setNotificationHandler(types.ResourceListChangedNotificationSchema, listChanged);
}

const lists = {
  tools: (page) => client.listTools(page),
  resources: (page) => client.listResources(page, { cacheMode: "bypass" }),
  resourceTemplates: (page) => client.listResourceTemplates(page),
  prompts: (page) => client.listPrompts(page),
};
const ops = {
  about: async () => ({
    version: client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? null,
    instructions: client.getInstructions(),
  }),
  list: async ({ what }) => {
    const items = [];
    let cursor;
    do {
      const page = await lists[what](cursor ? { cursor } : undefined);
      items.push(...page[what]);
      cursor = page.nextCursor;
    } while (cursor);
    return items;
  },
  call: ({ name, arguments: given }) => client.callTool({ name, arguments: given }),
  read: ({ uri }) => client.readResource({ uri }, { cacheMode: "bypass" }),
  prompt: ({ name, arguments: given }) => client.getPrompt({ name, arguments: given }),
  complete: ({ ref, argument }) => client.complete({ ref, argument }),
  subscribe: async ({ uris }) => {
    if (modern) {
      await client.listen({ resourcesListChanged: true, resourceSubscriptions: uris });
    } else {
      for (const uri of uris) await client.subscribeResource({ uri });
    }
    return {};
  },
  answer: async (given) => {
    answer = given.answer;
    return {};
  },
};

const [program, ...words] = settings.command;
const transport =
  settings.transport === "stdio"
    ? new Stdio({ command: program, args: words, cwd: settings.cwd, env: settings.env, stderr: "inherit" })
    : new Http(new URL(settings.url), { requestInit: { headers: { Authorization: `Bearer ${settings.token}` } } });
client.onerror = (error) => console.error(`onerror: ${error.message}`);
await client.connect(transport);
say({ event: "connected" });

for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() === "end") break;
  const command = JSON.parse(line);
  Promise.resolve()
    .then(() => ops[command.op](command))
    .then((result) => say({ n: command.n, result }))
    .catch((error) => say({ n: command.n, error: { code: error.code ?? null, message: error.message } }));
}
await client.close();
process.exit(0);
