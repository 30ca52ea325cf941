//! Reads a graph from an S-expression. The text is untrusted; `verify` decides whether the graph is valid.

use std::collections::HashMap;
use std::sync::Arc;

use super::VERSION;
use super::tree::{self, Form, Sexpr};
use crate::ir::graph::ValueInfo;
use crate::ir::text::{ParseError, parse_type};
use crate::ir::{
    DType, Device, Function, FunctionId, Graph, Layout, MemoryFormat, Node, Op, Operand, Origin, Outcome,
    Region, Span, Type, Value,
};

/// Reads a graph without verifying it.
pub fn read(text: &str) -> Result<Graph, ParseError> {
    let tree = tree::parse(text)?;
    let items = tree.form("graph")?;
    let Some((version, items)) = items.split_first() else { return Err(tree.expected("a version")) };
    if version.int()? != VERSION {
        return Err(version.error(format!("unsupported format version; expected {VERSION}")));
    }
    let mut graph = Graph::default();
    let (files, functions): (Vec<_>, Vec<_>) = items.iter().partition(|item| item.form("file").is_ok());
    for file in files {
        graph.files.push(Arc::from(file.fields::<2>("file")?[1].string()?));
    }
    let mut names = HashMap::new();
    for (index, function) in functions.iter().enumerate() {
        let id = FunctionId(u32::try_from(index).unwrap_or(u32::MAX));
        let name = function.fields::<4>("def")?[0].symbol()?;
        if names.insert(name, id).is_some() {
            return Err(function.error(format!("`{name}` is defined twice")));
        }
    }
    for function in &functions {
        let mut reader = Reader { functions: &names, values: Vec::new(), names: HashMap::new() };
        let function = reader.function(function, &mut graph)?;
        graph.functions.push(function);
    }
    Ok(graph)
}

/// Reads one function.
struct Reader<'a> {
    functions: &'a HashMap<&'a str, FunctionId>,
    values: Vec<ValueInfo>,
    /// The values by their names in the text.
    names: HashMap<&'a str, Value>,
}

type Read<T> = Result<T, ParseError>;

impl<'a> Reader<'a> {
    fn function(&mut self, of: &'a Sexpr, graph: &mut Graph) -> Read<Function> {
        let is_entry = graph.functions.is_empty();
        let [name, params, results, body] = of.fields("def")?;
        let mut parameters = Vec::new();
        for param in params.list()? {
            let (definition, origin) = match param.list()? {
                [name, ty, origin] if is_entry => ([name, ty], Some(origin)),
                [name, ty] if !is_entry => ([name, ty], None),
                _ => return Err(param.expected("a name, a type and, in the entry only, an origin")),
            };
            parameters.push(self.define(definition)?);
            graph.origins.extend(origin.map(Sexpr::origin).transpose()?);
        }
        let outcomes = if is_entry { Some(&mut graph.outcomes) } else { None };
        let body = self.body(body, parameters, outcomes)?;
        let results = results.list()?.iter().map(Sexpr::ty).collect::<Read<_>>()?;
        Ok(Function { name: name.symbol()?.into(), body, results, values: std::mem::take(&mut self.values) })
    }

    /// `(let* (binding…) (values result…))`
    fn body(
        &mut self,
        of: &'a Sexpr,
        params: Vec<Value>,
        mut outcomes: Option<&mut Vec<Outcome>>,
    ) -> Read<Region> {
        let [bindings, values] = of.fields("let*")?;
        let mut region = Region { params, ..Region::default() };
        for binding in bindings.list()? {
            region.nodes.push(self.node(binding)?);
        }
        for result in values.form("values")? {
            let (operand, outcome) = match (&outcomes, result.form("write")) {
                (Some(_), Ok([param, operand])) => (operand, Outcome::Write(param.number()?)),
                _ => (result, Outcome::Return),
            };
            if let Some(outcomes) = &mut outcomes {
                outcomes.push(outcome);
            }
            region.results.push(self.operand(operand)?);
        }
        Ok(region)
    }

    fn node(&mut self, binding: &'a Sexpr) -> Read<Node> {
        let [outputs, application, attributes @ ..] = binding.list()? else {
            return Err(binding.expected("definitions and an application"));
        };
        let (op, arguments) = self.op(application)?;
        let mut node = Node {
            op,
            operands: Vec::new(),
            outputs: Vec::new(),
            regions: Vec::new(),
            span: None,
            grad: true,
        };
        for argument in arguments {
            match argument.form("lambda") {
                Ok([params, body]) => {
                    let params = self.definitions(params)?;
                    node.regions.push(self.body(body, params, None)?);
                }
                _ => node.operands.push(self.operand(argument)?),
            }
        }
        for attribute in attributes {
            match &attribute.form {
                Form::Symbol(name) if name == "nograd" => node.grad = false,
                _ => node.span = Some(attribute.span()?),
            }
        }
        node.outputs = self.definitions(outputs)?;
        Ok(node)
    }

