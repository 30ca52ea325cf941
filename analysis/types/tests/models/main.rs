//! Every public name in the models of libraries exists in the real library.
//!
//! The names of the real libraries are recorded in `tests/conformance/models/`, so the test needs no library.

mod modelled;
mod recorded;

use std::collections::BTreeSet;

use modelled::Name;
use recorded::Recorded;

/// Modelled names that do not exist in the recorded version, with the reason.
/// A row is: the owner (`torch.nn`, `torch.Tensor`, `torch.save()`), the name, the reason.
const ALLOWED: &str = include_str!("allowed.txt");

#[test]
fn modelled_names_exist() {
    let mut recorded = Recorded::read();
    recorded.add_runtime();
    let allowed: BTreeSet<_> = allowed().collect();
    let mut used = BTreeSet::new();
    let mut wrong = Vec::new();
    for name in modelled::names().iter().filter(|name| !recorded.has(name)) {
        match allowed.iter().find(|row| **row == (name.owner.as_str(), name.name.as_str())) {
            Some(row) => _ = used.insert(*row),
            None => wrong.push(missing(name, &recorded)),
        }
    }
    let stale: Vec<_> = allowed.difference(&used).map(|(owner, name)| format!("{owner} {name}")).collect();
    assert!(wrong.is_empty(), "{} modelled names do not exist:\n{}", wrong.len(), wrong.join("\n"));
    assert!(stale.is_empty(), "allowed.txt has rows that are not needed:\n{}", stale.join("\n"));
}

#[test]
fn recorded_names_are_modelled() {
    let modelled: BTreeSet<_> = modelled::names().into_iter().map(|name| (name.owner, name.name)).collect();
    let unused: Vec<_> = Recorded::read().names().filter(|name| !modelled.contains(name)).collect();
    assert!(unused.is_empty(), "no stub has these recorded names; record again: {unused:?}");
}

#[test]
fn names_of_the_runtime_are_modelled() {
    let modelled: BTreeSet<_> = modelled::names().into_iter().map(|name| (name.owner, name.name)).collect();
    let public = ["autograph", "autograph.function()"];
    let missing: Vec<_> = Recorded::runtime()
        .names()
        .filter(|name| public.contains(&name.0.as_str()) && !modelled.contains(name))
        .collect();
    assert!(missing.is_empty(), "the stub of `autograph` lacks {missing:?}");
}

#[test]
fn modules_are_modelled_once() {
    let mut seen = BTreeSet::new();
    let twice: Vec<_> =
        modelled::modules().into_iter().filter(|module| !seen.insert(module.clone())).collect();
    assert!(twice.is_empty(), "modules with two stubs, or a stub and a row of passthrough.txt: {twice:?}");
}

#[test]
fn sources_are_modelled() {
    let missing = modelled::missing_sources();
    assert!(missing.is_empty(), "imports from modules without a stub:\n{}", missing.join("\n"));
}

/// Prints the input of `tests/conformance/models/record.py`.
#[test]
#[ignore = "a list for record.py, not a test"]
fn list() {
    for Name { owner, name, .. } in modelled::names() {
        println!("\nmodelled\t{owner}\t{name}");
    }
}

fn missing(name: &Name, recorded: &Recorded) -> String {
    let Name { file, line, owner, name } = name;
    match recorded.version(owner) {
        Some(version) => format!("{file}:{line}: {version} has no `{name}` in `{owner}`"),
        None => format!("{file}:{line}: nothing is recorded for the package of `{owner}`"),
    }
}

fn allowed() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALLOWED.lines().filter(|row| !row.is_empty() && !row.starts_with('#')).map(|row| {
        let mut columns = row.splitn(3, ' ');
        match (columns.next(), columns.next(), columns.next()) {
            (Some(owner), Some(name), Some(_)) => (owner, name),
            _ => panic!("allowed.txt: expected `owner name reason`, found `{row}`"),
        }
    })
}
