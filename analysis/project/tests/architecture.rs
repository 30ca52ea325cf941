//! Checks the dependencies that ARCHITECTURE.md describes: between crates, and between the files of a crate.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use regex::Regex;

/// The largest import cycle that is allowed between the files of a crate.
const MAX_CYCLE: usize = 8;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the folders of the workspace's crates, by the name of the crate.
fn crates() -> BTreeMap<String, PathBuf> {
    let mut folders = vec![root().join("server")];
    for group in ["analysis", "runtime"] {
        let entries = fs::read_dir(root().join(group)).unwrap();
        folders.extend(entries.map(|entry| entry.unwrap().path()));
        folders.push(root().join(group));
    }
    let crates = folders.into_iter().filter_map(|folder| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
        let manifest: toml::Table = toml::from_str(&manifest).unwrap();
        Some((manifest.get("package")?.get("name")?.as_str()?.to_owned(), folder))
    });
    crates.collect()
}

/// Returns the packages that a crate is built from, including transitive dependencies.
fn tree(package: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--all-features", "--edges", "normal,build"])
        .args(["--prefix", "none", "--format", "{p}", "--package", package])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let packages = String::from_utf8(output.stdout).unwrap();
    packages.lines().filter_map(|line| Some(line.split(' ').next()?.to_owned())).collect()
}

fn is_type_engine(package: &str) -> bool {
    package.starts_with("ty_") || package == "salsa"
}

#[test]
fn the_runtime_is_built_without_the_type_engine() {
    let runtime = root().join("runtime");
    let crates = crates();
    let of_runtime: Vec<_> = crates.iter().filter(|(_, folder)| folder.starts_with(&runtime)).collect();
    assert!(!of_runtime.is_empty());
    for (name, _) in of_runtime {
        let found: Vec<_> = tree(name).into_iter().filter(|package| is_type_engine(package)).collect();
        assert!(found.is_empty(), "{name} depends on {found:?}");
    }
}

#[test]
fn text_level_crates_are_built_without_the_database() {
    for name in ["ag-syntax", "ag-flow", "ag-convert"] {
        let found: Vec<_> = tree(name).into_iter().filter(|package| is_type_engine(package)).collect();
        assert!(found.is_empty(), "{name} depends on {found:?}");
    }
}

#[test]
fn only_the_oracle_depends_on_ty() {
    for (name, folder) in crates() {
        let manifest: toml::Table =
            toml::from_str(&fs::read_to_string(folder.join("Cargo.toml")).unwrap()).unwrap();
        let Some(dependencies) = manifest.get("dependencies").and_then(toml::Value::as_table) else {
            continue;
        };
        let on_ty = dependencies.keys().any(|dependency| dependency.starts_with("ty_"));
        assert_eq!(on_ty, name == "ag-types", "{name}");
    }
}

/// `test = false` spares the compilation of a library for unit tests, and would hide such a test.
#[test]
fn libraries_without_unit_tests_have_none() {
    for (name, folder) in crates() {
        let manifest: toml::Table =
            toml::from_str(&fs::read_to_string(folder.join("Cargo.toml")).unwrap()).unwrap();
        let library = manifest.get("lib").and_then(toml::Value::as_table);
        if library.and_then(|it| it.get("test")).and_then(toml::Value::as_bool) == Some(false) {
            let files = modules(&folder.join("src"));
            let hidden: Vec<_> = files.iter().filter(|(_, text)| text.contains("#[test]")).collect();
            assert!(
                hidden.is_empty(),
                "{name}: {:?}",
                hidden.iter().map(|(module, _)| module).collect::<Vec<_>>()
            );
        }
    }
}

#[test]
fn import_cycles_between_files_are_small() {
    for (name, folder) in crates() {
        let files = modules(&folder.join("src"));
        for cycle in cycles(&imports(&files)) {
            let shown: Vec<_> = cycle.iter().map(|module| module.join("::")).collect();
            assert!(cycle.len() <= MAX_CYCLE, "{name} has a cycle of {}: {shown:?}", cycle.len());
        }
    }
}

type Module = Vec<String>;

/// Maps the module path of each file to the text of the file. The path of the crate's root is empty.
fn modules(source: &Path) -> BTreeMap<Module, String> {
    let mut modules = BTreeMap::new();
    let mut folders = vec![source.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let relative = path.strip_prefix(source).unwrap().with_extension("");
                let mut module: Module =
                    relative.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
                if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
                    module.pop();
                }
                modules.insert(module, fs::read_to_string(&path).unwrap());
            }
        }
    }
    modules
}

