//! Checks the invariants of a graph: each value is defined once, before its uses and in an enclosing region;
//! each node has the operands, regions and results of its operation; types match wherever values are passed.

use std::fmt;

use super::graph::{Function, Graph, Node, Origin, Outcome, Region, Span, Value};
use super::op::{Op, Scalar};
use super::operand::Operand;
use super::types::Type;

/// The first invariant that is violated.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifyError {
    pub function: Box<str>,
    pub span: Option<Span>,
    pub message: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in @{}: {}", self.function, self.message)
    }
}

impl std::error::Error for VerifyError {}

/// Checks a graph and returns the first violation.
pub fn verify(graph: &Graph) -> Result<(), VerifyError> {
    let entry = graph.entry().ok_or_else(|| error("", None, "the graph has no entry function"))?;
    if graph.origins.len() != entry.body.params.len() {
        return Err(error(&entry.name, None, "the entry must have one origin per parameter"));
    }
    if graph.outcomes.len() != entry.body.results.len() {
        return Err(error(&entry.name, None, "the entry must have one outcome per result"));
    }
    for outcome in &graph.outcomes {
        if let Outcome::Write(param) = outcome
            && graph.origins.get(*param as usize).is_none()
        {
            return Err(error(
                &entry.name,
                None,
                format!("write to parameter {param}, which does not exist"),
            ));
        }
    }
    let mut captures: Vec<u32> = graph
        .origins
        .iter()
        .filter_map(|origin| if let Origin::Capture(k) = origin { Some(*k) } else { None })
        .collect();
    captures.sort_unstable();
    if captures.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(error(&entry.name, None, "several parameters refer to one capture"));
    }
    graph.functions.iter().try_for_each(|function| Verifier::new(graph, function).function())
}

fn error(function: &str, span: Option<Span>, message: impl Into<String>) -> VerifyError {
    VerifyError { function: function.into(), span, message: message.into() }
}

struct Verifier<'a> {
    graph: &'a Graph,
    function: &'a Function,
    /// Values that have a definition; a value may have only one definition.
    defined: Vec<bool>,
    /// Values visible at the current position.
    visible: Vec<bool>,
    span: Option<Span>,
}

type Checked = Result<(), String>;

impl<'a> Verifier<'a> {
    fn new(graph: &'a Graph, function: &'a Function) -> Self {
        let none = vec![false; function.values.len()];
        Self { graph, function, defined: none.clone(), visible: none, span: None }
    }

    fn function(mut self) -> Result<(), VerifyError> {
        let function = self.function;
        let checked = self.region(&function.body).and_then(|()| {
            let results = &function.body.results;
            if results.len() != function.results.len() {
                return Err(format!(
                    "{} results declared, {} returned",
                    function.results.len(),
                    results.len()
                ));
            }
            function
                .results
                .iter()
                .zip(results)
                .try_for_each(|(wanted, given)| self.fits(wanted, given, "returned value"))
        });
        checked.map_err(|message| error(&function.name, self.span, message))
    }

    /// Checks a region. The values that it defines are visible until its end.
    fn region(&mut self, region: &Region) -> Checked {
        let mut inside = Vec::new();
        for param in &region.params {
            self.define(*param, &mut inside)?;
        }
        for node in &region.nodes {
            self.span = node.span;
            self.uses(&node.operands)?;
            for region in &node.regions {
                self.region(region)?;
            }
            self.span = node.span;
            self.node(node)
                .map_err(|message| format!("{}: {message}", super::text::op_name(self.graph, &node.op)))?;
            for output in &node.outputs {
                self.define(*output, &mut inside)?;
            }
        }
        self.uses(&region.results)?;
        for value in inside {
            self.visible[value.index()] = false;
        }
        Ok(())
    }

    fn define(&mut self, value: Value, inside: &mut Vec<Value>) -> Checked {
        match self.defined.get_mut(value.index()) {
            None => return Err(format!("%{} is not a value of the function", value.0)),
            Some(true) => return Err(format!("%{} is defined twice", value.0)),
            Some(defined) => *defined = true,
        }
        self.visible[value.index()] = true;
        inside.push(value);
        Ok(())
    }

