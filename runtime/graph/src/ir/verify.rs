//! What must be true of every graph: values are defined once and before they are used, by something around them;
//! every node has the operands, regions and results of its operation; types fit where values are handed over.

use std::fmt;

use super::graph::{Function, Graph, Node, Origin, Outcome, Region, Span, Value};
use super::op::{Op, Scalar};
use super::operand::Operand;
use super::types::Type;

/// The first thing that does not hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    pub function: Box<str>,
    pub span: Option<Span>,
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in @{}: {}", self.function, self.message)
    }
}

impl std::error::Error for Fault {}

pub fn verify(graph: &Graph) -> Result<(), Fault> {
    let entry = graph.entry().ok_or_else(|| fault("", None, "a graph has an entry"))?;
    if graph.origins.len() != entry.body.params.len() {
        return Err(fault(&entry.name, None, "every parameter of the entry has an origin"));
    }
    if graph.outcomes.len() != entry.body.results.len() {
        return Err(fault(&entry.name, None, "every result of the entry has an outcome"));
    }
    for outcome in &graph.outcomes {
        if let Outcome::Write(param) = outcome
            && graph.origins.get(*param as usize).is_none()
        {
            return Err(fault(
                &entry.name,
                None,
                format!("a write to parameter {param}, which there is not"),
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
        return Err(fault(&entry.name, None, "a capture is a parameter once"));
    }
    graph.functions.iter().try_for_each(|function| Check::new(graph, function).function())
}

fn fault(function: &str, span: Option<Span>, message: impl Into<String>) -> Fault {
    Fault { function: function.into(), span, message: message.into() }
}

struct Check<'a> {
    graph: &'a Graph,
    function: &'a Function,
    /// Defined at all; a value has one definition.
    defined: Vec<bool>,
    /// Visible from here.
    visible: Vec<bool>,
    span: Option<Span>,
}

type Checked = Result<(), String>;

impl<'a> Check<'a> {
    fn new(graph: &'a Graph, function: &'a Function) -> Self {
        let none = vec![false; function.values.len()];
        Self { graph, function, defined: none.clone(), visible: none, span: None }
    }

    fn function(mut self) -> Result<(), Fault> {
        let function = self.function;
        let checked = self.region(&function.body).and_then(|()| {
            let results = &function.body.results;
            if results.len() != function.results.len() {
                return Err(format!(
                    "{} results are declared and {} returned",
                    function.results.len(),
                    results.len()
                ));
            }
            function
                .results
                .iter()
                .zip(results)
                .try_for_each(|(wanted, given)| self.fits(wanted, given, "is returned"))
        });
        checked.map_err(|message| fault(&function.name, self.span, message))
    }

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
            None => return Err(format!("%{} is no value of the function", value.0)),
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
        unseen.map_or(Ok(()), |value| Err(format!("%{} is used where it is not defined", value.0)))
    }

    fn ty(&self, operand: &Operand) -> Type {
        self.function.type_of(operand)
    }

    fn fits(&self, wanted: &Type, given: &Operand, how: &str) -> Checked {
        // `none` in place of a value that only the other branch has: nobody reads it after this one.
        let is_absent = given == &Operand::None && !wanted.is_scalar();
        let given = self.ty(given);
        if is_absent || wanted.accepts(&given) {
            Ok(())
        } else {
            Err(format!("{given} {how} where {wanted} is declared"))
        }
    }

    /// The types of a region's parameters, or of its results, against operands.
    fn hand_over(&self, wanted: &[Value], given: &[Operand], how: &str) -> Checked {
        count(wanted.len(), given.len(), how)?;
        wanted
            .iter()
            .zip(given)
            .try_for_each(|(wanted, given)| self.fits(self.function.ty(*wanted), given, how))
    }

    fn node(&self, node: &Node) -> Checked {
        let regions = node.op.regions();
        let fewest = if node.op == Op::For { 1 } else { regions.len() };
        if !(fewest..=regions.len()).contains(&node.regions.len()) {
            return Err(format!("it has {} regions", node.regions.len()));
        }
        let operands = &node.operands;
        let types: Vec<Type> = operands.iter().map(|operand| self.ty(operand)).collect();
        let is = |index: usize, wanted: &Type| match types.get(index) {
            Some(given) if wanted.accepts(given) => Ok(()),
            given => Err(format!("operand {index} is {} and not {wanted}", given.unwrap_or(&Type::None))),
        };
        let lists = |index: usize| match types.get(index) {
            Some(Type::List(_) | Type::Any) => Ok(()),
            _ => Err(format!("operand {index} is no list")),
        };
        let shape = |operands: usize, outputs: usize| {
            count(operands, types.len(), "are operands")?;
            count(outputs, node.outputs.len(), "are results")
        };
        match &node.op {
            Op::Operator(name) => {
                if name.split('.').count() == 3 {
                    Ok(())
                } else {
                    Err("an operator is namespace.name.overload".into())
                }
            }
            Op::Scalar(scalar) => self.scalar(*scalar, node, &types),
            Op::Item => {
                shape(1, 1)?;
                let tensor = types[0].tensor().ok_or("its operand is no tensor")?;
                let scalar = tensor.dtype.scalar().ok_or("complex numbers have no register")?;
                self.fits(&scalar, &node.outputs[0].into(), "is given")
            }
            Op::Size => {
                shape(2, 1)?;
                types[0].tensor().ok_or("its operand is no tensor")?;
                is(1, &Type::Int)
            }
            Op::Overwritten => {
                shape(2, 1)?;
                types
                    .iter()
                    .try_for_each(|ty| ty.tensor().map(|_| ()).ok_or("its operand is no tensor".into()))
            }
            Op::If => {
                is(0, &Type::Bool)?;
                count(1, types.len(), "are operands")?;
                for region in &node.regions {
                    count(0, region.params.len(), "are parameters")?;
                    self.hand_over(&node.outputs, &region.results, "is yielded")?;
                }
                Ok(())
            }
            Op::While => {
                let [cond, body] = &node.regions[..] else { return Err("it has two regions".into()) };
                self.hand_over(&cond.params, operands, "is carried")?;
                self.hand_over(&body.params, operands, "is carried")?;
                self.hand_over(&body.params, &body.results, "is yielded")?;
                self.is_condition(cond)?;
                self.outputs(node, &body.params)
            }
            Op::For => {
                (0..3).try_for_each(|index| is(index, &Type::Int))?;
                let Some((index, carried)) = node.regions[0].params.split_first() else {
                    return Err("its body has no index".into());
                };
                if self.function.ty(*index) != &Type::Int {
                    return Err("its index is no int".into());
                }
                self.hand_over(carried, &operands[3..], "is carried")?;
                self.hand_over(carried, &node.regions[0].results, "is yielded")?;
                if let Some(test) = node.regions.get(1) {
                    self.hand_over(&test.params, &operands[3..], "is carried")?;
                    self.is_condition(test)?;
                }
                self.outputs(node, carried)
            }
            Op::Call(id) => {
                let callee = self.graph.function(*id).ok_or("there is no such function")?;
                count(callee.params().len(), types.len(), "are operands")?;
                for (param, operand) in callee.params().iter().zip(operands) {
                    self.fits(callee.ty(*param), operand, "is given")?;
                }
                count(callee.results.len(), node.outputs.len(), "are results")?;
                let declared = node.outputs.iter().zip(&callee.results);
                declared.map(|(output, result)| (self.function.ty(*output), result)).try_for_each(
                    |(output, result)| {
                        if output.accepts(result) {
                            Ok(())
                        } else {
                            Err(format!("{result} is returned where {output} is declared"))
                        }
                    },
                )
            }
            Op::ListNew | Op::TupleNew => count(1, node.outputs.len(), "are results"),
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
            Op::Print | Op::Raise(_) | Op::Python(_) => Ok(()),
        }
    }

    fn scalar(&self, scalar: Scalar, node: &Node, types: &[Type]) -> Checked {
        count(scalar.operands(), types.len(), "are operands")?;
        count(1, node.outputs.len(), "are results")?;
        match types.iter().find(|ty| !ty.is_scalar() && **ty != Type::Any) {
            Some(ty) => Err(format!("{ty} is in no register")),
            None => Ok(()),
        }
    }

    fn is_condition(&self, region: &Region) -> Checked {
        count(1, region.results.len(), "are results of the condition")?;
        self.fits(&Type::Bool, &region.results[0], "is the condition")
    }

    fn outputs(&self, node: &Node, carried: &[Value]) -> Checked {
        let carried: Vec<Operand> = carried.iter().copied().map(Operand::Value).collect();
        self.hand_over(&node.outputs, &carried, "is carried")
    }
}

fn count(wanted: usize, given: usize, what: &str) -> Checked {
    if wanted == given { Ok(()) } else { Err(format!("{given} {what} where {wanted} should be")) }
}
