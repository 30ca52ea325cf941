//! Evaluators of the modules from which a file imports functions and classes.

use std::cell::OnceCell;

use ag_db::Document;

use super::evaluate::Evaluator;
use crate::sources::Contexts;

pub(super) struct Modules<'c, 'a> {
    contexts: &'c Contexts<'a>,
    evaluators: Vec<OnceCell<Option<Evaluator<'c, 'a>>>>,
}

impl<'c, 'a> Modules<'c, 'a> {
    pub(super) fn of(contexts: &'c Contexts<'a>) -> Self {
        Self { contexts, evaluators: (0..contexts.len()).map(|_| OnceCell::new()).collect() }
    }

    pub(super) fn evaluator(&'c self, document: Document) -> Option<&'c Evaluator<'c, 'a>> {
        let position = self.contexts.position(document)?;
        let load = || {
            let context = self.contexts.get(position)?;
            Some(Evaluator::in_project(context, context.program(), self))
        };
        self.evaluators.get(position)?.get_or_init(load).as_ref()
    }
}
