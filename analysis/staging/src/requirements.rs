//! The version of Keras that a project requires: `tensorflow<2.16` in `pyproject.toml`, `setup.py`, `setup.cfg` or
//! `requirements*.txt`.
//!
//! The search starts in the folder of a document, and goes up to the project's root. The first folder that requires a
//! version determines the version. If the requirements in this folder contradict each other, as those of two extras
//! may, the version is unknown.

use std::str::FromStr;

use ag_db::{Db, Document, Project};
use ag_index::index::KerasVersion;
use pep440_rs::{Version, VersionSpecifiers, release_specifiers_to_ranges};
use ruff_db::files::system_path_to_file;
use ruff_db::system::{SystemPath, SystemPathBuf};
use ruff_python_ast::Expr;
use ruff_python_ast::visitor::{self, Visitor};
use version_ranges::Ranges;

/// Distributions with Keras, and their first version with Keras 3.
const DISTRIBUTIONS: [(&str, [u64; 2]); 8] = [
    ("keras", [3, 0]),
    ("tensorflow", [2, 16]),
    ("tensorflow-aarch64", [2, 16]),
    ("tensorflow-cpu", [2, 16]),
    ("tensorflow-gpu", [2, 16]),
    ("tensorflow-intel", [2, 16]),
    ("tensorflow-macos", [2, 16]),
    ("tensorflow-rocm", [2, 16]),
];

/// Returns the version of Keras that the project of a document requires.
pub(super) fn keras_version(db: &dyn Db, document: Document) -> Option<KerasVersion> {
    let path = document.file(db).path(db).as_system_path()?;
    of_folder(db, Folder::new(db, path.parent()?.to_path_buf()))
}

#[salsa::interned(debug)]
struct Folder<'db> {
    #[returns(ref)]
    path: SystemPathBuf,
}

#[salsa::tracked(returns(copy))]
fn of_folder<'db>(db: &'db dyn Db, folder: Folder<'db>) -> Option<KerasVersion> {
    let path = folder.path(db);
    let root = Project::try_get(db)?.root(db);
    if !path.starts_with(root) {
        return None;
    }
    let required: Vec<KerasVersion> = files(db, path)
        .iter()
        .filter_map(|path| {
            let file = system_path_to_file(db, path).ok()?;
            Some(requirements(path.file_name()?, &file.read_to_string(db).ok()?))
        })
        .flatten()
        .filter_map(|requirement| of_requirement(&requirement))
        .collect();
    match required.first() {
        Some(first) => required.iter().all(|version| version == first).then_some(*first),
        None => of_folder(db, Folder::new(db, path.parent()?.to_path_buf())),
    }
}

/// Returns the files of a folder that may have requirements.
fn files(db: &dyn Db, folder: &SystemPath) -> Vec<SystemPathBuf> {
    let Ok(entries) = db.system().read_directory(folder) else { return Vec::new() };
    let may_require = |name: &str| {
        matches!(name, "pyproject.toml" | "setup.cfg" | "setup.py")
            || name.starts_with("requirements") && name.ends_with(".txt")
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.into_path()));
    paths.filter(|path| path.file_name().is_some_and(may_require)).collect()
}

/// Returns the texts in a file that may be requirements.
fn requirements(name: &str, text: &str) -> Vec<String> {
    match name {
        "pyproject.toml" => {
            let mut found = Vec::new();
            if let Ok(table) = text.parse::<toml::Table>() {
                of_table(&table, &mut found);
            }
            found
        }
        "setup.py" => {
            let mut strings = Strings(Vec::new());
            if let Ok(parsed) = ruff_python_parser::parse_module(text) {
                strings.visit_body(parsed.suite());
            }
            strings.0
        }
        _ => text.lines().map(str::to_owned).collect(),
    }
}

/// Collects the strings in arrays, `dependencies = ["tensorflow<2.16"]`, and the versions in Poetry's tables,
/// `tensorflow = "^2.10"`.
fn of_table(table: &toml::Table, found: &mut Vec<String>) {
    for (key, value) in table {
        match value {
            toml::Value::Array(values) => {
                found.extend(values.iter().filter_map(toml::Value::as_str).map(str::to_owned));
            }
            toml::Value::String(version) => found.extend(of_poetry(key, version)),
            toml::Value::Table(inner) => {
                let version = inner.get("version").and_then(toml::Value::as_str);
                found.extend(version.and_then(|version| of_poetry(key, version)));
                of_table(inner, found);
            }
            _ => {}
        }
    }
}

