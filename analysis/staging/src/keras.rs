//! The version of Keras with which a file runs. Keras 2 converts the methods of layers, Keras 3 does not.

use ag_db::{Db, Document};
use ag_index::index::{KerasVersion, file_index};

use super::requirements;

/// Returns the version of Keras with which a file runs, if the file itself needs one version or its project requires one.
pub fn version(db: &dyn Db, document: Document) -> Option<KerasVersion> {
    file_index(db, document).keras_version().or_else(|| requirements::keras_version(db, document))
}

/// Returns whether a file may run with Keras 2. If its version is unknown, `tf.keras` may be either version, and `keras`
/// is Keras 3.
pub fn may_be_keras2(db: &dyn Db, document: Document) -> bool {
    let imports = &file_index(db, document).imports;
    match version(db, document) {
        Some(version) => version == KerasVersion::Two,
        None => imports.uses("tf_keras") || imports.uses("tensorflow") && !imports.uses("keras"),
    }
}
