//! Pass: computes the products of a loop's inputs for several iterations at once.
//!
//! ```python
//! for t in range(x.shape[0]):
//!     h = torch.tanh(x[t] @ W + h @ U + b)
//! ```
//!
//! `x[t] @ W` depends on no earlier iteration. So the products of a *group* of iterations are computed together, from
//! the stacked rows `x[t]`, `x[t + 1]`, …. This reads `W` from memory once for the group instead of once for each
//! iteration. This is the strip-mined form of loop fission (Kennedy and Allen, *Optimizing Compilers for Modern
//! Architectures*, section 5.3): the results of a group are few enough to stay in the caches, whatever the number of
//! iterations.
//!
//! In `torch.cat([x[t], h], 1) @ W`, the part of `x[t]` is computed for the group, and the part of `h` is added to it, so
//! the tensors are not joined. This changes the order of the sum, so results differ by rounding.
//!
//! The *slices* are the nodes that compute the left operands from the index of the loop and from values outside of it. They
//! run in the same iterations as without the pass: a group ends at the last iteration, and the pass does not change
//! loops that may end early. If a slice raises an exception, the program stops, and libtorch runs the loop.

mod candidates;

use std::collections::hash_map::Entry;

use ag_graph::ir::arithmetic::{self, Kind, range_length};
use ag_graph::ir::{Node, Scalar, Value};
use ag_graph::liveness::NodeLife;
use rustc_hash::FxHashMap;

use self::candidates::{Candidate, Part, candidate, dependences, slices, unneeded};
use super::{Item, Lowering};
use crate::kernels::maps as kernels;
use crate::kernels::product::Product;
use crate::pass::Pass;
use crate::program::{Number, Register, Step};
use crate::view::{Place, View};

/// The maximum number of rows of a product for a group.
const GROUP_ROWS: usize = 128;
/// The maximum number of rows of a single product. A product with more rows uses each part of `W` often enough after
/// reading it.
const MAX_ROWS: usize = 64;
/// From this number of rows on, it is faster not to join tensors.
const ROWS_TO_SPLIT: usize = 4;
/// The maximum number of rows for which reading `W` takes most of the time of a product.
const FEW_ROWS: usize = 4;
/// The minimum number of elements of `W` for few rows: 32 KiB of `f32`, as large as the first-level cache.
const MIN_WEIGHT_OF_FEW_ROWS: usize = 8_192;
/// The minimum number of elements of `W` for more rows: 512 KiB of `f32`, so that `W` and the weight of the state do not
/// fit into the second-level cache.
const MIN_WEIGHT: usize = 131_072;

/// A product in the loop. Its first parts have been computed for the group.
pub(super) struct Remainder {
    /// The products of the group, and the position of the current iteration in it.
    group: View,
    position: Register,
    /// The other parts, each with the rows of the right operand by which it is multiplied.
    parts: Vec<(Value, View)>,
}

/// The products of a loop that are computed in groups.
pub(super) struct Groups<'n> {
    candidates: Vec<Candidate>,
    /// The slices, in order.
    slices: Vec<&'n Node>,
    /// The stacked rows of each slice that is an operand of a product.
    stacked: FxHashMap<Value, View>,
    /// The products of each candidate.
    products: Vec<View>,
    /// The number of iterations of a group.
    iterations: usize,
    position: Register,
}

