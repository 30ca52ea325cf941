//! Data sets and data loaders: the batches over which the loop of a program iterates.
//!
//! ```python
//! loader = DataLoader(TensorDataset(torch.randn(10, 4), labels), batch_size=4)     # batches of 4, 4 and 2 rows
//! ```

use std::rc::Rc;

use ruff_text_size::{Ranged, TextRange};

use super::calls::Arguments;
use super::dtypes::Dtype;
use super::sizes::row;
use super::values::{Size, Value};
use super::{Evaluated, Evaluation, MOST_ITERATIONS};

pub(super) struct Loader<'a> {
    data: Value<'a>,
    batch: i64,
    drops_last: bool,
    collate: Option<Value<'a>>,
}

impl<'a> Evaluation<'_, 'a> {
    /// Evaluates `DataLoader(data, batch_size=4)`.
    pub(super) fn loader(&self, arguments: &Arguments<'a>) -> Value<'a> {
        const KNOWN: [&str; 10] = [
            "dataset",
            "batch_size",
            "shuffle",
            "drop_last",
            "collate_fn",
            "num_workers",
            "pin_memory",
            "generator",
            "persistent_workers",
            "prefetch_factor",
        ];
        let is_known = arguments.keywords.iter().all(|(name, _)| KNOWN.contains(name));
        let drops_last = arguments.get(usize::MAX, "drop_last").map_or(Some(false), Value::truth);
        let batch = arguments.get(1, "batch_size").map_or(Some(1), Value::as_int).filter(|size| *size > 0);
        let (Some(data), Some(batch), Some(drops_last)) = (arguments.get(0, "dataset"), batch, drops_last)
        else {
            return Value::Unknown;
        };
        if !is_known || arguments.positional.len() > 3 {
            return Value::Unknown;
        }
        let collate = arguments.get(usize::MAX, "collate_fn").filter(|it| !matches!(it, Value::None));
        Value::Loader(Rc::new(Loader { data: data.clone(), batch, drops_last, collate: collate.cloned() }))
    }

    /// Returns the number of batches, and the size of the last one.
    fn extent(&mut self, loader: &Loader<'a>) -> Evaluated<Option<(i64, i64)>> {
        let Value::Int(length) = self.length(&loader.data)? else { return Ok(None) };
        let rest = length % loader.batch;
        let count = length / loader.batch;
        Ok(Some(match rest {
            0 => (count, loader.batch),
            _ if loader.drops_last => (count, loader.batch),
            rest => (count + 1, rest),
        }))
    }

    pub(super) fn number_of_batches(&mut self, loader: &Loader<'a>) -> Evaluated<Value<'a>> {
        Ok(self.extent(loader)?.map_or(Value::Unknown, |(count, _)| Value::Int(count)))
    }

    pub(super) fn batches(&mut self, loader: &Loader<'a>) -> Evaluated<Option<Vec<Value<'a>>>> {
        let Some((count, last)) = self.extent(loader)? else { return Ok(None) };
        let Some(count) = usize::try_from(count).ok().filter(|it| *it <= MOST_ITERATIONS) else {
            return Ok(None);
        };
        if count == 0 {
            return Ok(Some(Vec::new()));
        }
        let sample = self.sample(&loader.data)?;
        let mut batch = |size: i64| -> Evaluated<Value<'a>> {
            match &loader.collate {
                Some(collate) => {
                    let size = usize::try_from(size).unwrap_or(0);
                    if size > MOST_ITERATIONS {
                        return Ok(Value::Unknown);
                    }
                    let samples = Value::list(vec![sample.clone(); size]);
                    self.call(collate, Arguments::of(vec![samples]), TextRange::default())
                }
                None => Ok(collated(&sample, size)),
            }
        };
        let mut batches = vec![batch(loader.batch)?; count - 1];
        batches.push(batch(last)?);
        Ok(Some(batches))
    }

    fn sample(&mut self, data: &Value<'a>) -> Evaluated<Value<'a>> {
        Ok(match data {
            Value::Rows(columns) => {
                let rows: Option<Vec<_>> = columns.iter().map(row).collect();
                rows.map_or(Value::Unknown, Value::tuple)
            }
            Value::Tensor(..) => row(data).unwrap_or(Value::Unknown),
            // The samples may have different sizes.
            Value::List(samples) if self.is_exploring => {
                samples.borrow().as_ref().and_then(|it| it.first().cloned()).unwrap_or(Value::Unknown)
            }
            Value::Object(object) => match self.attribute(data, "__getitem__")? {
                method @ Value::Function(_) => {
                    let range = object.class.range();
                    self.call(&method, Arguments::of(vec![Value::Int(0)]), range)?
                }
                _ => Value::Unknown,
            },
            _ => Value::Unknown,
        })
    }
}

/// Returns the batch that `default_collate` makes of samples.
fn collated<'a>(sample: &Value<'a>, size: i64) -> Value<'a> {
    let batch = Size::Known(size);
    match sample {
        Value::Tensor(Some(shape), dtype) => Value::tensor([&[batch], &**shape].concat()).with_dtype(*dtype),
        Value::Tensor(None, dtype) => Value::unshaped().with_dtype(*dtype),
        Value::Int(_) => Value::tensor(vec![batch]).with_dtype(Dtype::Int64),
        Value::Float(_) => Value::tensor(vec![batch]).with_dtype(Dtype::Float64),
        Value::Tuple(elements) => Value::list(elements.iter().map(|it| collated(it, size)).collect()),
        Value::Dict(items) => {
            let entry = |(key, value): &(Rc<str>, Value<'a>)| (key.clone(), collated(value, size));
            let items = items.borrow().as_ref().map(|items| items.iter().map(entry).collect::<Vec<_>>());
            Value::Dict(Rc::new(items.into()))
        }
        _ => Value::Unknown,
    }
}
