//! The types of the attributes that a method sets, as other code infers them.

use ruff_db::parsed::parsed_module;
use ruff_python_ast::{Expr, Stmt};
use ty_python_semantic::Db;

use ag_index::assumed::AssumedType;
use ag_index::oracle::{Attributes, Scope};

use super::{Inference, locate};
use crate::annotate;
use crate::oracle::Workspace;

/// Returns the types of the attributes that a method sets. They are inferred from a method that annotated source
/// contains for this purpose; `None` if it is missing.
pub(crate) fn attributes(db: &dyn Db, workspace: &Workspace, method: Scope) -> Option<Attributes> {
    let inference = Inference::new(db, workspace, method.document)?;
    let index = &inference.source.index;
    let class = index.function(method.code)?.class?;
    let module = parsed_module(db, inference.model.python_file()).load(db);
    let probe = locate::method(db, inference.file, &module, &annotate::probe(class))?;
    let names = annotate::stored(index, method.code.function()?);
    let read = probe.body.iter().filter_map(Stmt::as_expr_stmt).filter_map(|read| match &*read.value {
        read @ Expr::Attribute(attribute) => Some((read, &attribute.attr.id)),
        _ => None,
    });
    let attribute = |(read, name): (&Expr, _)| {
        let ty = inference.type_of(read)?;
        let mut assumed = AssumedType::default();
        inference.add_assumed(ty, &mut assumed);
        Some((Clone::clone(name), ty.display(db, &inference.env).to_string(), assumed))
    };
    read.filter(|(_, name)| names.contains(name)).map(attribute).collect()
}
