//! Pass: defers products that are added to a sum, until many of them can be computed as one product.
//!
//! ```python
//! def backward(saved, gradient, total):
//!     x, g, left, right = …
//!     total = total + x.t() @ g                       # the gradient of a weight
//!     total = backward(left, …, total)
//!     return backward(right, …, total)
//! ```
//!
//! A *sum* is a matrix that a recursive function takes, adds products to, and returns, or that a loop carries and adds
//! products to. Nothing else may use it in between. Then its value is needed only after the outermost call, or after
//! the loop. Until then, a register holds a [`Sum`](crate::deferred::Sum) instead of the tensor.
//!
//! This module finds the sums of a graph. [`Sums::params`] contains the parameters of functions that are sums, with the
//! results in which they are returned. This is a greatest fixpoint: at first, all pairs of equal types are assumed to
//! be sums. Then pairs that are not sums under this assumption are removed, until nothing changes.

use std::fmt::Write as _;

use ag_graph::ir::{DType, Function, FunctionId, Graph, Node, Op, Operand, Region, TensorType, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// The maximum number of columns of the left operand of a product. For more columns, adding the product to the sum
/// takes only a small part of the time.
const MAX_INNER: u64 = 32;

/// The minimum number of elements of a sum that a function takes. For smaller sums, keeping the operands of a product
/// takes longer than adding it.
const MIN_ELEMENTS_IN_CALLS: u64 = 1 << 14;

/// The minimum number of elements of a sum that a loop carries. Smaller ones are computed in native programs.
const MIN_ELEMENTS_IN_LOOPS: u64 = 1 << 17;

/// A parameter of a function and a result, by index.
type Pair = (FunctionId, usize, usize);

/// The sums of a graph.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// For each parameter that is a sum: the result that is the sum after the call.
    params: FxHashMap<(FunctionId, usize), usize>,
    functions: Vec<SumsOfFunction>,
}

/// The sums in a function.
#[derive(Debug, Default, Clone)]
pub(super) struct SumsOfFunction {
    /// The values whose registers hold sums.
    pub(super) values: FxHashSet<Value>,
    /// For each product that is deferred: the sum before and after the addition.
    pub(super) products: FxHashMap<Value, (Value, Value)>,
    /// The sums after additions.
    pub(super) added: FxHashSet<Value>,
    /// The functions that sums are passed to.
    calls: FxHashSet<(FunctionId, usize)>,
}

impl Sums {
    pub(super) fn of(graph: &Graph) -> Self {
        let finders: Vec<Finder<'_>> = graph.functions.iter().map(Finder::new).collect();
        let find = |(id, param, result): &Pair, pairs: Option<&[Pair]>| {
            finders.get(id.index()).and_then(|finder| finder.param(*param, *result, pairs))
        };
        let mut pairs: Vec<Pair> = Vec::new();
        for pair in candidates(graph).into_iter().filter(|pair| find(pair, None).is_some()) {
            if !pairs.iter().any(|known| known.0 == pair.0 && (known.1 == pair.1 || known.2 == pair.2)) {
                pairs.push(pair);
            }
        }
        let found = loop {
            let found: Vec<Option<SumsOfFunction>> =
                pairs.iter().map(|pair| find(pair, Some(&pairs))).collect();
            if found.iter().all(Option::is_some) {
                break found.into_iter().flatten();
            }
            let mut found = found.into_iter();
            pairs.retain(|_| found.next().is_some_and(|found| found.is_some()));
        };
        let mut found: Vec<(Pair, SumsOfFunction)> = pairs.into_iter().zip(found).collect();
        retain_useful(&mut found);
        let mut sums = Self::default();
        sums.functions.resize(graph.functions.len(), SumsOfFunction::default());
        let mut pairs = Vec::new();
        for (pair, found) in found {
            sums.params.insert((pair.0, pair.1), pair.2);
            sums.functions[pair.0.index()].extend(found);
            pairs.push(pair);
        }
        for (finder, known) in finders.iter().zip(&mut sums.functions) {
            finder.loops(&finder.function.body, &pairs, known);
        }
        sums
    }

