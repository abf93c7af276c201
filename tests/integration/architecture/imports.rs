//! Which file of the crate uses which. A name is followed to the file that defines it: through `mod.rs`, through re-exports,
//! and through the modules that a file has imported.

use std::collections::{BTreeMap, BTreeSet};

/// The source files of a crate, without tests and comments.
pub struct SourceTree {
    /// The code of each file, by its path below `src`.
    code: BTreeMap<String, String>,
    /// The file of each module, by its path in the crate.
    modules: BTreeMap<Vec<String>, String>,
    /// The imports of each file.
    imports: BTreeMap<String, Vec<Import>>,
}

/// A name that a file imports or re-exports.
struct Import {
    is_reexport: bool,
    /// The path as written; `*` at its end for all names of a module.
    path: Vec<String>,
    /// The name in the file.
    name: String,
}

impl SourceTree {
    pub fn new(files: impl IntoIterator<Item = (String, String)>) -> SourceTree {
        let code: BTreeMap<String, String> = files
            .into_iter()
            .map(|(file, code)| (file, without_texts(&code)))
            .collect();
        let modules = code
            .keys()
            .map(|file| (module_of(file), file.clone()))
            .collect();
        let imports = code
            .iter()
            .map(|(file, code)| (file.clone(), imports_in(code)))
            .collect();
        SourceTree {
            code,
            modules,
            imports,
        }
    }

    /// The files that each file uses.
    pub fn arrows(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        self.code
            .keys()
            .map(|file| (file.as_str(), self.used_by(file)))
            .collect()
    }

    /// The files that use each other, directly or through others.
    pub fn circles(&self) -> BTreeSet<&str> {
        let arrows = self.arrows();
        arrows
            .keys()
            .copied()
            .filter(|file| reaches(file, &arrows))
            .collect()
    }

    fn used_by(&self, file: &str) -> BTreeSet<&str> {
        let mut used = BTreeSet::new();
        let mut modules: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for import in &self.imports[file] {
            let Some(path) = self.absolute(file, &import.path) else {
                continue;
            };
            if self.modules.contains_key(&path) {
                // It counts where something of the module is used.
                modules.insert(&import.name, path);
            } else if !import.is_reexport {
                used.extend(self.definitions(&path, &mut BTreeSet::new()));
            }
        }
        for path in paths_in(&self.code[file]) {
            let absolute = match modules.get(path[0].as_str()) {
                Some(module) => Some([module, &path[1..]].concat()),
                None => self.absolute(file, &path),
            };
            used.extend(
                absolute
                    .iter()
                    .flat_map(|path| self.definitions(path, &mut BTreeSet::new())),
            );
        }
        used.remove(file);
        used
    }

    /// A path from the root of the crate; `None` if it leads out of the crate, or to a name that the file imports.
    fn absolute(&self, file: &str, path: &[String]) -> Option<Vec<String>> {
        let mut at = module_of(file);
        let relative = path
            .iter()
            .take_while(|part| *part == "super" || *part == "self")
            .count();
        match path.first()?.as_str() {
            "crate" => return Some(path[1..].to_vec()),
            _ if relative > 0 => {
                let up = path[..relative]
                    .iter()
                    .filter(|part| *part == "super")
                    .count();
                at.truncate(at.len() - up);
            }
            child => {
                let of_child = [at.as_slice(), &[child.to_string()]].concat();
                self.modules.get(&of_child)?;
            }
        }
        Some([at, path[relative..].to_vec()].concat())
    }

    /// The files that define what a path names.
    fn definitions(
        &self,
        path: &[String],
        seen: &mut BTreeSet<(String, String)>,
    ) -> BTreeSet<&str> {
        let depth = (0..=path.len())
            .rev()
            .find(|depth| self.modules.contains_key(&path[..*depth]))
            .unwrap_or(0);
        let Some(file) = self.modules.get(&path[..depth]) else {
            return BTreeSet::new();
        };
        let Some(name) = path.get(depth) else {
            return BTreeSet::from([file.as_str()]);
        };
        if name == "*" || !seen.insert((file.clone(), name.clone())) {
            return BTreeSet::from([file.as_str()]);
        }
        let reexports = || {
            self.imports[file]
                .iter()
                .filter(|import| import.is_reexport)
        };
        let mut found = BTreeSet::new();
        for import in reexports().filter(|import| import.name == *name) {
            if let Some(target) = self.absolute(file, &import.path) {
                found.extend(self.definitions(&[&target, &path[depth + 1..]].concat(), seen));
            }
        }
        if found.is_empty() && !defines(&self.code[file], name) {
            for import in reexports().filter(|import| import.name == "*") {
                let Some(module) = self.absolute(file, &import.path[..import.path.len() - 1])
                else {
                    continue;
                };
                let defined = self
                    .modules
                    .get(&module)
                    .is_some_and(|of| defines(&self.code[of], name));
                let target = [&module, &path[depth..]].concat();
                found.extend(
                    self.definitions(&target, seen)
                        .into_iter()
                        .filter(|_| defined),
                );
            }
        }
        if found.is_empty() {
            BTreeSet::from([file.as_str()])
        } else {
            found
        }
    }
}

