//! Proposes example inputs for a function of the runtime: one for each required parameter, in the syntax of
//! `ag-lsp graph`. They are inferred from calls in the file, or from annotations. The user can correct them.
//!
//! ```python
//! @ag.function
//! def step(x, rate: float, count=3): ...       # x=f32[32,10] rate=1.0
//!
//! step(torch.zeros(32, 10), 0.1)               # x=f32[32,10] rate=0.1
//! ```

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, ModModule, Stmt};
use ruff_text_size::{Ranged, TextSize};
use rustc_hash::FxHashMap;

use super::function::FunctionAnalysis;
use ag_db::Db;
use ag_db::{Document, text};
use ag_index::index::{DefaultValue, ParameterKind, ParameterSyntax, file_index, last_name, tree};
use ag_syntax::imports::Imports;

/// The input for a tensor of unknown type.
const TENSOR: &str = "f32[2,3]";
/// The maximum length of a chain of names that is followed.
const DEPTH: usize = 4;

/// Returns an input such as `x=f32[32,10]` for each parameter without a default; `None` if there is no such staged
/// function.
pub fn proposed(db: &dyn Db, document: Document, qualname: &str) -> Option<Vec<String>> {
    let function =
        FunctionAnalysis::all(db, document).find(|function| function.entry.path.qualname == qualname)?;
    let parsed = tree(db, document)?;
    let source = text(db, document);
    let calls = Calls::collect(parsed.syntax(), &file_index(db, document).imports, source.as_str());
    let parameters_in_file = parameters_at(parsed.syntax(), function.entry.range.start());
    let bound = usize::from(function.entry.class.is_some() && !function.signature.is_static);
    let wanted = |parameter: &&ParameterSyntax| {
        parameter.default == DefaultValue::Absent
            && !matches!(parameter.kind, ParameterKind::VarArgs | ParameterKind::VarKeywords)
    };
    let parameters = function.signature.parameters.iter().skip(bound);
    let proposals =
        parameters.enumerate().filter(|(_, parameter)| wanted(parameter)).map(|(position, it)| {
            let name = qualname.rsplit('.').next().unwrap_or(qualname);
            let annotation =
                parameters_in_file.and_then(|parameters| parameters.find(&it.name)?.annotation());
            let value = calls.argument(name, position, &it.name).or_else(|| annotation.and_then(annotated));
            format!("{}={}", it.name, value.as_deref().unwrap_or(TENSOR))
        });
    Some(proposals.collect())
}

fn parameters_at(module: &ModModule, start: TextSize) -> Option<&ast::Parameters> {
    struct Finder<'a>(TextSize, Option<&'a ast::Parameters>);
    impl<'a> Visitor<'a> for Finder<'a> {
        fn visit_stmt(&mut self, statement: &'a Stmt) {
            // The slice of a function starts at its `def`, after its decorators.
            if let Stmt::FunctionDef(def) = statement
                && def.range().contains(self.0)
                && def.name.start() > self.0
                && def.decorator_list.iter().all(|decorator| decorator.end() <= self.0)
            {
                self.1 = Some(&def.parameters);
            }
            visitor::walk_stmt(self, statement);
        }
    }
    let mut finder = Finder(start, None);
    finder.visit_body(&module.body);
    finder.1
}

/// Returns an example input for a parameter that is annotated as a Python value: a number, a flag or a string.
fn annotated(annotation: &Expr) -> Option<String> {
    let value = match last_name(annotation)?.as_str() {
        "int" => "1",
        "float" => "1.0",
        "bool" => "True",
        "str" => "''",
        _ => return None,
    };
    Some(value.to_owned())
}

/// The calls in a file, and the values to which its names are bound.
struct Calls<'a> {
    imports: &'a Imports,
    source: &'a str,
    calls: Vec<&'a ast::ExprCall>,
    /// The value to which each name is bound; `None` if the name is bound more than once.
    values: FxHashMap<&'a Name, Option<&'a Expr>>,
}

impl<'a> Calls<'a> {
    fn collect(module: &'a ModModule, imports: &'a Imports, source: &'a str) -> Self {
        let mut calls = Self { imports, source, calls: Vec::new(), values: FxHashMap::default() };
        calls.visit_body(&module.body);
        calls
    }

    /// Returns the input for a parameter: from the first call with an argument from which it can be inferred.
    fn argument(&self, function: &str, position: usize, parameter: &str) -> Option<String> {
        let calls = self.calls.iter().filter(|call| last_name(&call.func).is_some_and(|it| it == function));
        calls
            .filter_map(|call| self.described(call.arguments.find_argument_value(parameter, position)?, 0))
            .next()
    }

    /// Returns the input that an argument suggests: `torch.zeros(32, 10)` -> `f32[32,10]`, `(1, 2)` -> `(1, 2)`.
    fn described(&self, expression: &Expr, depth: usize) -> Option<String> {
        match expression {
            Expr::Call(call) => self.tensor(call, depth),
            Expr::Name(name) if depth < DEPTH => self.described((*self.values.get(&name.id)?)?, depth + 1),
            literal if is_literal(literal) => {
                let text = self.source.get(std::ops::Range::<usize>::from(literal.range()))?;
                (!text.contains('\n')).then(|| text.to_owned())
            }
            _ => None,
        }
    }

