//! What a device allows: limits, as plain data.

use crate::tuning::{AdapterClass, Tuning};

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
    /// Whether the driver compiles kernels of some thousand instructions. Only then are these planned:
    /// `strips`, `panels`, `elementwise_strips`, unrolled small rows, and several shallow columns at once.
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
        // SwiftShader takes minutes and gigabytes to compile one. FXC, to which wgpu falls back on DirectX
        // 12, takes half a minute. A browser's software adapter is one of these, without its name. GPUs get
        // no such kernels.
        let slow = [wgpu::Backend::Dx12, wgpu::Backend::BrowserWebGpu].contains(&info.backend);
        let slow = slow && info.device_type == wgpu::DeviceType::Cpu;
        let caps = Caps {
            long_kernels: !(slow || info.name.contains("SwiftShader")),
            ..Caps::new(limits, AdapterClass::of(info.device_type))
        };
        match info.name.contains("llvmpipe") {
            // Mesa's software drivers, including lavapipe. Longer rows make SwiftShader slower.
            true => Caps {
                tuning: Tuning {
                    short_row_bytes: 4096,
                    ..caps.tuning
                },
                ..caps
            },
            false => caps,
        }
    }

    /// WebGPU's default limits, for planning without a device.
    pub fn webgpu_default() -> Caps {
        Caps::new(&wgpu::Limits::default(), AdapterClass::Integrated)
    }

    /// These caps with lower limits: the smaller of each is taken, so that a plan made with
    /// the result runs on the device. Neither is lowered below what a plan needs: a binding of the offset alignment
    /// and 16 bytes, one workgroup.
    #[must_use]
    pub fn lowered(&self, binding_bytes: u64, workgroups: u32) -> Caps {
        let least = self.offset_alignment.saturating_add(16);
        Caps {
            binding_bytes: self.binding_bytes.min(binding_bytes.max(least)),
            workgroups: self.workgroups.min(workgroups.max(1)),
            ..self.clone()
        }
    }

    /// For each limit the stricter of these caps' and the device's. What no device has stays, for
    /// [`Caps::suffice`] to refuse.
    pub(crate) fn within(self, device: &Caps) -> Caps {
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
            class: self.class,
            tuning: self.tuning,
        }
    }

    /// Bytes of each buffer of a tensor that needs several, in whole vec4.
    pub(crate) fn piece_bytes(&self) -> u64 {
        (self.buffer_bytes / 16 * 16).max(16)
    }

    /// Whether an invocation takes long stretches: if tuning asks for it and the driver compiles it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mesas_software_drivers_take_rows_of_four_kibibytes_by_a_lane_and_no_other() {
        let bytes = |name: &str| {
            let mut info = wgpu::AdapterInfo::new(wgpu::DeviceType::Cpu, wgpu::Backend::Vulkan);
            info.name = name.into();
            Caps::of(&info, &wgpu::Limits::default())
                .tuning
                .short_row_bytes
        };
        assert_eq!(bytes("llvmpipe (LLVM 15.0.6, 256 bits)"), 4096);
        assert_eq!(bytes("SwiftShader Device (Subzero)"), 512);
    }
}
