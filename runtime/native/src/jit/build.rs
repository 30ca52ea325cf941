//! The function of a loop: its basic blocks, jumps and calls.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, Function, InstBuilder, MemFlagsData, SigRef, Signature, Value, types,
};
use cranelift_codegen::isa::TargetIsa;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use rustc_hash::FxHashMap;

use super::calls::{BASES, REGISTERS, interpret, poll};
use super::state::State;
use super::steps;
use crate::hot::Loop;
use crate::kernels::is_wide;
use crate::program::{ARENA, Program, Step};

/// Emits the instructions of a loop.
pub(super) struct Emitter<'a> {
    pub(super) program: &'a Program,
    pub(super) b: FunctionBuilder<'a>,
    /// The addresses of the bases, the registers and the arena.
    pub(super) bases: Value,
    pub(super) registers: Value,
    pub(super) arena: Value,
    /// The addresses of the inputs that small steps read.
    pub(super) inputs: FxHashMap<u32, Value>,
    pub(super) state: State,
    /// Whether multiplications with additions are rounded once, as in the kernels.
    pub(super) is_fused: bool,
    run: Value,
    /// Returns because the run stops.
    stop: Block,
    interpreter: SigRef,
    poller: SigRef,
}

/// Returns the function of a loop. `None` if a jump leaves the loop for a step that does not follow it.
pub(super) fn function(program: &Program, hot: &Loop, isa: &dyn TargetIsa) -> Option<Function> {
    let mut function = Function::new();
    let convention = isa.default_call_conv();
    let signature = |parameters: &[types::Type]| {
        let mut signature = Signature::new(convention);
        signature.params.extend(parameters.iter().map(|ty| AbiParam::new(*ty)));
        signature.returns.push(AbiParam::new(types::I8));
        signature
    };
    function.signature = signature(&[types::I64]);
    let mut context = FunctionBuilderContext::new();
    let mut b = FunctionBuilder::new(&mut function, &mut context);
    let interpreter = b.import_signature(signature(&[types::I64, types::I32, types::I32]));
    let poller = b.import_signature(signature(&[types::I64]));
    let (entry, stop, exit) = (b.create_block(), b.create_block(), b.create_block());
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let run = b.block_params(entry)[0];
    let flags = MemFlagsData::trusted();
    let bases = b.ins().load(types::I64, flags, run, BASES);
    let registers = b.ins().load(types::I64, flags, run, REGISTERS);
    let mut base = |base: u32| b.ins().load(types::I64, flags, bases, base as i32 * 8);
    let arena = base(ARENA);
    let inputs = steps::inputs(program, hot).into_iter().map(|input| (input, base(input))).collect();
    let mut emitter = Emitter {
        program,
        b,
        bases,
        registers,
        arena,
        inputs,
        state: State::new(program),
        is_fused: is_wide(),
        run,
        stop,
        interpreter,
        poller,
    };
    emitter.blocks(hot, exit)?;
    for (block, result) in [(stop, 0), (exit, 1)] {
        emitter.b.switch_to_block(block);
        let result = emitter.b.ins().iconst(types::I8, result);
        emitter.b.ins().return_(&[result]);
    }
    let mut b = emitter.b;
    b.seal_all_blocks();
    b.finalize(isa.frontend_config());
    Some(function)
}

