//! Tensors in memory: a place, sizes and strides. All are known when a segment is lowered, so operators that return a
//! view cost nothing at run time.

use crate::dtype::Element;

/// An address: a base, which is known when a segment runs, and an offset in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) base: u32,
    pub(crate) offset: u32,
}

/// The index of a buffer of the arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct BufferId(pub(crate) u32);

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct View {
    pub(crate) place: Place,
    pub(crate) element: Element,
    pub(crate) sizes: Vec<usize>,
    /// In elements.
    pub(crate) strides: Vec<usize>,
    /// The buffer that contains the view. Inputs and constants have none.
    pub(crate) buffer: Option<BufferId>,
    /// Whether torch's result would have these strides.
    pub(crate) has_torch_layout: bool,
}

/// Returns the strides of a contiguous tensor.
pub(crate) fn contiguous(sizes: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; sizes.len()];
    for dim in (1..sizes.len()).rev() {
        strides[dim - 1] = strides[dim] * sizes[dim].max(1);
    }
    strides
}

/// Returns the distance from the first to the last element, plus one. `None` if it does not fit into a `usize`.
pub(crate) fn extent(sizes: &[usize], strides: &[usize]) -> Option<usize> {
    let last = sizes.iter().zip(strides).try_fold(0_usize, |last, (size, stride)| {
        last.checked_add(size.saturating_sub(1).checked_mul(*stride)?)
    });
    last?.checked_add(1)
}

impl View {
    pub(crate) fn count(&self) -> usize {
        self.sizes.iter().product()
    }

    pub(crate) fn rank(&self) -> usize {
        self.sizes.len()
    }

    pub(crate) fn is_contiguous(&self) -> bool {
        let wanted = contiguous(&self.sizes);
        self.count() == 0
            || self.sizes.iter().zip(&self.strides).zip(&wanted).all(|((size, a), b)| *size == 1 || a == b)
    }

    /// Returns whether the elements fill the memory without gaps or overlaps, in any order of dimensions.
    pub(crate) fn is_dense(&self) -> bool {
        let mut dims: Vec<(usize, usize)> =
            self.strides.iter().copied().zip(self.sizes.iter().copied()).filter(|dim| dim.1 != 1).collect();
        dims.sort_unstable();
        let mut expected = 1;
        dims.into_iter().all(|(stride, size)| {
            let fits = stride == expected;
            expected *= size;
            fits
        })
    }

    /// Returns the strides of a dense tensor with the same sizes and the same order of dimensions. `None` if the
    /// strides of this view do not determine an order.
    pub(crate) fn dense_strides(&self) -> Option<Vec<usize>> {
        let mut order: Vec<usize> = (0..self.rank()).filter(|dim| self.sizes[*dim] != 1).collect();
        order.sort_by_key(|dim| self.strides[*dim]);
        let is_ordered = order.windows(2).all(|pair| self.strides[pair[0]] < self.strides[pair[1]]);
        let is_simple = order.len() == self.rank() && order.first().is_none_or(|dim| self.strides[*dim] > 0);
        (is_ordered && is_simple).then_some(())?;
        let mut strides = vec![1; self.rank()];
        let mut next = 1;
        for dim in order {
            strides[dim] = next;
            next *= self.sizes[dim];
        }
        Some(strides)
    }

    /// Returns a view with other sizes and strides, which starts `offset` elements after this one.
    pub(crate) fn with(&self, sizes: Vec<usize>, strides: Vec<usize>, offset: usize) -> Self {
        let mut view = self.clone();
        view.place.offset += (offset * self.element.size()) as u32;
        (view.sizes, view.strides) = (sizes, strides);
        view
    }

    /// Returns the view of `Tensor.expand`; `None` if the sizes do not fit.
    pub(crate) fn expand(&self, sizes: &[usize]) -> Option<Self> {
        let added = sizes.len().checked_sub(self.rank())?;
        let mut strides = vec![0; added];
        for ((size, stride), wanted) in self.sizes.iter().zip(&self.strides).zip(&sizes[added..]) {
            match (size, wanted) {
                (a, b) if a == b => strides.push(*stride),
                (1, _) => strides.push(0),
                _ => return None,
            }
        }
        Some(self.with(sizes.to_vec(), strides, 0))
    }

    /// Returns the view of `Tensor.view`; `None` if the elements would have to be copied. Only two cases are supported:
    /// contiguous tensors, and shapes that differ only by dimensions of size one.
    pub(crate) fn reshape(&self, sizes: &[usize]) -> Option<Self> {
        if self.is_contiguous() {
            return Some(self.with(sizes.to_vec(), contiguous(sizes), 0));
        }
        let long = |sizes: &[usize]| sizes.iter().copied().filter(|size| *size != 1).collect::<Vec<_>>();
        if long(&self.sizes) != long(sizes) {
            return None;
        }
        let mut known =
            self.sizes.iter().zip(&self.strides).filter(|(size, _)| **size != 1).map(|(_, stride)| *stride);
        let mut strides: Vec<usize> =
            sizes.iter().map(|size| if *size == 1 { 0 } else { known.next().unwrap_or(1) }).collect();
        for dim in (0..sizes.len()).rev() {
            if sizes[dim] == 1 {
                strides[dim] = if dim + 1 < sizes.len() { strides[dim + 1] * sizes[dim + 1] } else { 1 };
            }
        }
        Some(self.with(sizes.to_vec(), strides, 0))
    }
}

/// Returns the shape of the result of an elementwise operator.
pub(crate) fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let at =
        |sizes: &[usize], dim: usize| (dim + sizes.len()).checked_sub(rank).map_or(1, |index| sizes[index]);
    (0..rank)
        .map(|dim| match (at(a, dim), at(b, dim)) {
            (a, b) if a == b => Some(a),
            (1, b) => Some(b),
            (a, 1) => Some(a),
            _ => None,
        })
        .collect()
}