/// `tensorflow = "^2.10"` -> `tensorflow>=2.10,<3`. Returns `None` if the key is not the name of a distribution.
fn of_poetry(name: &str, version: &str) -> Option<String> {
    first_with_keras3(name)?;
    let specifiers = version.split(',').map(str::trim).map(|part| {
        let (is_caret, bound) = match (part.strip_prefix('^'), part.strip_prefix('~')) {
            (Some(bound), _) => (true, bound),
            (None, Some(bound)) if !bound.starts_with('=') => (false, bound),
            _ if part.starts_with(|first: char| first.is_ascii_digit()) => return format!("=={part}"),
            _ => return part.to_owned(),
        };
        let mut parts = bound.split('.').map(str::parse::<u64>);
        match (parts.next(), parts.next()) {
            (Some(Ok(major)), _) if is_caret => format!(">={bound},<{}", major + 1),
            (Some(Ok(major)), Some(Ok(minor))) => format!(">={bound},<{major}.{}", minor + 1),
            _ => part.to_owned(),
        }
    });
    Some(name.to_owned() + &specifiers.collect::<Vec<_>>().join(","))
}

/// The string literals of a program.
struct Strings(Vec<String>);

impl Visitor<'_> for Strings {
    fn visit_expr(&mut self, expression: &Expr) {
        if let Expr::StringLiteral(literal) = expression {
            self.0.extend(literal.value.to_str().lines().map(str::to_owned));
        }
        visitor::walk_expr(self, expression);
    }
}

/// Returns the first version of a distribution that has Keras 3.
fn first_with_keras3(name: &str) -> Option<Version> {
    let normalized = name.to_ascii_lowercase().replace(['_', '.'], "-");
    let (_, first) = DISTRIBUTIONS.iter().find(|(known, _)| *known == normalized)?;
    Some(Version::new(*first))
}

/// Returns the version of Keras that a requirement allows, if it allows only one: `tensorflow-cpu[extra] >=2.4, <2.16;
/// python_version < "3.12"`.
fn of_requirement(text: &str) -> Option<KerasVersion> {
    let requirement = text.split([';', '#']).next()?.trim();
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let (name, rest) = requirement.split_at(requirement.find(|letter| !is_of_name(letter))?);
    let first = first_with_keras3(name)?;
    let rest = match rest.trim_start().strip_prefix('[') {
        Some(extras) => extras.split_once(']')?.1,
        None => rest,
    };
    let specifiers = rest.trim().trim_start_matches('(').trim_end_matches(')');
    let allowed = release_specifiers_to_ranges(VersionSpecifiers::from_str(specifiers).ok()?);
    let with_keras3 = Ranges::higher_than(first);
    match (allowed.is_disjoint(&with_keras3), allowed.subset_of(&with_keras3)) {
        (true, false) => Some(KerasVersion::Two),
        (false, true) => Some(KerasVersion::Three),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the versions that the requirements of a file allow.
    fn versions(name: &str, text: &str) -> Vec<KerasVersion> {
        requirements(name, text).iter().filter_map(|requirement| of_requirement(requirement)).collect()
    }

    #[test]
    fn a_requirement_allows_one_version_or_both() {
        use KerasVersion::{Three, Two};
        let cases = [
            ("tensorflow<2.16", Some(Two)),
            ("tensorflow_cpu[and-cuda] >= 2.4, < 2.16 ; python_version < '3.12'", Some(Two)),
            ("tensorflow==2.10.1  # the last one for Windows", Some(Two)),
            ("TensorFlow (~=2.4.0)", Some(Two)),
            ("keras==2.*", Some(Two)),
            ("keras<=2.15", Some(Two)),
            ("tensorflow==1.15", Some(Two)),
            ("tensorflow>=2.16", Some(Three)),
            ("keras>=3", Some(Three)),
            ("tensorflow~=2.18", Some(Three)),
            ("tensorflow", None),
            ("tensorflow>=2.4", None),
            ("tensorflow~=2.4", None),
            ("tensorflow-probability<0.20", None),
            ("keras-tuner<2", None),
            ("tensorflow is a library", None),
            ("tensorflow<2.x", None),
        ];
        for (requirement, expected) in cases {
            assert_eq!(of_requirement(requirement), expected, "{requirement}");
        }
    }

    #[test]
    fn each_kind_of_file_has_requirements() {
        use KerasVersion::{Three, Two};
        let standard = "[project]\ndependencies = ['numpy', 'tensorflow<2.16']\n\
                        [project.optional-dependencies]\ntf = ['keras>=2,<3']\n";
        assert_eq!(versions("pyproject.toml", standard), [Two, Two]);
        let poetry = "[tool.poetry.dependencies]\npython = '^3.9'\nkeras = '^2.4'\ntensorflow = { version = '~2.17' }\n";
        assert_eq!(versions("pyproject.toml", poetry), [Two, Three]);
        assert_eq!(versions("pyproject.toml", "[project\n"), []);
        let setup = "from setuptools import setup\nREQUIRED = ['tensorflow>=2.4,<2.16', 'numpy']\nsetup(install_requires=REQUIRED)\n";
        assert_eq!(versions("setup.py", setup), [Two]);
        assert_eq!(versions("setup.py", "def"), []);
        let declarative = "[options]\ninstall_requires =\n    numpy\n    tensorflow==2.10.1\n";
        assert_eq!(versions("setup.cfg", declarative), [Two]);
        assert_eq!(versions("requirements.txt", "-r other.txt\nkeras>=3.0\n"), [Three]);
    }
}
