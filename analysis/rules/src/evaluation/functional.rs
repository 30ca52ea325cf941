//! The transforms of `torch.func`: `grad`, `vmap`, `jacrev` and others call a function with Tensors of their own.
//!
//! ```python
//! def loss(params, x, y):
//!     return F.mse_loss(functional_call(model, params, (x,)), y)      # calls `model.forward`
//!
//! vmap(grad(loss), in_dims=(None, 0, 0))(params, xs, ys)
//! ```
//!
//! A `torch.autograd.Function` in such a function needs `setup_context`, and for `vmap` a rule of its own.

use std::rc::Rc;

use ag_db::Document;
use ruff_python_ast::Expr;
use ruff_python_ast::helpers::any_over_expr;
use ruff_text_size::TextRange;

use super::calls::Arguments;
use super::classes::{assigned, method};
use super::dtypes::Dtype;
use super::kinds::Kind;
use super::transformations::{Passing, Transformation};
use super::values::{Object, Partial, Size, Transformed, Value};
use super::{Evaluated, Evaluation, Frame, Stop};

/// An attribute to which a mapped function has assigned a Tensor.
pub(super) struct Escaped<'a> {
    object: Rc<Object<'a>>,
    name: String,
    place: (Document, TextRange),
}

/// The transforms that return a function, each with whether it maps the function over a dimension.
const TRANSFORMS: [(&str, bool); 9] = [
    ("func.grad", false),
    ("func.grad_and_value", false),
    ("func.hessian", true),
    ("func.jacfwd", true),
    ("func.jacrev", false),
    ("func.vmap", true),
    ("_functorch.eager_transforms.grad", false),
    ("_functorch.apis.vmap", true),
    ("vmap", true),
];

/// Returns whether code may transform a function that applies a `torch.autograd.Function`.
pub(super) fn transforms_derivatives(text: &str) -> bool {
    text.contains("autograd.Function")
        && ["torch.func", "functorch", "torch.vmap"].iter().any(|it| text.contains(it))
}

