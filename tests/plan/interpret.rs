//! A host interpreter of plans: results, partials and bookkeeping. The shaders' arithmetic is in `walks`, buffers are in `memory`.
//!
//! It computes no values. A cell of a tensor, and a partial, is the list of the input elements that compete for it. So
//! a run that ends well proves the schedule for all data: every element competes for its own output and for no other,
//! with its true index; every output is written once; no access leaves its view; every partial that is read was written
//! in the same step.

use super::memory::{Bind, Check, Dispatch, Memory, ensure, limits};
use super::truth::Truth;
use std::cell::{Cell as Current, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use wgreduce::unstable::{
    Accumulator, Keys, Params, Pass, Resource, Slot, StoreFormat, Sum, View, Walk,
};
use wgreduce::{Op, Order, Problem};

/// The content of an element of an output or temporary tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// The winner of these input elements.
    Of(Vec<u32>),
    /// A constant.
    Constant(u64),
}

/// The state of a run.
pub struct Machine<'a> {
    pub problem: &'a Problem,
    pub truth: &'a Truth,
    memory: Memory<'a>,
    /// Whether one read serves both extremes.
    pub reads_once: bool,
    /// The cells of the first output, or of all four outputs of extremes.
    results: Vec<Vec<Option<Cell>>>,
    /// How often each place of each output's segment is looked up for its value.
    gathered: Vec<u32>,
    /// Whether that place has competed for the index so far, for problems that also give values.
    competes: Vec<bool>,
    temps: [Vec<Option<Cell>>; 2],
    /// Whether a temporary tensor was read, so that the next write begins a new one.
    stale: [bool; 2],
    pub partials: Vec<Option<Vec<u32>>>,
    /// Which partials were finished, so that the next step may overwrite them.
    pub finished: Vec<bool>,
}

/// An invocation, the number of the view that it loads from, and the first byte of the loaded word in the view's slot.
pub type Loaded = (u32, usize, u64);

/// Runs passes, which are the plan's or a broken copy of them; returns the loads of each.
pub fn run(memory: Memory<'_>, truth: &Truth, passes: &[Pass]) -> Check<Vec<Vec<Loaded>>> {
    let Memory { problem, plan, .. } = memory;
    let size = problem.dtype().size();
    let outs = passes.iter().map(|p| p.kernel.out);
    let mut partial = outs.filter(|out| out.is_partial());
    let first = partial.next().unwrap_or(StoreFormat::Partial(4));
    ensure!(partial.all(|out| out == first), "partials differ");
    let partial = first.bytes();
    let partials = (plan.slot_bytes(Slot::Partials) / partial) as usize;
    let temp = |i| vec![None; (plan.slot_bytes(Slot::Temp(i)) / size) as usize];
    let mut machine = Machine {
        results: vec![vec![None; truth.outputs]; if fused(problem) { 4 } else { 1 }],
        gathered: vec![0; truth.found.len()],
        competes: vec![false; truth.found.len()],
        temps: [temp(0), temp(1)],
        stale: [false; 2],
        partials: vec![None; partials],
        finished: vec![false; partials],
        problem,
        truth,
        memory,
        reads_once: passes.iter().any(|p| p.kernel.acc.is_both()),
    };
    let mut loaded = Vec::new();
    for (i, pass) in passes.iter().enumerate() {
        let done = Run::new(&mut machine, pass).and_then(|mut run| {
            run.walk()?;
            Ok(run.loaded.take())
        });
        loaded.push(done.map_err(|e| format!("pass {i}, {}: {e}", pass.label()))?);
    }
    machine.end().map(|()| loaded)
}