    pub(super) fn of_function(&self, index: usize) -> SumsOfFunction {
        self.functions.get(index).cloned().unwrap_or_default()
    }

    /// Returns the result in which a function returns the sum that it takes as this parameter.
    pub(super) fn result(&self, function: FunctionId, param: usize) -> Option<usize> {
        self.params.get(&(function, param)).copied()
    }

    /// Returns whether the function returns a sum in this result.
    pub(super) fn is_result(&self, function: FunctionId, result: usize) -> bool {
        self.params.iter().any(|((id, _), index)| *id == function && *index == result)
    }
}

/// Returns the products of a graph that are deferred, as text: a line for each product, beside its source line.
/// `source` returns a line of a file, counted from one.
pub fn listing(graph: &Graph, source: &dyn Fn(&str, u32) -> Option<String>) -> String {
    let sums = Sums::of(graph);
    let mut text = String::new();
    for (function, sums) in graph.functions.iter().zip(&sums.functions) {
        if !sums.products.is_empty() {
            let _ = writeln!(text, "sums @{}: deferred-products {}", function.name, sums.products.len());
            sums.write(&mut text, graph, &function.body, source);
        }
    }
    text
}

impl SumsOfFunction {
    fn write(
        &self,
        text: &mut String,
        graph: &Graph,
        region: &Region,
        source: &dyn Fn(&str, u32) -> Option<String>,
    ) {
        for node in &region.nodes {
            let product = node.outputs.first().filter(|output| self.products.contains_key(output));
            if let Some(Value(product)) = product {
                let mut line = format!("       %{product}");
                if let Some(span) = node.span
                    && let Some(file) = graph.files.get(span.file as usize)
                {
                    let code = source(file, span.start.0).unwrap_or_default();
                    line = format!("{line:<80} # {file}:{}  {}", span.start.0, code.trim());
                }
                let _ = writeln!(text, "{line}");
            }
            node.regions.iter().for_each(|region| self.write(text, graph, region, source));
        }
    }

    /// Returns whether a node, or a node in its regions, uses or defines sums.
    pub(super) fn has_sums(&self, node: &Node) -> bool {
        if self.values.is_empty() {
            return false;
        }
        let is_sum = |value: &Value| self.values.contains(value) || self.products.contains_key(value);
        node.outputs.iter().any(is_sum)
            || node.regions.iter().any(|region| {
                region.params.iter().any(is_sum) || region.nodes.iter().any(|node| self.has_sums(node))
            })
    }

    fn extend(&mut self, other: Self) {
        self.values.extend(other.values);
        self.products.extend(other.products);
        self.added.extend(other.added);
        self.calls.extend(other.calls);
    }
}

/// Returns the pairs of a parameter and a result that may be sums: matrices of the same type, which every call passes.
fn candidates(graph: &Graph) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (index, function) in graph.functions.iter().enumerate().skip(1) {
        let id = FunctionId(index as u32);
        for (param, value) in function.params().iter().enumerate() {
            let ty = function.ty(*value);
            if matrix(function, *value).is_none_or(|[rows, columns]| rows * columns < MIN_ELEMENTS_IN_CALLS)
                || !graph.functions.iter().all(|caller| passes(&caller.body, id, param))
            {
                continue;
            }
            for (result, result_type) in function.results.iter().enumerate() {
                if result_type == ty {
                    pairs.push((id, param, result));
                }
            }
        }
    }
    pairs
}

/// Returns whether all calls of a function in a region pass a value as this parameter.
fn passes(region: &Region, id: FunctionId, param: usize) -> bool {
    region.nodes.iter().all(|node| {
        (node.op != Op::Call(id) || node.operands.get(param).is_some_and(|operand| operand.value().is_some()))
            && node.regions.iter().all(|region| passes(region, id, param))
    })
}