    fn uses(&self, operands: &[Operand]) -> Checked {
        let mut unseen = None;
        for operand in operands {
            operand.values(&mut |value| {
                if !self.visible.get(value.index()).copied().unwrap_or(false) {
                    unseen.get_or_insert(*value);
                }
            });
        }
        unseen.map_or(Ok(()), |value| Err(format!("%{} is used where it is not visible", value.0)))
    }

    fn ty(&self, operand: &Operand) -> Type {
        self.function.type_of(operand)
    }

    fn fits(&self, wanted: &Type, given: &Operand, how: &str) -> Checked {
        // `none` may replace a value that only the other branch defines, because it is never read after this branch.
        let is_absent = given == &Operand::None && !wanted.is_scalar();
        let given = self.ty(given);
        if is_absent || wanted.accepts(&given) {
            Ok(())
        } else {
            Err(format!("{how}: expected {wanted}, found {given}"))
        }
    }

    /// Checks the types of operands against those of a region's parameters or of results.
    fn check_passed(&self, wanted: &[Value], given: &[Operand], how: &str) -> Checked {
        count(wanted.len(), given.len(), how)?;
        wanted
            .iter()
            .zip(given)
            .try_for_each(|(wanted, given)| self.fits(self.function.ty(*wanted), given, how))
    }

