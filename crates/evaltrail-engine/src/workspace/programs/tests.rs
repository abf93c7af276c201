//! Tests of the search for programs.

use super::*;
use std::fs;

/// Creates a file that can be executed, and the folders above it.
fn program(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "#!/bin/sh\n").unwrap();
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

fn names() -> (&'static str, &'static str) {
    match cfg!(windows) {
        true => ("Scripts/python.exe", "Scripts/adk.exe"),
        false => ("bin/python", "bin/adk"),
    }
}

#[test]
fn environment_above_repository_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let (python, adk) = names();
    let repository = folder.path().join("repository");
    let agents = repository.join("evals/agents");
    fs::create_dir_all(&agents).unwrap();
    fs::create_dir(repository.join(".git")).unwrap();
    program(&folder.path().join(".venv").join(python));
    program(&folder.path().join(".venv").join(adk));
    let is_in_folder = |path: &PathBuf| path.starts_with(folder.path());
    assert!(!find_python(&agents).is_ok_and(|path| is_in_folder(&path)));
    assert!(
        !find_adk(&agents, &agents)
            .path
            .is_some_and(|path| is_in_folder(&path))
    );
    let own = repository.join("venv");
    program(&own.join(python));
    program(&own.join(adk));
    assert_eq!(find_python(&agents), Ok(own.join(python)));
    assert_eq!(find_adk(&agents, &agents).path, Some(own.join(adk)));
}

#[test]
fn search_without_repository_ends_at_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let (python, adk) = names();
    let root = folder.path().join("work");
    let agents = root.join("agents");
    fs::create_dir_all(&agents).unwrap();
    program(&folder.path().join(".venv").join(python));
    program(&folder.path().join(".venv").join(adk));
    assert!(!find_python(&root).is_ok_and(|path| path.starts_with(folder.path())));
    assert!(
        !find_adk(&agents, &root)
            .path
            .is_some_and(|path| path.starts_with(folder.path()))
    );
    program(&root.join(".venv").join(adk));
    assert_eq!(
        find_adk(&agents, &root).path,
        Some(root.join(".venv").join(adk))
    );
    // The agents of another folder do not extend the search.
    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    assert_eq!(
        find_adk(&elsewhere, &root).path,
        Some(root.join(".venv").join(adk))
    );
}

/// The owner of the files is another user than the one who looks for programs.
#[cfg(unix)]
#[test]
fn programs_of_other_users_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let base = dunce::canonicalize(folder.path()).unwrap();
    let path = base.join(".venv/bin/adk");
    program(&path);
    let owner = User::current();
    let other = User(owner.0.wrapping_add(4242));
    let found = |user: User, within: Option<PathBuf>| {
        first_own(
            [Candidate {
                path: path.clone(),
                within,
            }]
            .into_iter(),
            user,
        )
    };
    let in_environment = |user: User| found(user, Some(base.join(".venv")));
    let own = FoundProgram {
        path: Some(path.clone()),
        refused: Vec::new(),
    };
    let foreign = FoundProgram {
        path: None,
        refused: vec![(path.clone(), UnsafePath::OtherOwner(path.clone()))],
    };
    assert_eq!(in_environment(owner), own);
    // What root owns may be used by everybody: root could do anything anyway.
    assert_eq!(in_environment(other) == own, owner.0 == 0);
    if owner.0 != 0 {
        let refused = vec![(path.clone(), UnsafePath::OtherOwner(base.join(".venv/bin")))];
        assert_eq!(
            in_environment(other),
            FoundProgram {
                path: None,
                refused
            }
        );
    }
    assert_eq!(found(other, None), own, "on PATH, or in VIRTUAL_ENV");
    let why = foreign.python().unwrap_err();
    assert!(
        why.contains(&format!("({} belongs to another user)", path.display())),
        "{why}"
    );
    assert!(
        FoundProgram::default()
            .python()
            .unwrap_err()
            .contains("neither on PATH")
    );
}

/// The program of the system that every user may start, behind a link in an environment.
#[cfg(unix)]
#[test]
fn only_own_link_to_system_program_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join(".venv/bin/python");
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("/bin/sh", &link).unwrap();
    let candidate = Candidate {
        path: link.clone(),
        within: Some(folder.path().join(".venv")),
    };
    assert!(
        candidate.refusal_for(User::current()).is_none(),
        "links are usual in environments"
    );
    let is_roots = User::current().0 == 0;
    assert_eq!(
        candidate
            .refusal_for(User(User::current().0.wrapping_add(4242)))
            .is_none(),
        is_roots
    );
}