/// Removes sums to which no function adds products.
fn retain_useful(found: &mut Vec<(Pair, SumsOfFunction)>) {
    let mut useful: Vec<bool> = found.iter().map(|(_, sums)| !sums.products.is_empty()).collect();
    let mut has_changed = true;
    while std::mem::take(&mut has_changed) {
        for (caller, (_, sums)) in found.iter().enumerate() {
            for (callee, ((id, param, _), _)) in found.iter().enumerate() {
                if sums.calls.contains(&(*id, *param)) && useful[caller] != useful[callee] {
                    (useful[caller], useful[callee]) = (true, true);
                    has_changed = true;
                }
            }
        }
    }
    let mut useful = useful.into_iter();
    found.retain(|_| useful.next() == Some(true));
}

/// Returns the sizes of a matrix of floating-point numbers on the CPU.
fn matrix(function: &Function, value: Value) -> Option<[u64; 2]> {
    let TensorType { dtype, device, .. } = function.ty(value).tensor()?;
    let is_supported = matches!(dtype, DType::F32 | DType::F64) && *device == ag_graph::ir::Device::Cpu;
    <[u64; 2]>::try_from(function.ty(value).tensor()?.sizes()?).ok().filter(|_| is_supported)
}

/// Finds the sums of a function.
struct Finder<'a> {
    function: &'a Function,
    /// How often each value is used, at any depth.
    uses: Vec<u32>,
}

impl<'a> Finder<'a> {
    fn new(function: &'a Function) -> Self {
        let mut uses = vec![0; function.values.len()];
        function.body.used(&mut |value| uses[value.index()] += 1);
        Self { function, uses }
    }

    /// Follows a parameter to a result.
    fn param(&self, param: usize, result: usize, pairs: Option<&[Pair]>) -> Option<SumsOfFunction> {
        self.follow(&self.function.body, *self.function.params().get(param)?, result, pairs)
    }

    /// Finds the sums that loops carry, in a region and in the regions of its nodes.
    fn loops(&self, region: &Region, pairs: &[Pair], known: &mut SumsOfFunction) {
        for node in &region.nodes {
            if let Some((start, body)) = loop_body(node) {
                let params = &body.params[body.params.len() - node.outputs.len()..];
                for (index, param) in params.iter().enumerate() {
                    let is_large = matrix(self.function, *param)
                        .is_some_and(|[rows, columns]| rows * columns >= MIN_ELEMENTS_IN_LOOPS);
                    let is_value = node.operands[start + index].value().is_some();
                    if is_large && is_value && !known.values.contains(param) {
                        let found = self.carried(node, index, Some(pairs));
                        let found = found.filter(|sums| !sums.products.is_empty() || !sums.calls.is_empty());
                        known.extend(found.unwrap_or_default());
                    }
                }
            }
            node.regions.iter().for_each(|region| self.loops(region, pairs, known));
        }
    }

    /// Follows the value that a loop carries at this index through the body. The condition must not use it.
    fn carried(&self, node: &Node, index: usize, pairs: Option<&[Pair]>) -> Option<SumsOfFunction> {
        let (_, body) = loop_body(node)?;
        let param = |region: &Region| {
            let first = region.params.len().checked_sub(node.outputs.len())?;
            region.params.get(first + index).copied()
        };
        let mut sums = self.follow(body, param(body)?, index, pairs)?;
        for region in node.regions.iter().filter(|region| !std::ptr::eq(*region, body)) {
            let tested = param(region)?;
            (self.uses[tested.index()] == 0).then_some(())?;
            sums.values.insert(tested);
        }
        Some(sums)
    }

