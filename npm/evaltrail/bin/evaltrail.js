#!/usr/bin/env node
// Starts the program of this platform, which an optional dependency contains. There is no install script.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

/** The package of this platform: `linux-x64`, with `-musl` where the C library is musl. */
function platformPackage() {
  const isMusl = process.platform === "linux" && !process.report.getReport().header.glibcVersionRuntime;
  return `@evaltrail/${process.platform}-${process.arch}${isMusl ? "-musl" : ""}`;
}

function findProgram() {
  const name = process.platform === "win32" ? "evaltrail.exe" : "evaltrail";
  const wanted = platformPackage();
  try {
    return require.resolve(`${wanted}/bin/${name}`);
  } catch {
    console.error(
      `evaltrail: the package ${wanted} is not installed. Install evaltrail with optional dependencies ` +
        "(npm install --include=optional evaltrail); if there is no such package, build evaltrail from source.",
    );
    process.exit(2);
  }
}

const program = findProgram();
// The terminal sends Ctrl-C to the program as well, which decides what to do. Other signals are passed on. This is set up
// before the program starts: a signal that comes just after its start must not end this process alone.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`evaltrail: ${error.message}`);
  process.exit(2);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
