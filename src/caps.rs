//! What a device allows and how it likes to be used: limits and tuning, as plain data.

/// What kind of machine an adapter is, as far as tuning goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AdapterClass {
    /// A CPU that plays GPU.
    Software,
    /// A GPU that shares the CPU's memory; also what is not known.
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

/// How work is mapped to invocations where several ways are right. Results never depend on it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tuning {
    /// Invocations in a workgroup, a power of two; lowered to what the device allows.
    pub workgroup: u32,
    /// Most invocations that share a row, a power of two. 1: each walks a row or a slice of its
    /// own, which is what a CPU likes.
    pub row_lanes: u32,
    /// Bytes of a row that a lane takes before another lane is added.
    pub lane_bytes: u64,
    /// Whether the lanes of a row walk a contiguous run each, instead of abreast.
    pub chunked: bool,
    /// Invocations that fill the device: shorter work is split to reach them.
    pub invocations: u64,
    /// Least bytes of a slice when a segment is split.
    pub slice_bytes: u64,
    /// Most slices of a segment, unless the limit on iterations asks for more.
    pub slices: u64,
    /// Bytes up to which a row is taken by one lane, element by element.
    pub each_row_bytes: u64,
    /// Elements along the reduced axis below which columns are taken element by element.
    pub each_column_len: u64,
    /// Least bytes of the wide rows that columns are folded into where a lane takes one vec4.
    pub wide_bytes: u64,
    /// Whether a lane takes eight to thirty-two vec4 of columns, of shallow ones two or four, or of the
    /// rows of an elementwise result, instead of one.
    pub strips: bool,
    /// Bytes up to which a row of whole vec4 is taken by one lane.
    pub short_row_bytes: u64,
    /// Most such rows, or longer ones, or words or vec4 of results that a lane takes one after another.
    pub short_rows: u64,
    /// Elements of a row up to which rows are taken by tiles: as many at once as are whole vec4.
    /// Of elements below 32 bits, rows of whole vec4 only where tiles are written out.
    pub tile_len: u64,
    /// Elements along the reduced axis up to which columns are shallow: taken some vec4 at a time,
    /// with all rows of them. Where a binding holds only some of the rows, up to twice as many.
    pub shallow_len: u64,
    /// Bytes of a matrix up to which they are, if there are lines enough to fill the device.
    pub shallow_bytes: u64,
    /// Panels of columns from which on they are taken whole, where lanes take strips.
    pub panels: u64,
    /// Bytes that a dispatch, and a submit of several, may read or write: no watchdog must fire.
    /// A dispatch takes at least 1 KiB. Bytes that are read across rows count four times.
    pub submit_bytes: u64,
    /// Takes this family wherever it is possible (for tests and measurements).
    pub force: Option<crate::Family>,
}

