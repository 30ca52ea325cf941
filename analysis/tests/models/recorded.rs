//! The recorded names of the real libraries, a file per package.
//!
//! The first line is `# PACKAGE VERSION`. A line that is not indented is an owner (a module, a class,
//! a function with `()`), and the indented lines after it are its names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::modelled::Name;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/conformance/models");

#[derive(Default)]
pub(crate) struct Recorded {
    versions: BTreeMap<String, String>,
    names: BTreeMap<String, BTreeSet<String>>,
}

impl Recorded {
    pub(crate) fn read() -> Self {
        let mut recorded = Self::default();
        for entry in Path::new(FOLDER).read_dir().expect(FOLDER) {
            let path = entry.expect(FOLDER).path();
            if path.extension().is_some_and(|name| name == "names") {
                recorded.add(&std::fs::read_to_string(&path).expect(FOLDER));
            }
        }
        recorded
    }

    fn add(&mut self, text: &str) {
        let mut owner = "";
        for line in text.lines() {
            if let Some(version) = line.strip_prefix("# ") {
                let package = version.split(' ').next().unwrap_or_default();
                self.versions.insert(package.to_owned(), version.to_owned());
            } else if let Some(names) = line.strip_prefix("    ") {
                let names = names.split(' ').map(str::to_owned);
                self.names.entry(owner.to_owned()).or_default().extend(names);
            } else {
                owner = line;
            }
        }
    }

    pub(crate) fn has(&self, name: &Name) -> bool {
        self.names.get(&name.owner).is_some_and(|names| names.contains(&name.name))
    }

    /// `torch 2.11.0`, for an owner in that package.
    pub(crate) fn version(&self, owner: &str) -> Option<&str> {
        self.versions.get(owner.split(['.', '(']).next()?).map(String::as_str)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = (String, String)> {
        self.names.iter().flat_map(|(owner, names)| names.iter().map(|name| (owner.clone(), name.clone())))
    }
}
