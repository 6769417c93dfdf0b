//! How work is mapped to invocations where several ways are right: policies, as plain data. `docs/tuning.md`
//! has the measurements behind them.

use crate::Error;

/// What kind of machine an adapter is, as far as tuning goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum AdapterClass {
    /// A CPU that emulates a GPU.
    Software,
    /// A GPU that shares the CPU's memory; also any unknown adapter.
    Integrated,
    /// A GPU with memory of its own.
    Discrete,
}

impl AdapterClass {
    /// The class of a device type.
    pub fn of(kind: wgpu::DeviceType) -> AdapterClass {
        match kind {
            wgpu::DeviceType::Cpu => AdapterClass::Software,
            wgpu::DeviceType::DiscreteGpu => AdapterClass::Discrete,
            _ => AdapterClass::Integrated,
        }
    }
}

/// How work is mapped to invocations where several ways are right. Results never depend on it. Fields
/// may be added: write `Tuning { row_lanes: 64, ..Tuning::of(class) }`, which then still compiles.
///
/// Zero counts as the least value that can be. The two powers of two are not rounded: [`Tuning::check`].
///
/// With the feature `serde`, fields are read and written by name; a missing or unknown one is an error.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Tuning {
    /// Invocations in a workgroup, a power of two; lowered to what the device allows.
    pub workgroup: u32,
    /// Most invocations that share a row, and most slices of columns that a workgroup merges; a power of two.
    /// 1: each takes a row or a slice of its own, which suits a CPU.
    pub row_lanes: u32,
    /// Bytes of a row that an invocation takes before another one is added.
    pub lane_bytes: u64,
    /// Whether the invocations of a row take a contiguous run each, instead of every n-th vec4. Then both extremes of
    /// columns, if these are whole vec4 or below 32 bits, are read by vec4 four times instead of once by elements.
    pub blocked: bool,
    /// Invocations that fill the device: shorter work is split to reach them.
    pub invocations: u64,
    /// Least bytes of a slice when a segment is split.
    pub slice_bytes: u64,
    /// Most slices of a segment, unless the limit on iterations asks for more.
    pub slices: u64,
    /// Bytes up to which one invocation takes a row element by element; for sums of floats, bytes below which
    /// it does.
    pub each_row_bytes: u64,
    /// Elements along the reduced axis below which columns are taken element by element.
    pub each_column_len: u64,
    /// Least bytes of a wide row of joined rows, where `strips` is not in effect.
    pub wide_bytes: u64,
    /// Whether an invocation takes several vec4 of a row instead of one: up to 32 of columns, 2 in exact sums, 2
    /// or 4 of shallow columns.
    pub strips: bool,
    /// Bytes up to which one invocation takes a row of whole vec4.
    pub short_row_bytes: u64,
    /// Coarsening: most rows, words or vec4 of results that an invocation takes one after another.
    pub short_rows: u64,
    /// Elements of a row up to which rows are small: an invocation takes as many at once as are whole vec4.
    /// Rows of whole vec4 of elements below 32 bits are small only where the walk is unrolled.
    pub small_row_len: u64,
    /// Elements along the reduced axis up to which columns are shallow: taken some vec4 at a time,
    /// with all rows of them. More than 21 rows only where the lines keep the device busy. Where a binding holds
    /// only some of the rows, up to twice as many.
    pub shallow_len: u64,
    /// Bytes of a matrix up to which its columns are shallow as well, if there are enough lines to fill the
    /// device.
    pub shallow_bytes: u64,
    /// Least panels for the family `panels`, where `strips` is set.
    pub panels: u64,
    /// Bytes that a dispatch, and a submit of several, may read or write, so that no watchdog fires. At least
    /// 1 KiB. Bytes that are read across rows count four times.
    pub submit_bytes: u64,
    /// Takes this family wherever it is possible (for tests and measurements).
    pub force: Option<crate::kernel::Family>,
}

impl Tuning {
    /// Refuses values that no plan can be made with. Planning calls this first.
    ///
    /// # Errors
    /// [`Error::Tuning`] unless `workgroup` and `row_lanes` are powers of two.
    pub fn check(&self) -> Result<(), Error> {
        let powers = [("workgroup", self.workgroup), ("row_lanes", self.row_lanes)];
        let wrong = powers.into_iter().find(|(_, n)| !n.is_power_of_two());
        wrong.map_or(Ok(()), |(field, value)| Err(Error::Tuning { field, value }))
    }

    /// The defaults of a class.
    pub fn of(class: AdapterClass) -> Tuning {
        // From others' published figures; docs/tuning.md says what an H200 made of them.
        let gpu = Tuning {
            workgroup: 256,
            row_lanes: 256,
            lane_bytes: 128,
            blocked: false,
            invocations: 1 << 18,
            slice_bytes: 16 << 10,
            slices: 1024,
            each_row_bytes: 32,
            each_column_len: 4,
            wide_bytes: 512,
            strips: false,
            short_row_bytes: 64,
            short_rows: 1,
            small_row_len: 12,
            shallow_len: 21,
            shallow_bytes: 0,
            panels: 64,
            // About a quarter of a second, for each class.
            submit_bytes: 16 << 30,
            force: None,
        };
        match class {
            // An H200 takes 64 rows at .91 of its memory's speed this way, and at .50 in slices.
            AdapterClass::Discrete => Tuning {
                shallow_len: 64,
                ..gpu
            },
            AdapterClass::Integrated => Tuning {
                invocations: 1 << 15,
                submit_bytes: 2 << 30,
                ..gpu
            },
            // Measured on lavapipe: docs/tuning.md has the figures, and what did not pay.
            AdapterClass::Software => Tuning {
                workgroup: 32,
                row_lanes: 1,
                blocked: true,
                invocations: 4096,
                wide_bytes: 1024,
                strips: true,
                short_row_bytes: 512,
                short_rows: 256,
                small_row_len: 256,
                shallow_bytes: 16 << 10,
                submit_bytes: 512 << 20,
                ..gpu
            },
        }
    }
}