impl<'a> Evaluation<'_, 'a> {
    /// Evaluates a call of a function of `torch.func`; `function` is its name after `torch.`.
    pub(super) fn functional(
        &mut self,
        function: &str,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<Option<Value<'a>>> {
        if arguments.open {
            return Ok(None);
        }
        if let Some((name, maps)) = TRANSFORMS.iter().find(|(name, _)| *name == function) {
            let Some(function) = arguments.get(0, "func").cloned() else { return Ok(None) };
            let name = name.rsplit('.').next().unwrap_or(name);
            let transformation = Transformation::Functional { name, maps: *maps };
            let names = if name == "vmap" { ["in_dims", "out_dims"] } else { ["argnums", "has_aux"] };
            let options = [1, 2].map(|position| arguments.get(position, names[position - 1]).cloned());
            let transformed = Transformed { function, transformation, passing: Passing::Unknown, options };
            return Ok(Some(Value::Transformed(Rc::new(transformed))));
        }
        match function {
            "func.stack_module_state" => Ok(Some(self.stack_state(arguments.get(0, "models")))),
            "func.functional_call" => {
                let Some(module) = arguments.get(0, "module").cloned() else { return Ok(None) };
                let mut call = Arguments::of(match arguments.get(2, "args") {
                    None | Some(Value::None) => Vec::new(),
                    Some(Value::Tuple(inputs)) => inputs.to_vec(),
                    Some(Value::Unknown) => return Ok(None),
                    Some(input) => vec![input.clone()],
                });
                match arguments.get(3, "kwargs") {
                    None | Some(Value::None) => {}
                    Some(Value::Dict(items)) => {
                        for (name, value) in items.borrow().iter().flatten() {
                            let Some(name) = self.text_of(name) else { return Ok(None) };
                            call.keywords.push((name, value.clone()));
                        }
                    }
                    Some(_) => return Ok(None),
                }
                self.call(&module, call, range).map(Some)
            }
            "func.jvp" | "func.vjp" | "func.linearize" => {
                let Some(called) = arguments.get(0, "func").cloned() else { return Ok(None) };
                let inputs = match (function, arguments.get(1, "primals")) {
                    ("func.jvp", Some(Value::Tuple(primals))) => primals.to_vec(),
                    ("func.jvp", _) => return Ok(None),
                    _ => arguments.positional.iter().skip(1).cloned().collect(),
                };
                self.transformed_by(false, &called, Arguments::of(inputs), range)?;
                Ok(Some(Value::Unknown))
            }
            _ => Ok(None),
        }
    }

    /// Evaluates a call of a transformed function: `grad(loss)(params, x)`.
    pub(super) fn functional_call(
        &mut self,
        transformed: &Transformed<'a>,
        mut arguments: Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        let Transformation::Functional { name, maps } = transformed.transformation else {
            return Ok(Value::Unknown);
        };
        let fault = match name {
            _ if arguments.open || self.is_exploring => None,
            "vmap" => mapped_arguments(&transformed.options[0], &arguments),
            _ => differentiated(&transformed.options[0], &arguments),
        };
        if let Some(message) = fault {
            let kind = if name == "vmap" { Kind::Mapped } else { Kind::Gradient };
            self.report(range, kind, message);
            return Err(Stop);
        }
        if name == "vmap" {
            // The function gets rows of these Tensors.
            let dimensions = dimensions(&transformed.options[0], arguments.positional.len());
            for (value, dimension) in arguments.positional.iter_mut().zip(dimensions) {
                *value = row(value, dimension);
            }
        }
        let value = self.transformed_by(maps, &transformed.function, arguments, range)?;
        if !self.is_exploring
            && let [_, None] = &transformed.options
            && let Some(what) = other_result(&value, name == "vmap")
        {
            let kind = if name == "vmap" { Kind::Mapped } else { Kind::Gradient };
            self.report(
                range,
                kind,
                format!("`{name}` needs a function that returns Tensors, but this one returns {what}"),
            );
            return Err(Stop);
        }
        Ok(if maps && matches!(value, Value::Tensor(..)) { row(&value, None) } else { Value::Unknown })
    }

    /// Checks a call of a method of a Tensor in a transformed function.
    pub(super) fn check_transformed_method(
        &mut self,
        object: &Value<'a>,
        method: &str,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) {
        let sets = method == "requires_grad_" && arguments.values().all(|it| it.truth() == Some(true));
        if (sets || method == "backward")
            && !self.functional.is_empty()
            && matches!(object, Value::Tensor(..))
        {
            let message = format!("`{method}()` in a function that `torch.func` transforms raises");
            self.report(range, Kind::Gradient, message);
        }
    }

    /// Records that a statement assigns an attribute. In a mapped function, a Tensor that is computed from a local one has
    /// a value for each row of the batch.
    pub(super) fn assigns_mapped(
        &mut self,
        object: &Rc<Object<'a>>,
        name: &str,
        value: &Value<'a>,
        range: TextRange,
    ) {
        self.escaped.retain(|it| !(Rc::ptr_eq(&it.object, object) && it.name == name));
        let is_mapped = self.functional.contains(&true) && self.traced.is_empty() && !self.is_exploring;
        if is_mapped && self.is_computed && matches!(value, Value::Tensor(..)) {
            let (object, name, place) = (object.clone(), name.to_owned(), (self.ctx.document, range));
            self.escaped.push(Escaped { object, name, place });
        }
    }

    /// Returns whether an expression uses a local variable that is a Tensor.
    pub(super) fn uses_local_tensor(&self, value: &'a Expr, frame: &Frame<'a>) -> bool {
        if self.functional.is_empty() {
            return false;
        }
        let bound = frame.scope.bound.borrow();
        any_over_expr(value, &|part: &Expr| {
            let local = part.as_name_expr().and_then(|name| bound.get(name.id.as_str()));
            matches!(local, Some(Value::Tensor(..)))
        })
    }

    /// Reports an attribute that a mapped function has assigned, and that other code reads after the mapped call.
    pub(super) fn reads_escaped(&mut self, object: &Value<'a>, name: &str) {
        let Value::Object(object) = object else { return };
        if !self.functional.is_empty() || !self.traced.is_empty() {
            return;
        }
        let known = self.escaped.iter().position(|it| Rc::ptr_eq(&it.object, object) && it.name == name);
        if let Some(position) = known {
            let (document, range) = self.escaped.swap_remove(position).place;
            let message = format!(
                "`{name}` keeps a Tensor with a value for each row of the batch after the mapped call: code that uses it \
                 then raises"
            );
            self.report_in(document, range, Kind::Escaped, message);
        }
    }

    fn transformed_by(
        &mut self,
        maps: bool,
        function: &Value<'a>,
        arguments: Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        self.functional.push(maps);
        let value = self.call(function, arguments, range);
        self.functional.pop();
        value
    }

    /// Checks a call of `apply` of a `torch.autograd.Function`, which `partial` is, in a transformed function.
    pub(super) fn check_derivative(&mut self, partial: &Partial<'a>, range: TextRange) {
        let Value::Function(function) = &partial.function else { return };
        let Some(class) = function.class.filter(|_| function.def.name.as_str() == "forward") else { return };
        if self.functional.is_empty() {
            return;
        }
        let Some(hierarchy) = self.hierarchy(class).filter(|it| it.is_differentiable) else { return };
        let defines = |name: &str| {
            hierarchy
                .classes
                .iter()
                .any(|class| method(class, name).is_some() || assigned(class, name).is_some())
        };
        let name = &class.name;
        if !defines("setup_context") {
            let message =
                format!("`{name}` does not define `setup_context`, which `torch.func` needs: this raises");
            self.report(range, Kind::Derivative, message);
        } else if self.functional.contains(&true) && !defines("vmap") && !defines("generate_vmap_rule") {
            let message = format!(
                "`{name}` defines neither `vmap` nor `generate_vmap_rule`, of which `vmap` needs one: this raises"
            );
            self.report(range, Kind::Derivative, message);
        }
    }
}

