//! Random programs of nested branches, loops, lists and tuples, with breaks and with values that only one
//! branch defines.

use std::fmt::Write as _;

use ag_exec::Value;
use fastrand::Rng;
use tch::Tensor;

use crate::differences::compare;

const ROW: &str = "f64[3]";
const ROWS: &str = "list[f64[3]]";
const PAIR: &str = "tuple[f64[3], int, f64[3]]";

#[test]
fn random_programs_match_finite_differences() {
    let mut failed = Vec::new();
    for seed in 0..300 {
        let mut random = Rng::with_seed(seed);
        let text = Writer::new(&mut random).program();
        let mut row = || Tensor::from_slice(&[(); 3].map(|()| random.f64() * 2.0 - 1.0));
        let arguments = [row().into(), row().into(), Value::Int(seed as i64 % 5)];
        for order in [1, 2] {
            if let Err(message) = compare(&text, order, &arguments) {
                failed.push(format!("seed {seed}, order {order}: {message}\nof\n{text}"));
            }
        }
    }
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

/// Visible variables: names and types.
type Scope = Vec<(String, &'static str)>;

/// Generates a program. Every list has at least two items.
struct Writer<'a> {
    random: &'a mut Rng,
    text: String,
    names: usize,
    statements: usize,
}

impl<'a> Writer<'a> {
    fn new(random: &'a mut Rng) -> Self {
        let statements = random.usize(4..20);
        Self { random, text: String::new(), names: 0, statements }
    }

    fn program(mut self) -> String {
        let mut scope: Scope =
            vec![("%x".into(), ROW), ("%y".into(), ROW), ("%k".into(), "int"), ("%rows".into(), ROWS)];
        while self.statements > 0 {
            self.statement(&mut scope, 0);
        }
        let (a, b, rows) = (self.pick(&scope, ROW), self.pick(&scope, ROW), self.pick(&scope, ROWS));
        let product = self.node(&mut scope, ROW, &format!("aten.mul.Tensor({a}, {b})"));
        let last = self.node(&mut scope, ROW, &format!("list.get({rows}, -1)"));
        let sum = self.node(&mut scope, ROW, &format!("aten.add.Tensor({product}, {last}, 1)"));
        let loss = self.node(&mut scope, "f64[]", &format!("aten.sum.default({sum}, none)"));
        format!(
            "graph 1\nfunc @main(%x: {ROW} = argument \"x\", %y: {ROW} = argument \"y\", %k: int = argument \"k\") \
             -> (f64[]) {{\n%rows: {ROWS} = list.new(%x, %y)\n{}return {loss}\n}}\n",
            self.text
        )
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("%v{}", self.names)
    }

    fn node(&mut self, scope: &mut Scope, ty: &'static str, call: &str) -> String {
        let name = self.name();
        let _ = writeln!(self.text, "{name}: {ty} = {call}");
        scope.push((name.clone(), ty));
        name
    }

    /// Returns a variable of a type, preferring recent ones.
    fn pick(&mut self, scope: &Scope, ty: &str) -> String {
        let found: Vec<&String> =
            scope.iter().filter(|(_, other)| *other == ty).map(|(name, _)| name).collect();
        let first = if self.random.bool() { found.len().saturating_sub(5) } else { 0 };
        found[self.random.usize(first..found.len())].clone()
    }

    fn among(&mut self, choices: &[&'static str]) -> &'static str {
        choices[self.random.usize(..choices.len())]
    }

    fn statement(&mut self, scope: &mut Scope, depth: usize) {
        self.statements = self.statements.saturating_sub(1);
        match self.random.u8(0..20) {
            0..=4 => {
                let (name, a) = (self.among(&["sin", "tanh", "cos", "sigmoid"]), self.pick(scope, ROW));
                self.node(scope, ROW, &format!("aten.{name}.default({a})"));
            }
            5..=8 => {
                let (a, b) = (self.pick(scope, ROW), self.pick(scope, ROW));
                let call = match self.random.u8(0..3) {
                    0 => format!("aten.mul.Tensor({a}, {b})"),
                    1 => format!("aten.add.Tensor({a}, {b}, 0.5)"),
                    _ => format!("aten.sub.Tensor({a}, {b}, 1)"),
                };
                self.node(scope, ROW, &call);
            }
            9..=10 => {
                let (a, b, k) = (self.pick(scope, ROW), self.pick(scope, ROW), self.pick(scope, "int"));
                let pair = self.node(scope, PAIR, &format!("tuple.new({a}, {k}, {b})"));
                let index = self.among(&["0", "2"]);
                self.node(scope, ROW, &format!("tuple.get {index}({pair})"));
            }
            11..=14 => self.list(scope),
            _ if depth == 3 || self.statements == 0 => {}
            15..=16 => self.branch(scope, depth),
            17..=18 => self.for_loop(scope, depth),
            _ => self.while_loop(scope, depth),
        }
    }

    fn list(&mut self, scope: &mut Scope) {
        let (rows, a) = (self.pick(scope, ROWS), self.pick(scope, ROW));
        match self.random.u8(0..9) {
            0 => drop(self.node(scope, ROWS, &format!("list.append({rows}, {a})"))),
            1 => {
                let length = self.node(scope, "int", &format!("list.len({rows})"));
                let k = self.pick(scope, "int");
                let index = self.node(scope, "int", &format!("scalar.mod({k}, {length})"));
                self.node(scope, ROW, &format!("list.get({rows}, {index})"));
            }
            2 => {
                let index = self.among(&["0", "1", "-1", "-2"]);
                self.node(scope, ROW, &format!("list.get({rows}, {index})"));
            }
            3 => {
                let index = self.among(&["0", "1", "-1"]);
                self.node(scope, ROWS, &format!("list.set({rows}, {index}, {a})"));
            }
            4 => {
                let longer = self.node(scope, ROWS, &format!("list.append({rows}, {a})"));
                let (shorter, item) = (self.name(), self.name());
                let index = self.among(&["-1", "0", "1", "-2"]);
                let _ = writeln!(self.text, "{shorter}: {ROWS}, {item}: {ROW} = list.pop({longer}, {index})");
                scope.extend([(shorter, ROWS), (item, ROW)]);
            }
            5 => {
                let index = self.among(&["0", "1", "-1", "9", "-9"]);
                self.node(scope, ROWS, &format!("list.insert({rows}, {index}, {a})"));
            }
            6 => {
                let start = self.among(&["none", "1", "-2"]);
                let stop = self.among(&["none", "-1", "5"]);
                let step = self.among(&["none", "1", "-1", "2"]);
                // A slice may be empty, so it does not become a variable.
                let part =
                    self.node(&mut Vec::new(), ROWS, &format!("list.slice({rows}, {start}, {stop}, {step})"));
                self.node(scope, ROWS, &format!("list.concat({part}, {rows})"));
            }
            7 => {
                let all = self.node(scope, "f64[?,3]", &format!("aten.stack.default({rows}, 0)"));
                self.node(scope, ROW, &format!("aten.mean.dim({all}, [0], false, none)"));
            }
            _ => drop(self.node(scope, ROWS, &format!("list.filled(2, {a})"))),
        }
    }

    fn condition(&mut self, scope: &mut Scope) -> String {
        if self.random.bool() {
            let a = self.pick(scope, ROW);
            let sum = self.node(scope, "f64[]", &format!("aten.sum.default({a}, none)"));
            let number = self.node(scope, "float", &format!("item({sum})"));
            let bound = self.random.f64() * 2.0 - 1.0;
            return self.node(scope, "bool", &format!("scalar.gt({number}, {bound:?})"));
        }
        let (k, bound) = (self.pick(scope, "int"), self.random.u8(0..4));
        let comparison = self.among(&["eq", "lt", "ne"]);
        self.node(scope, "bool", &format!("scalar.{comparison}({k}, {bound})"))
    }

    fn types(&mut self) -> Vec<&'static str> {
        (0..self.random.usize(1..4)).map(|_| self.among(&[ROW, ROW, ROWS])).collect()
    }

    fn declared(&mut self, types: &[&'static str]) -> Scope {
        types.iter().map(|ty| (self.name(), *ty)).collect()
    }

    /// Writes a region with random statements that yields values of these types, preceded by `count + 1` if `count` is
    /// given.
    fn region(
        &mut self,
        label: &str,
        params: Scope,
        scope: &Scope,
        depth: usize,
        types: &[&str],
        count: Option<&str>,
    ) {
        let _ = writeln!(self.text, "{label}({}) {{", list(&params));
        let mut inside = [scope.clone(), params].concat();
        for _ in 0..self.random.usize(1..5) {
            self.statement(&mut inside, depth + 1);
        }
        let mut yields: Vec<String> = count
            .map(|count| self.node(&mut inside, "int", &format!("scalar.add({count}, 1)")))
            .into_iter()
            .collect();
        yields.extend(types.iter().map(|ty| self.pick(&inside, ty)));
        let _ = writeln!(self.text, "yield {}\n}}", yields.join(", "));
    }

    fn branch(&mut self, scope: &mut Scope, depth: usize) {
        let (condition, types) = (self.condition(scope), self.types());
        let results = self.declared(&types);
        let _ = writeln!(self.text, "{} = if({condition})", list(&results));
        for label in ["then", "else"] {
            self.region(label, Vec::new(), scope, depth, &types, None);
        }
        scope.extend(results);
    }

    fn for_loop(&mut self, scope: &mut Scope, depth: usize) {
        let types = self.types();
        let start: Vec<String> = types.iter().map(|ty| self.pick(scope, ty)).collect();
        let range = match self.random.u8(0..3) {
            0 => {
                let k = self.pick(scope, "int");
                let stop = self.node(scope, "int", &format!("scalar.mod({k}, 4)"));
                format!("0, {stop}, 1")
            }
            _ => self.among(&["0, 3, 1", "4, 0, -2", "1, 8, 3", "2, 2, 1"]).to_owned(),
        };
        let results = self.declared(&types);
        let _ = writeln!(self.text, "{} = for({range}, {})", list(&results), start.join(", "));
        let index = (self.name(), "int");
        let params = [vec![index], self.declared(&types)].concat();
        self.region("body", params, scope, depth, &types, None);
        if self.random.u8(0..3) == 0 {
            let params = self.declared(&types);
            let _ = writeln!(self.text, "test({}) {{", list(&params));
            let condition = self.condition(&mut [scope.clone(), params].concat());
            let _ = writeln!(self.text, "yield {condition}\n}}");
        }
        scope.extend(results);
    }

    fn while_loop(&mut self, scope: &mut Scope, depth: usize) {
        let types = self.types();
        let start: Vec<String> = types.iter().map(|ty| self.pick(scope, ty)).collect();
        let k = self.pick(scope, "int");
        let bound = self.node(scope, "int", &format!("scalar.mod({k}, 4)"));
        let carried = [vec!["int"], types.clone()].concat();
        let results = self.declared(&carried);
        let _ = writeln!(self.text, "{} = while(0, {})", list(&results), start.join(", "));
        let params = self.declared(&carried);
        let _ = writeln!(self.text, "cond({}) {{", list(&params));
        let continues = self.node(&mut Vec::new(), "bool", &format!("scalar.lt({}, {bound})", params[0].0));
        let _ = writeln!(self.text, "yield {continues}\n}}");
        let params = self.declared(&carried);
        let count = params[0].0.clone();
        self.region("body", params, scope, depth, &types, Some(&count));
        scope.extend(results);
    }
}

fn list(scope: &Scope) -> String {
    scope.iter().map(|(name, ty)| format!("{name}: {ty}")).collect::<Vec<_>>().join(", ")
}
