//! Parses the text of a graph. The input is untrusted until `verify` has accepted the graph: sizes, depths
//! and numbers are bounded.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::VERSION;
use super::lexer::{Placed, Token, tokens};
use crate::ir::graph::{Function, FunctionId, Graph, Node, Origin, Outcome, Region, Span, Value, ValueInfo};
use crate::ir::op::Op;
use crate::ir::operand::Operand;
use crate::ir::types::{DType, Device, Dim, Layout, MemoryFormat, TensorType, Type};

/// The maximum nesting depth of regions, lists and types.
const MAX_DEPTH: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// Counted from one.
    pub line: u32,
    pub message: String,
}

impl ParseError {
    pub(crate) fn new(line: u32, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ParseError {}

/// Parses a graph without verifying it.
pub fn parse(text: &str) -> Result<Graph, ParseError> {
    let tokens = tokens(text)?;
    let mut functions = HashMap::new();
    for pair in tokens.windows(2) {
        if let [Placed { token: Token::Word(word), line }, Placed { token: Token::Function(name), .. }] = pair
            && word == "func"
        {
            let id = FunctionId(u32::try_from(functions.len()).unwrap_or(u32::MAX));
            if functions.insert(name.clone(), id).is_some() {
                return Err(ParseError::new(*line, format!("@{name} is defined twice")));
            }
        }
    }
    Parser {
        tokens,
        at: 0,
        depth: 0,
        functions,
        graph: Graph::default(),
        values: Vec::new(),
        names: HashMap::new(),
    }
    .graph()
}

/// Parses a single type: `f32[4,?]`.
pub fn parse_type(text: &str) -> Result<Type, ParseError> {
    let tokens = tokens(text)?;
    let (functions, names) = (HashMap::new(), HashMap::new());
    let mut parser =
        Parser { tokens, at: 0, depth: 0, functions, graph: Graph::default(), values: Vec::new(), names };
    let ty = parser.ty()?;
    if parser.peek().is_some() { Err(parser.expected("the end")) } else { Ok(ty) }
}

struct Parser {
    tokens: Vec<Placed>,
    at: usize,
    depth: usize,
    functions: HashMap<String, FunctionId>,
    graph: Graph,
    values: Vec<ValueInfo>,
    /// The values of the current function by their names in the text.
    names: HashMap<String, Value>,
}

type Parsed<T> = Result<T, ParseError>;

impl Parser {
    fn graph(mut self) -> Parsed<Graph> {
        self.word("graph")?;
        let version = self.int()?;
        if version != VERSION {
            return Err(self.error(format!("unsupported format version {version}; expected {VERSION}")));
        }
        while self.take_word("file") {
            let number = self.int()?;
            if usize::try_from(number) != Ok(self.graph.files.len()) {
                return Err(self.error("files must be numbered from 0 in order"));
            }
            let name = self.string()?;
            self.graph.files.push(Arc::from(name));
        }
        while self.take_word("func") {
            let function = self.function()?;
            self.graph.functions.push(function);
        }
        if self.peek().is_some() { Err(self.expected("a function")) } else { Ok(self.graph) }
    }

    fn function(&mut self) -> Parsed<Function> {
        let is_entry = self.graph.functions.is_empty();
        self.values.clear();
        self.names.clear();
        let name = match self.next() {
            Some(Token::Function(name)) => name.into_boxed_str(),
            _ => return Err(self.expected("the name of a function")),
        };
        self.sign('(')?;
        let mut params = Vec::new();
        while !self.take(')') {
            params.push(self.definition()?);
            if is_entry {
                self.sign('=')?;
                let origin = if self.take_word("argument") {
                    Origin::Argument(self.string()?.into())
                } else {
                    self.word("capture")?;
                    Origin::Capture(self.number()?)
                };
                self.graph.origins.push(origin);
            }
            self.separator(')')?;
        }
        self.sign('-')?;
        self.sign('>')?;
        self.sign('(')?;
        let results = self.types(')')?;
        self.sign('{')?;
        let mut body = self.nodes("return")?;
        body.params = params;
        while !self.take('}') {
            if is_entry {
                let outcome =
                    if self.take_word("write") { Outcome::Write(self.number()?) } else { Outcome::Return };
                self.graph.outcomes.push(outcome);
            }
            body.results.push(self.operand()?);
            self.separator('}')?;
        }
        Ok(Function { name, body, results, values: std::mem::take(&mut self.values) })
    }

    /// Parses nodes, and the keyword `end` that follows them.
    fn nodes(&mut self, end: &str) -> Parsed<Region> {
        let mut region = Region::default();
        while !self.take_word(end) {
            region.nodes.push(self.node()?);
        }
        Ok(region)
    }

    fn node(&mut self) -> Parsed<Node> {
        let mut outputs = Vec::new();
        while matches!(self.peek(), Some(Token::Value(_))) {
            outputs.push(self.output()?);
            if !self.take(',') {
                break;
            }
        }
        if !outputs.is_empty() {
            self.sign('=')?;
        }
        let op = self.op()?;
        self.sign('(')?;
        let mut operands = Vec::new();
        while !self.take(')') {
            operands.push(self.operand()?);
            self.separator(')')?;
        }
        let grad = !self.take_word("nograd");
        let span = if self.take_word("at") { Some(self.span()?) } else { None };
        let labels = op.regions();
        let mut regions = Vec::new();
        for label in labels {
            if self.take_word(label) {
                regions.push(self.region()?);
            }
        }
        let mut defined = Vec::new();
        for (name, ty) in outputs {
            defined.push(self.define(name, ty)?);
        }
        Ok(Node { op, operands, outputs: defined, regions, span, grad })
    }

    fn region(&mut self) -> Parsed<Region> {
        self.nested(|parser| {
            parser.sign('(')?;
            let mut params = Vec::new();
            while !parser.take(')') {
                params.push(parser.definition()?);
                parser.separator(')')?;
            }
            parser.sign('{')?;
            let mut region = parser.nodes("yield")?;
            region.params = params;
            while !parser.take('}') {
                region.results.push(parser.operand()?);
                parser.separator('}')?;
            }
            Ok(region)
        })
    }

    fn op(&mut self) -> Parsed<Op> {
        let Some(Token::Word(word)) = self.next() else { return Err(self.expected("an operation")) };
        Ok(match word.as_str() {
            "call" => match self.next() {
                Some(Token::Function(name)) => match self.functions.get(&name) {
                    Some(id) => Op::Call(*id),
                    None => return Err(self.error(format!("unknown function @{name}"))),
                },
                _ => return Err(self.expected("the name of a function")),
            },
            "tuple.get" => Op::TupleGet(self.number()?),
            "raise" => Op::Raise(self.string()?.into()),
            "python" => Op::Python(self.number()?),
            "start" => Op::Start(self.number()?),
            name => Op::named(name).ok_or_else(|| self.error(format!("unknown operation `{name}`")))?,
        })
    }

    fn operand(&mut self) -> Parsed<Operand> {
        Ok(match self.next() {
            Some(Token::Value(name)) => match self.names.get(&name) {
                Some(value) => Operand::Value(*value),
                None => return Err(self.error(format!("%{name} is used before it is defined"))),
            },
            Some(Token::Int(value)) => Operand::Int(value),
            Some(Token::Float(value)) => Operand::Float(value),
            Some(Token::Str(text)) => Operand::Str(text.into()),
            Some(Token::Sign('[')) => self.nested(|parser| {
                let mut items = Vec::new();
                while !parser.take(']') {
                    items.push(parser.operand()?);
                    parser.separator(']')?;
                }
                Ok(Operand::List(items))
            })?,
            Some(Token::Word(word)) => match word.as_str() {
                "none" => Operand::None,
                "true" => Operand::Bool(true),
                "false" => Operand::Bool(false),
                "dtype" | "device" | "layout" | "memory" => {
                    self.sign(':')?;
                    return self.property(&word);
                }
                _ => return Err(self.error(format!("unknown operand `{word}`"))),
            },
            _ => return Err(self.expected("an operand")),
        })
    }

    fn property(&mut self, kind: &str) -> Parsed<Operand> {
        let Some(Token::Word(name)) = self.next() else { return Err(self.expected("a name")) };
        let operand = match kind {
            "dtype" => DType::from_text(&name).map(Operand::DType),
            "device" => self.device(&name).map(Operand::Device),
            "layout" => Layout::from_name(&name).map(Operand::Layout),
            _ => MemoryFormat::from_name(&name).map(Operand::MemoryFormat),
        };
        operand.ok_or_else(|| self.error(format!("unknown {kind} `{name}`")))
    }

    /// `cuda`, optionally followed by a colon and an index.
    fn device(&mut self, name: &str) -> Option<Device> {
        if name == "cuda" && self.take(':') {
            let Some(Token::Int(index)) = self.next() else { return None };
            return u8::try_from(index).ok().map(Device::Cuda);
        }
        Device::from_text(name)
    }

    fn ty(&mut self) -> Parsed<Type> {
        self.nested(|parser| {
            let Some(Token::Word(word)) = parser.next() else { return Err(parser.expected("a type")) };
            let has_items = parser.peek() == Some(&Token::Sign('['));
            Ok(match (word.as_str(), has_items) {
                ("int", false) => Type::Int,
                ("float", false) => Type::Float,
                ("bool", false) => Type::Bool,
                ("str", false) => Type::Str,
                ("none", false) => Type::None,
                ("object", false) => Type::Object,
                ("any", false) => Type::Any,
                ("list", true) => {
                    parser.sign('[')?;
                    let element = parser.ty()?;
                    parser.sign(']')?;
                    Type::list(element)
                }
                ("tuple", true) => {
                    parser.sign('[')?;
                    Type::Tuple(parser.types(']')?)
                }
                (name, true) => match DType::from_text(name) {
                    Some(dtype) => Type::Tensor(parser.tensor(dtype)?),
                    None => return Err(parser.error(format!("unknown dtype `{name}`"))),
                },
                _ => return Err(parser.error(format!("unknown type `{word}`"))),
            })
        })
    }

    fn tensor(&mut self, dtype: DType) -> Parsed<TensorType> {
        self.sign('[')?;
        let shape = if self.take('*') {
            self.sign(']')?;
            None
        } else {
            let mut dims = Vec::new();
            while !self.take(']') {
                dims.push(self.dim()?);
                self.separator(']')?;
            }
            Some(dims)
        };
        // The lexer reads `@cuda` as a function name.
        let device = match self.peek() {
            Some(Token::Function(name)) => {
                let name = name.clone();
                self.at += 1;
                self.device(&name).ok_or_else(|| self.error(format!("unknown device `{name}`")))?
            }
            _ => Device::Cpu,
        };
        Ok(TensorType { dtype, shape, device })
    }

    fn dim(&mut self) -> Parsed<Dim> {
        match self.next() {
            Some(Token::Int(size)) if size >= 0 => Ok(Dim::Known(size.unsigned_abs())),
            Some(Token::Sign('?')) => Ok(Dim::Unknown),
            Some(Token::Word(word)) => match word.strip_prefix('s').and_then(|number| number.parse().ok()) {
                Some(symbol) => Ok(Dim::Symbol(symbol)),
                None => Err(self.error(format!("invalid size `{word}`"))),
            },
            _ => Err(self.expected("a size")),
        }
    }

    fn types(&mut self, end: char) -> Parsed<Vec<Type>> {
        let mut types = Vec::new();
        while !self.take(end) {
            types.push(self.ty()?);
            self.separator(end)?;
        }
        Ok(types)
    }

    fn span(&mut self) -> Parsed<Span> {
        let file = self.number()?;
        let place =
            |parser: &mut Self| Ok((parser.number()?, parser.sign(':').and_then(|()| parser.number())?));
        self.sign(':')?;
        let start = place(self)?;
        // The lexer reads `4-5` as 4 and -5.
        let end_line = match self.next() {
            Some(Token::Int(line)) if line <= 0 => u32::try_from(-line).ok(),
            _ => None,
        };
        let end_line = end_line.ok_or_else(|| self.expected("the end of a span"))?;
        self.sign(':')?;
        Ok(Span { file, start, end: (end_line, self.number()?) })
    }

    fn output(&mut self) -> Parsed<(String, Type)> {
        let Some(Token::Value(name)) = self.next() else { return Err(self.expected("a value")) };
        self.sign(':')?;
        Ok((name, self.ty()?))
    }

    fn definition(&mut self) -> Parsed<Value> {
        let (name, ty) = self.output()?;
        self.define(name, ty)
    }

    fn define(&mut self, text: String, ty: Type) -> Parsed<Value> {
        let name = text.rsplit_once('.').map(|(name, _)| Arc::from(name));
        let value = Value(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
        self.values.push(ValueInfo { ty, name });
        match self.names.insert(text, value) {
            None => Ok(value),
            Some(_) => Err(self.error("a value is defined twice")),
        }
    }

    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|placed| &placed.token)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.at += 1;
        token
    }

    fn take(&mut self, sign: char) -> bool {
        let is_there = self.peek() == Some(&Token::Sign(sign));
        self.at += usize::from(is_there);
        is_there
    }

    fn take_word(&mut self, wanted: &str) -> bool {
        let is_there = matches!(self.peek(), Some(Token::Word(word)) if word == wanted);
        self.at += usize::from(is_there);
        is_there
    }

    fn sign(&mut self, sign: char) -> Parsed<()> {
        if self.take(sign) {
            Ok(())
        } else {
            self.at += 1;
            Err(self.expected(&format!("`{sign}`")))
        }
    }

    fn word(&mut self, wanted: &str) -> Parsed<()> {
        if self.take_word(wanted) {
            Ok(())
        } else {
            self.at += 1;
            Err(self.expected(&format!("`{wanted}`")))
        }
    }

    /// Consumes a comma, unless the end token follows.
    fn separator(&mut self, end: char) -> Parsed<()> {
        if self.peek() == Some(&Token::Sign(end)) { Ok(()) } else { self.sign(',') }
    }

    fn string(&mut self) -> Parsed<String> {
        match self.next() {
            Some(Token::Str(text)) => Ok(text),
            _ => Err(self.expected("a string")),
        }
    }

    fn int(&mut self) -> Parsed<i64> {
        match self.next() {
            Some(Token::Int(value)) => Ok(value),
            _ => Err(self.expected("a number")),
        }
    }

    fn number(&mut self) -> Parsed<u32> {
        let value = self.int()?;
        u32::try_from(value).map_err(|_| self.error(format!("{value} is out of range")))
    }

    /// Returns the error for an unexpected previous token.
    fn expected(&self, wanted: &str) -> ParseError {
        match self.tokens.get(self.at.saturating_sub(1)) {
            Some(Placed { token, .. }) => self.error(format!("expected {wanted}, found {token:?}")),
            None => self.error(format!("expected {wanted}, found the end of the text")),
        }
    }

    fn error(&self, message: impl Into<String>) -> ParseError {
        let placed = self.tokens.get(self.at.saturating_sub(1)).or(self.tokens.last());
        ParseError::new(placed.map_or(1, |placed| placed.line), message)
    }
}