impl Tuning {
    /// The defaults of a class.
    pub fn of(class: AdapterClass) -> Tuning {
        // From others' published figures: not yet measured on hardware.
        let gpu = Tuning {
            workgroup: 256,
            row_lanes: 256,
            lane_bytes: 128,
            chunked: false,
            invocations: 1 << 18,
            slice_bytes: 16 << 10,
            slices: 1024,
            each_row_bytes: 32,
            each_column_len: 4,
            wide_bytes: 512,
            strips: false,
            short_row_bytes: 64,
            short_rows: 1,
            tile_len: 12,
            shallow_len: 21,
            shallow_bytes: 0,
            panels: 64,
            // About a quarter of a second, for each class.
            submit_bytes: 16 << 30,
            force: None,
        };
        match class {
            AdapterClass::Discrete => gpu,
            AdapterClass::Integrated => Tuning {
                invocations: 1 << 15,
                submit_bytes: 2 << 30,
                ..gpu
            },
            // From lavapipe (8 lanes a subgroup, each vec4 gathered lane by lane), as shares of the
            // read ceiling by the CPU time of the process, variants in turns in one run on a busy
            // machine. What decides is how a subgroup meets memory:
            // - Columns of rows longer than it takes at once, [4096, 4096] axis 0: eight runs of
            //   eight neighbouring vec4 and four rows at a time 0.75; two vec4 a lane 0.45, one
            //   0.21; four rows and sixteen runs 0.65; eight rows 0.63. Touching the rows to come
            //   ahead of time did not help.
            // - Slices of 256 of these rows 0.69, of 1024 0.54, of 128 0.60: what the CPU fetches
            //   ahead of a part of a row is still there when the neighbouring lanes come to it.
            // - Results go out word by word, about 8 cycles each: [4, 3000000] axis 0 has 0.61 with
            //   them and 0.95 without.
            // - Rows that it takes whole, [64, 512, 512] axis 1: sixteen runs in the order of
            //   memory 0.77; eight runs of half a row 0.47, whatever the order. Of rows of 4 KiB
            //   thirty-two runs 0.70, eight 0.57. As many runs as a row needs, by twos and fours: rows
            //   of 516 elements 0.64 (0.37 by sixteen or thirty-two), 600 0.77 (0.43), [64, 512, 768]
            //   0.78 (0.60), uint8 [1, 65000, 1040] 0.50 (0.29). Forty-eight runs of 6 KiB 0.65, strips
            //   0.55, but 2 s to compile; of 12 KiB and more no better on four cores. What was found kept
            //   in an array takes five times the compilation of one in eights.
            // - Rows of two to ten vec4: a lane a vec4 of columns, [2048, 1024, 8] axis 1 0.83, folded into
            //   bands 0.30; [512, 4096, 8] 0.79 (0.62), [512, 4096, 4] float64 0.77 (0.60); [256, 1820, 36]
            //   0.75, by panels, where nine lanes of sixteen work, 0.45; uint8 [512, 4096, 32] 0.72 (0.22).
            //   Of twelve vec4 it is 0.55, bands 0.68. Rows side by side pay their records where they are a
            //   thirty-second: [512, 1500, 22] 0.68 by columns, in bands of eight times that 0.56.
            // - Small matrices by shallow columns: of 256 rows as fast as by columns, of 512 0.74 (0.80),
            //   where they are no whole vec4 0.41 (0.67).
            // - Blocks of rows: eight vec4 joined one by one 0.98 over [4096, 4096] axis 1, four 0.94,
            //   sixteen 0.95; loaded first and joined then 0.93, 0.94 and 0.85. Where rows begin and
            //   end with whole vec4, no edges: 0.04 more.
            // - Lines, results by whole vec4: [5592400, 3] axis 1 argmin 0.98 where an element at a
            //   time had 0.24, [1677712, 10] 0.87 (0.10 by unaligned rows), [4, 4194304] axis 0 0.78
            //   (0.24 by strips). Tiles in a loop 0.71 to 0.78 of rows of 21 to 151 elements, no
            //   better than rows from 512 on; written out for rows of 21 and 64 elements 0.62 and 0.67.
            //   Below 32 bits a loop has 0.50 and 0.35, short rows 0.6 to 0.75; written out 0.8. A lane
            //   takes neighbouring tiles: 0.73, abreast 0.60, of 21 elements; those written out abreast
            //   0.78, neighbouring 0.68.
            // - Shallow columns: of 4 to 12 rows 0.75, of 16 0.63 (panels 0.66), of 21 0.50 (panels 0.60,
            //   strips 0.42), of 24 0.38: the CPU follows so many rows at once. Two neighbouring vec4 a
            //   lane: of 8 rows the same, of 16 0.68, [2000, 10, 512] axis 1 0.58 (one 0.42).
            // - Anywhere, [21, 798913] axis 0: five vec4 for four lines 0.56, three for two 0.49, nine for
            //   eight 0.56, two for one 0.33, words 0.35; by records 0.07 to 0.13. Plain kernels 0.54, in
            //   whole vec4 0.65. Narrower matrices have more runs that lie in two: [2500, 10, 401] 0.42
            //   (words 0.32), [10000, 10, 101] 0.33 (0.42).
            // - Records of a few long rows, where a binding holds no more, by shallow columns instead of strips:
            //   7 rows, [80, 4194304] axis 0, 0.32 (0.19); 15 rows 0.39 (0.25); 31 rows 0.46 (0.33); 63 rows
            //   no better. Each record costs a vec4, and its merge two.
            // - Finish, of many outputs, several a lane: [256, 524288] axis 0 0.50 (0.45), [9, 4194304] 0.21
            //   (0.13).
            // - Panels whose rows are whole: [2048, 64, 128] axis 1 0.73 (0.24 folded into bands),
            //   [1500, 40, 200] 0.68 (0.20), float16 [64, 512, 512] 0.66 (0.53). Parts of rows, 100
            //   of them, 0.53, strips 0.57; 50 of them 0.65 and 0.56.
            // - A loop in a loop costs 8 to 15%, one short row a lane half of everything
            //   (a subgroup takes about 2000 cycles to begin), an integer division 200 cycles.
            // - Lanes of a row abreast 0.56 to 0.78 where lanes apart reach 0.86.
            // - What optional features would give. vec4<u64> loads (SHADER_INT64): plain kernels over 64 MiB
            //   1.55 of the ceiling, which is by vec4<u32>, and argmin of float32 1.50 where it has 0.98.
            //   Subgroup minima of eight lanes that share a row: of 4096 elements 0.93, the same by workgroup
            //   memory 0.78, lanes apart 0.94; of 256 elements 0.79, 0.54 and 0.61 (tiles 0.73). Neither is
            //   used.
            // - Key and place in one word, of 8 and 16 bits, over a flat row: float16 0.86, keys by blocks
            //   0.84, extremes by blocks 0.92 (which is done); uint8 0.87, keys by blocks 0.88.
            // - Workgroups of 256 leave cores idle on small inputs; by wall time of one noisy run
            //   16 and 32 were ahead of 64 over [1, 129280], by 1.4 to 1.9.
            AdapterClass::Software => Tuning {
                workgroup: 32,
                row_lanes: 1,
                chunked: true,
                invocations: 4096,
                wide_bytes: 1024,
                strips: true,
                short_row_bytes: 512,
                short_rows: 256,
                tile_len: 256,
                shallow_bytes: 16 << 10,
                submit_bytes: 512 << 20,
                ..gpu
            },
        }
    }
}