impl Machine<'_> {
    /// Checks that all outputs are as expected.
    fn end(mut self) -> Check {
        let mut partials = self.partials.iter().zip(&self.finished);
        ensure!(
            partials.all(|(partial, finished)| partial.is_none() || *finished),
            "partials are left over"
        );
        let zips = self.truth.zips;
        let copied = self.problem.is_copy();
        let last = self.problem.selects_last_index();
        let only = if last { self.truth.len - 1 } else { 0 };
        let constant = match self.problem.op().is_index() {
            _ if copied || zips => None,
            true => self.truth.repeats().then_some(only),
            false => (self.truth.len == 0).then(|| empty(self.problem)),
        };
        for (i, results) in self.results.iter_mut().enumerate() {
            // The values of extremes: if each segment repeats one element, one place of it is enough.
            let value = fused(self.problem) && i < 2;
            let bare = value && self.truth.repeats();
            let constant = constant.filter(|_| !value);
            for (o, (cell, expected)) in results.iter_mut().zip(&self.truth.expected).enumerate() {
                match (cell, constant) {
                    (None, _) => return Err(format!("output {o} was not written")),
                    (Some(Cell::Constant(c)), Some(right)) if *c == right => {}
                    (Some(Cell::Of(from)), None) => {
                        from.sort_unstable();
                        // A minimum may take an element twice; an elementwise operator or a sum may not.
                        if !zips && !self.problem.op().is_sum() {
                            from.dedup();
                        }
                        let expected = if bare { &expected[..1] } else { expected };
                        // Values that are found by themselves tell no places.
                        let alone = value && !self.reads_once;
                        let expected = match self.truth.view {
                            Some((_, data)) if alone => elements_of(expected, data),
                            _ => expected.to_vec(),
                        };
                        ensure!(*from == expected, "output {o} is of {from:?}");
                    }
                    (Some(cell), _) => return Err(format!("output {o} is {cell:?}")),
                }
            }
        }
        let values = match fused(self.problem) {
            true => 0,
            false => self.problem.outputs().len() - 1,
        };
        let once = |&n: &u32| n as usize == values;
        match self.gathered.iter().position(|n| !once(n)) {
            Some(i) => Err(format!("element {i} is gathered {}x", self.gathered[i])),
            None => Ok(()),
        }
    }

    /// The number of an input's element, counted through all inputs.
    pub fn element_of(&self, slot: Slot, element: u32) -> Check<u32> {
        let Slot::Input(i) = slot else {
            return Err(format!("elements are read from {slot:?}"));
        };
        let starts = &self.truth.starts[i..];
        ensure!(element < starts[1] - starts[0], "no {element}");
        Ok(starts[0] + element)
    }

    /// The input elements that an element of a slot stands for.
    fn contents(&self, slot: Slot, element: u32) -> Check<Vec<u32>> {
        match slot {
            Slot::Input(0) => Ok(vec![element]),
            Slot::Temp(i) => match &self.temps[i][element as usize] {
                Some(Cell::Of(from)) => Ok(from.clone()),
                cell => Err(format!("temporary element {element} is {cell:?}")),
            },
            other => Err(format!("elements are read from {other:?}")),
        }
    }
}

/// Whether a pass reads a view by its strides.
fn strided(pass: &Pass) -> bool {
    match pass.kernel.walk {
        Walk::Gather(text) => text.strided,
        walk => walk == Walk::Strided,
    }
}

/// Whether a pass compares nothing, so that one kernel serves all types of a size.
fn copies(pass: &Pass) -> bool {
    matches!(pass.kernel.acc, Accumulator::Raw(_))
}

/// Whether the problem asks for both extremes at once.
pub fn fused(problem: &Problem) -> bool {
    problem.op() == Op::Extremes
}

/// Checks that a pass compares or adds as the problem wants it.
fn accumulator(machine: &Machine<'_>, pass: &Pass) -> Check {
    let (problem, kernel) = (machine.problem, &pass.kernel);
    let sum = Sum::new(problem.op(), problem.dtype(), problem.nan_policy());
    let right = match kernel.acc {
        Accumulator::Raw(bits) => {
            let bytes = match kernel.walk {
                Walk::Fill => kernel.out.bytes(),
                _ => problem.dtype().size(),
            };
            u64::from(bits) == 8 * bytes
        }
        Accumulator::Sum(own) => {
            sum.is_some_and(|sum| sum.is_exact() && sum.partial_words() == own.partial_words())
        }
        Accumulator::Terms(_) => sum.is_some_and(|sum| {
            let terms = Accumulator::terms(sum);
            let part = kernel.out.is_partial();
            kernel.acc == if part { terms.partial() } else { terms }
        }),
        Accumulator::Value(keys) => keys == order(machine, pass),
        Accumulator::Index { keys, last } | Accumulator::Both { keys, last } => {
            keys == order(machine, pass) && last == problem.selects_last_index()
        }
        other => return Err(format!("no check of {other:?}")),
    };
    ensure!(right, "{:?} is not the problem's", kernel.acc);
    let index = problem.op().is_index();
    ensure!(
        copies(pass) || fused(problem) || kernel.acc.has_index() == index,
        "{:?} where an index is wanted: {index}",
        kernel.acc
    );
    Ok(())
}

