//! Maximum pooling with the native tier's kernel, which is several times faster than libtorch's. The results are
//! bitwise equal.
#![allow(unsafe_code, reason = "the kernel reads and writes tensors by address")]

use ag_graph::ir::{DType, Operand};
use ag_native::{Images, Order, Window};
use tch::{TchError, Tensor};

use super::aten;
use super::tier::{Tier, tier};

/// With several threads, the native kernel runs only for tensors of at most this size. libtorch distributes larger
/// tensors to its threads.
const MAX_ELEMENTS_WITH_THREADS: usize = 1 << 15;

/// A call of `aten.max_pool2d_with_indices` whose window is known.
#[derive(Debug)]
pub(super) struct MaxPool {
    window: Window,
    ceil_mode: bool,
}

impl MaxPool {
    /// Returns the call of the operator with these operands:
    /// `(input, kernel, stride=[], padding=0, dilation=1, ceil_mode=False)`. `None` if the window is not known.
    pub(super) fn of(name: &str, operands: &[Operand]) -> Option<Self> {
        if name != "aten.max_pool2d_with_indices.default" {
            return None;
        }
        let pair_or =
            |index: usize, default| operands.get(index).map_or(Some(default), |it| pair(it, default));
        let kernel = pair_or(1, [0, 0])?;
        let window = Window {
            kernel,
            stride: pair_or(2, kernel)?,
            padding: pair_or(3, [0, 0])?,
            dilation: pair_or(4, [1, 1])?,
        };
        let ceil_mode = match operands.get(5) {
            None => false,
            Some(Operand::Bool(value)) => *value,
            Some(_) => return None,
        };
        Some(Self { window, ceil_mode })
    }

    /// Returns the maxima of `input` (`[N, C, H, W]` or `[C, H, W]`) and their positions.
    pub(super) fn run(&self, input: &Tensor) -> Result<(Tensor, Tensor), TchError> {
        if let Some(results) = self.run_native(input) {
            return Ok(results);
        }
        let Window { kernel, stride, padding, dilation } = self.window;
        let [kernel, stride, padding, dilation] =
            [kernel, stride, padding, dilation].map(|pair| pair.map(|number| number as i64));
        input.f_max_pool2d_with_indices(kernel, stride, padding, dilation, self.ceil_mode)
    }

    /// `None` if libtorch must run the call: for another dtype, device or layout, and for errors.
    fn run_native(&self, input: &Tensor) -> Option<(Tensor, Tensor)> {
        if self.ceil_mode || tier() == Tier::Torch {
            return None;
        }
        let sizes = input.size();
        let (leading, plane) = sizes.split_at_checked(sizes.len().checked_sub(2)?)?;
        let elements = input.numel();
        let is_small = super::threads() == 1 || elements <= MAX_ELEMENTS_WITH_THREADS;
        if !(1..=2).contains(&leading.len()) || elements == 0 || !is_small {
            return None;
        }
        let plane = [usize::try_from(plane[0]).ok()?, usize::try_from(plane[1]).ok()?];
        let result = self.window.result(plane)?;
        let planes = elements / (plane[0] * plane[1]);
        let mut result_sizes = leading.to_vec();
        result_sizes.extend(result.map(|size| size as i64));
        let address =
            |strides: fn(&[i64]) -> Vec<i64>| aten::address(input, DType::F32, &sizes, &strides(&sizes));
        let (values, order, strides) = match address(contiguous) {
            Some(values) => (values, Order::Planes, contiguous(&result_sizes)),
            // With more channels, libtorch's kernel is as fast.
            None if leading.len() == 2 && leading[1] < 16 => {
                let channels = Order::Channels(usize::try_from(leading[1]).ok()?);
                (address(channels_last)?, channels, channels_last(&result_sizes))
            }
            None => return None,
        };
        let (maxima, to_maxima) = aten::uninitialized(DType::F32, &result_sizes, &strides)?;
        let (indices, to_indices) = aten::uninitialized(DType::I64, &result_sizes, &strides)?;
        let count = planes * result[0] * result[1];
        // SAFETY: the tensors have these sizes and dtypes, and are contiguous. The results are new, so nothing else
        // refers to their memory; the kernel writes all of it and reads none of it.
        unsafe {
            ag_native::max_pool2d(
                Images {
                    input: std::slice::from_raw_parts(values.cast(), elements),
                    order,
                    plane,
                    maxima: std::slice::from_raw_parts_mut(to_maxima.cast(), count),
                    indices: std::slice::from_raw_parts_mut(to_indices.cast(), count),
                },
                &self.window,
            );
        }
        Some((maxima, indices))
    }
}

