//! Macros that expand to loops over elements.
#![allow(unsafe_code, reason = "kernels read and write memory by address")]

use super::{Instructions, instructions};

/// Writes rows of elements to `out`. The result of a kernel other than `copy` has contiguous rows.
///
/// # Safety
/// All addresses must be aligned and valid for the shape, and the result must not overlap an operand, unless both have
/// the same address, dtype and strides.
pub(crate) type Function = unsafe fn(out: *mut u8, inputs: [*const u8; 3], shape: &Shape);

/// The shape of the operands and the result of a kernel. In each array, the operands are first and the result is last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// The number of elements of a row.
    pub(crate) count: u32,
    /// The distances of the elements of a row, in elements.
    pub(crate) strides: [u32; 4],
    /// The number of rows, at least one.
    pub(crate) rows: u32,
    /// The distances of the rows in bytes.
    pub(crate) row_strides: [u32; 4],
}

impl Shape {
    /// Returns the shape of one row.
    pub(crate) fn row(count: u32, strides: [u32; 4]) -> Self {
        Self { count, strides, rows: 1, row_strides: [0; 4] }
    }
}

/// The versions of a kernel, one for each instruction set.
#[derive(Clone, Copy)]
pub(super) struct Versions {
    pub(super) portable: Function,
    pub(super) avx2: Function,
    pub(super) avx512: Function,
}

impl Versions {
    pub(super) fn select(self) -> Function {
        match instructions() {
            Instructions::Portable => self.portable,
            Instructions::Avx2 => self.avx2,
            Instructions::Avx512 => self.avx512,
        }
    }
}

/// Expands a loop over the elements of a row, and the loop over rows around it, for each instruction set. In the loop, the
/// constant `WIDE` is true if there are AVX2 and FMA.
macro_rules! versions {
    (|$out:ident, $inputs:ident, $count:ident, $strides:ident| $body:block) => {{
        macro_rules! rows {
            ($from:ident, $operands:ident, $shape:ident) => {{
                let [a, b, c, d] = $shape.strides;
                let ($count, $strides) =
                    ($shape.count as usize, [a as usize, b as usize, c as usize, d as usize]);
                let (mut start, mut operands, mut rows) = ($from, $operands, $shape.rows);
                loop {
                    let ($out, $inputs) = (start, operands);
                    // SAFETY: see `Function`.
                    unsafe { $body }
                    rows -= 1;
                    if rows == 0 {
                        break;
                    }
                    start = start.wrapping_add($shape.row_strides[3] as usize);
                    for (operand, stride) in operands.iter_mut().zip($shape.row_strides) {
                        *operand = operand.wrapping_add(stride as usize);
                    }
                }
            }};
        }
        /// # Safety
        /// See [`Function`].
        unsafe fn portable(out: *mut u8, operands: [*const u8; 3], shape: &Shape) {
            #[allow(dead_code, reason = "most kernels are the same for all")]
            const WIDE: bool = false;
            rows!(out, operands, shape);
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        /// # Safety
        /// See [`Function`]; the processor must have AVX2 and FMA.
        unsafe fn avx2(out: *mut u8, operands: [*const u8; 3], shape: &Shape) {
            #[allow(dead_code, reason = "most kernels are the same for all")]
            const WIDE: bool = true;
            rows!(out, operands, shape);
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,fma")]
        /// # Safety
        /// See [`Function`]; the processor must have AVX-512.
        unsafe fn avx512(out: *mut u8, operands: [*const u8; 3], shape: &Shape) {
            #[allow(dead_code, reason = "most kernels are the same for all")]
            const WIDE: bool = true;
            rows!(out, operands, shape);
        }
        #[cfg(not(target_arch = "x86_64"))]
        use {portable as avx2, portable as avx512};
        Versions { portable, avx2, avx512 }.select()
    }};
}

/// Returns the number unchanged, but hides its value from the compiler. Otherwise the compiler would vectorize not only
/// blocks but, with AVX-512, also the loop over blocks, with gathers that are ten times slower.
#[inline(always)]
pub(super) fn opaque(number: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        let mut number = number;
        // SAFETY: the assembly is a comment and contains no instruction.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) number, options(pure, nomem, nostack, preserves_flags));
        }
        number
    }
    #[cfg(not(target_arch = "x86_64"))]
    number
}

/// Writes a value for each element of the operands: in blocks of 16, then of 8 and 4, then one by one.
///
/// All values of a block are computed before they are written. The result may be in the memory of an operand, so the
/// compiler would not vectorize a loop that does both. `one_by_one` is for expressions that call a function, because
/// the compiler cannot vectorize them.
macro_rules! each {
    (one_by_one, $out:ident: $to:ty, $count:ident, [$($x:ident: $a:ident),*], $value:expr) => {
        for i in 0..$count {
            $(let $x = $a.add(i).read();)*
            $out.add(i).write($value);
        }
    };
    (vectors, $out:ident: $to:ty, $count:ident, [$($x:ident: $a:ident),*], $value:expr) => {{
        let mut at = 0;
        while at + 16 <= $count {
            block!(16, at, $out: $to, [$($x: $a),*], $value);
            at = opaque(at);
        }
        if at + 8 <= $count {
            block!(8, at, $out: $to, [$($x: $a),*], $value);
        }
        if at + 4 <= $count {
            block!(4, at, $out: $to, [$($x: $a),*], $value);
        }
        for i in at..$count {
            $(let $x = $a.add(i).read();)*
            $out.add(i).write($value);
        }
    }};
}

