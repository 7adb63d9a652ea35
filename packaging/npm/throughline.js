#!/usr/bin/env node
// Starts the program of this platform's package, with the same arguments, streams and exit code.
"use strict";

const { spawnSync } = require("node:child_process");

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

const ended = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (ended.error) {
  console.error(`throughline: cannot start ${program}: ${ended.error.message}`);
  process.exit(1);
}
if (ended.signal) {
  process.kill(process.pid, ended.signal);
}
process.exit(ended.status ?? 1);
