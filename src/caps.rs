//! What a device allows: limits, as plain data.

use crate::tuning::{AdapterClass, Tuning};

/// Iterations that plans for Mesa's software drivers allow an invocation: half of what these drivers do before they stop
/// loops, because invocations whose loops differ count together.
pub(crate) const MESA_ITERATIONS: u32 = 32_768;

/// What a device allows, and its tuning: all that the planner knows of it. Fields may be added: write
/// `Caps { workgroups: 100, ..caps }`, which then still compiles.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Caps {
    /// Bytes of one storage binding.
    pub binding_bytes: u64,
    /// Bytes of one buffer; a run splits larger tensors into several.
    pub buffer_bytes: u64,
    /// The alignment of a binding's offset.
    pub offset_alignment: u64,
    /// Workgroups in one dimension of a dispatch.
    pub workgroups: u32,
    /// Invocations in a workgroup.
    pub invocations: u32,
    /// Bytes of workgroup memory.
    pub workgroup_bytes: u32,
    /// Storage buffers that a shader can bind.
    pub storage_buffers: u32,
    /// Whether the driver compiles kernels of some thousand instructions. If not, rows and columns read four units at once,
    /// and exact sums one vec4 of columns.
    pub long_kernels: bool,
    /// Most iterations of an invocation, over all its loops, before the driver silently stops them; `None`: no such
    /// limit. Mesa's software drivers have one: they stop all loops once the invocations of a SIMD vector have run
    /// 65,535 iterations together.
    pub iterations: Option<u32>,
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
            // A software driver without a name may be Mesa's.
            iterations: (class == AdapterClass::Software).then_some(MESA_ITERATIONS),
            class,
            tuning: Tuning::of(class),
        }
    }

    /// The caps of an adapter's devices. The one place that knows drivers by their names.
    pub fn of(info: &wgpu::AdapterInfo, limits: &wgpu::Limits) -> Caps {
        // SwiftShader takes minutes and gigabytes to compile one. FXC, to which wgpu falls back on DirectX
        // 12, takes half a minute. A browser's software adapter is one of these, without its name.
        let slow = [wgpu::Backend::Dx12, wgpu::Backend::BrowserWebGpu].contains(&info.backend);
        let slow = slow && info.device_type == wgpu::DeviceType::Cpu;
        // Mesa's software drivers, including lavapipe. A browser seldom says what it runs on.
        let mesa = info.name.contains("llvmpipe");
        let may_be = info.backend == wgpu::Backend::BrowserWebGpu
            || info.device_type == wgpu::DeviceType::Cpu;
        let unknown = may_be && info.name.is_empty();
        Caps {
            long_kernels: !(slow || info.name.contains("SwiftShader")),
            iterations: (mesa || unknown).then_some(MESA_ITERATIONS),
            ..Caps::new(limits, AdapterClass::of(info.device_type))
        }
    }

    /// WebGPU's default limits, for planning without a device.
    pub fn webgpu_default() -> Caps {
        Caps::typical(AdapterClass::Integrated)
    }

    /// The caps of a typical device of a class, for planning without one.
    ///
    /// | class | a binding | a buffer | invocations | workgroup memory | offsets |
    /// |---|---|---|---|---|---|
    /// | discrete | 2^31 - 4 bytes | 4 GiB | 1024 | 48 KiB | by 32 bytes |
    /// | integrated: WebGPU's default limits | 128 MiB | 256 MiB | 256 | 16 KiB | by 256 bytes |
    /// | software: Mesa's lavapipe | 128 MiB | 2^31 - 1 bytes | 1024 | 32 KiB | by 32 bytes |
    pub fn typical(class: AdapterClass) -> Caps {
        let usual = Caps::new(&wgpu::Limits::default(), class);
        let large = Caps {
            invocations: 1024,
            offset_alignment: 32,
            storage_buffers: 32,
            ..usual.clone()
        };
        match class {
            AdapterClass::Discrete => Caps {
                binding_bytes: (1 << 31) - 4,
                buffer_bytes: 4 << 30,
                workgroup_bytes: 48 << 10,
                ..large
            },
            AdapterClass::Integrated => usual,
            AdapterClass::Software => Caps {
                buffer_bytes: (1 << 31) - 1,
                workgroup_bytes: 32 << 10,
                ..large
            },
        }
    }

    /// These caps with lower limits: the smaller of each is taken, so that a plan made with
    /// the result runs on the device. Neither is lowered below what every plan needs: a binding of the offset alignment,
    /// or of 16 bytes if that is less, and 16 bytes more; one workgroup. Exact sums and TopK may need more.
    #[must_use]
    pub fn lowered(&self, binding_bytes: u64, workgroups: u32) -> Caps {
        let least = self.offset_alignment.max(16).saturating_add(16);
        Caps {
            binding_bytes: self.binding_bytes.min(binding_bytes.max(least)),
            workgroups: self.workgroups.min(workgroups.max(1)),
            ..self.clone()
        }
    }

    /// For each limit the stricter of these caps' and the device's. What no device has stays, for
    /// [`Caps::suffice`] to refuse.
    pub(crate) fn within(self, device: &Caps) -> Caps {
        let iterations = [self.iterations, device.iterations];
        Caps {
            binding_bytes: self.binding_bytes.min(device.binding_bytes),
            buffer_bytes: self.buffer_bytes.min(device.buffer_bytes),
            offset_alignment: match self.offset_alignment.is_power_of_two() {
                true => self.offset_alignment.max(device.offset_alignment),
                false => self.offset_alignment,
            },
            workgroups: self.workgroups.min(device.workgroups),
            invocations: self.invocations.min(device.invocations),
            workgroup_bytes: self.workgroup_bytes.min(device.workgroup_bytes),
            storage_buffers: self.storage_buffers.min(device.storage_buffers),
            long_kernels: self.long_kernels && device.long_kernels,
            iterations: iterations.into_iter().flatten().min(),
            ..self
        }
    }

    /// Bytes of each buffer of a tensor that needs several, in whole vec4.
    pub(crate) fn piece_bytes(&self) -> u64 {
        (self.buffer_bytes / 16 * 16).max(16)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typical_device_has_the_limits_of_its_class() {
        let of = |class| {
            let caps = Caps::typical(class);
            assert_eq!((caps.class, caps.workgroups), (class, 65_535));
            let bytes = [caps.binding_bytes, caps.buffer_bytes];
            (bytes, caps.invocations, caps.workgroup_bytes)
        };
        let discrete = ([2_147_483_644, 4_294_967_296], 1024, 49_152);
        assert_eq!(of(AdapterClass::Discrete), discrete);
        let integrated = ([134_217_728, 268_435_456], 256, 16_384);
        assert_eq!(of(AdapterClass::Integrated), integrated);
        let software = ([134_217_728, 2_147_483_647], 1024, 32_768);
        assert_eq!(of(AdapterClass::Software), software);
    }

    #[test]
    fn mesas_software_drivers_alone_limit_iterations() {
        use wgpu::{Backend, DeviceType};
        let of = |name: &str, kind, backend| {
            let mut info = wgpu::AdapterInfo::new(kind, backend);
            info.name = name.into();
            let caps = Caps::of(&info, &wgpu::Limits::default());
            caps.iterations
        };
        let (cpu, other, gpu) = (DeviceType::Cpu, DeviceType::Other, DeviceType::DiscreteGpu);
        let mesa = "llvmpipe (LLVM 15.0.6, 256 bits)";
        assert_eq!(of(mesa, cpu, Backend::Vulkan), Some(32_768));
        assert_eq!(of(mesa, cpu, Backend::Gl), Some(32_768));
        let swiftshader = "SwiftShader Device (Subzero)";
        assert_eq!(of(swiftshader, cpu, Backend::Vulkan), None);
        assert_eq!(of("NVIDIA H200", gpu, Backend::Vulkan), None);
        assert_eq!(of("", cpu, Backend::Vulkan), Some(32_768));
        // A browser that does not say what it runs on, and one that does.
        assert_eq!(of("", other, Backend::BrowserWebGpu), Some(32_768));
        assert_eq!(of("NVIDIA", other, Backend::BrowserWebGpu), None);
    }
}
