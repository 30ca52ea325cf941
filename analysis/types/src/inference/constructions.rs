//! The calls that give the fields of generated constructors their values: `State(1, loss)`, `state._replace(loss=loss)`,
//! `dataclasses.replace(state, loss=loss)`.

use ruff_db::files::FileRange;
use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;
use ty_python_semantic::types::Type;

use super::{Inference, locate};
use ag_index::answers::{ArgumentSlot, Construction};

/// The functions that copy an object, their first argument.
const COPYING: [&str; 4] = ["dataclasses.replace", "copy.replace", "attrs.evolve", "attr.evolve"];

impl Inference<'_> {
    pub(super) fn construction(&self, call: &ast::ExprCall) -> Option<Construction> {
        let (location, copies) = self.constructed(call)?;
        let source = self.workspace.source(self.workspace.document_of(location.file())?)?;
        let classes = &locate::definitions(self.db, location.file()).classes;
        let (class, _) = classes.iter_enumerated().find(|(_, it)| it.name_range == location.range())?;
        if source.index.fields.iter().all(|(known, _)| *known != class) {
            return None;
        }
        let positional = call.arguments.args.iter().take_while(|it| !it.is_starred_expr());
        let positional = positional.zip(0..).filter(|_| !copies);
        let mut arguments: Vec<_> = positional
            .map(|(argument, position)| (ArgumentSlot::Position(position), self.assumed(argument)))
            .collect();
        let named = call.arguments.keywords.iter();
        arguments.extend(named.filter_map(|keyword| {
            let name = keyword.arg.as_ref()?;
            Some((ArgumentSlot::Keyword(name.id.clone()), self.assumed(&keyword.value)))
        }));
        let open = call.arguments.args.iter().any(Expr::is_starred_expr)
            || call.arguments.keywords.iter().any(|keyword| keyword.arg.is_none());
        Some(Construction { document: source.document, class, arguments, open, copies })
    }

    /// Returns the location of the name of the class of which a call makes an object, and whether the call copies one.
    fn constructed(&self, call: &ast::ExprCall) -> Option<(FileRange, bool)> {
        if let Some(method) = call.func.as_attribute_expr()
            && matches!(method.attr.as_str(), "_replace" | "replace")
            && let Some(class) = self.class_of_object(&method.value)
        {
            return Some((class, true));
        }
        match self.type_of(&call.func)? {
            ty @ (Type::ClassLiteral(_) | Type::GenericAlias(_)) => Some((self.class_of(ty)?, false)),
            Type::SubclassOf(_) => Some((self.class_around(&call.func)?, false)),
            _ => {
                let name = self.source.index.imports.resolve(&call.func)?;
                let object = call.arguments.args.first().filter(|_| COPYING.contains(&name.as_str()))?;
                Some((self.class_of_object(object)?, true))
            }
        }
    }

    fn class_of_object(&self, object: &Expr) -> Option<FileRange> {
        match self.type_of(object)? {
            ty @ Type::NominalInstance(_) => self.class_of(ty),
            _ if self.is_self(object) => self.class_around(object),
            _ => None,
        }
    }
}
