//! Compiling for Windows and macOS on Linux.
//!
//! The standard library of a target comes from rustup. Where rustup cannot fetch it, it is compiled from Debian's package
//! of the sources of this version of Rust. What cannot be had is said, and is not an error.

use crate::commands::{command, root, run, succeeds, text};
use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const WINDOWS: &str = "x86_64-pc-windows-gnu";
const MACOS: &str = "aarch64-apple-darwin";

/// Old versions of Wine lack this library of Windows, which Rust's standard library takes random bytes from.
const RANDOM_BYTES: &str = "#include <windows.h>
BOOLEAN WINAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) { return SystemFunction036(bytes, (ULONG)count); }
";

/// The C compiler for macOS is zig: it has Apple's headers, but other names for some options.
const MACOS_COMPILER: &str = r#"#!/usr/bin/env bash
kept=() skipped=
for option in "$@"; do
  if [ -n "$skipped" ]; then skipped=; continue; fi
  case "$option" in
    --target=* | -mmacosx-version-min=* | -mmacos-version-min=*) ;;
    -arch | -isysroot) skipped=1 ;;
    *) kept+=("$option") ;;
  esac
done
exec "PYTHON" -m ziglang cc -target aarch64-macos "${kept[@]}"
"#;

/// Where the standard libraries of the targets come from.
struct Toolchain {
    /// The folder of downloads and builds.
    folder: PathBuf,
    /// A copy of the toolchain with the sources of the standard library, if it is compiled.
    with_sources: Option<PathBuf>,
}

pub fn check(tests_in_wine: bool) -> anyhow::Result<()> {
    let folder = root().join("target/other-platforms");
    fs::create_dir_all(&folder)?;
    let Some(toolchain) = Toolchain::find(folder)? else {
        println!("not checked here: the standard library for Windows and macOS cannot be had");
        return Ok(());
    };
    println!("-- {WINDOWS}");
    if install("x86_64-w64-mingw32-gcc", &["gcc-mingw-w64-x86-64"]) {
        run(toolchain
            .cargo(&["check", "--locked", "--quiet"], WINDOWS)
            .env("RUSTFLAGS", "-D warnings"))?;
        println!("compiles");
    } else {
        println!("not checked here: the C compiler for Windows (gcc-mingw-w64-x86-64) is missing");
    }
    println!("-- {MACOS}");
    match toolchain.macos_tools()? {
        Some((compiler, archiver)) => {
            let mut check = toolchain.cargo(&["check", "--locked", "--quiet"], MACOS);
            // The path of an SDK is not used, but without one Apple's tools are asked for it.
            check
                .env("SDKROOT", &toolchain.folder)
                .env("CC_aarch64_apple_darwin", compiler)
                .env("AR_aarch64_apple_darwin", archiver)
                .env("RUSTFLAGS", "-D warnings");
            run(&mut check)?;
            println!("compiles");
        }
        None => {
            println!("not checked here: a C compiler for macOS (ziglang from PyPI) cannot be had");
        }
    }
    if tests_in_wine {
        test_in_wine(&toolchain)?;
    }
    Ok(())
}

impl Toolchain {
    fn find(folder: PathBuf) -> anyhow::Result<Option<Toolchain>> {
        let mut targets = command(
            &root(),
            "timeout",
            &["60", "rustup", "target", "add", WINDOWS, MACOS],
        );
        if succeeds(&mut targets) {
            return Ok(Some(Toolchain {
                folder,
                with_sources: None,
            }));
        }
        let version = text(&mut command(&root(), "rustc", &["--version"]))?;
        let version = version
            .split(' ')
            .nth(1)
            .context("rustc names no version")?;
        // The copy of the toolchain is that of this version.
        let copy = folder.join(format!("toolchain-{version}"));
        let has_sources = copy.is_dir() || fetch_sources(&folder, version, &copy)?;
        Ok(has_sources.then_some(Toolchain {
            folder,
            with_sources: Some(copy),
        }))
    }

