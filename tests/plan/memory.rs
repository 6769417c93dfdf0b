//! The buffers of a run as passes see them, and the limits of a device.

use wgreduce::unstable::{Pass, Resource, Slot, View, Walk};
use wgreduce::{BufferSplits, Caps, Plan, Problem};

pub type Check<T = ()> = Result<T, String>;

macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}
pub(crate) use ensure;

/// A view as a pass sees it, aligned as in `run/buffers.rs`.
#[derive(Clone)]
pub struct Bind {
    pub slot: Slot,
    /// Bytes of the binding.
    pub bytes: u64,
    /// Elements of the binding before the view.
    pub delta: u32,
    /// The view's first element, counted from the slot's start.
    pub first: u64,
    /// Elements of a row, and from a row of the slot to the next, if the view is gathered from rows.
    pub rows: Option<[u64; 2]>,
    /// Elements in the view.
    pub count: u64,
    pub element: u64,
}

impl Bind {
    /// The slot's element that is number `i` of the view.
    pub fn element(&self, i: u64) -> u64 {
        self.first
            + match self.rows {
                Some([width, pitch]) => i / width * pitch + i % width,
                None => i,
            }
    }

    /// The slot's element at a position of the binding, which must be in the view.
    pub fn at(&self, position: u32) -> Check<u32> {
        let i = u64::from(position).wrapping_sub(self.delta.into());
        let end = (u64::from(position) + 1) * self.element;
        ensure!(
            i < self.count && end <= self.bytes,
            "position {position} is outside of the view of {:?}: {} elements after {}",
            self.slot,
            self.count,
            self.delta
        );
        Ok(self.element(i) as u32)
    }
}

/// Where the tensors of a plan lie.
#[derive(Clone, Copy)]
pub struct Memory<'a> {
    pub problem: &'a Problem,
    pub caps: &'a Caps,
    pub plan: &'a Plan,
    /// Bytes before the inputs and the outputs in their buffers.
    pub shift: [u64; 2],
    /// Where tensors go on in another buffer.
    pub cuts: &'a BufferSplits,
}

const UNCUT: &BufferSplits = &BufferSplits {
    inputs: Vec::new(),
    outputs: Vec::new(),
};

impl<'a> Memory<'a> {
    /// A buffer for each tensor, which begins with it.
    pub fn of(problem: &'a Problem, caps: &'a Caps, plan: &'a Plan) -> Memory<'a> {
        Memory {
            problem,
            caps,
            plan,
            shift: [0; 2],
            cuts: UNCUT,
        }
    }

    /// The buffer that holds a byte of a slot: the bytes before the tensor, the first byte and the end of the tensor's
    /// bytes in the buffer, and the buffer's size. Foreign buffers end with the tensor, in whole words; the library's
    /// own in whole vec4.
    fn buffer(&self, slot: Slot, offset: u64) -> (u64, u64, u64, u64) {
        let piece = |cuts: &[Vec<u64>], i: usize, size: u64, whole: u64, shift: u64| {
            let cuts = cuts.get(i).map_or(&[][..], Vec::as_slice);
            let at = cuts.partition_point(|&c| c * size <= offset);
            let start = if at == 0 { 0 } else { cuts[at - 1] * size };
            let end = cuts.get(at).map_or(whole, |c| c * size);
            (shift, start, end, (shift + end - start).next_multiple_of(4))
        };
        match slot {
            Slot::Input(i) => {
                let (size, whole) = (self.problem.dtype().size(), self.problem.input_bytes(i));
                piece(&self.cuts.inputs, i, size, whole, self.shift[0])
            }
            Slot::Output(i) => {
                let output = &self.problem.outputs()[i];
                let (size, whole) = (output.dtype.size(), output.bytes());
                piece(&self.cuts.outputs, i, size, whole, self.shift[1])
            }
            Slot::Temp(_) => {
                // Temporary tensors lie in the largest buffers that the device has.
                let (most, whole) = (self.caps.buffer_bytes / 16 * 16, self.plan.slot_bytes(slot));
                let start = offset / most * most;
                let end = whole.min(start + most);
                (0, start, end, end - start)
            }
            Slot::Partials => {
                let whole = self.plan.slot_bytes(slot);
                (0, 0, whole, whole.next_multiple_of(16).max(16))
            }
        }
    }

    pub fn bind(&self, view: &View) -> Check<Bind> {
        let &View {
            slot,
            offset,
            bytes,
            element,
            rows,
        } = view;
        let (before, start, whole, size) = self.buffer(slot, offset);
        // Only inputs come through windows of the host.
        let from_host = matches!(slot, Slot::Input(_));
        let gathered = rows.filter(|r| from_host && r.count * r.bytes == bytes);
        let range = bytes > 0 && bytes.is_multiple_of(element);
        ensure!(range, "{view:?} is no range");
        let extent = rows.map_or(bytes, |r| (r.count - 1) * r.pitch + r.bytes);
        ensure!(
            offset + extent <= whole && (gathered.is_some() || extent == bytes),
            "{view:?} leaves a buffer that ends at byte {whole}"
        );
        let alignment = self.caps.offset_alignment;
        // What is gathered lies in a window of its own.
        let (before, start, size) = match gathered {
            Some(_) => {
                let start = offset / alignment * alignment;
                (0, start, (offset - start + bytes).next_multiple_of(16))
            }
            None => (before, start, size),
        };
        let begin = before + offset - start;
        let mut at = begin / alignment * alignment;
        if begin + bytes - at < 16 && at >= alignment {
            at -= alignment;
        }
        let end = (begin + bytes).next_multiple_of(4).max(at + 16).min(size);
        let limit = self.caps.binding_bytes;
        ensure!(end - at <= limit, "{view:?} takes {} bytes", end - at);
        let aligned = (begin - at).is_multiple_of(element);
        ensure!(aligned, "{view:?} is not aligned");
        Ok(Bind {
            slot,
            bytes: end - at,
            delta: ((begin - at) / element) as u32,
            first: offset / element,
            rows: gathered.map(|r| [r.bytes / element, r.pitch / element]),
            count: bytes / element,
            element,
        })
    }
}

/// The invocations of a pass, and what they have written.
pub struct Dispatch<'m> {
    pass: &'m Pass,
    written: Vec<bool>,
}

