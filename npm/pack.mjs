// Makes the npm packages: node npm/pack.mjs OUT [PLATFORM=PROGRAM]...
//
// OUT gets a .tgz file for `evaltrail`, and one for each platform with its program, for example
// `linux-x64=target/dist/evaltrail`. The version is that of Cargo.toml. Nothing is published.
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [out, ...programs] = process.argv.slice(2);
if (!out) {
  console.error("usage: node npm/pack.mjs OUT [PLATFORM=PROGRAM]...");
  process.exit(2);
}
const version = /^version = "(.*)"$/m.exec(readFileSync(join(root, "Cargo.toml"), "utf8"))[1];
const main = JSON.parse(readFileSync(join(root, "npm/evaltrail/package.json"), "utf8"));
const work = mkdtempSync(join(tmpdir(), "evaltrail-npm-"));
mkdirSync(out, { recursive: true });

function pack(folder, manifest) {
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2) + "\n");
  for (const name of ["LICENSE", "README.md"]) cpSync(join(root, name), join(folder, name));
  execFileSync("npm", ["pack", "--silent", "--pack-destination", resolve(out)], { cwd: folder, stdio: ["ignore", "inherit", "inherit"] });
}

try {
  for (const [platform, program] of programs.map((one) => one.split(/=(.*)/s))) {
    const name = `@evaltrail/${platform}`;
    if (!(name in main.optionalDependencies)) throw new Error(`${platform} is not a platform of npm/evaltrail/package.json`);
    const [os, cpu, libc] = platform.split("-");
    const folder = join(work, platform);
    const file = join(folder, "bin", os === "win32" ? "evaltrail.exe" : "evaltrail");
    mkdirSync(dirname(file), { recursive: true });
    cpSync(program, file);
    chmodSync(file, 0o755);
    const { description, license } = main;
    const linux = os === "linux" ? { libc: [libc ?? "glibc"] } : {};
    pack(folder, { name, version, description: `${description} (${platform})`, license, os: [os], cpu: [cpu], ...linux, files: ["bin"] });
  }
  const folder = join(work, "evaltrail");
  cpSync(join(root, "npm/evaltrail"), folder, { recursive: true });
  const optionalDependencies = Object.fromEntries(Object.keys(main.optionalDependencies).map((name) => [name, version]));
  pack(folder, { ...main, version, optionalDependencies });
} finally {
  rmSync(work, { recursive: true, force: true });
}
