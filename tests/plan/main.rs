//! The planner: plans of chosen shapes, rules for every plan, and plans run on a host interpreter under limits that no
//! device has. Needs no adapter.

mod grid;
mod huge;
mod interpret;
mod limits;
mod loads;
mod memory;
mod named;
mod odd_caps;
mod pieces;
mod top_k;
mod truth;
mod views;
mod walks;

use support::grid::{class, tuned};
use wgreduce::{AdapterClass, Caps, Plan, Tuning};

/// Limits of a fake device: bytes and alignment of bindings, workgroups a dimension, invocations a workgroup.
fn fake(binding_bytes: u64, offset_alignment: u64, workgroups: u32, wg: u32) -> Caps {
    Caps {
        binding_bytes,
        offset_alignment,
        workgroups,
        ..tuned(&class(AdapterClass::Software), |t| t.workgroup = wg)
    }
}

/// A tuning of small numbers, which takes every walk and every cut early.
fn eager(change: impl FnOnce(&mut Tuning)) -> Caps {
    tuned(&class(AdapterClass::Software), |t| {
        (t.workgroup, t.row_lanes, t.invocations) = (16, 8, 256);
        (t.slice_bytes, t.short_rows) = (64, 3);
        change(t);
    })
}

fn walks(plan: &Plan) -> Vec<&'static str> {
    plan.passes().iter().map(|p| p.kernel.walk.name()).collect()
}