    /// Returns the input for a tensor that a torch function creates.
    fn tensor(&self, call: &ast::ExprCall, depth: usize) -> Option<String> {
        let constructor = self.imports.resolve(&call.func)?;
        let arguments = &call.arguments.args;
        let (sizes, inferred) = match constructor.strip_prefix("torch.")? {
            "zeros" | "ones" | "empty" | "rand" | "randn" => (self.sizes(arguments, depth)?, "f32"),
            "full" => (self.sizes(arguments.get(..1)?, depth)?, kind(arguments.get(1)?)?),
            "randint" => {
                let size = call.arguments.find_keyword("size").map(|keyword| &keyword.value);
                let size =
                    size.or_else(|| arguments.iter().find(|it| it.is_tuple_expr() || it.is_list_expr()))?;
                (self.sizes(std::slice::from_ref(size), depth)?, "i64")
            }
            "arange" if arguments.len() == 1 => (self.sizes(arguments, depth)?, "i64"),
            "eye" => (self.sizes(&[arguments.first()?.clone(), arguments.first()?.clone()], depth)?, "f32"),
            "tensor" => nested(arguments.first()?)?,
            _ => return None,
        };
        let explicit = call.arguments.find_keyword("dtype").map(|keyword| &keyword.value);
        let dtype = match explicit {
            Some(explicit) => dtype(self.imports.resolve(explicit)?.strip_prefix("torch.")?)?,
            None => inferred,
        };
        let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
        Some(format!("{dtype}[{}]", sizes.join(",")))
    }

    /// Returns the sizes in the arguments `(32, 10)` or `((32, 10),)`.
    fn sizes(&self, arguments: &[Expr], depth: usize) -> Option<Vec<u64>> {
        let arguments = match arguments {
            [Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. })] => elts,
            arguments => arguments,
        };
        arguments.iter().map(|size| self.size(size, depth)).collect()
    }

    fn size(&self, expression: &Expr, depth: usize) -> Option<u64> {
        match expression {
            Expr::NumberLiteral(literal) => match &literal.value {
                ast::Number::Int(value) => value.as_u64(),
                _ => None,
            },
            Expr::Name(name) if depth < DEPTH => self.size((*self.values.get(&name.id)?)?, depth + 1),
            _ => None,
        }
    }
}

impl<'a> Visitor<'a> for Calls<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::Assign(assignment) = statement
            && let [Expr::Name(name)] = &assignment.targets[..]
        {
            let value = Some(&*assignment.value);
            self.values.entry(&name.id).and_modify(|known| *known = None).or_insert(value);
        }
        visitor::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Call(call) = expression {
            self.calls.push(call);
        }
        visitor::walk_expr(self, expression);
    }
}

fn is_literal(expression: &Expr) -> bool {
    match expression {
        Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
            elts.iter().all(is_literal)
        }
        Expr::UnaryOp(operation) => operation.op == ast::UnaryOp::USub && is_literal(&operation.operand),
        literal => literal.is_literal_expr() && !literal.is_ellipsis_literal_expr(),
    }
}

/// Returns the sizes and the element type of `[[1.0, 2.0]]`.
fn nested(data: &Expr) -> Option<(Vec<u64>, &'static str)> {
    let (Expr::List(ast::ExprList { elts, .. }) | Expr::Tuple(ast::ExprTuple { elts, .. })) = data else {
        return Some((Vec::new(), kind(data)?));
    };
    let kinds: Option<Vec<_>> = elts.iter().map(nested).collect();
    let kinds = kinds?;
    // If one element is a float, all elements are floats.
    let (mut sizes, kind) = kinds.iter().find(|(_, kind)| *kind == "f32").or(kinds.first())?.clone();
    sizes.insert(0, elts.len() as u64);
    Some((sizes, kind))
}

/// Returns the element type of a tensor that contains this number.
fn kind(expression: &Expr) -> Option<&'static str> {
    match expression {
        Expr::BooleanLiteral(_) => Some("bool"),
        Expr::NumberLiteral(literal) => match literal.value {
            ast::Number::Int(_) => Some("i64"),
            ast::Number::Float(_) => Some("f32"),
            ast::Number::Complex { .. } => Some("c64"),
        },
        Expr::UnaryOp(operation) if operation.op == ast::UnaryOp::USub => kind(&operation.operand),
        // `float(i)`
        Expr::Call(call) => match last_name(&call.func)?.as_str() {
            "float" => Some("f32"),
            "int" => Some("i64"),
            "bool" => Some("bool"),
            _ => None,
        },
        _ => None,
    }
}

fn dtype(name: &str) -> Option<&'static str> {
    Some(match name {
        "float32" | "float" => "f32",
        "float64" | "double" => "f64",
        "float16" | "half" => "f16",
        "bfloat16" => "bf16",
        "int64" | "long" => "i64",
        "int32" | "int" => "i32",
        "int16" | "short" => "i16",
        "int8" => "i8",
        "uint8" => "u8",
        "bool" => "bool",
        "complex64" => "c64",
        "complex128" => "c128",
        _ => return None,
    })
}
