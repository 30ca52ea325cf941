//! List operations. Lists are immutable values; a list with one owner is modified in place.

use std::sync::Arc;

use super::error::Fault;
use super::plan::ListStep;
use super::value::Value;

type List = Arc<Vec<Value>>;

/// Executes an operation on a list. A list with other owners is copied before a change.
pub(super) fn step(op: ListStep, list: Value, index: i64, item: Value) -> Result<Value, Fault> {
    if op == ListStep::Filled {
        let length = usize::try_from(index).unwrap_or(0);
        let mut items = Vec::new();
        items
            .try_reserve_exact(length)
            .map_err(|_| Fault::Value(format!("a list of {length} items is too long")))?;
        items.resize(length, item);
        return Ok(Value::list(items));
    }
    let mut list = expect(list)?;
    let items = Arc::make_mut(&mut list);
    match op {
        ListStep::New | ListStep::Filled => {}
        ListStep::Append => items.push(item),
        ListStep::Set => {
            let at = position(items.len(), index, "list assignment index out of range")?;
            items[at] = item;
        }
        ListStep::Insert => {
            let at = clamped(items.len(), index);
            items.insert(at, item);
        }
        ListStep::Concat => match Arc::try_unwrap(expect(item)?) {
            Ok(more) => items.extend(more),
            Err(more) => items.extend(more.iter().cloned()),
        },
    }
    Ok(Value::List(list))
}

pub(super) fn pop(list: Value, index: i64) -> Result<(Value, Value), Fault> {
    let mut list = expect(list)?;
    let at = match list.len() {
        0 => return Err(Fault::Index("pop from empty list".into())),
        length => position(length, index, "pop index out of range")?,
    };
    let item = Arc::make_mut(&mut list).remove(at);
    Ok((Value::List(list), item))
}

pub(super) fn get(list: &Value, index: i64) -> Result<Value, Fault> {
    let items = items(list)?;
    let at = position(items.len(), index, "list index out of range")?;
    Ok(items[at].clone())
}

/// `list[start:stop:step]`, where each bound may be absent.
pub(super) fn slice(list: &Value, bounds: [Option<i64>; 3]) -> Result<Value, Fault> {
    let items = items(list)?;
    let length = items.len().cast_signed() as i64;
    let [start, stop, step] = bounds;
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(Fault::Value("slice step cannot be zero".into()));
    }
    let (lowest, highest) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let bound = |bound: Option<i64>, absent: i64| match bound {
        None => absent,
        Some(bound) if bound < 0 => bound.saturating_add(length).clamp(lowest, highest),
        Some(bound) => bound.clamp(lowest, highest),
    };
    let (first, last) = if step > 0 { (lowest, highest) } else { (highest, lowest) };
    let (mut at, stop) = (bound(start, first), bound(stop, last));
    let mut taken = Vec::new();
    while if step > 0 { at < stop } else { at > stop } {
        taken.extend(usize::try_from(at).ok().and_then(|at| items.get(at)).cloned());
        at = at.saturating_add(step);
    }
    Ok(Value::list(taken))
}

pub(super) fn items(list: &Value) -> Result<&[Value], Fault> {
    match list {
        Value::List(items) => Ok(items),
        Value::Tuple(items) => Ok(items),
        other => Err(absent(other)),
    }
}

fn expect(list: Value) -> Result<List, Fault> {
    match list {
        Value::List(items) => Ok(items),
        other => Err(absent(&other)),
    }
}

fn absent(value: &Value) -> Fault {
    Fault::Type(format!("expected a list, found {}", value.kind()))
}

/// Returns the position of an index, which counts from the end if it is negative. If it is out of range, returns an
/// `IndexError` with this message.
fn position(length: usize, index: i64, message: &str) -> Result<usize, Fault> {
    let from_start = if index < 0 { index.saturating_add(length.cast_signed() as i64) } else { index };
    usize::try_from(from_start).ok().filter(|at| *at < length).ok_or_else(|| Fault::Index(message.to_owned()))
}

fn clamped(length: usize, index: i64) -> usize {
    let length = length.cast_signed() as i64;
    let at = if index < 0 { index.saturating_add(length).max(0) } else { index.min(length) };
    at as usize
}