impl<'m> Dispatch<'m> {
    pub fn of(pass: &'m Pass) -> Dispatch<'m> {
        let written = Vec::new();
        Dispatch { pass, written }
    }

    /// `linear(group)` of every workgroup.
    pub fn groups(&self) -> impl Iterator<Item = u32> + use<> {
        let [x, y, _] = self.pass.workgroups;
        let grid = self.pass.params.grid;
        (0..y).flat_map(move |y| (0..x).map(move |x| y * grid + x))
    }

    /// `linear(group) * WG + lid` of every invocation.
    pub fn invocations(&self) -> impl Iterator<Item = u32> + use<> {
        let wg = self.pass.kernel.workgroup;
        let all = self.groups();
        all.flat_map(move |group| (0..wg).map(move |lid| group * wg + lid))
    }

    /// Checks that an invocation has no more loop iterations than were planned.
    pub fn iterated(&self, iterations: u64) -> Check {
        let most = self.pass.iterations;
        ensure!(iterations <= most, "{iterations} of {most} iterations");
        Ok(())
    }

    /// Notes that a word or result of the destination is written, which the pass must not have written before.
    pub fn write_once(&mut self, at: u32) -> Check {
        let end = self.written.len().max(at as usize + 1);
        self.written.resize(end, false);
        let before = std::mem::replace(&mut self.written[at as usize], true);
        ensure!(!before, "{at} is written twice");
        Ok(())
    }
}

/// Checks that a pass respects the limits that a device checks, and those that it does not.
pub fn limits(pass: &Pass, caps: &Caps) -> Check {
    let [x, y, z] = pass.workgroups;
    let fits = x.min(y) >= 1 && x.max(y) <= caps.workgroups && z == 1;
    ensure!(fits, "{x}x{y}x{z} workgroups");
    ensure!(pass.params.grid == x, "a grid of {}", pass.params.grid);
    let kernel = &pass.kernel;
    let wg = kernel.workgroup;
    ensure!(wg <= caps.invocations, "workgroups of {wg}");
    ensure!(wg.is_power_of_two(), "workgroups of {wg}");
    let bytes = kernel.workgroup_bytes();
    let most = caps.workgroup_bytes;
    ensure!(bytes <= most, "{bytes} bytes of workgroup memory");
    let (iterations, most) = (pass.iterations, caps.iterations);
    let most = most.map_or(u64::MAX, u64::from);
    ensure!(iterations <= most, "{iterations} iterations of {most}");
    let budget = caps.tuning.submit_bytes.max(1024);
    ensure!(pass.cost() <= budget, "costs {} of {budget}", pass.cost());
    let own = [pass.src, pass.indices, Some(pass.dst)];
    let listed = pass.stride_table.iter().flat_map(|(_, views)| views);
    let listed = listed.chain(&pass.beside).copied();
    let bindings = kernel.bindings();
    let storage = bindings.iter().filter(|r| !r.is_uniform()).count();
    let most = caps.storage_buffers as usize;
    ensure!(storage <= most, "{storage} storage buffers");
    if let Some((table, views)) = &pass.stride_table {
        let inputs = match kernel.walk {
            Walk::Elementwise(taken) => taken.inputs as usize,
            Walk::Gather(_) => 2,
            _ => 1,
        };
        ensure!(
            bindings.contains(&Resource::StrideTable) && views.len() == inputs && inputs <= 8,
            "{} inputs",
            views.len()
        );
        let dims = table.strides.len();
        ensure!(dims <= 32, "{dims} dimensions");
        let items: u64 = table.shape.iter().map(|&s| u64::from(s)).product();
        let of_view = !matches!(kernel.walk, Walk::Elementwise(_));
        ensure!(
            of_view || items == u64::from(pass.params.items) && items <= 1 << 30,
            "{items} items"
        );
    }
    for view in own.into_iter().flatten().chain(listed) {
        ensure!(view.bytes <= caps.binding_bytes, "{view:?} is too long");
    }
    Ok(())
}