/// Checks that what a pass writes beside its destination belongs to it: an index to its value.
fn pairs(pass: &Pass) -> Check {
    let (kernel, slots) = (&pass.kernel, pass.beside.iter().map(|view| view.slot));
    let wanted = match (kernel.beside, pass.dst.slot) {
        (None, _) => vec![],
        (Some(_), _) if kernel.acc.is_both() => vec![1, 2, 3],
        (Some(_), Slot::Output(i)) => vec![i + 2],
        (Some(_), other) => return Err(format!("indices beside {other:?}")),
    };
    let slots: Vec<Slot> = slots.collect();
    let right = wanted.into_iter().map(Slot::Output);
    ensure!(right.eq(slots.iter().copied()), "{slots:?} beside it");
    let bound = kernel.bindings();
    let bound = bound.iter().filter(|r| matches!(r, Resource::Beside(_)));
    ensure!(bound.count() == slots.len(), "{} are bound", slots.len());
    let out = |i: usize| match i {
        0 if kernel.acc.is_both() => kernel.out.bytes(),
        _ => kernel.beside.map_or(0, StoreFormat::bytes),
    };
    let mut sizes = pass.beside.iter().enumerate();
    ensure!(sizes.all(|(i, v)| v.element == out(i)), "{:?}", pass.beside);
    Ok(())
}

/// The order that a pass must use.
fn order(machine: &Machine<'_>, pass: &Pass) -> Keys {
    let problem = machine.problem;
    let (dtype, nan) = (problem.dtype(), problem.nan_policy());
    if !fused(problem) {
        let order = problem.op().order().expect("an order");
        return Keys::new(dtype, order, nan, problem.op().is_index());
    }
    let apart = !machine.reads_once;
    let keys = if apart { Keys::new } else { Keys::of_sides };
    let result = |dtype, i: usize| {
        let side = [Order::Least, Order::Greatest][i % 2];
        keys(dtype, side, nan, !apart || i >= 2)
    };
    match (pass.kernel.walk, pass.dst.slot) {
        // The results are found one by one: the partials in between belong to one of them.
        (walk, Slot::Output(i)) if apart && walk != Walk::Strided => result(dtype, i),
        (_, Slot::Partials) if apart => {
            let mut all = (0..4).map(|i| result(dtype, i));
            let own = all.find(|keys| match pass.kernel.acc {
                Accumulator::Value(own) => own == *keys,
                Accumulator::Index { keys: own, .. } => own == *keys,
                _ => false,
            });
            own.unwrap_or(result(dtype, 0))
        }
        (Walk::Finish(_), Slot::Output(i)) => result(dtype, i),
        (Walk::Strided, _) if !pass.kernel.acc.is_both() => {
            Keys::new(dtype, Order::Least, nan, false)
        }
        _ => Keys::of_sides(dtype, Order::Least, nan, true),
    }
}

/// The elements of pairs of an element and a place.
fn elements_of(ids: &[u32], data: u32) -> Vec<u32> {
    let mut elements: Vec<u32> = ids.iter().map(|id| id % data).collect();
    elements.sort_unstable();
    elements.dedup();
    elements
}

/// The result of reducing no elements.
fn empty(problem: &Problem) -> u64 {
    let outputs = wgreduce::reference::evaluate(problem, &[&[]]).expect("a reference");
    let size = problem.dtype().size() as usize;
    let mut bytes = [0; 8];
    bytes[..size].copy_from_slice(&outputs[0][..size]);
    u64::from_le_bytes(bytes)
}

/// The elements that an invocation took: their positions in the source, and the index that it claims for each, without
/// the base.
pub type Found = Vec<(u32, u32)>;

