//! The results of a run, as inputs of the per-function queries.

use std::sync::Arc;

use ag_db::{Database, Db, Document};
use ag_index::answers::ScopeTypes;
use ag_index::assumptions::Stage;
use ag_index::ids::{Code, DocumentIndex, FunctionIndex};
use ag_index::index::file_index;
use ag_index::oracle::Scope;
use ag_syntax::functions::FunctionPath;
use ruff_index::IndexVec;
use rustc_hash::FxHashMap;
use salsa::{Durability, Setter};

use crate::fixpoint::Answers;

/// The staged functions of a document.
pub type Stages = FxHashMap<FunctionPath, Stage>;
/// The types of its functions.
pub type Types = FxHashMap<FunctionPath, Arc<ScopeTypes>>;

/// The results of a run.
pub struct Results {
    /// Every document that was analyzed.
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
}

/// The results of all documents. It changes only when documents are added or removed.
#[salsa::input(singleton)]
struct AllResults {
    #[returns(ref)]
    by_document: Arc<FxHashMap<Document, DocumentResults>>,
}

/// How the functions of a document are staged; empty before the first run.
pub fn stages_of(db: &dyn Db, document: Document) -> &Arc<Stages> {
    static NONE: std::sync::LazyLock<Arc<Stages>> = std::sync::LazyLock::new(Arc::default);
    of(db, document).map_or(&*NONE, |results| results.stages(db))
}

/// The types of a document's functions, as far as the last run inferred them.
pub fn types_of(db: &dyn Db, document: Document) -> &Arc<Types> {
    static NONE: std::sync::LazyLock<Arc<Types>> = std::sync::LazyLock::new(Arc::default);
    of(db, document).map_or(&*NONE, |results| results.types(db))
}

fn of(db: &dyn Db, document: Document) -> Option<DocumentResults> {
    AllResults::try_get(db)?.by_document(db).get(&document).copied()
}

impl Results {
    /// Sets the inputs whose values have changed.
    pub fn publish(self, db: &mut Database) {
        let all = match AllResults::try_get(db) {
            Some(all) => all,
            None => AllResults::builder(Arc::default()).durability(Durability::HIGH).new(db),
        };
        let known = Arc::clone(all.by_document(db));
        let mut by_document = FxHashMap::default();
        let documents = self.stages.indices();
        for (position, (document, stages)) in documents.zip(self.stages) {
            let types = types(db, document, position, &self.answers);
            let results = match known.get(&document) {
                Some(results) => {
                    if **results.stages(db) != stages {
                        results.set_stages(db).with_durability(Durability::LOW).to(Arc::new(stages));
                    }
                    if **results.types(db) != types {
                        results.set_types(db).with_durability(Durability::LOW).to(Arc::new(types));
                    }
                    *results
                }
                None => DocumentResults::new(db, Arc::new(stages), Arc::new(types)),
            };
            by_document.insert(document, results);
        }
        if by_document != *known {
            all.set_by_document(db).with_durability(Durability::HIGH).to(Arc::new(by_document));
        }
    }
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