    /// Cargo for a target.
    fn cargo(&self, arguments: &[&str], target: &str) -> Command {
        let mut cargo = command(&root(), "cargo", arguments);
        cargo
            .args(["--target", target])
            .env("CARGO_TARGET_DIR", self.folder.join("target"));
        if let Some(copy) = &self.with_sources {
            let path = std::env::var("PATH").unwrap_or_default();
            cargo
                .arg("-Zbuild-std")
                .env("PATH", format!("{}:{path}", copy.join("bin").display()))
                .env("CARGO", copy.join("bin/cargo"))
                .env("RUSTC", copy.join("bin/rustc"))
                .env("RUSTC_BOOTSTRAP", "1")
                // That of the toolchain that runs this program, whose libraries are found first.
                .env_remove("LD_LIBRARY_PATH");
        }
        cargo
    }

    /// A C compiler and an archiver for macOS.
    fn macos_tools(&self) -> anyhow::Result<Option<(PathBuf, PathBuf)>> {
        let environment = self.folder.join("zig");
        let python = environment.join("bin/python");
        let has_zig = python.is_file() || {
            let at = environment.display().to_string();
            let pip = environment.join("bin/pip").display().to_string();
            succeeds(&mut command(&root(), "python3", &["-m", "venv", &at]))
                && succeeds(&mut command(&root(), &pip, &["install", "-q", "ziglang"]))
        };
        if !has_zig {
            return Ok(None);
        }
        let python = python.display().to_string();
        let compiler = self.folder.join("cc");
        let archiver = self.folder.join("ar");
        write_program(&compiler, &MACOS_COMPILER.replace("PYTHON", &python))?;
        let archive = format!("#!/usr/bin/env bash\nexec \"{python}\" -m ziglang ar \"$@\"\n");
        write_program(&archiver, &archive)?;
        Ok(Some((compiler, archiver)))
    }
}

#[cfg(unix)]
fn write_program(path: &Path, code: &str) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, code)?;
    Ok(fs::set_permissions(
        path,
        fs::Permissions::from_mode(0o755),
    )?)
}

#[cfg(not(unix))]
fn write_program(_: &Path, _: &str) -> anyhow::Result<()> {
    anyhow::bail!("other platforms are checked on Linux only")
}

/// Whether a program is there, or could be installed from these packages of Debian.
fn install(program: &str, packages: &[&str]) -> bool {
    let is_there = || succeeds(&mut command(&root(), "which", &[program]));
    let install = || {
        let arguments = ["install", "-qy", "--no-install-recommends"];
        succeeds(&mut command(
            &root(),
            "apt-get",
            &[&arguments, packages].concat(),
        ))
    };
    let update = || succeeds(&mut command(&root(), "apt-get", &["update", "-q"]));
    is_there() || install() || (update() && install())
}

/// Makes a copy of the toolchain with the sources of the standard library, from a package of Debian with the version of
/// this rustc. Returns whether there is one.
fn fetch_sources(folder: &Path, version: &str, copy: &Path) -> anyhow::Result<bool> {
    let archives = [
        "indextargets",
        "--format",
        "$(SITE)",
        "Created-By: Packages",
    ];
    let archives = text(&mut command(folder, "apt-get", &archives)).unwrap_or_default();
    let Some(archive) = archives.lines().find(|site| site.ends_with("/debian")) else {
        return Ok(false);
    };
    let suites = ["trixie-backports", "testing", "unstable"];
    let mut packages = suites
        .iter()
        .filter_map(|suite| download(folder, archive, suite, version));
    let Some(package) = packages.next() else {
        return Ok(false);
    };
    let unpacked = folder.join("unpacked");
    // What another version left.
    let _ = fs::remove_dir_all(&unpacked);
    remove_toolchains(folder)?;
    let (from, to) = (
        package.display().to_string(),
        unpacked.display().to_string(),
    );
    run(&mut command(folder, "dpkg-deb", &["-x", &from, &to]))?;
    let sysroot = text(&mut command(folder, "rustc", &["--print", "sysroot"]))?;
    // By hard links where that is possible, so that the original is not changed. It gets its name when it is complete.
    let part = folder.join("toolchain-part");
    let _ = fs::remove_dir_all(&part);
    let to = part.display().to_string();
    if !succeeds(&mut command(folder, "cp", &["-al", &sysroot, &to])) {
        let _ = fs::remove_dir_all(&part);
        run(&mut command(folder, "cp", &["-a", &sysroot, &to]))?;
    }
    let sources = fs::read_dir(unpacked.join("usr/src"))?;
    let sources = sources.flatten().map(|entry| entry.path().join("library"));
    let library = sources.into_iter().find(|path| path.is_dir());
    let library = library.context("the package has no sources of the standard library")?;
    let library_in_part = part.join("lib/rustlib/src/rust");
    fs::create_dir_all(&library_in_part)?;
    let (library, library_in_part) = (
        library.display().to_string(),
        library_in_part.display().to_string(),
    );
    run(&mut command(
        folder,
        "cp",
        &["-r", &library, &library_in_part],
    ))?;
    fs::rename(&part, copy)?;
    fs::remove_dir_all(&unpacked)?;
    fs::remove_file(package)?;
    Ok(true)
}