/// Gives a path to another user, which only root can. Returns whether it did.
#[cfg(unix)]
fn give_away(path: &Path) -> bool {
    const OTHER: u32 = 4242;
    let given = std::os::unix::fs::lchown(path, Some(OTHER), None).is_ok();
    if !given {
        assert!(
            std::env::var_os("EVALTRAIL_REQUIRE_ROOT").is_none(),
            "root is required here"
        );
        println!("skipped: only root can create files of another user");
    }
    given
}

#[cfg(unix)]
#[test]
fn a_program_of_another_user_is_not_used() {
    for part in [".venv", ".venv/bin", ".venv/bin/adk"] {
        let folder = tempfile::tempdir().unwrap();
        let root = &dunce::canonicalize(folder.path()).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        let adk = root.join(".venv/bin/adk");
        program(&adk);
        program(&root.join(".venv/bin/python"));
        assert_eq!(find_adk(root, root).path, Some(adk.clone()));
        if !give_away(&root.join(part)) {
            return;
        }
        let found = find_adk(root, root);
        assert_ne!(found.path.as_ref(), Some(&adk), "{part}");
        assert_eq!(
            found.refused.first(),
            Some(&(adk.clone(), UnsafePath::OtherOwner(root.join(part)))),
            "{part}"
        );
        let python = find_python(root);
        let is_in_root = python.as_ref().is_ok_and(|path| path.starts_with(root));
        assert_eq!(is_in_root, part == ".venv/bin/adk", "{part}: {python:?}");
        assert!(
            python.is_ok_and(|path| path.is_absolute()),
            "never a name that PATH resolves later"
        );
    }
}

/// The owner of a folder or link can replace a program in it later.
#[cfg(unix)]
#[test]
fn environment_with_foreign_path_is_not_used() {
    use std::os::unix::fs::symlink;
    type CreateFiles = fn(&Path, &Path);
    let ways: [(&str, &str, CreateFiles); 6] = [
        (
            ".venv is a link to their folder",
            "elsewhere",
            |base, work| {
                symlink(base.join("elsewhere"), work.join(".venv")).unwrap();
            },
        ),
        (
            "a folder above the target of .venv",
            "deep",
            |base, work| {
                fs::create_dir(base.join("deep")).unwrap();
                fs::rename(base.join("elsewhere"), base.join("deep/elsewhere")).unwrap();
                symlink("../deep/elsewhere", work.join(".venv")).unwrap();
            },
        ),
        (
            "bin is a link to their folder",
            "elsewhere/bin",
            |_, work| {
                fs::create_dir(work.join(".venv")).unwrap();
                symlink("../../elsewhere/bin", work.join(".venv/bin")).unwrap();
            },
        ),
        (
            "a link of another user between two own links",
            "link",
            |base, work| {
                fs::create_dir_all(work.join(".venv/bin")).unwrap();
                symlink("elsewhere/bin/python", base.join("link")).unwrap();
                symlink(base.join("link"), work.join(".venv/bin/python")).unwrap();
            },
        ),
        ("the folder of the target", "elsewhere/bin", |base, work| {
            fs::create_dir_all(work.join(".venv/bin")).unwrap();
            symlink(
                base.join("elsewhere/bin/python"),
                work.join(".venv/bin/python"),
            )
            .unwrap();
        }),
        ("pyvenv.cfg", "work/.venv/pyvenv.cfg", |_, work| {
            program(&work.join(".venv/bin/python"));
            fs::write(work.join(".venv/pyvenv.cfg"), "home = /elsewhere").unwrap();
        }),
    ];
    for (way, theirs, make) in ways {
        let folder = tempfile::tempdir().unwrap();
        let base = dunce::canonicalize(folder.path()).unwrap();
        let work = base.join("work");
        fs::create_dir_all(work.join(".git")).unwrap();
        program(&base.join("elsewhere/bin/python"));
        make(&base, &work);
        let python = work.join(".venv/bin/python");
        assert_eq!(find_python(&work), Ok(python.clone()), "{way}");
        if !give_away(&base.join(theirs)) {
            return;
        }
        assert_ne!(find_python(&work), Ok(python), "{way}");
    }
}

#[cfg(unix)]
#[test]
fn link_to_program_of_other_user_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let (root, planted) = (folder.path().join("work"), folder.path().join("planted"));
    program(&planted);
    fs::create_dir_all(root.join(".venv/bin")).unwrap();
    std::os::unix::fs::symlink(&planted, root.join(".venv/bin/python")).unwrap();
    assert_eq!(
        find_python(&root),
        Ok(root.join(".venv/bin/python")),
        "links are usual in environments"
    );
    if give_away(&planted) {
        assert_ne!(find_python(&root), Ok(root.join(".venv/bin/python")));
    }
}

/// Changes the permissions of what a path leads to.
#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
}