macro_rules! block {
    ($size:literal, $at:ident, $out:ident: $to:ty, [$($x:ident: $a:ident),*], $value:expr) => {
        let mut block = [<$to>::default(); $size];
        for (k, result) in block.iter_mut().enumerate() {
            $(let $x = $a.add($at + k).read();)*
            *result = $value;
        }
        for (k, result) in block.into_iter().enumerate() {
            $out.add($at + k).write(result);
        }
        $at += $size;
    };
}

macro_rules! unary {
    ($from:ty => $to:ty, |$x:ident| $value:expr) => { unary!(vectors, $from => $to, |$x| $value) };
    ($how:ident, $from:ty => $to:ty, |$x:ident| $value:expr) => {
        versions!(|out, inputs, count, strides| {
            let (out, a) = (out.cast::<$to>(), inputs[0].cast::<$from>());
            if count == 1 {
                let $x = a.read();
                out.write($value);
            } else if strides[0] == 1 {
                each!($how, out: $to, count, [$x: a], $value);
            } else {
                for i in 0..count {
                    let $x = a.add(i * strides[0]).read();
                    out.add(i).write($value);
                }
            }
        })
    };
}

macro_rules! binary {
    ($from:ty => $to:ty, |$x:ident, $y:ident| $value:expr) => { binary!(vectors, $from => $to, |$x, $y| $value) };
    ($how:ident, $from:ty => $to:ty, |$x:ident, $y:ident| $value:expr) => {
        versions!(|out, inputs, count, strides| {
            let (out, a, b) = (out.cast::<$to>(), inputs[0].cast::<$from>(), inputs[1].cast::<$from>());
            if count == 1 {
                let ($x, $y) = (a.read(), b.read());
                out.write($value);
            } else { match strides {
                [1, 1, ..] => each!($how, out: $to, count, [$x: a, $y: b], $value),
                // A vector and a number.
                [1, 0, ..] => {
                    let $y = b.read();
                    each!($how, out: $to, count, [$x: a], $value);
                }
                [0, 1, ..] => {
                    let $x = a.read();
                    each!($how, out: $to, count, [$y: b], $value);
                }
                _ => {
                    for i in 0..count {
                        let ($x, $y) = (a.add(i * strides[0]).read(), b.add(i * strides[1]).read());
                        out.add(i).write($value);
                    }
                }
            } }
        })
    };
}

macro_rules! ternary {
    ($a:ty, $b:ty, $c:ty => $to:ty, |$x:ident, $y:ident, $z:ident| $value:expr) => {
        ternary!(vectors, $a, $b, $c => $to, |$x, $y, $z| $value)
    };
    ($how:ident, $a:ty, $b:ty, $c:ty => $to:ty, |$x:ident, $y:ident, $z:ident| $value:expr) => {
        versions!(|out, inputs, count, strides| {
            let out = out.cast::<$to>();
            let (a, b, c) = (inputs[0].cast::<$a>(), inputs[1].cast::<$b>(), inputs[2].cast::<$c>());
            if count == 1 {
                let ($x, $y, $z) = (a.read(), b.read(), c.read());
                out.write($value);
            } else { match strides {
                [1, 1, 1, _] => each!($how, out: $to, count, [$x: a, $y: b, $z: c], $value),
                // `torch.where(mask, x, 0.0)` and `x.masked_fill(mask, 0.0)`
                [1, 1, 0, _] => {
                    let $z = c.read();
                    each!($how, out: $to, count, [$x: a, $y: b], $value);
                }
                [0, 1, 1, _] => {
                    let $x = a.read();
                    each!($how, out: $to, count, [$y: b, $z: c], $value);
                }
                [1, 0, 1, _] => {
                    let $y = b.read();
                    each!($how, out: $to, count, [$x: a, $z: c], $value);
                }
                _ => {
                    for i in 0..count {
                        let ($x, $y) = (a.add(i * strides[0]).read(), b.add(i * strides[1]).read());
                        let $z = c.add(i * strides[2]).read();
                        out.add(i).write($value);
                    }
                }
            } }
        })
    };
}

/// Expands an expression for each floating dtype; `T` is the type.
macro_rules! floats {
    ($element:expr, $T:ident => $kernel:expr) => {
        match $element {
            Element::F32 => {
                type $T = f32;
                Some($kernel)
            }
            Element::F64 => {
                type $T = f64;
                Some($kernel)
            }
            _ => None,
        }
    };
}

/// Expands an expression for floating dtypes and integers.
macro_rules! numbers {
    ($element:expr, $T:ident => $kernel:expr) => {
        match $element {
            Element::F32 => {
                type $T = f32;
                Some($kernel)
            }
            Element::F64 => {
                type $T = f64;
                Some($kernel)
            }
            Element::I32 => {
                type $T = i32;
                Some($kernel)
            }
            Element::I64 => {
                type $T = i64;
                Some($kernel)
            }
            Element::Bool => None,
        }
    };
}

/// Expands a function of real numbers: the function of the standard library in `f64`, or, where one is given, a
/// function of `f32` that vectorizes.
macro_rules! real {
    ($element:expr, $exact:expr) => {
        match $element {
            Element::F32 => Some(unary!(one_by_one, f32 => f32, |x| $exact(f64::from(x)) as f32)),
            Element::F64 => Some(unary!(one_by_one, f64 => f64, |x| $exact(x))),
            _ => None,
        }
    };
    ($element:expr, $function:ident, $exact:expr) => {
        match $element {
            Element::F32 => Some(unary!(f32 => f32, |x| math::$function::<WIDE>(x))),
            Element::F64 => Some(unary!(one_by_one, f64 => f64, |x| $exact(x))),
            _ => None,
        }
    };
}