fn remove_toolchains(folder: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry
            .file_name()
            .to_string_lossy()
            .starts_with("toolchain-")
        {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Downloads the sources of this version from a suite of Debian.
fn download(folder: &Path, archive: &str, suite: &str, version: &str) -> Option<PathBuf> {
    let (lists, list) = (
        folder.join(format!("lists-{suite}")),
        folder.join(format!("{suite}.list")),
    );
    fs::create_dir_all(lists.join("partial")).ok()?;
    let signed = "signed-by=/usr/share/keyrings/debian-archive-keyring.gpg";
    fs::write(&list, format!("deb [{signed}] {archive} {suite} main\n")).ok()?;
    let options = [
        format!("Dir::Etc::SourceList={}", list.display()),
        "Dir::Etc::SourceParts=/dev/null".into(),
        format!("Dir::State::Lists={}", lists.display()),
        "Dir::Cache::pkgcache=".into(),
        "Dir::Cache::srcpkgcache=".into(),
        "APT::Sandbox::User=root".into(),
    ];
    let apt = |arguments: &[&str]| {
        let mut apt = command(folder, "apt-get", &[]);
        apt.args(options.iter().flat_map(|option| ["-o", option]))
            .args(arguments);
        succeeds(&mut apt)
    };
    let package = format!("rust-src={version}*");
    let downloaded = apt(&["update", "-q"]) && apt(&["download", "-q", &package]);
    let (_, _) = (fs::remove_dir_all(&lists), fs::remove_file(&list));
    let is_package = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&format!("rust-src_{version}")) && name.ends_with(".deb")
    };
    let mut files = fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.path());
    files.find(|path| downloaded && is_package(path))
}

/// Runs the unit tests of all crates in Wine.
fn test_in_wine(toolchain: &Toolchain) -> anyhow::Result<()> {
    println!("-- unit tests in Wine");
    if !install("wine", &["wine", "wine64"]) {
        println!("not checked here: Wine is missing");
        return Ok(());
    }
    run(&mut toolchain.cargo(
        &["test", "--locked", "--quiet", "--lib", "--no-run"],
        WINDOWS,
    ))?;
    let programs = toolchain
        .folder
        .join("target")
        .join(WINDOWS)
        .join("debug/deps");
    let source = toolchain.folder.join("random.c");
    fs::write(&source, RANDOM_BYTES)?;
    let library = programs.join("bcryptprimitives.dll").display().to_string();
    let source = source.display().to_string();
    let arguments = ["-shared", "-o", &library, &source, "-ladvapi32"];
    run(&mut command(
        &programs,
        "x86_64-w64-mingw32-gcc",
        &arguments,
    ))?;
    for name in ["evaltrail_core", "evaltrail_engine", "evaltrail"] {
        let test =
            newest_program(&programs, name).with_context(|| format!("no tests of {name}"))?;
        run(command(&root(), "wine", &[&test.display().to_string()]).env("WINEDEBUG", "-all"))?;
    }
    Ok(())
}

/// The newest of the programs with this name and a hash.
fn newest_program(folder: &Path, name: &str) -> Option<PathBuf> {
    let is_it = |path: &PathBuf| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let hash = file
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('-'));
        hash.is_some_and(|hash| hash.ends_with(".exe"))
    };
    let entries = fs::read_dir(folder).ok()?.flatten();
    let programs = entries.map(|entry| entry.path()).filter(is_it);
    programs.max_by_key(|path| fs::metadata(path).and_then(|meta| meta.modified()).ok())
}