/// Returns the files that each file refers to in paths. `mod` declarations do not count.
fn imports(files: &BTreeMap<Module, String>) -> BTreeMap<Module, BTreeSet<Module>> {
    static COMMENT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"//.*").unwrap());
    static USE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?m)^\s*(?:pub(?:\([a-z ]+\))? )?use ([^;]*);").unwrap());
    static PATH: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b(?:crate|super)(?:::\w+)+").unwrap());
    let of = |(module, text): (&Module, &String)| {
        let text = COMMENT.replace_all(text, "");
        let mut paths = Vec::new();
        for body in USE.captures_iter(&text) {
            leaves(&[], &body[1], &mut paths);
        }
        let rest = USE.replace_all(&text, "");
        let named = PATH.find_iter(&rest);
        paths.extend(named.map(|path| path.as_str().split("::").map(ToOwned::to_owned).collect()));
        let mut imported: BTreeSet<Module> =
            paths.iter().filter_map(|path| file_of(path, module, files)).collect();
        imported.remove(module);
        (module.clone(), imported)
    };
    files.iter().map(of).collect()
}

/// The paths in a `use` tree: `a::{b, c::d}` -> `a::b`, `a::c::d`.
fn leaves(prefix: &[String], tree: &str, paths: &mut Vec<Module>) {
    let tree = tree.trim();
    let (path, group) = match tree.find('{') {
        Some(open) => (&tree[..open], tree[open + 1..].trim_end().strip_suffix('}')),
        None => (tree, None),
    };
    let path = path.split(" as ").next().unwrap_or_default();
    let parts = path.split("::").map(str::trim).filter(|part| !part.is_empty()).map(ToOwned::to_owned);
    let whole: Module = prefix.iter().cloned().chain(parts).collect();
    let Some(group) = group else { return paths.push(whole) };
    let (mut depth, mut start) = (0, 0);
    for (at, c) in group.char_indices().chain([(group.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !group[start..at].trim().is_empty() {
                    leaves(&whole, &group[start..at], paths);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// Returns the file that defines the item at a path.
fn file_of(path: &[String], module: &Module, files: &BTreeMap<Module, String>) -> Option<Module> {
    let ups = path.iter().take_while(|part| *part == "super").count();
    let mut absolute: Module = match path.first()?.as_str() {
        "crate" => path[1..].to_vec(),
        "self" => module.iter().chain(&path[1..]).cloned().collect(),
        "super" => {
            module.get(..module.len().checked_sub(ups)?)?.iter().chain(&path[ups..]).cloned().collect()
        }
        _ => return None,
    };
    while !files.contains_key(&absolute) {
        absolute.pop()?;
    }
    Some(absolute)
}

/// Returns the strongly connected components of more than one file (Kosaraju's algorithm).
fn cycles(graph: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<Vec<Module>> {
    fn visit<'a>(
        node: &'a Module,
        edges: &BTreeMap<&'a Module, Vec<&'a Module>>,
        seen: &mut BTreeSet<&'a Module>,
        order: &mut Vec<&'a Module>,
    ) {
        if seen.insert(node) {
            for next in edges.get(node).into_iter().flatten() {
                visit(next, edges, seen, order);
            }
            order.push(node);
        }
    }
    let mut forward: BTreeMap<&Module, Vec<&Module>> = BTreeMap::new();
    let mut backward: BTreeMap<&Module, Vec<&Module>> = BTreeMap::new();
    for (from, targets) in graph {
        for to in targets {
            forward.entry(from).or_default().push(to);
            backward.entry(to).or_default().push(from);
        }
    }
    let (mut seen, mut order) = (BTreeSet::new(), Vec::new());
    for node in graph.keys() {
        visit(node, &forward, &mut seen, &mut order);
    }
    seen.clear();
    let components = order.into_iter().rev().map(|node| {
        let mut component = Vec::new();
        visit(node, &backward, &mut seen, &mut component);
        component.into_iter().cloned().collect::<Vec<_>>()
    });
    components.filter(|component| component.len() > 1).collect()
}

#[test]
fn cycles_are_found() {
    let file = |path: &str, text: &str| {
        let module: Module =
            path.split("::").filter(|part| !part.is_empty()).map(ToOwned::to_owned).collect();
        (module, text.to_owned())
    };
    let files = BTreeMap::from([
        file("", "mod a;\nmod b;\nmod c;\n"),
        file("a", "use crate::b::{Thing, other as more};\n"),
        file("b", "use super::{c::{self, Third}};\n"),
        file("c", "fn f() { crate::a::g(); }\n// use crate::d;\n"),
        file("d", "use crate::a::Thing;\n"),
    ]);
    let found = cycles(&imports(&files));
    let names: BTreeSet<_> = found.into_iter().flatten().map(|module| module.join("::")).collect();
    assert_eq!(names, BTreeSet::from(["a", "b", "c"].map(ToOwned::to_owned)));
}