/// Every user can replace the code that would be executed.
#[cfg(unix)]
#[test]
fn writable_environment_is_refused() {
    let parts = [
        "",
        "bin",
        "bin/python",
        "lib",
        "lib/python3.13/site-packages",
        "pyvenv.cfg",
    ];
    for part in parts {
        let folder = tempfile::tempdir().unwrap();
        let root = dunce::canonicalize(folder.path()).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        let environment = root.join(".venv");
        program(&environment.join("bin/python"));
        fs::create_dir_all(environment.join("lib/python3.13/site-packages")).unwrap();
        fs::write(environment.join("pyvenv.cfg"), "home = /usr/bin").unwrap();
        let python = environment.join("bin/python");
        let writable = if part.is_empty() {
            environment.clone()
        } else {
            environment.join(part)
        };
        // Where the user works may be a folder for everybody, and a group that shares an environment may write to it.
        set_mode(&root, 0o777);
        set_mode(&writable, 0o775);
        assert_eq!(find_python(&root), Ok(python.clone()), "{part}");
        set_mode(&writable, 0o777);
        assert_ne!(find_python(&root), Ok(python.clone()), "{part}");
        let candidate = || Candidate {
            path: python.clone(),
            within: Some(environment.clone()),
        };
        let found = first_own([candidate()].into_iter(), User::current());
        let why = found.python().unwrap_err();
        let shown = writable.display();
        let words = match writable == python {
            true => format!("({shown} can be changed by every user)"),
            false => {
                format!(
                    "({} is not used, because {shown} can be changed by every user)",
                    python.display()
                )
            }
        };
        assert!(why.contains(&words), "{part}: {why}");
        let chosen = Candidate {
            path: python.clone(),
            within: None,
        };
        assert_eq!(
            chosen.refusal_for(User::current()),
            None,
            "on PATH, or in VIRTUAL_ENV"
        );
    }
}

/// A script of the environment is executed by an interpreter of the environment, or by the one in its first line.
#[cfg(unix)]
#[test]
fn script_with_writable_interpreter_is_refused() {
    for named in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let root = dunce::canonicalize(folder.path()).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        let (adk, interpreter) = (
            root.join(".venv/bin/adk"),
            root.join("elsewhere/python3.13"),
        );
        program(&adk);
        program(&interpreter);
        match named {
            true => fs::write(&adk, format!("#!{} -I\nimport adk", interpreter.display())).unwrap(),
            false => {
                std::os::unix::fs::symlink(&interpreter, root.join(".venv/bin/python3.13")).unwrap()
            }
        }
        assert_eq!(find_adk(&root, &root).path, Some(adk.clone()));
        set_mode(&interpreter, 0o777);
        let found = find_adk(&root, &root);
        assert_eq!(
            found.refused.first(),
            Some(&(adk, UnsafePath::WritableByAll(interpreter))),
            "{named}"
        );
    }
}

/// Every user can add a module to a sticky folder, which Python imports at its start.
#[cfg(unix)]
#[test]
fn sticky_folder_of_packages_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let root = dunce::canonicalize(folder.path()).unwrap();
    fs::create_dir(root.join(".git")).unwrap();
    let python = root.join(".venv/bin/python");
    program(&python);
    let packages = root.join(".venv/lib/python3.13/site-packages");
    fs::create_dir_all(packages.parent().unwrap()).unwrap();
    let elsewhere = root.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &packages).unwrap();
    assert_eq!(find_python(&root), Ok(python.clone()));
    set_mode(&elsewhere, 0o1777);
    assert_ne!(
        find_python(&root),
        Ok(python.clone()),
        "the target of a link"
    );
    fs::remove_file(&packages).unwrap();
    fs::create_dir(&packages).unwrap();
    assert_eq!(find_python(&root), Ok(python.clone()));
    set_mode(&packages, 0o1777);
    assert_ne!(find_python(&root), Ok(python), "within the environment");
}

/// In a sticky folder, such as `/tmp`, no user can replace the files of others.
#[cfg(unix)]
#[test]
fn links_into_a_sticky_folder_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let base = dunce::canonicalize(folder.path()).unwrap();
    let (root, shared) = (base.join("work"), base.join("shared"));
    fs::create_dir_all(root.join(".git")).unwrap();
    program(&shared.join("python"));
    fs::create_dir_all(root.join(".venv/bin")).unwrap();
    let python = root.join(".venv/bin/python");
    std::os::unix::fs::symlink(shared.join("python"), &python).unwrap();
    set_mode(&shared, 0o1777);
    assert_eq!(find_python(&root), Ok(python.clone()));
    set_mode(&shared, 0o777);
    assert_ne!(find_python(&root), Ok(python.clone()));
    set_mode(&shared, 0o1777);
    set_mode(&shared.join("python"), 0o777);
    assert_ne!(find_python(&root), Ok(python));
}