impl Lowering<'_> {
    /// Finds the products of a loop that are computed in groups, and emits the steps before the loop.
    pub(super) fn open_groups<'n>(&mut self, node: &'n Node) -> Option<Groups<'n>> {
        let [body] = &node.regions[..] else { return None };
        self.options.passes.has(Pass::InputProducts).then_some(())?;
        let dependences = dependences(body);
        let mut candidates: Vec<Candidate> =
            body.nodes.iter().filter_map(|node| candidate(self.function, node, body, &dependences)).collect();
        candidates.retain(|candidate| self.is_worthwhile(candidate, 2));
        let count = self.iterations(node)?;
        let most = candidates.iter().map(|candidate| GROUP_ROWS / candidate.rows).min()?.min(count);
        let most = (2..=most).rev().find(|iterations| {
            candidates.iter().all(|candidate| self.is_worthwhile(candidate, *iterations))
        })?;
        // Keeps the number of groups and makes their sizes nearly equal, so that the last group has few unused rows.
        let iterations = count.div_ceil(count.div_ceil(most));
        candidates.iter().all(|candidate| self.is_worthwhile(candidate, iterations)).then_some(())?;
        let slices = slices(body, &candidates);
        let mut stacked = FxHashMap::default();
        let mut products = Vec::new();
        for candidate in &candidates {
            let (element, sizes) = super::known(self.function.ty(candidate.output).tensor()?)?;
            for part in candidate.parts.iter().filter(|part| part.is_slice) {
                if let Entry::Vacant(entry) = stacked.entry(part.operand) {
                    let rows = self.reserve(element, &[iterations * candidate.rows, part.columns])?;
                    let bytes = (rows.count() * element.size()) as u32;
                    self.step(Step::Zero { out: rows.place, bytes });
                    entry.insert(rows);
                }
            }
            products.push(self.reserve(element, &[iterations * candidate.rows, sizes[1]])?);
        }
        self.skipped.extend(unneeded(body, &candidates, &slices));
        let position = self.new_register();
        self.step(Step::CopyScalar { out: position, a: Number::Const(0) });
        Some(Groups { candidates, slices, stacked, products, iterations, position })
    }

    /// Returns the number of iterations of a loop, if it is known.
    fn iterations(&mut self, node: &Node) -> Option<usize> {
        let mut bounds = [0; 3];
        for (bound, operand) in bounds.iter_mut().zip(&node.operands) {
            let Number::Const(bits) = self.number(operand)?.0 else { return None };
            *bound = bits.cast_signed();
        }
        let [start, stop, step] = bounds;
        range_length(start, stop, step)?.try_into().ok()
    }

    /// Returns whether a group of this size is faster than single products, and fits into the limits.
    fn is_worthwhile(&mut self, candidate: &Candidate, iterations: usize) -> bool {
        let Some(weight) = self.tensor(&candidate.weight) else { return false };
        let [_, columns] = weight.sizes[..] else { return false };
        let limit = self.options.limits.elements;
        let is_native = |lowering: &Self, rows: usize, inner: usize| {
            let [first, second] = [weight.strides[0], weight.strides[1]];
            let product = Product { rows, inner, columns, a: [inner, 1], b: [first, second], adds: true };
            inner > 0
                && rows * inner.max(columns) <= limit
                && lowering.is_native_product(weight.element, &product)
        };
        let fits = is_native(self, candidate.rows, weight.sizes[0])
            && candidate.parts.iter().all(|part| {
                let rows = if part.is_slice { iterations * candidate.rows } else { candidate.rows };
                is_native(self, rows, part.columns)
            });
        let inner: usize = candidate.parts.iter().filter(|part| part.is_slice).map(|part| part.columns).sum();
        let is_faster = match candidate.rows {
            rows if candidate.is_split && rows >= ROWS_TO_SPLIT => true,
            rows if rows <= FEW_ROWS => inner * columns >= MIN_WEIGHT_OF_FEW_ROWS,
            _ => inner * columns >= MIN_WEIGHT,
        };
        fits && is_faster && candidate.rows <= MAX_ROWS
    }

    /// At the start of an iteration: if it is the first of a group, computes the products of the group.
    pub(super) fn compute_group(&mut self, node: &Node, groups: &Groups<'_>, left: Register) -> Option<()> {
        let index = node.regions[0].params[0];
        let (at, _) = self.number(&index.into())?;
        let position = Number::Register(groups.position);
        let is_first = self.binary(Scalar::Eq, position, Number::Const(0))?;
        let skip = self.step(Step::JumpIfFalse { condition: is_first, to: 0 });
        let iterations = Number::Const(groups.iterations as u64);
        let count = self.binary(Scalar::Min, iterations, Number::Register(left))?;
        // for row in range(count): stacked[row] = slice(index + row * step)
        let by = self.number(&node.operands[2])?.0;
        let [row, rows, one] = [(); 3].map(|()| self.new_register());
        let (start, by_one) = (Number::Const(0), Number::Const(1));
        self.step(Step::ForStart { index: row, left: rows, step: one, start, stop: count, by: by_one });
        let head = self.target();
        let exit = self.step(Step::ForTest { left: rows, to: 0 });
        let offset = self.binary(Scalar::Mul, Number::Register(row), by)?;
        let ahead = self.binary(Scalar::Add, at, offset)?;
        self.define(index, Item::Number(ahead, Kind::Int));
        let skipped = std::mem::take(&mut self.skipped);
        for slice in &groups.slices {
            self.node(slice, &NodeLife::default())?;
        }
        self.skipped = skipped;
        for (value, stacked) in &groups.stacked {
            let slice = self.tensor(&(*value).into())?;
            let target = self.block(stacked, Number::Register(row), groups.iterations);
            self.copy(&target, &slice)?;
        }
        let values: Vec<Value> = groups.slices.iter().flat_map(|slice| slice.outputs.clone()).collect();
        self.drop_values(&values);
        values.iter().for_each(|value| _ = self.items.remove(value));
        self.define(index, Item::Number(at, Kind::Int));
        self.step(Step::ForNext { index: row, left: rows, step: one, to: head, number: 0 });
        self.patch(exit);
        for (candidate, group) in groups.candidates.iter().zip(&groups.products) {
            self.group_product(candidate, group, groups)?;
        }
        self.patch(skip);
        Some(())
    }

    fn group_product(&mut self, candidate: &Candidate, group: &View, groups: &Groups<'_>) -> Option<()> {
        let mut adds = false;
        if let Some(added) = &candidate.added {
            let added = self.tensor(added)?;
            if added.rank() == 2 && added.sizes[0] == candidate.rows && candidate.rows > 1 {
                let sizes = vec![groups.iterations, candidate.rows, group.sizes[1]];
                let strides = crate::view::contiguous(&sizes);
                self.emit(kernels::copy(group.element), &group.with(sizes, strides, 0), &[&added])?;
            } else {
                self.emit(kernels::copy(group.element), group, &[&added])?;
            }
            adds = true;
        }
        let weight = self.tensor(&candidate.weight)?;
        let mut parts = Vec::new();
        for part in &candidate.parts {
            let weight = rows_of(&weight, part)?;
            if part.is_slice {
                self.product(group, &groups.stacked[&part.operand], &weight, adds)?;
                adds = true;
            } else {
                parts.push((part.operand, weight));
            }
        }
        self.fired.count(Pass::InputProducts);
        let remainder = Remainder { group: group.clone(), position: groups.position, parts };
        self.remainders.insert(candidate.output, remainder);
        Some(())
    }

    /// Lowers a product whose first parts have been computed: adds the products of the other parts, in the memory of
    /// the group.
    pub(super) fn remainder(&mut self, node: &Node) -> Option<()> {
        let Remainder { group, position, parts } = self.remainders.remove(&node.outputs[0])?;
        let (_, sizes) = self.result(node)?;
        let out = self.block(&group, Number::Register(position), group.sizes[0] / sizes[0]);
        for (operand, weight) in parts {
            let a = self.tensor(&operand.into())?;
            self.product(&out, &a, &weight, true)?;
        }
        self.define_result(node, out)
    }

    /// At the end of an iteration, increments the position in the group.
    pub(super) fn next_in_group(&mut self, groups: &Groups<'_>) -> Option<()> {
        let next = self.binary(Scalar::Add, Number::Register(groups.position), Number::Const(1))?;
        let wrapped = self.binary(Scalar::Mod, next, Number::Const(groups.iterations as u64))?;
        self.step(Step::CopyScalar { out: groups.position, a: wrapped });
        Some(())
    }

    pub(super) fn close_groups(&mut self, groups: Groups<'_>) {
        for view in groups.stacked.values().chain(&groups.products) {
            view.buffer.into_iter().for_each(|buffer| self.arena.release(buffer));
        }
    }

    /// Returns the rows that belong to iteration `index` in a group of `count` iterations.
    fn block(&mut self, rows: &View, index: Number, count: usize) -> View {
        let sizes = vec![rows.sizes[0] / count, rows.sizes[1]];
        let stride = (sizes[0] * sizes[1] * rows.element.size()) as u32;
        let base = self.new_base();
        self.step(Step::Address { base, from: rows.place, index, size: count as u32, stride });
        self.group_bases.extend(rows.buffer.map(|buffer| (base, buffer)));
        let mut block = rows.with(sizes, rows.strides.clone(), 0);
        block.place = Place { base, offset: 0 };
        block
    }

    fn binary(&mut self, scalar: Scalar, a: Number, b: Number) -> Option<Number> {
        let (f, ..) = arithmetic::binary(scalar, Kind::Int, Kind::Int, Kind::Int)?;
        let out = self.new_register();
        self.step(Step::Scalar { operation: (scalar, Kind::Int), f, out, a, b });
        Some(Number::Register(out))
    }
}

/// Returns the rows of the right operand by which a part of the left operand is multiplied.
fn rows_of(weight: &View, part: &Part) -> Option<View> {
    let [_, columns] = weight.sizes[..] else { return None };
    Some(weight.with(vec![part.columns, columns], weight.strides.clone(), part.start * weight.strides[0]))
}
