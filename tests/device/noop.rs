//! wgpu's noop device, which validates calls but computes nothing, and counts of its calls and buffers.

use tempfile::TempDir;
use wgreduce::Reducer;
use wgreduce::wgpu;

/// A device that panics on uncaptured errors and traces every call that reaches it.
pub struct Noop {
    pub instance: wgpu::Instance,
    pub reducer: Reducer,
    trace: TempDir,
}

impl Noop {
    pub fn new() -> Noop {
        Noop::with(wgpu::Features::empty())
    }

    /// A device with optional features.
    pub fn with(features: wgpu::Features) -> Noop {
        let trace = tempfile::tempdir().expect("a folder");
        let instance = support::noop::instance(None);
        let adapter = support::noop::adapter(&instance);
        let descriptor = wgpu::DeviceDescriptor {
            required_features: features,
            trace: wgpu::Trace::Directory(trace.path().into()),
            ..Default::default()
        };
        let (device, queue) = support::noop::device(&adapter, &descriptor);
        Noop {
            reducer: Reducer::new(&device, &queue).expect("a reducer"),
            instance,
            trace,
        }
    }

    /// wgpu's own trace of all calls.
    pub fn trace(&self) -> String {
        std::fs::read_to_string(self.trace.path().join("trace.ron")).expect("a trace")
    }

    /// The names of the calls that have reached the device: `CreateBuffer`, `Submit`. The host's writes to
    /// mapped memory are left out.
    pub fn calls(&self) -> Vec<String> {
        let text = self.trace();
        // A call begins at the start of a line; its fields are indented.
        let calls = text.split("\n").map(|line| match line {
            "    queued: false," => "mapped",
            _ => line.split(['(', '{']).next().unwrap_or_default(),
        });
        let mut names: Vec<String> = Vec::new();
        for name in calls {
            if name == "mapped" {
                names.pop();
            } else if name.starts_with(|c: char| c.is_ascii_uppercase()) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// The calls that a closure makes.
    pub fn calls_of(&self, f: impl FnOnce()) -> Vec<String> {
        let before = self.calls().len();
        f();
        self.calls().split_off(before)
    }

    /// The number of buffers with this label that were made.
    pub fn made(&self, label: &str) -> usize {
        self.trace().matches(&format!("Some(\"{label}\")")).count()
    }

    /// The number of buffers that are alive.
    pub fn buffers(&self) -> usize {
        let device = self.reducer.device();
        let polled = device.poll(wgpu::PollType::wait_indefinitely());
        polled.expect("polled");
        let report = self.instance.generate_report().expect("a report");
        report.hub_report().buffers.num_allocated
    }
}