    /// Follows a value through the nodes of a region to this result of the region. Returns the sums on the path if each
    /// node on the path adds a product to the value or passes the value on. Without `pairs`, the path ends at the first
    /// call, because any result of a call may be the sum.
    fn follow(
        &self,
        region: &Region,
        mut sum: Value,
        result: usize,
        pairs: Option<&[Pair]>,
    ) -> Option<SumsOfFunction> {
        let mut sums = SumsOfFunction::default();
        loop {
            sums.values.insert(sum);
            let mut users = region.nodes.iter().filter(|node| uses(node, sum) > 0);
            let user = users.next();
            let mut results = 0;
            region
                .results
                .iter()
                .for_each(|end| end.values(&mut |value| results += usize::from(*value == sum)));
            match user {
                None => {
                    let is_end = results == 1 && region.results.get(result)?.value() == Some(sum);
                    return is_end.then_some(sums);
                }
                Some(node) if results == 0 && users.next().is_none() => {
                    if pairs.is_none() && matches!(node.op, Op::Call(_)) {
                        return Some(sums);
                    }
                    let (next, found) = self.pass_on(region, node, sum, pairs)?;
                    sums.extend(found);
                    sum = next;
                }
                Some(_) => return None,
            }
        }
    }

    /// Returns the sum after a node, and the sums in the node.
    fn pass_on(
        &self,
        region: &Region,
        node: &Node,
        sum: Value,
        pairs: Option<&[Pair]>,
    ) -> Option<(Value, SumsOfFunction)> {
        let ty = self.function.ty(sum);
        if node.op == Op::If {
            return node.outputs.iter().enumerate().find_map(|(index, output)| {
                (self.function.ty(*output) == ty).then_some(())?;
                let mut sums = SumsOfFunction::default();
                for branch in &node.regions {
                    sums.extend(self.follow(branch, sum, index, pairs)?);
                }
                Some((*output, sums))
            });
        }
        (uses(node, sum) == 1).then_some(())?;
        let position = node.operands.iter().position(|operand| operand.value() == Some(sum))?;
        match &node.op {
            Op::Call(id) => {
                let (.., result) = pairs?.iter().find(|pair| pair.0 == *id && pair.1 == position)?;
                let mut sums = SumsOfFunction::default();
                sums.calls.insert((*id, position));
                Some((*node.outputs.get(*result)?, sums))
            }
            Op::While | Op::For => {
                let index = position.checked_sub(loop_body(node)?.0)?;
                Some((*node.outputs.get(index)?, self.carried(node, index, pairs)?))
            }
            Op::Operator(operator) if operator.text() == "aten.add.Tensor" => {
                let [Operand::Value(a), Operand::Value(b), Operand::Int(1)] = node.operands[..] else {
                    return None;
                };
                let (product, output) = (if a == sum { b } else { a }, *node.outputs.first()?);
                self.is_product(region, sum, product).then_some(())?;
                (self.function.ty(output) == ty).then_some(())?;
                let mut sums = SumsOfFunction::default();
                sums.products.insert(product, (sum, output));
                sums.added.insert(output);
                Some((output, sums))
            }
            _ => None,
        }
    }

    /// Returns whether a value is a product of few columns and rows that a node of this region computes after the sum
    /// is defined, and that is used once.
    fn is_product(&self, region: &Region, sum: Value, product: Value) -> bool {
        let at = |value: Value| region.nodes.iter().position(|node| node.outputs.contains(&value));
        let Some(index) = at(product) else { return false };
        let node = &region.nodes[index];
        let inner = node.operands.first().and_then(Operand::value).and_then(|a| matrix(self.function, a));
        matches!(&node.op, Op::Operator(operator) if operator.text() == "aten.mm.default")
            && self.uses[product.index()] == 1
            && self.function.ty(product) == self.function.ty(sum)
            && inner.is_some_and(|[_, inner]| inner <= MAX_INNER)
            && at(sum).is_none_or(|defined| defined < index)
    }
}

/// Returns how often a node uses a value, at any depth.
fn uses(node: &Node, value: Value) -> usize {
    let mut count = 0;
    node.used_at_any_depth(&mut |used| count += usize::from(*used == value));
    count
}

/// Returns the index of the first carried operand of a loop, and its body.
fn loop_body(node: &Node) -> Option<(usize, &Region)> {
    match node.op {
        Op::For => Some((3, node.regions.first()?)),
        Op::While => Some((0, node.regions.get(1)?)),
        _ => None,
    }
}