    /// Checks the operands, regions and results of a node.
    fn node(&self, node: &Node) -> Checked {
        let regions = node.op.regions();
        let fewest = if node.op == Op::For { 1 } else { regions.len() };
        if !(fewest..=regions.len()).contains(&node.regions.len()) {
            return Err(format!("unexpected number of regions: {}", node.regions.len()));
        }
        let operands = &node.operands;
        let types: Vec<Type> = operands.iter().map(|operand| self.ty(operand)).collect();
        let is = |index: usize, wanted: &Type| match types.get(index) {
            Some(given) if wanted.accepts(given) => Ok(()),
            given => {
                Err(format!("operand {index}: expected {wanted}, found {}", given.unwrap_or(&Type::None)))
            }
        };
        let lists = |index: usize| match types.get(index) {
            Some(Type::List(_) | Type::Any) => Ok(()),
            _ => Err(format!("operand {index} must be a list")),
        };
        let shape = |operands: usize, outputs: usize| {
            count(operands, types.len(), "operands")?;
            count(outputs, node.outputs.len(), "results")
        };
        match &node.op {
            Op::Scalar(scalar) => self.scalar(*scalar, node, &types),
            Op::Item => {
                shape(1, 1)?;
                let tensor = types[0].tensor().ok_or("the operand must be a tensor")?;
                let scalar = tensor.dtype.scalar().ok_or("complex numbers are not supported as scalars")?;
                self.fits(&scalar, &node.outputs[0].into(), "argument")
            }
            Op::Size => {
                shape(2, 1)?;
                types[0].tensor().ok_or("the operand must be a tensor")?;
                is(1, &Type::Int)
            }
            Op::Overwritten => {
                shape(2, 1)?;
                types
                    .iter()
                    .try_for_each(|ty| ty.tensor().map(|_| ()).ok_or("the operand must be a tensor".into()))
            }
            Op::If => {
                is(0, &Type::Bool)?;
                count(1, types.len(), "operands")?;
                for region in &node.regions {
                    count(0, region.params.len(), "parameters")?;
                    self.check_passed(&node.outputs, &region.results, "yielded value")?;
                }
                Ok(())
            }
            Op::While => {
                let [cond, body] = &node.regions[..] else {
                    return Err("a `while` must have two regions".into());
                };
                self.check_passed(&cond.params, operands, "carried value")?;
                self.check_passed(&body.params, operands, "carried value")?;
                self.check_passed(&body.params, &body.results, "yielded value")?;
                self.is_condition(cond)?;
                self.outputs(node, &body.params)
            }
            Op::For => {
                (0..3).try_for_each(|index| is(index, &Type::Int))?;
                let Some((index, carried)) = node.regions[0].params.split_first() else {
                    return Err("the body must have an index parameter".into());
                };
                if self.function.ty(*index) != &Type::Int {
                    return Err("the index must be an int".into());
                }
                self.check_passed(carried, &operands[3..], "carried value")?;
                self.check_passed(carried, &node.regions[0].results, "yielded value")?;
                if let Some(test) = node.regions.get(1) {
                    self.check_passed(&test.params, &operands[3..], "carried value")?;
                    self.is_condition(test)?;
                }
                self.outputs(node, carried)
            }
            Op::Call(id) => {
                let callee = self.graph.function(*id).ok_or("unknown function")?;
                count(callee.params().len(), types.len(), "operands")?;
                for (param, operand) in callee.params().iter().zip(operands) {
                    self.fits(callee.ty(*param), operand, "argument")?;
                }
                count(callee.results.len(), node.outputs.len(), "results")?;
                let declared = node.outputs.iter().zip(&callee.results);
                declared.map(|(output, result)| (self.function.ty(*output), result)).try_for_each(
                    |(output, result)| {
                        if output.accepts(result) {
                            Ok(())
                        } else {
                            Err(format!("result: expected {output}, found {result}"))
                        }
                    },
                )
            }
            Op::ListNew | Op::TupleNew => count(1, node.outputs.len(), "results"),
            Op::ListFilled => shape(2, 1).and_then(|()| is(0, &Type::Int)),
            Op::ListAppend => shape(2, 1).and_then(|()| lists(0)),
            Op::ListGet => shape(2, 1).and_then(|()| lists(0)).and_then(|()| is(1, &Type::Int)),
            Op::ListSet | Op::ListInsert => {
                shape(3, 1).and_then(|()| lists(0)).and_then(|()| is(1, &Type::Int))
            }
            Op::ListPop => shape(2, 2).and_then(|()| lists(0)).and_then(|()| is(1, &Type::Int)),
            Op::ListLen => shape(1, 1).and_then(|()| lists(0)),
            Op::ListSlice => {
                shape(4, 1)?;
                lists(0)?;
                (1..4).try_for_each(
                    |index| if types[index] == Type::None { Ok(()) } else { is(index, &Type::Int) },
                )
            }
            Op::ListConcat => shape(2, 1).and_then(|()| lists(0)).and_then(|()| lists(1)),
            Op::TupleGet(index) => {
                shape(1, 1)?;
                match &types[0] {
                    Type::Tuple(items) if (*index as usize) < items.len() => Ok(()),
                    Type::Any => Ok(()),
                    ty => Err(format!("{ty} has no item {index}")),
                }
            }
            Op::Assert => is(0, &Type::Bool),
            Op::Operator(_) | Op::Print | Op::Raise(_) | Op::Python(_) | Op::Start(_) => Ok(()),
        }
    }

    fn scalar(&self, scalar: Scalar, node: &Node, types: &[Type]) -> Checked {
        count(scalar.operands(), types.len(), "operands")?;
        count(1, node.outputs.len(), "results")?;
        match types.iter().find(|ty| !ty.is_scalar() && **ty != Type::Any) {
            Some(ty) => Err(format!("expected a scalar, found {ty}")),
            None => Ok(()),
        }
    }

    fn is_condition(&self, region: &Region) -> Checked {
        count(1, region.results.len(), "results of the condition")?;
        self.fits(&Type::Bool, &region.results[0], "condition")
    }

    fn outputs(&self, node: &Node, carried: &[Value]) -> Checked {
        let carried: Vec<Operand> = carried.iter().copied().map(Operand::Value).collect();
        self.check_passed(&node.outputs, &carried, "carried value")
    }
}

fn count(wanted: usize, given: usize, what: &str) -> Checked {
    if wanted == given { Ok(()) } else { Err(format!("{what}: expected {wanted}, found {given}")) }
}
