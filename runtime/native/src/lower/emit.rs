//! Memory, registers and steps of the program.

use ag_graph::ir::Node;

use super::{Item, Lowering, known};
use crate::dtype::Element;
use crate::kernels::{Kernel, Shape, maps as kernels};
use crate::program::{ARENA, CONSTANTS, Elementwise, ListRegister, Outer, Register, Step};
use crate::view::{Place, View, contiguous};

/// The maximum number of elements of a tensor that joins the items of a list: 32 MiB of `f32`.
const MAX_COPIED: usize = 1 << 23;

impl Lowering<'_> {
    pub(super) fn new_base(&mut self) -> u32 {
        self.program.bases += 1;
        self.program.bases - 1
    }

    pub(super) fn new_register(&mut self) -> Register {
        self.program.registers += 1;
        Register(self.program.registers - 1)
    }

    pub(super) fn new_list(&mut self) -> ListRegister {
        self.program.lists += 1;
        ListRegister(self.program.lists - 1)
    }

    pub(super) fn step(&mut self, step: Step) -> u32 {
        self.program.steps.push(step);
        self.program.origins.push(self.operation);
        let jumps = matches!(
            step,
            Step::Stop
                | Step::Jump { .. }
                | Step::JumpIfFalse { .. }
                | Step::JumpBack { .. }
                | Step::ForTest { .. }
                | Step::ForNext { .. }
        );
        if jumps {
            self.last_jump = self.next();
        }
        (self.program.steps.len() - 1) as u32
    }

    pub(super) fn next(&self) -> u32 {
        self.program.steps.len() as u32
    }

    /// Allocates a contiguous tensor in the arena. It is freed after the current node, unless it becomes a value.
    pub(super) fn allocate(&mut self, element: Element, sizes: &[usize]) -> Option<View> {
        let view = self.reserve(element, sizes)?;
        self.temporaries.extend(view.buffer);
        Some(view)
    }

    /// Allocates a tensor that joins the items of a list and is only copied, so it may be larger than other tensors. It
    /// is freed after the current node, unless it becomes a value.
    pub(super) fn allocate_copy(&mut self, element: Element, sizes: &[usize]) -> Option<View> {
        let view = self.reserve_up_to(MAX_COPIED.max(self.options.limits.elements), element, sizes)?;
        self.temporaries.extend(view.buffer);
        Some(view)
    }

    /// Allocates a contiguous tensor in the arena. The caller must release it.
    pub(super) fn reserve(&mut self, element: Element, sizes: &[usize]) -> Option<View> {
        self.reserve_up_to(self.options.limits.elements, element, sizes)
    }

    fn reserve_up_to(&mut self, most: usize, element: Element, sizes: &[usize]) -> Option<View> {
        let count: usize = sizes.iter().product();
        if count == 0 || count > most {
            return None;
        }
        let bytes = count * element.size();
        let (buffer, offset) = self.arena.allocate(bytes);
        // Offsets in a program have 32 bits.
        u32::try_from(offset + bytes).ok()?;
        Some(View {
            place: Place { base: ARENA, offset: offset as u32 },
            element,
            sizes: sizes.to_vec(),
            strides: contiguous(sizes),
            buffer: Some(buffer),
            has_torch_layout: true,
        })
    }

    /// Returns the dtype and the sizes of the only result of a node.
    pub(super) fn result(&self, node: &Node) -> Option<(Element, Vec<usize>)> {
        let [output] = node.outputs[..] else { return None };
        known(self.function.ty(output).tensor()?)
    }

    /// Defines the only result of a node. `None` if the tensor does not have the type of the result in the graph.
    pub(super) fn define_result(&mut self, node: &Node, view: View) -> Option<()> {
        let (element, sizes) = self.result(node)?;
        (element == view.element && sizes == view.sizes).then_some(())?;
        self.define(node.outputs[0], Item::Tensor(view));
        Some(())
    }

    /// Returns a contiguous tensor with the same elements.
    pub(super) fn as_contiguous(&mut self, view: &View) -> Option<View> {
        if view.is_contiguous() {
            return Some(view.clone());
        }
        let out = self.allocate(view.element, &view.sizes)?;
        self.copy(&out, view)?;
        Some(out)
    }

    /// Copies elements. `out` need not be contiguous.
    pub(super) fn copy(&mut self, out: &View, from: &View) -> Option<()> {
        self.emit(kernels::copy(from.element), out, &[from])
    }

    /// Emits an elementwise step. Operands are broadcast to the result, which is contiguous unless the kernel copies.
    pub(super) fn emit(&mut self, kernel: Kernel, out: &View, operands: &[&View]) -> Option<()> {
        let mut views = Vec::with_capacity(3);
        for operand in operands {
            views.push(operand.expand(&out.sizes)?);
        }
        // The dimensions, innermost first. Adjacent dimensions are merged where all strides allow it.
        let mut dims: Vec<(usize, [usize; 4])> = Vec::new();
        let mut order: Vec<usize> = (0..out.rank()).rev().filter(|dim| out.sizes[*dim] != 1).collect();
        order.sort_by_key(|dim| out.strides[*dim]);
        for dim in order {
            let mut strides = [0, 0, 0, out.strides[dim]];
            for (stride, view) in strides.iter_mut().zip(&views) {
                *stride = view.strides[dim];
            }
            match dims.last_mut() {
                Some((size, inner)) if inner.iter().zip(&strides).all(|(a, b)| a * *size == *b) => {
                    *size *= out.sizes[dim];
                }
                _ => dims.push((out.sizes[dim], strides)),
            }
        }
        let (count, strides) = if dims.is_empty() { (1, [1; 4]) } else { dims.remove(0) };
        let bytes = |slot: usize| views.get(slot).map_or(0, |view| view.element.size());
        let bytes = [bytes(0), bytes(1), bytes(2), out.element.size()];
        let start = self.program.outer.len() as u32;
        for (size, strides) in dims.iter().rev() {
            let strides = [0, 1, 2, 3].map(|slot| (strides[slot] * bytes[slot]) as u32);
            self.program.outer.push(Outer { size: *size as u32, strides });
        }
        let nowhere = Place { base: CONSTANTS, offset: 0 };
        let places = [0, 1, 2].map(|slot| views.get(slot).map_or(nowhere, |view| view.place));
        self.step(Step::Elementwise(Elementwise {
            kernel,
            out: out.place,
            operands: places,
            shape: Shape::row(count as u32, strides.map(|stride| stride as u32)),
            bytes: bytes.map(|bytes| bytes as u8),
            outer: (start, dims.len() as u32),
        }));
        Some(())
    }
}
