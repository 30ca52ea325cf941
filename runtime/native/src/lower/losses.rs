//! Losses.

use ag_graph::ir::{Node, Operand};

use super::{Item, Lowering};
use crate::dtype::Element;
use crate::kernels::loss::Loss;
use crate::program::Step;
use crate::view::View;

impl Lowering<'_> {
    /// Lowers losses and their derivatives.
    pub(super) fn loss_operator(&mut self, name: &str, node: &Node) -> Option<()> {
        match (name, &node.operands[..]) {
            ("nll_loss_forward.default", [x, classes, Operand::None, reduction, ignored]) => {
                let (x, classes) = (self.tensor(x)?, self.tensor(classes)?);
                let loss = loss(&x, &classes, reduction, ignored)?;
                let outs = [self.allocate(x.element, &[])?, self.allocate(x.element, &[])?];
                let x = self.as_contiguous(&x)?;
                let places = [outs[0].place, outs[1].place];
                self.step(Step::Loss { loss, outs: places, x: x.place, classes: classes.place });
                for (output, out) in node.outputs.iter().zip(outs) {
                    self.define(*output, Item::Tensor(out));
                }
                Some(())
            }
            (
                "nll_loss_backward.default",
                [gradient, x, classes, Operand::None, reduction, ignored, weight],
            ) => {
                let (x, classes) = (self.tensor(x)?, self.tensor(classes)?);
                let (gradient, weight) = (self.tensor(gradient)?, self.tensor(weight)?);
                let loss = loss(&x, &classes, reduction, ignored)?;
                let fits = |view: &View| view.element == x.element && view.count() == 1;
                (fits(&gradient) && fits(&weight)).then_some(())?;
                let out = self.allocate(x.element, &x.sizes)?;
                self.step(Step::LossBackward {
                    loss,
                    out: out.place,
                    gradient: gradient.place,
                    classes: classes.place,
                    weight: weight.place,
                });
                self.define_result(node, out)
            }
            _ => None,
        }
    }
}

fn loss(x: &View, classes: &View, reduction: &Operand, ignored: &Operand) -> Option<Loss> {
    let (&[rows, columns], Operand::Int(ignored)) = (&x.sizes[..], ignored) else { return None };
    // Constants from `at::Reduction`.
    let is_mean = match reduction {
        Operand::Int(1) => true,
        Operand::Int(2) => false,
        _ => return None,
    };
    let fits = classes.element == Element::I64 && classes.sizes == [rows] && classes.is_contiguous();
    (fits && x.element.is_floating()).then_some(Loss {
        element: x.element,
        rows,
        columns,
        ignored: *ignored,
        is_mean,
    })
}
