//! The values that a text formats as numbers, which a traced array does not support.

use ruff_python_ast::{self as ast, Expr};

/// The methods of loggers that format a text.
const LOGGING: [&str; 7] = ["critical", "debug", "error", "exception", "info", "log", "warning"];

/// Returns `loss` in `"%s: %.3f" % (name, loss)`, where `text` is the text and `values` the values. A text whose
/// conversions do not match the values, such as `"%(loss)d"` or `"%*d"`, has none.
pub(crate) fn percent_numbers<'e>(text: &Expr, values: &'e [Expr]) -> impl Iterator<Item = &'e Expr> {
    let text = text.as_string_literal_expr().map(|text| text.value.to_str());
    let positions = text.map(|text| percent_positions(text, values.len())).unwrap_or_default();
    positions.into_iter().filter_map(|position| values.get(position))
}

/// Returns the positions of the values that a text with `%` formats as numbers.
pub(crate) fn percent_positions(text: &str, values: usize) -> Vec<usize> {
    let text = text.replace("%%", "");
    let conversions: Option<Vec<char>> = text.split('%').skip(1).map(conversion).collect();
    let Some(conversions) = conversions.filter(|conversions| conversions.len() == values) else {
        return Vec::new();
    };
    let is_number = |conversion: char| "diouxXeEfFgG".contains(conversion);
    conversions.into_iter().enumerate().filter(|(_, it)| is_number(*it)).map(|(index, _)| index).collect()
}

/// Returns the letter of a conversion: `f` for the text `.3f seconds` after a `%`.
fn conversion(text: &str) -> Option<char> {
    let is_flag = |it: char| it.is_ascii_digit() || matches!(it, '.' | '+' | '-' | ' ' | '#');
    text.trim_start_matches(is_flag).chars().next().filter(char::is_ascii_alphabetic)
}

/// Returns whether an expression is a call of a method of a logger.
pub(crate) fn logs(expression: &Expr) -> bool {
    let method = expression.as_call_expr().and_then(|call| call.func.as_attribute_expr());
    method.is_some_and(|method| LOGGING.contains(&method.attr.as_str()))
}

/// Returns `loss` in `log.warning("%s: %.3f", name, loss)`.
pub(crate) fn logged_numbers(call: &ast::ExprCall) -> impl Iterator<Item = &Expr> {
    let method = call.func.as_attribute_expr().filter(|method| LOGGING.contains(&method.attr.as_str()));
    let arguments = method.and_then(|_| call.arguments.args.split_first());
    arguments.into_iter().flat_map(|(text, values)| percent_numbers(text, values))
}

/// Returns `loss` in `"{}: {:.3f}".format(name, loss)`: the values of the fields with a format.
pub(crate) fn field_numbers(call: &ast::ExprCall) -> impl Iterator<Item = &Expr> {
    let method = call.func.as_attribute_expr().filter(|method| method.attr.as_str() == "format");
    let text = method.and_then(|method| method.value.as_string_literal_expr());
    let text = text.map(|text| text.value.to_str().replace("{{", "").replace("}}", "")).unwrap_or_default();
    let mut next = 0;
    let mut values = Vec::new();
    for field in text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0)) {
        let (name, format) = field.split_once(':').unwrap_or((field, ""));
        let value = match name {
            "" => {
                next += 1;
                call.arguments.args.get(next - 1)
            }
            name => match name.parse::<usize>() {
                Ok(index) => call.arguments.args.get(index),
                Err(_) => call.arguments.find_keyword(name).map(|keyword| &keyword.value),
            },
        };
        values.extend(value.filter(|value| !format.is_empty() && !value.is_starred_expr()));
    }
    values.into_iter()
}
