//! wgpu's noop device, which validates and computes nothing.

use std::sync::Arc;
use wgreduce::{Reducer, wgpu};

/// An instance with the noop backend alone, whose adapter has these limits.
pub fn instance(limits: Option<wgpu::Limits>) -> wgpu::Instance {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::NOOP;
    descriptor.flags = wgpu::InstanceFlags::empty();
    let mut options = wgpu::NoopBackendOptions::enabled();
    options.limits = limits;
    descriptor.backend_options.noop = options;
    wgpu::Instance::new(descriptor)
}

pub fn adapter(instance: &wgpu::Instance) -> wgpu::Adapter {
    pollster::block_on(instance.request_adapter(&Default::default())).expect("noop")
}

/// A device that panics on an uncaptured error.
pub fn device(
    adapter: &wgpu::Adapter,
    descriptor: &wgpu::DeviceDescriptor<'_>,
) -> (wgpu::Device, wgpu::Queue) {
    let opened = pollster::block_on(adapter.request_device(descriptor));
    let (device, queue) = opened.expect("a device");
    device.on_uncaptured_error(Arc::new(|e| panic!("uncaptured: {e}")));
    (device, queue)
}

/// A reducer on a device of its own.
pub fn reducer() -> Reducer {
    let (device, queue) = device(&adapter(&instance(None)), &Default::default());
    Reducer::new(&device, &queue).expect("a reducer")
}
