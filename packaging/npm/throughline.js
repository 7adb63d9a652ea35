#!/usr/bin/env node
// Starts the program of this platform's package, with the same arguments, streams and exit code or signal.
"use strict";

const { spawn } = require("node:child_process");

const name = `throughline-${process.platform}-${process.arch}`;

let program;
try {
  program = require.resolve(`${name}/bin/tl`);
} catch {
  console.error(
    `throughline: there is no program for ${process.platform} ${process.arch} (package ${name}).\n` +
      "Supported: linux x64. Elsewhere: cargo install throughline",
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });

// Who ends this process means the program: a host that stops its MCP server would leave it running.
const forwarded = ["SIGTERM", "SIGINT", "SIGHUP"];
for (const signal of forwarded) {
  process.on(signal, () => child.kill(signal));
}

child.on("error", (error) => {
  console.error(`throughline: cannot start ${program}: ${error.message}`);
  process.exit(1);
});

child.on("exit", (code, signal) => {
  if (!signal) {
    process.exit(code);
  }
  // Without its own handler the same signal ends this process as it ended the program.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