/// A pass while it runs.
pub struct Run<'m, 'a> {
    pub machine: &'m mut Machine<'a>,
    pub pass: &'m Pass,
    pub p: Params,
    pub src: Option<Bind>,
    pub indices: Option<Bind>,
    /// The inputs of an elementwise pass.
    pub listed: Vec<Bind>,
    pub dst: Bind,
    /// What is written beside it.
    beside: Vec<Bind>,
    /// Elements of the source in a vec4.
    pub e: u32,
    pub wg: u32,
    pub dispatch: Dispatch<'m>,
    /// The current invocation.
    pub now: Rc<Current<u32>>,
    loaded: RefCell<Vec<Loaded>>,
}

impl<'m, 'a> Run<'m, 'a> {
    fn new(machine: &'m mut Machine<'a>, pass: &'m Pass) -> Check<Run<'m, 'a>> {
        let bind = |view: &Option<View>| view.as_ref().map(|v| machine.memory.bind(v)).transpose();
        let (src, indices) = (bind(&pass.src)?, bind(&pass.indices)?);
        let dst = machine.memory.bind(&pass.dst)?;
        let beside = pass.beside.iter().map(|v| machine.memory.bind(v));
        let beside = beside.collect::<Check<Vec<_>>>()?;
        let views = pass.stride_table.iter().flat_map(|(_, views)| views);
        let listed = views
            .map(|v| machine.memory.bind(v))
            .collect::<Check<Vec<_>>>()?;
        // A strided pass lists its view, and its indices if it has any, in its stride table.
        let strided = strided(pass);
        let named = |i: usize| listed.get(i).filter(|_| strided).cloned();
        let (src, indices) = (src.or(named(0)), indices.or(named(1)));
        for read in [&src, &indices].into_iter().flatten().chain(&listed) {
            for written in beside.iter().chain([&dst]) {
                let slot = written.slot;
                ensure!(read.slot != slot, "{slot:?} is read and written");
            }
        }
        limits(pass, machine.memory.caps)?;
        let kernel = &pass.kernel;
        accumulator(machine, pass)?;
        pairs(pass)?;
        if let Some(i) = temp(src.as_ref()) {
            machine.stale[i] = true;
        }
        if let Some(i) = temp(Some(&dst)).filter(|&i| machine.stale[i]) {
            machine.temps[i].fill(None);
            machine.stale[i] = false;
        }
        let mut p = pass.params;
        p.src_delta = src.as_ref().map_or(0, |b| b.delta);
        p.dst_delta = dst.delta;
        let deltas = [&mut p.beside_0, &mut p.beside_1, &mut p.beside_2];
        for (delta, bind) in deltas.into_iter().zip(&beside) {
            *delta = bind.delta;
        }
        if let Some(b) = indices.as_ref().filter(|_| !strided) {
            p.indices_delta = b.delta;
        }
        Ok(Run {
            e: 128 / kernel.acc.bits(),
            wg: kernel.workgroup,
            machine,
            pass,
            p,
            src,
            indices,
            listed,
            dst,
            beside,
            dispatch: Dispatch::of(pass),
            now: Rc::default(),
            loaded: RefCell::default(),
        })
    }

    pub fn out(&self) -> StoreFormat {
        self.pass.kernel.out
    }

    pub fn per_word(&self) -> u32 {
        self.out().per_word()
    }

    /// The source, if the walk has one.
    pub fn source(&self) -> Check<&Bind> {
        self.src.as_ref().ok_or_else(|| "no source".into())
    }

    /// `linear(group) * WG + lid` of every invocation.
    pub fn invocations(&self) -> impl Iterator<Item = u32> + use<> {
        let now = self.now.clone();
        let all = self.dispatch.invocations();
        all.inspect(move |&invocation| now.set(invocation))
    }

    /// Notes a load of the current invocation at a position of a binding.
    pub fn loads(&self, view: usize, bind: &Bind, position: u32) {
        let element = match position.checked_sub(bind.delta) {
            Some(i) => bind.element(i.into()),
            // Before the view, or even before the tensor.
            None => bind.first.wrapping_sub((bind.delta - position).into()),
        };
        let load = (
            self.now.get(),
            view,
            element.wrapping_mul(bind.element) / 4 * 4,
        );
        self.loaded.borrow_mut().push(load);
    }

