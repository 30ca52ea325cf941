//! The types of fields whose annotations are imprecise or do not hold, from the calls of the constructor:
//!
//! ```python
//! class State(NamedTuple):
//!     loss: Any
//!     rate: float
//!
//! State(tf.reduce_sum(x), schedule(step))               # two Tensors
//! ```

use std::collections::BTreeMap;

use ag_db::Db;
use ag_index::answers::{ArgumentSlot, Construction};
use ag_index::assumed::AssumedType;
use ag_index::ids::{ClassIndex, Code, DocumentIndex};
use ag_index::index::{Field, file_index};
use ag_index::oracle::Assumptions;

use crate::fixpoint::Fixpoint;

impl Fixpoint {
    pub(super) fn add_fields(&self, db: &dyn Db, assumptions: &mut Assumptions) {
        let mut types: BTreeMap<(DocumentIndex, ClassIndex), Vec<AssumedType>> = BTreeMap::new();
        for construction in self.constructions.values().flatten() {
            let Some(document) = self.positions.get(&construction.document) else { continue };
            let index = file_index(db, construction.document);
            let Some((_, fields)) = index.fields.iter().find(|(class, _)| *class == construction.class)
            else {
                continue;
            };
            let known = types
                .entry((*document, construction.class))
                .or_insert_with(|| vec![AssumedType::default(); fields.len()]);
            join(construction, fields, known);
        }
        for ((document, class), types) in types {
            let index = file_index(db, self.documents[document]);
            let Some((_, fields)) = index.fields.iter().find(|(known, _)| *known == class) else { continue };
            for (position, (field, assumed)) in fields.iter().zip(types).enumerate() {
                let annotation = field.annotation;
                let replaces = annotation.vague && !annotation.variable && !assumed.is_empty()
                    || annotation.number && assumed.is_beyond_builtins();
                if replaces {
                    let functions = assumptions.entry(document).or_default();
                    functions.entry(Code::Module).or_default().fields.push((class, position, assumed));
                }
            }
        }
    }
}

/// Adds the arguments of a call to the types of the fields.
fn join(construction: &Construction, fields: &[Field], types: &mut [AssumedType]) {
    for (position, (field, known)) in fields.iter().zip(types).enumerate() {
        let given = construction.arguments.iter().find(|(slot, _)| match slot {
            ArgumentSlot::Position(at) => *at as usize == position,
            ArgumentSlot::Keyword(name) => *name == field.name,
        });
        match given {
            Some((_, argument)) => {
                // `state._replace(loss=state.loss + x)` is unknown until the field is known. A field keeps its kind.
                let unknown = known.unknown || argument.unknown && !construction.copies;
                known.join(argument);
                known.unknown = unknown;
            }
            None if construction.open => known.unknown = true,
            // The value of a default has some other type.
            None if field.has_default && !construction.copies => known.unknown = true,
            None => {}
        }
    }
}