/// What a device allows, and its tuning: all that the planner knows of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Caps {
    /// Bytes of one storage binding.
    pub binding_bytes: u64,
    /// Bytes of one buffer; a run's tensors above it are several.
    pub buffer_bytes: u64,
    /// What a binding's offset is a multiple of.
    pub offset_alignment: u64,
    /// Workgroups in one dimension of a dispatch.
    pub workgroups: u32,
    /// Invocations in a workgroup.
    pub invocations: u32,
    /// Bytes of workgroup memory.
    pub workgroup_bytes: u32,
    /// Storage buffers that a shader can bind.
    pub storage_buffers: u32,
    /// Whether the driver compiles kernels of some thousand instructions: `strips`, `bands`,
    /// `panels`, `zip_strips`, tiles that are written out and several shallow columns at once are
    /// planned for no other.
    pub long_kernels: bool,
    /// Kind of machine.
    pub class: AdapterClass,
    /// How to use it.
    pub tuning: Tuning,
}

impl Caps {
    /// The caps of a device with these limits.
    pub fn new(limits: &wgpu::Limits, class: AdapterClass) -> Caps {
        Caps {
            binding_bytes: limits.max_storage_buffer_binding_size,
            buffer_bytes: limits.max_buffer_size,
            offset_alignment: u64::from(limits.min_storage_buffer_offset_alignment).max(16),
            workgroups: limits.max_compute_workgroups_per_dimension,
            invocations: limits
                .max_compute_invocations_per_workgroup
                .min(limits.max_compute_workgroup_size_x),
            workgroup_bytes: limits.max_compute_workgroup_storage_size,
            storage_buffers: limits.max_storage_buffers_per_shader_stage,
            long_kernels: true,
            class,
            tuning: Tuning::of(class),
        }
    }

    /// The caps of an adapter's devices. The one place that knows drivers by their names.
    pub fn of(info: &wgpu::AdapterInfo, limits: &wgpu::Limits) -> Caps {
        // FXC, to which wgpu falls back on DirectX 12, takes half a minute for one; of GPUs there
        // are none planned.
        let warp = info.backend == wgpu::Backend::Dx12 && info.device_type == wgpu::DeviceType::Cpu;
        Caps {
            // SwiftShader takes minutes and gigabytes to compile one.
            long_kernels: !(warp || info.name.contains("SwiftShader")),
            ..Caps::new(limits, AdapterClass::of(info.device_type))
        }
    }

    /// WebGPU's default limits, for planning without a device.
    pub fn webgpu_default() -> Caps {
        Caps::new(&wgpu::Limits::default(), AdapterClass::Integrated)
    }

    /// These caps with lower limits: the smaller of each is taken, so that a plan made with
    /// the result runs on the device. Bindings keep at least the offset alignment and 16 bytes.
    #[must_use]
    pub fn lowered(&self, binding_bytes: u64, workgroups: u32) -> Caps {
        let least = self.offset_alignment + 16;
        Caps {
            binding_bytes: self.binding_bytes.min(binding_bytes.max(least)),
            workgroups: self.workgroups.min(workgroups.max(1)),
            ..self.clone()
        }
    }

    /// Bytes of each of several buffers of a tensor, in whole vec4.
    pub(crate) fn piece_bytes(&self) -> u64 {
        (self.buffer_bytes / 16 * 16).max(16)
    }

    /// Whether a lane takes long stretches: what tuning asks for, where the driver compiles it.
    pub(crate) fn long_strips(&self) -> bool {
        self.tuning.strips && self.long_kernels
    }

    /// These caps with another tuning.
    #[must_use]
    pub fn tuned(&self, tuning: Tuning) -> Caps {
        Caps {
            tuning,
            ..self.clone()
        }
    }
}
