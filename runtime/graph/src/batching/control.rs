//! Loops and branches within a batched loop. Their conditions and numbers of iterations must be the same in all
//! iterations of the batched loop.

use super::Batching;
use super::lane::{Lane, List};
use crate::ir::arithmetic::range_length;
use crate::ir::graph::{Node, Region, Value};
use crate::ir::op::Op;
use crate::ir::operand::Operand;

impl Batching<'_> {
    pub(super) fn nested_loop(&mut self, node: &Node) -> Option<()> {
        let start = if node.op == Op::For { 3 } else { 0 };
        let lane = |operand| self.lane(operand);
        let bounds = node.operands[..start].iter().map(|operand| lane(operand)?.same());
        let bounds = bounds.collect::<Option<Vec<_>>>()?;
        let mut starts = node.operands[start..].iter().map(lane).collect::<Option<Vec<_>>>()?;
        for (lane, output) in starts.iter_mut().zip(&node.outputs) {
            *lane = self.with_sum(lane, *output)?;
        }
        loop {
            let (values, nodes) = (self.values.len(), self.nodes.len());
            match self.with_starts(node, &bounds, &starts)? {
                Visited::Complete => return Some(()),
                // `h = h0; for t in range(n): h = f(h, x[i, t])`: `h` is the same for all `i` only before the nested
                // loop.
                Visited::Differs(places) => {
                    self.values.truncate(values);
                    self.nodes.truncate(nodes);
                    for place in places {
                        starts[place] = Lane::Each(self.each(&starts[place])?);
                    }
                }
            }
        }
    }

    /// Emits a nested loop whose carried values start as these lanes.
    fn with_starts(&mut self, node: &Node, bounds: &[Operand], starts: &[Lane]) -> Option<Visited> {
        let (body, is_for) = if node.op == Op::For { (0, true) } else { (1, false) };
        let (mut regions, mut outputs) = (Vec::new(), Vec::new());
        for (index, region) in node.regions.iter().enumerate() {
            let first = usize::from(is_for && index == body);
            let mut params = region.params[..first].to_vec();
            let mut carried = Vec::new();
            for (param, start) in region.params[first..].iter().zip(starts) {
                let ty = match start {
                    Lane::Same(_) => self.values[param.index()].ty.clone(),
                    start => self.ty(&start.operand()?),
                };
                let value = self.value(ty);
                params.push(value);
                carried.push(start.with(value));
                self.lanes.insert(*param, start.with(value));
            }
            let outer = std::mem::take(&mut self.nodes);
            self.region(region)?;
            let results =
                region.results.iter().map(|result| self.lane(result)).collect::<Option<Vec<_>>>()?;
            let results = if index == body {
                let differs = |place: &usize| {
                    matches!((&starts[*place], &results[*place]), (Lane::Same(_), Lane::Each(_)))
                };
                let places: Vec<usize> = (0..starts.len()).filter(differs).collect();
                if !places.is_empty() {
                    self.nodes = outer;
                    return Some(Visited::Differs(places));
                }
                let count = match *bounds {
                    [Operand::Int(start), Operand::Int(stop), Operand::Int(step)]
                        if node.regions.len() == 1 =>
                    {
                        range_length(start, stop, step)
                    }
                    _ => None,
                };
                for (start, result) in starts.iter().zip(&results) {
                    outputs.push(start.after(result, count)?);
                }
                carried.iter().zip(&results).map(|(lane, result)| self.as_lane(lane, result)).collect()
            } else {
                results.iter().map(Lane::same).collect::<Option<Vec<_>>>()
            }?;
            let nodes = std::mem::replace(&mut self.nodes, outer);
            regions.push(Region { params, nodes, results });
        }
        let mut operands = bounds.to_vec();
        operands.extend(starts.iter().map(Lane::operand).collect::<Option<Vec<_>>>()?);
        self.with_regions(node, operands, regions, &outputs)?;
        Some(Visited::Complete)
    }

    /// Emits a loop or a branch. `lanes` represent its results; each gets a new value.
    fn with_regions(
        &mut self,
        node: &Node,
        operands: Vec<Operand>,
        regions: Vec<Region>,
        lanes: &[Lane],
    ) -> Option<()> {
        let mut outputs = Vec::new();
        for (output, lane) in node.outputs.iter().zip(lanes) {
            let ty = match lane {
                Lane::Same(_) => self.values[output.index()].ty.clone(),
                lane => self.ty(&lane.operand()?),
            };
            let value = self.value(ty);
            outputs.push(value);
            self.lanes.insert(*output, lane.with(value));
        }
        self.nodes.push(Node { operands, outputs, regions, ..node.clone() });
        Some(())
    }

    pub(super) fn branch(&mut self, node: &Node) -> Option<()> {
        let condition = self.lane(node.operands.first()?)?.same()?;
        let [then, otherwise] = &node.regions[..] else { return None };
        let (mut then, then_lanes) = self.visited(then)?;
        let (mut otherwise, else_lanes) = self.visited(otherwise)?;
        let mut lanes = Vec::new();
        for ((a, b), output) in then_lanes.iter().zip(&else_lanes).zip(&node.outputs) {
            lanes.push(match (a, b) {
                (Lane::Same(_), Lane::Same(_)) => a.clone(),
                (Lane::Same(_), Lane::Each(_)) => b.clone(),
                (Lane::Carried { .. }, Lane::Carried { .. }) => self.with_sum(a, *output)?,
                (Lane::List(list), Lane::List(other)) => {
                    let length = list.length.filter(|length| other.length == Some(*length));
                    Lane::List(List { length, ..list.clone() })
                }
                _ => a.clone(),
            });
        }
        for (region, results) in [(&mut then, &then_lanes), (&mut otherwise, &else_lanes)] {
            let outer = std::mem::replace(&mut self.nodes, std::mem::take(&mut region.nodes));
            for ((lane, result), output) in lanes.iter().zip(results).zip(&node.outputs) {
                let result = self.with_sum(result, *output)?;
                region.results.push(self.as_lane(lane, &result)?);
            }
            region.nodes = std::mem::replace(&mut self.nodes, outer);
        }
        self.with_regions(node, vec![condition], vec![then, otherwise], &lanes)
    }

    /// Visits a branch. Returns its region, without results, and the lanes of the results.
    fn visited(&mut self, region: &Region) -> Option<(Region, Vec<Lane>)> {
        let outer = std::mem::take(&mut self.nodes);
        self.region(region)?;
        let lanes = region.results.iter().map(|result| self.lane(result)).collect::<Option<Vec<_>>>()?;
        let nodes = std::mem::replace(&mut self.nodes, outer);
        Some((Region { nodes, ..Region::default() }, lanes))
    }

    /// Returns the operand for a result of a region, converted to the kind of `lane`. `None` if that is not possible.
    fn as_lane(&mut self, lane: &Lane, result: &Lane) -> Option<Operand> {
        match (lane, result) {
            (Lane::Same(_), Lane::Same(operand)) => Some(operand.clone()),
            (Lane::Each(_), result) => self.each(result).map(Operand::Value),
            (Lane::List(list), Lane::List(result)) if list.place == result.place => Some(result.value.into()),
            (Lane::Carried { place, .. }, Lane::Carried { place: also, sum }) if place == also => {
                sum.map(Operand::Value)
            }
            _ => None,
        }
    }

    /// If nothing has been added to a carried tensor yet, returns it with a sum of zeros. `output` is a value of the same
    /// type.
    fn with_sum(&mut self, lane: &Lane, output: Value) -> Option<Lane> {
        let Lane::Carried { place, sum: None } = *lane else { return Some(lane.clone()) };
        let ty = self.batched_type(&self.values[output.index()].ty)?;
        let (dtype, device) = (Operand::DType(ty.dtype), Operand::Device(ty.device));
        let sizes = ty.sizes()?;
        let operands = vec![super::size_list(&sizes), dtype, Operand::None, device, Operand::None];
        Some(Lane::Carried { place, sum: Some(self.tensor("zeros.default", operands, &ty, &sizes)) })
    }
}