/// Whether a file is reached from itself.
fn reaches(file: &str, arrows: &BTreeMap<&str, BTreeSet<&str>>) -> bool {
    let mut open: Vec<&str> = arrows[file].iter().copied().collect();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    while let Some(next) = open.pop() {
        if next == file {
            return true;
        }
        if seen.insert(next) {
            open.extend(&arrows[next]);
        }
    }
    false
}

/// The path of a file's module in the crate.
fn module_of(file: &str) -> Vec<String> {
    match file.trim_end_matches(".rs") {
        "lib" | "main" => Vec::new(),
        path => path
            .trim_end_matches("/mod")
            .split('/')
            .map(str::to_string)
            .collect(),
    }
}

/// The code with empty string literals.
fn without_texts(code: &str) -> String {
    regex::Regex::new(r#""(?:[^"\\\n]|\\.)*""#)
        .unwrap()
        .replace_all(code, "\"\"")
        .into_owned()
}

/// Whether the code defines an item of this name.
fn defines(code: &str, name: &str) -> bool {
    const KINDS: [&str; 8] = [
        "struct", "enum", "trait", "fn", "const", "static", "type", "mod",
    ];
    KINDS.iter().any(|kind| {
        let item = format!("{kind} {name}");
        let is_whole = |at: usize| {
            !code[at + item.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
        };
        code.match_indices(&item).any(|(at, _)| is_whole(at))
    })
}

const USE: &str = r"(?m)^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);";

fn imports_in(code: &str) -> Vec<Import> {
    let mut imports = Vec::new();
    for found in regex::Regex::new(USE).unwrap().captures_iter(code) {
        let mut paths = Vec::new();
        add_paths(&[], &found[2], &mut paths);
        imports.extend(paths.into_iter().map(|(path, name)| Import {
            is_reexport: found.get(1).is_some(),
            path,
            name,
        }));
    }
    imports
}

/// Adds the paths of a tree of imports, each with the name that it gets in the file.
fn add_paths(before: &[String], tree: &str, paths: &mut Vec<(Vec<String>, String)>) {
    let tree = tree.trim();
    let parts = |text: &str| {
        text.split("::")
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(str::to_string)
            .collect()
    };
    match tree.split_once('{') {
        None if tree.is_empty() => {}
        None => {
            let (path, alias) = tree
                .split_once(" as ")
                .map_or((tree, None), |(path, alias)| (path, Some(alias)));
            let mut path = [before.to_vec(), parts(path)].concat();
            if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                path.pop();
            }
            let name = alias.map_or_else(
                || path.last().cloned().unwrap_or_default(),
                |alias| alias.trim().to_string(),
            );
            paths.push((path, name));
        }
        Some((prefix, group)) => {
            let before = [before.to_vec(), parts(prefix)].concat();
            super::members(group)
                .iter()
                .for_each(|member| add_paths(&before, member, paths));
        }
    }
}

/// The paths of several parts in the code, outside of imports.
fn paths_in(code: &str) -> Vec<Vec<String>> {
    let code = regex::Regex::new(USE).unwrap().replace_all(code, "");
    let path = regex::Regex::new(r"(?:^|[^\w:])([a-z_]\w*(?:::\w+)+)").unwrap();
    let parts = |found: regex::Captures<'_>| found[1].split("::").map(str::to_string).collect();
    path.captures_iter(&code).map(parts).collect()
}

/// Files of a crate that is made for a test.
fn tree(files: &[(&str, &str)]) -> SourceTree {
    SourceTree::new(
        files
            .iter()
            .map(|(file, code)| (file.to_string(), code.to_string())),
    )
}

#[test]
fn names_are_followed_to_their_definition() {
    let tree = tree(&[
        ("lib.rs", "pub mod a;\npub mod b;"),
        (
            "a/mod.rs",
            "mod one;\nmod two;\npub use one::One;\npub use two::*;\npub struct Own;",
        ),
        ("a/one.rs", "pub struct One;"),
        ("a/two.rs", "use super::Own;\npub struct Two;"),
        (
            "b.rs",
            "use crate::a::{self, One};\nfn f() { a::Two; crate::a::Own; }",
        ),
    ]);
    let arrows = tree.arrows();
    assert_eq!(
        arrows["b.rs"],
        BTreeSet::from(["a/mod.rs", "a/one.rs", "a/two.rs"])
    );
    assert_eq!(arrows["a/two.rs"], BTreeSet::from(["a/mod.rs"]));
    assert_eq!(tree.circles(), BTreeSet::new());
}

#[test]
fn cycles_via_mod_rs_and_reexports_are_found() {
    let through_mod = [
        ("lib.rs", "mod a;"),
        ("a/mod.rs", "mod one;\npub struct Own(one::One);"),
        (
            "a/one.rs",
            "use super::Own;\npub struct One(Option<Box<Own>>);",
        ),
    ];
    assert_eq!(
        tree(&through_mod).circles(),
        BTreeSet::from(["a/mod.rs", "a/one.rs"])
    );
    let through_reexport = [
        ("lib.rs", "mod a;\nmod b;\npub use b::B;"),
        ("a.rs", "use crate::B;\npub struct A(B);"),
        ("b.rs", "pub struct B;\nfn f() -> crate::a::A { loop {} }"),
    ];
    assert_eq!(
        tree(&through_reexport).circles(),
        BTreeSet::from(["a.rs", "b.rs"])
    );
}