    /// `output_at` of `out.wgsl`; it wraps before the first output.
    pub fn output_at(&self, w: u32, j: u32) -> u32 {
        (w * self.per_word() + j).wrapping_sub(self.p.dst_delta % self.per_word())
    }

    /// The input elements that an invocation found, after a check of their indices.
    pub fn cell(&self, found: &Found) -> Check<Cell> {
        let src = self.source()?;
        let truth = self.machine.truth;
        let mut from = Vec::with_capacity(found.len());
        for &(position, index) in found {
            let element = src.at(position)?;
            if truth.view.is_some() && self.pass.kernel.acc.has_index() {
                // The source may be a copy of some columns of the input.
                let of = self.machine.contents(src.slot, element)?;
                let place = self.p.base as u32 + index;
                from.extend(of.into_iter().map(|element| truth.id(element, place)));
                continue;
            }
            if self.pass.kernel.acc.has_index() {
                let claimed = self.p.base + u64::from(index);
                let of = self.machine.contents(src.slot, element)?;
                ensure!(of.len() == 1, "element {element} stands for {of:?}");
                let right = u64::from(truth.place[of[0] as usize]);
                ensure!(claimed == right, "{element} has index {claimed}");
            }
            from.extend(self.machine.contents(src.slot, element)?);
        }
        Ok(Cell::Of(from))
    }

    /// Writes a result that has words of its own, or two partial results: of the least and of the greatest.
    pub fn emit(&mut self, slot: u32, cell: Cell) -> Check {
        if self.pass.kernel.acc.is_both() && self.out().is_partial() {
            self.emit_at(self.p.dst_delta + self.p.apart + slot, cell.clone())?;
        }
        self.emit_at(self.p.dst_delta + slot, cell)
    }

    fn emit_at(&mut self, at: u32, cell: Cell) -> Check {
        let element = self.dst.at(at)? as usize;
        self.dispatch.write_once(at)?;
        if !self.out().is_partial() {
            return self.put(element, cell);
        }
        let Cell::Of(from) = cell else {
            return Err("a partial of a constant".into());
        };
        let partial = &mut self.machine.partials[element];
        let finished = std::mem::take(&mut self.machine.finished[element]);
        match (partial, self.p.merge) {
            (Some(partial), 1) => partial.extend(from),
            (partial, 0) if partial.is_none() || finished => *partial = Some(from),
            (Some(_), _) => return Err(format!("partial {element} is overwritten")),
            (None, _) => return Err(format!("partial {element} is merged with nothing")),
        }
        Ok(())
    }

    /// Writes the results that share word `v`, each with its place in the word.
    pub fn write_word(&mut self, v: u32, results: Vec<(u32, Cell)>) -> Check {
        if results.is_empty() {
            return Ok(());
        }
        let w = self.p.dst_delta / self.per_word() + v;
        for (i, (j, cell)) in results.into_iter().enumerate() {
            let element = self.dst.at(w * self.per_word() + j)? as usize;
            if i == 0 {
                self.dispatch.write_once(w)?;
            }
            self.put(element, cell)?;
        }
        Ok(())
    }

    fn is_chained(&self) -> bool {
        matches!(self.pass.kernel.walk, Walk::Elementwise(taken) if taken.chained)
    }

    /// The new content of an elementwise pass's output: a chained pass adds to the previous pass's content.
    pub fn merged(&self, output: u32, mut from: Vec<u32>) -> Check<Cell> {
        ensure!(self.dst.slot == Slot::Output(0), "not to the output");
        match (&self.machine.results[0][output as usize], self.is_chained()) {
            (Some(Cell::Of(before)), true) => from.extend(before),
            (None, false) => {}
            (cell, chained) => {
                return Err(format!("output {output} is {cell:?}, chained: {chained}"));
            }
        }
        Ok(Cell::Of(from))
    }

    /// Writes an element of a vec4 of outputs.
    pub fn put_zipped(&mut self, element: u32, cell: Cell) -> Check {
        self.dispatch.write_once(element)?;
        self.put(element as usize, cell)
    }