/// The outcome of a visit of a nested loop.
enum Visited {
    Complete,
    /// These carried values were assumed to be the same in all iterations, but are not.
    Differs(Vec<usize>),
}

impl Lane {
    /// Returns the operand that carries the lane into a loop.
    fn operand(&self) -> Option<Operand> {
        match self {
            Self::Same(operand) => Some(operand.clone()),
            Self::Each(value) | Self::Carried { sum: Some(value), .. } => Some((*value).into()),
            Self::List(list) => Some(list.value.into()),
            _ => None,
        }
    }

    /// Returns the lane with another value.
    fn with(&self, value: Value) -> Self {
        match self {
            Self::Same(_) => Self::Same(value.into()),
            Self::List(list) => Self::List(List { value, ..list.clone() }),
            Self::Carried { place, .. } => Self::Carried { place: *place, sum: Some(value) },
            _ => Self::Each(value),
        }
    }

    /// Returns the lane of the result of a loop that starts with `self`, where one iteration returns `result`. `count` is the
    /// number of iterations, if it is known.
    fn after(&self, result: &Self, count: Option<u64>) -> Option<Self> {
        let (Self::List(start), Self::List(end)) = (self, result) else { return Some(self.clone()) };
        let length = match (start.length, end.length) {
            (Some(start), Some(end)) if start == end => Some(start),
            (Some(start), Some(end)) => {
                count.and_then(|count| end.checked_sub(start)?.checked_mul(count)?.checked_add(start))
            }
            _ => None,
        };
        Some(Self::List(List { length, ..start.clone() }))
    }
}