/// Returns the strides of a tensor `[N, C, H, W]` that is stored as `[N, H, W, C]`.
fn channels_last(sizes: &[i64]) -> Vec<i64> {
    let [channels, height, width] = [sizes[1], sizes[2], sizes[3]];
    vec![height * width * channels, 1, width * channels, channels]
}

/// Returns the vertical and the horizontal number of an operand: `[1, 2]`, `[2]` for twice the same, or `[]` for the
/// default.
fn pair(operand: &Operand, default: [usize; 2]) -> Option<[usize; 2]> {
    let Operand::List(items) = operand else { return None };
    let number = |operand: &Operand| match operand {
        Operand::Int(value) => usize::try_from(*value).ok(),
        _ => None,
    };
    match &items[..] {
        [] => Some(default),
        [both] => Some([number(both)?; 2]),
        [vertical, horizontal] => Some([number(vertical)?, number(horizontal)?]),
        _ => None,
    }
}

fn contiguous(sizes: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; sizes.len()];
    for axis in (1..sizes.len()).rev() {
        strides[axis - 1] = strides[axis] * sizes[axis].max(1);
    }
    strides
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::*;

    fn ints(values: [i64; 2]) -> Operand {
        Operand::List(values.map(Operand::Int).into())
    }

    #[test]
    fn results_are_those_of_libtorch() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut native = 0;
        for case in 0..600 {
            let mut number = |low: i64, high: i64| random.i64(low..=high);
            let kernel = [number(1, 4), number(1, 4)];
            let stride = [number(1, 3), number(1, 3)];
            let padding = kernel.map(|size| number(0, size / 2));
            let dilation = [number(1, 2), number(1, 2)];
            let sizes = [number(1, 3), number(1, 18), number(8, 20), number(8, 40)];
            let operands = [Operand::None, ints(kernel), ints(stride), ints(padding), ints(dilation)];
            let pool = MaxPool::of("aten.max_pool2d_with_indices.default", &operands).unwrap();
            // Few different values, so that some elements are equal.
            let input = Tensor::randint_low(-3, 4, sizes, (Kind::Float, Device::Cpu));
            let special = Tensor::rand(sizes, (Kind::Float, Device::Cpu));
            let input = input.masked_fill(&special.lt(0.1), f64::NEG_INFINITY);
            let input = if case % 2 == 0 { input } else { input.masked_fill(&special.gt(0.97), f64::NAN) };
            let input = match case % 5 {
                0 => input.select(0, 0),
                1 | 2 => input.permute([0, 2, 3, 1]).contiguous().permute([0, 3, 1, 2]),
                _ => input,
            };
            let (maxima, indices) = input.max_pool2d_with_indices(kernel, stride, padding, dilation, false);
            let Some(found) = pool.run_native(&input) else { continue };
            native += 1;
            let message = format!("{kernel:?} {stride:?} {padding:?} {dilation:?} {sizes:?}");
            assert_eq!(found.0.size(), maxima.size(), "{message}");
            assert_eq!(found.0.stride(), maxima.stride(), "{message}");
            assert!(
                found.0.nan_to_num(9.0, None, None).equal(&maxima.nan_to_num(9.0, None, None)),
                "{message}"
            );
            assert!(found.1.equal(&indices), "{message}");
        }
        assert!(native > 500, "{native}");
    }

    #[test]
    fn libtorch_runs_other_layouts_and_raises() {
        let pool = |kernel| {
            let operands = [Operand::None, ints(kernel)];
            MaxPool::of("aten.max_pool2d_with_indices.default", &operands).unwrap()
        };
        let input = Tensor::rand([2, 3, 8, 8], (Kind::Float, Device::Cpu));
        assert!(pool([2, 2]).run_native(&input.transpose(2, 3)).is_none());
        assert!(pool([2, 2]).run_native(&input.to_kind(Kind::Double)).is_none());
        assert_eq!(pool([2, 2]).run(&input.transpose(2, 3)).unwrap().0.size(), [2, 3, 4, 4]);
        assert!(pool([9, 9]).run(&input).is_err());
    }
}