/// A dimension over which `vmap` maps an argument; `None` for an argument that is not mapped.
type Mapped = Option<i64>;

/// Returns for each positional argument of a mapped function over which dimension it is mapped, as far as it is known.
fn dimensions(in_dims: &Option<Value>, count: usize) -> Vec<Option<Mapped>> {
    let dimension = |value: &Value| match value {
        Value::None => Some(None),
        Value::Int(dimension) => Some(Some(*dimension)),
        _ => None,
    };
    match in_dims {
        None => vec![Some(Some(0)); count],
        Some(Value::Tuple(all)) => all.iter().map(dimension).collect(),
        Some(one) => vec![dimension(one); count],
    }
}

/// Returns why `vmap` does not accept its arguments. Keyword arguments are not mapped.
fn mapped_arguments(in_dims: &Option<Value>, arguments: &Arguments) -> Option<String> {
    let count = arguments.positional.len();
    let dimensions = dimensions(in_dims, count);
    if let Some(Value::List(_)) = in_dims {
        return Some("`in_dims` is a list: it must be an integer or a tuple".to_owned());
    }
    if dimensions.len() != count {
        return Some(format!(
            "`in_dims` is for {} arguments, but this call passes {count} positional ones",
            dimensions.len()
        ));
    }
    let mut known: Option<i64> = None;
    for (value, dimension) in arguments.positional.iter().zip(dimensions) {
        let Some(Some(dimension)) = dimension else { continue };
        match value {
            Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Text(_) => {
                return Some(
                    "`vmap` maps over Tensors: for another argument, `in_dims` must be `None`".to_owned(),
                );
            }
            Value::Tensor(Some(shape), _) => {
                let Some(index) = super::sizes::index_of(shape.len(), dimension) else {
                    return Some(format!(
                        "`vmap` maps over dimension {dimension} of a Tensor with {} dimensions",
                        shape.len()
                    ));
                };
                let Some(Size::Known(size)) = shape.get(index) else { continue };
                if let Some(known) = known
                    && known != *size
                {
                    return Some(format!(
                        "the mapped dimensions have the different sizes {known} and {size}"
                    ));
                }
                known = Some(*size);
            }
            _ => {}
        }
    }
    None
}

/// Returns why an argument cannot be differentiated.
fn differentiated(argnums: &Option<Value>, arguments: &Arguments) -> Option<String> {
    let position = match argnums {
        None => 0,
        Some(Value::Int(position)) => usize::try_from(*position).ok()?,
        Some(_) => return None,
    };
    match arguments.positional.get(position) {
        Some(Value::Tensor(_, dtype)) if *dtype != Dtype::Unknown && !dtype.is_float() => {
            Some(format!("the differentiated argument has the dtype {dtype}: only floats have a gradient"))
        }
        _ => None,
    }
}

/// Describes a result that is not a Tensor.
fn other_result(value: &Value, maps: bool) -> Option<&'static str> {
    match value {
        Value::None => Some("`None`"),
        Value::Int(_) | Value::Float(_) | Value::Bool(_) => Some("a number"),
        Value::Text(_) => Some("a text"),
        Value::Tuple(elements) if maps => elements.iter().find_map(|it| other_result(it, maps)),
        Value::Dict(items) if maps => {
            items.borrow().iter().flatten().find_map(|(_, value)| other_result(value, maps))
        }
        _ => None,
    }
}

/// Returns a value without the mapped dimension. If that is not known, the shape of the result is not known, either.
fn row<'a>(value: &Value<'a>, mapped: Option<Mapped>) -> Value<'a> {
    let of = |value: &Value<'a>| row(value, mapped);
    match value {
        value if mapped == Some(None) => value.clone(),
        Value::Tensor(shape, dtype) => {
            let without = || {
                let (shape, dimension) = (shape.as_ref()?, mapped??);
                let index = super::sizes::index_of(shape.len(), dimension)?;
                let sizes = shape.iter().enumerate().filter(|(position, _)| *position != index);
                Some(Value::tensor(sizes.map(|(_, size)| *size).collect()))
            };
            without().unwrap_or(Value::unshaped()).with_dtype(*dtype)
        }
        Value::Tuple(elements) => Value::tuple(elements.iter().map(of).collect()),
        Value::List(elements) => match &*elements.borrow() {
            Some(elements) => Value::list(elements.iter().map(of).collect()),
            None => Value::Unknown,
        },
        Value::Dict(items) => match &*items.borrow() {
            Some(items) => Value::dict(items.iter().map(|(key, value)| (key.clone(), of(value))).collect()),
            None => Value::Unknown,
        },
        value => value.clone(),
    }
}
