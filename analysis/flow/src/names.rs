//! The sorted names of one function, their ids, and sets of names.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use super::bits;
use ag_syntax::qname::QName;

/// The position of a name in the sorted [`Names`] of its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct NameId(pub(super) u32);

/// All names that a function reads or binds, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    sorted: Vec<QName>,
    /// The names that contain a variable as a key: `d[i]`.
    keyed: Vec<NameId>,
}

/// A hash map from names to ranks, for repeated lookups. The names are sorted, so the rank of a name is its position.
pub(super) struct Ranks(IndexSet<QName, FxBuildHasher>);

impl Ranks {
    pub(super) fn of(&self, name: &QName) -> Option<NameId> {
        self.0.get_index_of(name).map(|rank| NameId(rank as u32))
    }
}

impl Names {
    pub(super) fn new<'a>(all: impl Iterator<Item = &'a QName>) -> (Self, Ranks) {
        let mut names = IndexSet::<QName, FxBuildHasher>::default();
        for name in all {
            if !names.contains(name) {
                names.insert(name.clone());
            }
        }
        names.sort_unstable();
        let sorted: Vec<QName> = names.iter().cloned().collect();
        let keyed = sorted
            .iter()
            .enumerate()
            .filter(|(_, name)| name.key_names().next().is_some())
            .map(|(index, _)| NameId(index as u32))
            .collect();
        (Self { sorted, keyed }, Ranks(names))
    }

    pub(super) fn len(&self) -> usize {
        self.sorted.len()
    }

    pub(super) fn id(&self, name: &QName) -> Option<NameId> {
        self.sorted.binary_search(name).ok().map(|index| NameId(index as u32))
    }

    pub(super) fn get(&self, id: NameId) -> Option<&QName> {
        self.sorted.get(id.0 as usize)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (NameId, &QName)> {
        self.sorted.iter().enumerate().map(|(index, name)| (NameId(index as u32), name))
    }

    /// Returns an upper bound on the number of names that a binding of `bound` redefines, including `bound` itself. The
    /// cost of listing these names is at most this number.
    pub(super) fn dependents_cost(&self, bound: NameId) -> usize {
        1 + self.keyed.len() + self.extensions(bound).count()
    }

    /// Returns the longer names that start with `bound`. In the sorted list, they follow `bound` directly.
    fn extensions(&self, bound: NameId) -> impl Iterator<Item = NameId> + '_ {
        let name = self.get(bound);
        (bound.0 + 1..self.len() as u32).map(NameId).take_while(move |&id| {
            matches!((name, self.get(id)), (Some(name), Some(longer)) if name.is_prefix_of(longer))
        })
    }

    /// Returns the longer names that denote another object after `bound` is rebound: `a.b` and `d[a]` for `a`.
    pub(super) fn dependents(&self, bound: NameId) -> impl Iterator<Item = NameId> + '_ {
        let name = self.get(bound);
        let keyed = self.keyed.iter().copied().filter(move |&id| {
            matches!((name, self.get(id)), (Some(name), Some(item))
                if item.depends_on(name) && !name.is_prefix_of(item))
        });
        self.extensions(bound).chain(keyed)
    }
}

/// An ordered set of names of one function.
#[derive(Clone)]
pub struct NameSet<'a> {
    names: &'a Names,
    members: Cow<'a, [u64]>,
}

impl<'a> NameSet<'a> {
    pub(super) fn new(names: &'a Names, members: impl Into<Cow<'a, [u64]>>) -> Self {
        Self { names, members: members.into() }
    }

    pub fn iter(&self) -> impl Iterator<Item = &'a QName> + '_ {
        bits::iter(&self.members).filter_map(|id| self.names.get(NameId(id)))
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = NameId> + '_ {
        bits::iter(&self.members).map(NameId)
    }

    pub fn insert(&mut self, name: &QName) {
        if let Some(id) = self.names.id(name) {
            bits::insert(self.members.to_mut(), id.0);
        }
    }

    pub fn add(&mut self, other: &NameSet<'_>) {
        self.add_row(&other.members);
    }

    pub(super) fn add_row(&mut self, row: &[u64]) {
        bits::union(self.members.to_mut(), row);
    }

    pub fn contains(&self, name: &QName) -> bool {
        self.names.id(name).is_some_and(|id| bits::contains(&self.members, id.0))
    }

    pub fn is_empty(&self) -> bool {
        self.members.iter().all(|word| *word == 0)
    }

    pub fn to_set(&self) -> BTreeSet<QName> {
        self.iter().cloned().collect()
    }

    /// Returns the names in both sets. Both must belong to the same function.
    pub fn intersection(mut self, other: &NameSet<'_>) -> Self {
        self.members.to_mut().iter_mut().zip(&*other.members).for_each(|(word, other)| *word &= other);
        self
    }

    /// Returns the names that are not in `other`. Both must belong to the same function.
    pub fn difference(mut self, other: &NameSet<'_>) -> Self {
        self.members.to_mut().iter_mut().zip(&*other.members).for_each(|(word, other)| *word &= !other);
        self
    }

    /// Returns the names in either set. Both must belong to the same function.
    pub fn union(mut self, other: &NameSet<'_>) -> Self {
        self.add(other);
        self
    }
}

impl PartialEq for NameSet<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}
impl Eq for NameSet<'_> {}

/// Writes the names in Python syntax, separated by commas: `a, a.b, d['k']`.
impl fmt::Display for NameSet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{name}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for NameSet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}
