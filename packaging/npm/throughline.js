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

// Who ends this process means the program: a host that stops its MCP server would leave it running.
// Before the start: a signal between the two would end this process alone.
let child;
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}

child = spawn(program, process.argv.slice(2), { stdio: "inherit" });

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