impl Emitter<'_> {
    /// Emits the steps of a loop. At the end, the current block is terminated.
    fn blocks(&mut self, hot: &Loop, exit: Block) -> Option<()> {
        let mut blocks: FxHashMap<usize, Block> = FxHashMap::default();
        for step in &self.program.steps[hot.head..=hot.back] {
            if let Some(to) = steps::target(step) {
                let is_inside = (hot.head..=hot.back).contains(&to);
                (is_inside || to == hot.back + 1).then_some(())?;
                let block = if is_inside { self.b.create_block() } else { exit };
                blocks.entry(to).or_insert(block);
            }
        }
        let mut at = hot.head;
        while at <= hot.back {
            if let Some(block) = blocks.get(&at) {
                self.flush();
                self.b.ins().jump(*block, &[]);
                self.b.switch_to_block(*block);
                self.state.clear();
            }
            let step = &self.program.steps[at];
            let to = steps::target(step).and_then(|to| blocks.get(&to).copied());
            at = match to {
                Some(to) => {
                    self.jump(step, to);
                    at + 1
                }
                None if steps::is_inlined(self.program, step) => {
                    self.step(step)?;
                    at + 1
                }
                None => {
                    let following = at + 1..=hot.back;
                    let is_called = |next: &usize| {
                        let step = &self.program.steps[*next];
                        let is_jump = steps::target(step).is_some() || blocks.contains_key(next);
                        !is_jump && !steps::is_inlined(self.program, step)
                    };
                    let end = following.take_while(is_called).last().unwrap_or(at) + 1;
                    self.interpret(at, end);
                    end
                }
            };
        }
        // The jump back is the last step, so this block is not reachable.
        self.b.ins().jump(exit, &[]);
        Some(())
    }

    /// Emits a jump. The steps after it are in a new block.
    fn jump(&mut self, step: &Step, to: Block) {
        let next = self.b.create_block();
        match *step {
            Step::JumpIfFalse { condition, .. } => {
                let condition = self.integer(condition);
                self.flush();
                self.b.ins().brif(condition, next, &[], to, &[]);
            }
            Step::ForTest { left, .. } => {
                let left = self.integer_in(left);
                self.flush();
                self.b.ins().brif(left, next, &[], to, &[]);
            }
            Step::ForNext { index, left, step, .. } => {
                self.poll();
                let (value, by, count) =
                    (self.integer_in(index), self.integer_in(step), self.integer_in(left));
                let value = self.b.ins().iadd(value, by);
                let count = self.b.ins().iadd_imm_s(count, -1);
                self.set_register(index, value);
                self.set_register(left, count);
                self.flush();
                self.b.ins().jump(to, &[]);
                self.state.clear();
            }
            Step::JumpBack { .. } => {
                self.poll();
                self.flush();
                self.b.ins().jump(to, &[]);
                self.state.clear();
            }
            _ => {
                self.flush();
                self.b.ins().jump(to, &[]);
                self.state.clear();
            }
        }
        self.b.switch_to_block(next);
    }

    fn poll(&mut self) {
        let address = self.b.ins().iconst(types::I64, poll as *const () as usize as i64);
        let call = self.b.ins().call_indirect(self.poller, address, &[self.run]);
        self.stop_unless(call);
    }

    /// Calls the interpreter for steps, which may read and write all memory.
    fn interpret(&mut self, start: usize, end: usize) {
        self.flush();
        self.state.clear();
        let address = self.b.ins().iconst(types::I64, interpret as *const () as usize as i64);
        let [start, end] = [start, end].map(|step| self.b.ins().iconst(types::I32, step as i64));
        let call = self.b.ins().call_indirect(self.interpreter, address, &[self.run, start, end]);
        self.stop_unless(call);
    }

    fn stop_unless(&mut self, call: cranelift_codegen::ir::Inst) {
        let continues = self.b.inst_results(call)[0];
        self.stop_if(continues, false);
    }

    /// Stops the run if the condition is this.
    pub(super) fn stop_if(&mut self, condition: Value, stops: bool) {
        let next = self.b.create_block();
        let (then, otherwise) = if stops { (self.stop, next) } else { (next, self.stop) };
        self.b.ins().brif(condition, then, &[], otherwise, &[]);
        self.b.switch_to_block(next);
    }

    pub(super) fn stop_if_zero(&mut self, value: Value) {
        let is_zero = self.b.ins().icmp_imm_s(IntCC::Equal, value, 0);
        self.stop_if(is_zero, true);
    }
}
