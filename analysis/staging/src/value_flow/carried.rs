//! Keeps possible calls after edits without solving the constraints again.
//!
//! A call or root is kept if its functions and its expression still exist:
//!
//! ```python
//! def apply(f, x):
//!     x = x + 1          # edited
//!     return f(x)        # may still call what `f` was before the edit
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use ag_db::{Db, Document};
use ag_index::ids::{Code, DocumentIndex, RootIndex};
use ag_index::value_flow::{FileFlow, LambdaIndex, Owner, SiteIndex, file_flow};
use ruff_index::{IndexSlice, IndexVec};
use ruff_text_size::{TextRange, TextSize};
use rustc_hash::FxHashMap;

use super::{Callable, PossibleCall, PossibleCalls, PossibleRoot, StagingFunction};
use crate::difference::Version;

/// A document with its versions before and after an edit.
#[derive(Clone, Copy)]
pub(crate) struct EditedFlow<'a> {
    pub(crate) document: DocumentIndex,
    pub(crate) before: &'a Version,
    pub(crate) after: &'a Version,
}

impl PossibleCalls {
    /// Returns the same calls and roots, with the new sites of the edited documents; `None` if the edits change
    /// constraints.
    pub(crate) fn with_same_constraints(
        &self,
        db: &dyn Db,
        documents: &IndexSlice<DocumentIndex, Document>,
        edits: &[EditedFlow<'_>],
    ) -> Option<Self> {
        let flows = self.flows_after(db, documents, edits);
        let is_same = edits.iter().all(|edit| {
            let flow = |flows: &IndexVec<DocumentIndex, Arc<FileFlow>>| flows.get(edit.document).cloned();
            flow(&self.flows).zip(flow(&flows)).is_some_and(|(before, after)| before.code == after.code)
        });
        is_same.then(|| Self { flows, ..self.clone() })
    }

    /// Returns the calls and roots whose functions and expressions still exist. New calls and roots are not found.
    pub(crate) fn carried_over(
        &self,
        db: &dyn Db,
        documents: &IndexSlice<DocumentIndex, Document>,
        edits: &[EditedFlow<'_>],
    ) -> Self {
        let flows = self.flows_after(db, documents, edits);
        let files = edits.iter().filter_map(|edit| {
            let (before, after) = (self.flows.get(edit.document)?, flows.get(edit.document)?);
            Some((edit.document, Correspondence::of(edit, before, after)))
        });
        let files: FxHashMap<DocumentIndex, Correspondence> = files.collect();
        let callable = |callable: Callable| match files.get(&callable.document) {
            None => Some(callable),
            Some(file) => Some(Callable { owner: file.owner(callable.owner)?, ..callable }),
        };
        let site = |document: DocumentIndex, site: SiteIndex| match files.get(&document) {
            None => Some(site),
            Some(file) => file.sites.get(site).copied().flatten(),
        };
        let mut calls: BTreeMap<Callable, Vec<PossibleCall>> = BTreeMap::new();
        for (caller, known) in &self.calls {
            let Some(now) = callable(*caller) else { continue };
            let kept = known.iter().filter_map(|call| {
                Some(PossibleCall {
                    callee: callable(call.callee)?,
                    site: site(caller.document, call.site)?,
                    is_sole_callee: call.is_sole_callee,
                    bound: call.bound,
                })
            });
            let mut kept: Vec<_> = kept.collect();
            kept.sort_unstable_by_key(|call| (call.site, call.callee));
            if !kept.is_empty() {
                calls.insert(now, kept);
            }
        }
        let roots = self.roots.iter().filter_map(|root| {
            let staged_by = match (root.staged_by, files.get(&root.document)) {
                (StagingFunction::Site(position), Some(file)) => {
                    StagingFunction::Site(file.roots.get(position).copied()??)
                }
                (staged_by, _) => staged_by,
            };
            let (site, function) = (site(root.document, root.site)?, callable(root.function)?);
            Some(PossibleRoot { site, staged_by, function, ..*root })
        });
        let mut roots: Vec<_> = roots.collect();
        roots.sort_unstable_by_key(|root| (root.document, root.site, root.staged_by, root.function));
        let called_outside = self.called_outside.iter().filter_map(|known| callable(*known)).collect();
        let callers = BTreeMap::new();
        Self { calls, callers, roots, called_outside, flows, is_stale: true, ..*self }.with_callers()
    }

    fn flows_after(
        &self,
        db: &dyn Db,
        documents: &IndexSlice<DocumentIndex, Document>,
        edits: &[EditedFlow<'_>],
    ) -> IndexVec<DocumentIndex, Arc<FileFlow>> {
        let mut flows = self.flows.clone();
        for edit in edits {
            if let (Some(flow), Some(document)) = (flows.get_mut(edit.document), documents.get(edit.document))
            {
                *flow = Arc::clone(file_flow(db, *document));
            }
        }
        flows
    }
}

/// Maps the functions, lambdas, roots and sites of a file before an edit to those after it.
struct Correspondence<'a> {
    before: &'a Version,
    after: &'a Version,
    lambdas: IndexVec<LambdaIndex, Option<LambdaIndex>>,
    roots: IndexVec<RootIndex, Option<RootIndex>>,
    sites: IndexVec<SiteIndex, Option<SiteIndex>>,
}

impl<'a> Correspondence<'a> {
    fn of(edit: &EditedFlow<'a>, before: &FileFlow, after: &FileFlow) -> Self {
        let change = Change::between(edit.before.text.as_str(), edit.after.text.as_str());
        let mut file = Self {
            before: edit.before,
            after: edit.after,
            lambdas: IndexVec::new(),
            roots: IndexVec::new(),
            sites: IndexVec::new(),
        };
        let roots = edit.after.index.roots.iter_enumerated();
        let roots: FxHashMap<TextRange, RootIndex> = roots.map(|(root, site)| (site.range, root)).collect();
        let root = |range| roots.get(&change.moved(range)?).copied();
        file.roots = edit.before.index.roots.iter().map(|site| root(site.range)).collect();
        file.lambdas = file.corresponding_lambdas(before, after);
        file.sites = file.corresponding_sites(before, after, &change);
        file
    }

    fn owner(&self, owner: Owner) -> Option<Owner> {
        match owner {
            Owner::Code(code) => Some(Owner::Code(self.code(code)?)),
            Owner::Lambda(lambda) => Some(Owner::Lambda(self.lambdas.get(lambda).copied()??)),
        }
    }

    fn code(&self, code: Code) -> Option<Code> {
        let Code::Function(function) = code else { return Some(code) };
        let path = &self.before.index.definitions.functions.get(function)?.path;
        let (function, _) = self.after.index.definitions.find(path)?;
        Some(Code::Function(function))
    }

    /// Returns the new lambda for each old one; `None` if there is no counterpart. If a function has as many lambdas as
    /// before, they correspond in their order.
    fn corresponding_lambdas(
        &self,
        before: &FileFlow,
        after: &FileFlow,
    ) -> IndexVec<LambdaIndex, Option<LambdaIndex>> {
        let by_code = |flow: &FileFlow| {
            let lambdas = flow.code.lambdas.indices();
            grouped(lambdas.map(|lambda| (flow.code.code_around(Owner::Lambda(lambda)), lambda)))
        };
        let (old, new) = (by_code(before), by_code(after));
        let mut lambdas = IndexVec::from_raw(vec![None; before.code.lambdas.len()]);
        for (code, old) in &old {
            let new = self.code(*code).and_then(|code| new.get(&code));
            for (old, new) in
                new.into_iter().filter(|new| new.len() == old.len()).flat_map(|new| old.iter().zip(new))
            {
                lambdas[*old] = Some(*new);
            }
        }
        lambdas
    }

    /// Returns the new site for each old one; `None` if there is no counterpart. If a function has as many sites as
    /// before, they correspond in their order. Otherwise two sites correspond if the edit did not change the
    /// expression's position relative to the text around it.
    fn corresponding_sites(
        &self,
        before: &FileFlow,
        after: &FileFlow,
        change: &Change,
    ) -> IndexVec<SiteIndex, Option<SiteIndex>> {
        let by_owner =
            |flow: &FileFlow| grouped(flow.code.owners.iter_enumerated().map(|(site, owner)| (*owner, site)));
        let (old, new) = (by_owner(before), by_owner(after));
        let mut sites = IndexVec::from_raw(vec![None; before.code.owners.len()]);
        for (owner, old) in &old {
            let Some(new) = self.owner(*owner).and_then(|owner| new.get(&owner)) else { continue };
            if old.len() == new.len() {
                for (old, new) in old.iter().zip(new) {
                    sites[*old] = Some(*new);
                }
                continue;
            }
            let new: FxHashMap<TextRange, SiteIndex> =
                new.iter().filter_map(|site| Some((*after.ranges.get(*site)?, *site))).collect();
            for site in old {
                let range = before.ranges.get(*site).and_then(|range| change.moved(*range));
                sites[*site] = range.and_then(|range| new.get(&range).copied());
            }
        }
        sites
    }
}

fn grouped<K: std::hash::Hash + Eq, V>(pairs: impl Iterator<Item = (K, V)>) -> FxHashMap<K, Vec<V>> {
    let mut groups: FxHashMap<K, Vec<V>> = FxHashMap::default();
    for (key, value) in pairs {
        groups.entry(key).or_default().push(value);
    }
    groups
}

/// The part of a text that an edit replaces: everything between the common start and the common end of both versions.
struct Change {
    start: TextSize,
    /// The ends of this part, before and after the edit.
    end: TextSize,
    end_now: TextSize,
}

impl Change {
    fn between(before: &str, after: &str) -> Self {
        let common =
            |pairs: &mut dyn Iterator<Item = (u8, u8)>| pairs.take_while(|(old, new)| old == new).count();
        let start = common(&mut before.bytes().zip(after.bytes()));
        let (old, new) = (&before.as_bytes()[start..], &after.as_bytes()[start..]);
        let rest = common(&mut old.iter().rev().copied().zip(new.iter().rev().copied()));
        let size = |length: usize| TextSize::try_from(length).unwrap_or_default();
        Self { start: size(start), end: size(before.len() - rest), end_now: size(after.len() - rest) }
    }

    /// Returns the range that an expression has after the edit; `None` if the edit replaced its start or end.
    fn moved(&self, range: TextRange) -> Option<TextRange> {
        let shifted = |offset: TextSize| (offset >= self.end).then(|| offset - self.end + self.end_now);
        let same = |offset: TextSize| (offset <= self.start).then_some(offset);
        let start = shifted(range.start()).or_else(|| same(range.start()))?;
        let end = same(range.end()).or_else(|| shifted(range.end()))?;
        (start <= end).then(|| TextRange::new(start, end))
    }
}
