//! The results of a run, as inputs of the per-function queries.
//!
//! During the next run, the results of the last one remain valid for the functions whose text has not changed. The
//! others count as not staged.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use ag_db::{Database, Db, Document, text};
use ag_index::answers::ScopeTypes;
use ag_index::assumptions::Stage;
use ag_index::ids::{Code, DocumentIndex, FunctionIndex};
use ag_index::index::{FileIndex, file_index};
use ag_index::oracle::Scope;
use ag_syntax::functions::FunctionPath;
use ruff_index::IndexVec;
use rustc_hash::{FxHashMap, FxHasher};
use salsa::{Durability, Setter};

use crate::fixpoint::Answers;

/// The staged functions of a document.
pub type Stages = FxHashMap<FunctionPath, Stage>;
/// The types of its functions.
pub type Types = FxHashMap<FunctionPath, Arc<ScopeTypes>>;

/// A hash of the text that each function of a document had in the last run.
type Slices = FxHashMap<FunctionPath, u64>;

/// The results of a run.
pub struct Results {
    /// The staged functions of every document that was analyzed.
    pub stages: IndexVec<DocumentIndex, (Document, Stages)>,
    pub answers: Answers,
}

/// The results of one document.
#[salsa::input]
struct DocumentResults {
    #[returns(ref)]
    stages: Arc<Stages>,
    #[returns(ref)]
    types: Arc<Types>,
    #[returns(ref)]
    slices: Arc<Slices>,
}

/// The results of all documents. It changes only when documents are added or removed.
#[salsa::input(singleton)]
struct AllResults {
    #[returns(ref)]
    by_document: Arc<FxHashMap<Document, DocumentResults>>,
}

/// Returns how the functions of a document are staged; empty before the first run.
#[salsa::tracked(returns(ref))]
pub fn stages_of(db: &dyn Db, document: Document) -> Arc<Stages> {
    of(db, document).map_or_else(Arc::default, |results| current(db, document, results, results.stages(db)))
}

/// Returns the types of a document's functions. A function is missing if the last run did not infer its types.
#[salsa::tracked(returns(ref))]
pub fn types_of(db: &dyn Db, document: Document) -> Arc<Types> {
    of(db, document).map_or_else(Arc::default, |results| current(db, document, results, results.types(db)))
}

/// Returns `values` without the functions whose text has changed since the last run.
fn current<T: Clone>(
    db: &dyn Db,
    document: Document,
    results: DocumentResults,
    values: &Arc<FxHashMap<FunctionPath, T>>,
) -> Arc<FxHashMap<FunctionPath, T>> {
    if values.is_empty() {
        return Arc::clone(values);
    }
    let (text, index) = (text(db, document), file_index(db, document));
    let analyzed = results.slices(db);
    let is_current = |path: &FunctionPath| analyzed.get(path).copied() == slice(text.as_str(), index, path);
    if values.keys().all(is_current) {
        return Arc::clone(values);
    }
    let kept = values.iter().filter(|(path, _)| is_current(path));
    Arc::new(kept.map(|(path, value)| (path.clone(), value.clone())).collect())
}

/// Returns a hash of a function's text.
fn slice(text: &str, index: &FileIndex, path: &FunctionPath) -> Option<u64> {
    let (_, entry) = index.definitions.find(path)?;
    let mut hasher = FxHasher::default();
    text.get(std::ops::Range::<usize>::from(entry.range))?.hash(&mut hasher);
    Some(hasher.finish())
}

/// Creates the inputs. Must be called before any query: a query cannot depend on an input that does not exist.
pub fn create(db: &Database) {
    let _: AllResults = AllResults::builder(Arc::default()).durability(Durability::HIGH).new(db);
}

fn of(db: &dyn Db, document: Document) -> Option<DocumentResults> {
    AllResults::get(db).by_document(db).get(&document).copied()
}

impl Results {
    /// Sets those inputs whose values have changed.
    pub fn publish(self, db: &mut Database) {
        let all = AllResults::get(db);
        let known = Arc::clone(all.by_document(db));
        let mut by_document = FxHashMap::default();
        let documents = self.stages.indices();
        for (position, (document, stages)) in documents.zip(self.stages) {
            let types = types(db, document, position, &self.answers);
            let slices = slices(db, document, &stages, &types);
            let results = match known.get(&document) {
                Some(results) => {
                    results.set_all(db, Some(stages), types, slices);
                    *results
                }
                None => DocumentResults::new(db, Arc::new(stages), Arc::new(types), Arc::new(slices)),
            };
            by_document.insert(document, results);
        }
        if by_document != *known {
            all.set_by_document(db).with_durability(Durability::HIGH).to(Arc::new(by_document));
        }
    }
}

/// Replaces the stages of some functions of a document, and the types of all its functions.
pub(crate) fn update(
    db: &mut Database,
    document: Document,
    position: DocumentIndex,
    stages: Vec<(FunctionPath, Stage)>,
    answers: &Answers,
) {
    let Some(results) = of(db, document) else { return };
    let known = results.stages(db);
    let differs = stages.iter().any(|(path, stage)| known.get(path) != Some(stage));
    let stages = differs.then(|| {
        let mut known = Stages::clone(known);
        known.extend(stages);
        known
    });
    let types = types(db, document, position, answers);
    let slices = slices(db, document, stages.as_ref().unwrap_or(results.stages(db)), &types);
    results.set_all(db, stages, types, slices);
}

impl DocumentResults {
    /// Sets those inputs whose values differ.
    fn set_all(self, db: &mut Database, stages: Option<Stages>, types: Types, slices: Slices) {
        if let Some(stages) = stages
            && **self.stages(db) != stages
        {
            self.set_stages(db).with_durability(Durability::LOW).to(Arc::new(stages));
        }
        if **self.types(db) != types {
            self.set_types(db).with_durability(Durability::LOW).to(Arc::new(types));
        }
        if **self.slices(db) != slices {
            self.set_slices(db).with_durability(Durability::LOW).to(Arc::new(slices));
        }
    }
}

fn slices(db: &Database, document: Document, stages: &Stages, types: &Types) -> Slices {
    if stages.is_empty() && types.is_empty() {
        return Slices::default();
    }
    let (text, index) = (text(db, document), file_index(db, document));
    let hashed = |path: &FunctionPath| Some((path.clone(), slice(text.as_str(), index, path)?));
    stages.keys().chain(types.keys()).filter_map(hashed).collect()
}

fn types(db: &Database, document: Document, position: DocumentIndex, answers: &Answers) -> Types {
    let index = file_index(db, document);
    let scope = |code| Scope { document: position, code };
    let scopes = scope(Code::Function(FunctionIndex::from_u32(0)))..scope(Code::Module);
    let named = answers
        .range(scopes)
        .filter_map(|(scope, types)| Some((index.function(scope.code)?.path.clone(), Arc::clone(types))));
    named.collect()
}
