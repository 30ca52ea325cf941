//! The call hierarchy: the staged functions that a function calls, and the staged functions that call it.

use ruff_text_size::{TextRange, TextSize};

use super::function::FunctionAnalysis;
use super::words;
use ag_db::Db;
use ag_db::{Document, Project};
use ag_index::index::{FunctionId, file_index};
use ag_staging::queries;
use ag_syntax::functions::FunctionPath;

/// A staged function, somewhere in the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HierarchyItem {
    pub document: Document,
    pub path: FunctionPath,
    pub detail: String,
    pub range: TextRange,
    pub name_range: TextRange,
}

/// A caller or callee of a function, with the ranges of the calls. The ranges are in the caller's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calls {
    pub function: HierarchyItem,
    pub ranges: Vec<TextRange>,
}

/// Returns the staged function at an offset.
pub fn function_at(db: &dyn Db, document: Document, offset: TextSize) -> Option<HierarchyItem> {
    Some(item(document, &FunctionAnalysis::at(db, document, offset)?))
}

fn item(document: Document, function: &FunctionAnalysis) -> HierarchyItem {
    HierarchyItem {
        document,
        path: function.entry.path.clone(),
        detail: words::stage(function.stage),
        range: function.entry.range,
        name_range: function.entry.name_range,
    }
}

/// Returns the staged functions of the project that a staged function calls.
pub fn outgoing(db: &dyn Db, from: &HierarchyItem) -> Vec<Calls> {
    let mut calls: Vec<Calls> = Vec::new();
    for (document, path, range) in targets(db, from.document, &from.path) {
        if let Some(known) =
            calls.iter_mut().find(|it| it.function.document == document && it.function.path == path)
        {
            known.ranges.push(range);
        } else if let Some(function) = staged(db, document, &path) {
            calls.push(Calls { function: item(document, &function), ranges: vec![range] });
        }
    }
    calls
}

/// Returns the staged functions of the project that call a function.
pub fn incoming(db: &dyn Db, to: &HierarchyItem) -> Vec<Calls> {
    let Some(project) = Project::try_get(db) else { return Vec::new() };
    let mut documents: Vec<Document> = project.documents(db).values().copied().collect();
    documents.sort_by(|a, b| a.file(db).path(db).as_str().cmp(b.file(db).path(db).as_str()));
    let mut calls = Vec::new();
    for document in documents {
        for function in FunctionAnalysis::all(db, document) {
            let ranges: Vec<TextRange> = targets(db, document, &function.entry.path)
                .into_iter()
                .filter(|(target, path, _)| *target == to.document && *path == to.path)
                .map(|(.., range)| range)
                .collect();
            if !ranges.is_empty() {
                calls.push(Calls { function: item(document, &function), ranges });
            }
        }
    }
    calls
}

fn staged<'db>(db: &'db dyn Db, document: Document, path: &FunctionPath) -> Option<FunctionAnalysis<'db>> {
    let (_, entry) = file_index(db, document).definitions.find(path)?;
    let function = FunctionAnalysis::at(db, document, entry.name_range.start())?;
    (function.entry.path == *path).then_some(function)
}

/// Returns the targets of the calls in a staged function, with the range of each call in the file.
fn targets(db: &dyn Db, document: Document, path: &FunctionPath) -> Vec<(Document, FunctionPath, TextRange)> {
    let Some((_, entry)) = file_index(db, document).definitions.find(path) else { return Vec::new() };
    let types = queries::types(db, FunctionId::new(db, document, path.clone()));
    types
        .calls
        .iter()
        .flat_map(|call| {
            call.targets.iter().map(|target| (target, call.location.range + entry.range.start()))
        })
        .map(|(target, range)| (target.document, target.path.clone(), range))
        .collect()
}
