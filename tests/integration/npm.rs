//! The npm packages: made by `npm/pack.mjs`, installed without scripts and without a network.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::common::terminal::Terminal;
use crate::common::{both, has_program, output, root, text, wait_for};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A folder with the packages installed, of which one contains this program; `None` without npm.
fn installed(program: &Path) -> Option<tempfile::TempDir> {
    if !has_program("npm") || !has_program("node") {
        println!("SKIPPED: npm is not installed");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let packages = folder.path().join("packages");
    let mut pack = Command::new("node");
    pack.arg(root().join("npm/pack.mjs"))
        .arg(&packages)
        .arg(format!("linux-x64={}", program.display()));
    let packed = output(&mut pack);
    assert!(packed.status.success(), "{}", both(&packed));
    std::fs::write(
        folder.path().join("package.json"),
        "{\"name\": \"x\", \"version\": \"1.0.0\"}",
    )
    .unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let mut install = Command::new("npm");
    install.current_dir(folder.path()).args([
        "install",
        "--ignore-scripts",
        "--offline",
        "--no-audit",
        "--no-fund",
    ]);
    install.args(
        ["evaltrail", "evaltrail-linux-x64"].map(|name| format!("./packages/{name}-{version}.tgz")),
    );
    let out = output(&mut install);
    assert!(out.status.success(), "{}", both(&out));
    Some(folder)
}

fn script(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("program.sh");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn launcher_forwards_args_exit_codes_signals() {
    let temp_folder = tempfile::tempdir().unwrap();
    let program = "#!/bin/sh\nif [ \"$1\" = wait ]; then trap 'echo told; exit 130' TERM; touch \"$2\"; while :; do sleep 0.05; done; fi\necho \"$# $1 $2\"; exit 7\n";
    let Some(folder) = installed(&script(temp_folder.path(), program)) else {
        return;
    };
    let launcher = folder.path().join("node_modules/.bin/evaltrail");
    let out = output(Command::new(&launcher).args(["two words", "it's"]));
    assert_eq!(
        (text(&out).as_str(), out.status.code()),
        ("2 two words it's\n", Some(7)),
        "{}",
        both(&out)
    );
    let ready = folder.path().join("ready");
    let child = Command::new(&launcher)
        .arg("wait")
        .arg(&ready)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for("the program", Duration::from_secs(30), || {
        ready.exists().then_some(())
    });
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&child),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!(
        (text(&out).as_str(), out.status.code()),
        ("told\n", Some(130))
    );
    // Without the package of the platform, the launcher says what is missing.
    std::fs::remove_dir_all(folder.path().join("node_modules/@evaltrail")).unwrap();
    let out = output(&mut Command::new(&launcher));
    assert_eq!(out.status.code(), Some(2));
    assert!(
        both(&out).contains("the package @evaltrail/linux-x64 is not installed"),
        "{}",
        both(&out)
    );
}

#[test]
fn npm_demo_starts_and_uninstalls_cleanly() {
    if !has_program("strip") {
        println!("SKIPPED: strip is not installed");
        return;
    }
    let temp_folder = tempfile::tempdir().unwrap();
    // Packing the debug information would take half a minute.
    let program = temp_folder.path().join("evaltrail");
    let stripped = output(
        Command::new("strip")
            .arg("-o")
            .arg(&program)
            .arg(env!("CARGO_BIN_EXE_evaltrail")),
    );
    assert!(stripped.status.success(), "{}", both(&stripped));
    let Some(folder) = installed(&program) else {
        return;
    };
    let launcher = folder.path().join("node_modules/.bin/evaltrail");
    let version = text(&output(Command::new(&launcher).arg("--version")));
    assert!(version.contains("installed by npm"), "{version}");
    let home = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::start(
        launcher.to_str().unwrap(),
        &["demo"],
        home.path(),
        (100, 30),
    );
    terminal.wait_for("watering");
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
    terminal.assert_restored();
    let mut uninstall = Command::new("npm");
    uninstall.current_dir(folder.path()).args([
        "uninstall",
        "--offline",
        "evaltrail",
        "@evaltrail/linux-x64",
    ]);
    assert!(output(&mut uninstall).status.success());
    let left = [
        "node_modules/evaltrail",
        "node_modules/@evaltrail/linux-x64",
        "node_modules/.bin/evaltrail",
    ];
    assert_eq!(
        left.map(|name| folder.path().join(name).exists()),
        [false; 3]
    );
}