    /// Writes a result, and what is written beside it.
    fn put(&mut self, element: usize, cell: Cell) -> Check {
        let o = (element as u64 - self.dst.first) as u32;
        let p = self.p;
        let deltas = [p.beside_0, p.beside_1, p.beside_2];
        let beside = self.beside.iter().zip(deltas);
        let places = beside.map(|(bind, delta)| Ok((bind.slot, bind.at(delta + o)? as usize)));
        for (slot, place) in places.collect::<Check<Vec<_>>>()? {
            ensure!(place == element, "{slot:?} has {place} beside {element}");
            let Slot::Output(i) = slot else {
                return Err(format!("results are written to {slot:?}"));
            };
            let before = self.machine.results[i][element].replace(cell.clone());
            ensure!(before.is_none(), "{element} of {i} is written twice");
        }
        self.put_alone(element, cell)
    }

    fn put_alone(&mut self, element: usize, cell: Cell) -> Check {
        let chained = self.is_chained();
        let machine = &mut *self.machine;
        let beside = self.dst.slot == Slot::Output(1) && !fused(machine.problem);
        if let (true, Cell::Of(from)) = (beside, &cell) {
            // The segment repeats one element, so its index does not matter.
            let len = machine.truth.len as usize;
            let of = &machine.truth.found[element * len..][..len];
            ensure!(of.iter().all(|e| [*e] == from[..]), "{from:?} at {element}");
            let places = &mut machine.gathered[element * len..][..len];
            places.iter_mut().for_each(|n| *n += 1);
            return Ok(());
        }
        let cells = match self.dst.slot {
            Slot::Output(i) if i < machine.results.len() => &mut machine.results[i],
            Slot::Temp(i) => &mut machine.temps[i],
            other => return Err(format!("results are written to {other:?}")),
        };
        // If the problem gives values, an index is written after each region, each time for more elements.
        let grown = match (&cells[element], &cell) {
            (Some(Cell::Of(before)), Cell::Of(now)) if machine.problem.gives_values() => {
                let [before, now] = [before, now].map(|ids| ids.iter().collect::<BTreeSet<_>>());
                now.len() > before.len() && now.is_superset(&before)
            }
            _ => false,
        };
        ensure!(
            cells[element].is_none() != chained || grown,
            "element {element} is written twice"
        );
        if machine.problem.gives_values() && self.dst.slot == Slot::Output(0) {
            let len = machine.truth.len as usize;
            let places = &mut machine.competes[element * len..][..len];
            match &cell {
                Cell::Of(from) => from.iter().for_each(|&id| {
                    let place = match &machine.truth.view {
                        None => machine.truth.place[id as usize],
                        Some((_, data)) => id / data,
                    };
                    places[place as usize] = true;
                }),
                Cell::Constant(_) => places.fill(true),
            }
        }
        cells[element] = Some(cell);
        Ok(())
    }

    /// A partial that a finishing pass reads; the pass marks it as finished when it ends.
    pub fn partial(&self, r: u32) -> Check<&[u32]> {
        let element = self.source()?.at(self.p.src_delta + r)? as usize;
        // If the problem gives values, a later region may merge with only some of an output's partials.
        let left = self.machine.finished[element] && !self.machine.problem.gives_values();
        let partial = self.machine.partials[element].as_ref();
        partial
            .filter(|_| !left)
            .map(Vec::as_slice)
            .ok_or_else(|| format!("partial {element} was not written in this step"))
    }

    /// Notes that output `o` takes the element at `position` if its index is `index`.
    pub fn gather(&mut self, o: u32, position: u32, index: u64) -> Check {
        let src = self.source()?;
        let of = self.machine.contents(src.slot, src.at(position)?)?;
        ensure!(of.len() == 1, "position {position} stands for {of:?}");
        let element = of[0] as usize;
        let output = self.dst.at(self.p.dst_delta + o)?;
        let truth = &self.machine.truth;
        ensure!(
            truth.at(output, index) as usize == element,
            "output {output} takes element {element} for index {index}"
        );
        let place = u64::from(output) * truth.len + index;
        ensure!(
            self.machine.competes[place as usize],
            "output {output} takes the element of index {index} before that competes"
        );
        self.machine.gathered[place as usize] += 1;
        Ok(())
    }
}

fn temp(bind: Option<&Bind>) -> Option<usize> {
    match bind?.slot {
        Slot::Temp(i) => Some(i),
        _ => None,
    }
}