    /// Returns the operation of an application, and its arguments.
    fn op(&self, application: &'a Sexpr) -> Read<(Op, &'a [Sexpr])> {
        let [name, arguments @ ..] = application.list()? else {
            return Err(application.expected("an operation"));
        };
        let parameter = || {
            let first = arguments.split_first();
            first.ok_or_else(|| application.expected("the parameter of the operation"))
        };
        Ok(match name.symbol()? {
            "call" => {
                let (callee, arguments) = parameter()?;
                let id = self.functions.get(callee.symbol()?);
                (Op::Call(*id.ok_or_else(|| callee.error("unknown function"))?), arguments)
            }
            "tuple.get" => parameter().and_then(|(index, rest)| Ok((Op::TupleGet(index.number()?), rest)))?,
            "raise" => parameter().and_then(|(class, rest)| Ok((Op::Raise(class.string()?.into()), rest)))?,
            "python" => parameter().and_then(|(number, rest)| Ok((Op::Python(number.number()?), rest)))?,
            "start" => parameter().and_then(|(number, rest)| Ok((Op::Start(number.number()?), rest)))?,
            text => {
                let op = Op::named(text).ok_or_else(|| name.error(format!("unknown operation `{text}`")))?;
                (op, arguments)
            }
        })
    }

    fn operand(&self, of: &Sexpr) -> Read<Operand> {
        match &of.form {
            Form::Str(text) => Ok(Operand::Str(text.as_str().into())),
            Form::List(_) => {
                let items = of.form("list")?.iter();
                Ok(Operand::List(items.map(|item| self.operand(item)).collect::<Read<_>>()?))
            }
            Form::Symbol(text) => match self.names.get(text.as_str()) {
                Some(value) => Ok(Operand::Value(*value)),
                None => literal(text).ok_or_else(|| of.error(format!("unknown operand `{text}`"))),
            },
        }
    }

    fn definitions(&mut self, of: &'a Sexpr) -> Read<Vec<Value>> {
        let mut values = Vec::new();
        for definition in of.list()? {
            let [name, ty] = definition.list()? else {
                return Err(definition.expected("a name and a type"));
            };
            values.push(self.define([name, ty])?);
        }
        Ok(values)
    }

    fn define(&mut self, [name, ty]: [&'a Sexpr; 2]) -> Read<Value> {
        let text = name.symbol()?;
        if literal(text).is_some() {
            return Err(name.expected("the name of a value"));
        }
        let value = Value(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
        let of_user = text.rsplit_once('.').map(|(name, _)| Arc::from(name));
        self.values.push(ValueInfo { ty: ty.ty()?, name: of_user });
        match self.names.insert(text, value) {
            None => Ok(value),
            Some(_) => Err(name.error(format!("`{text}` is defined twice"))),
        }
    }
}

fn literal(text: &str) -> Option<Operand> {
    Some(match text {
        "none" => Operand::None,
        "true" => Operand::Bool(true),
        "false" => Operand::Bool(false),
        _ => match text.split_once(':') {
            Some(("dtype", name)) => Operand::DType(DType::from_text(name)?),
            Some(("device", name)) => Operand::Device(Device::from_text(name)?),
            Some(("layout", name)) => Operand::Layout(Layout::from_name(name)?),
            Some(("memory", name)) => Operand::MemoryFormat(MemoryFormat::from_name(name)?),
            _ => match text.parse() {
                Ok(value) => Operand::Int(value),
                Err(_) => Operand::Float(float(text)?),
            },
        },
    })
}

/// Returns a number as `{:?}` prints it.
fn float(text: &str) -> Option<f64> {
    match text {
        "nan" => Some(f64::NAN),
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        _ if text.starts_with(|first: char| first.is_ascii_digit() || first == '-') => text.parse().ok(),
        _ => None,
    }
}

impl Sexpr {
    /// Returns the items after the head of a list: `(head item…)`.
    fn form(&self, head: &str) -> Read<&[Self]> {
        match &self.form {
            Form::List(items) => match items.split_first() {
                Some((Self { form: Form::Symbol(found), .. }, rest)) if found == head => Ok(rest),
                _ => Err(self.expected(&format!("`({head} …)`"))),
            },
            _ => Err(self.expected(&format!("`({head} …)`"))),
        }
    }

    /// Returns the items after the head of a list, which must be `N`.
    fn fields<const N: usize>(&self, head: &str) -> Read<&[Self; N]> {
        let items = self.form(head)?;
        items.try_into().map_err(|_| self.expected(&format!("{N} items after `{head}`")))
    }

    fn list(&self) -> Read<&[Self]> {
        match &self.form {
            Form::List(items) => Ok(items),
            _ => Err(self.expected("a list")),
        }
    }

    fn symbol(&self) -> Read<&str> {
        match &self.form {
            Form::Symbol(text) => Ok(text),
            _ => Err(self.expected("a name")),
        }
    }

    fn string(&self) -> Read<&str> {
        match &self.form {
            Form::Str(text) => Ok(text),
            _ => Err(self.expected("a string")),
        }
    }

    fn int(&self) -> Read<i64> {
        self.symbol()?.parse().map_err(|_| self.expected("an integer"))
    }

    fn number(&self) -> Read<u32> {
        self.symbol()?.parse().map_err(|_| self.expected("an index"))
    }

    fn ty(&self) -> Read<Type> {
        parse_type(self.symbol()?).map_err(|error| self.error(error.message))
    }

    fn origin(&self) -> Read<Origin> {
        if let Ok([path]) = self.form("argument") {
            return Ok(Origin::Argument(path.string()?.into()));
        }
        let [number] = self.fields("capture")?;
        Ok(Origin::Capture(number.number()?))
    }

    fn span(&self) -> Read<Span> {
        let [file, line, column, end_line, end_column] = self.fields("at")?;
        Ok(Span {
            file: file.number()?,
            start: (line.number()?, column.number()?),
            end: (end_line.number()?, end_column.number()?),
        })
    }

    fn expected(&self, wanted: &str) -> ParseError {
        self.error(format!("expected {wanted}"))
    }

    fn error(&self, message: impl Into<String>) -> ParseError {
        ParseError::new(self.line, message)
    }
}
