//! What a plan may ask of a device: of a binding, of a dispatch, of a submit.
//!
//! Knows caps alone.

use crate::caps::MESA_ITERATIONS;
use crate::kernel::StoreFormat;
use crate::{Caps, Error};

/// Most elements that a dispatch sees, so that its arithmetic stays within 32 bits.
pub(crate) const MAX_REGION: u64 = 1 << 30;
/// Most regions of a step: 8 TiB in bindings of 128 MiB. Each takes a few dispatches.
const MAX_REGIONS: u64 = 1 << 16;
/// Most dispatches of a plan: some hundred MiB of them.
pub(crate) const MAX_DISPATCHES: u64 = 1 << 18;
/// Most bytes of partial results that a dispatch sees: shaders number their words by 32 bits.
const MAX_PARTIALS: u64 = 16 << 30;
/// Most parts of a segment that tuning may ask for: one invocation may have to take them all, for each of the
/// four outputs that share a word.
pub(crate) const MAX_PARTS: u64 = 4096;
/// Least budget of a submit: a vec4 of every input of a dispatch, and some more.
const LEAST_SUBMIT: u64 = 1024;
/// How many times longer it takes to read bytes across rows.
pub(crate) const STRIDED_COST: u64 = 4;
/// Most bytes of workgroup memory of an invocation: two keys of 64 bits, each with a position, of both extremes of rows.
const INVOCATION_BYTES: u32 = 32;
/// Least invocations of a workgroup: the outputs of 8 bits that share a word.
const LEAST_WORKGROUP: u32 = 4;

impl Caps {
    /// Refuses a tuning without a plan, limits below what every plan needs, and those that no device has. `buffers` are the least
    /// storage buffers of a kernel.
    pub(crate) fn suffice(&self, buffers: u32) -> Result<(), Error> {
        self.tuning.check()?;
        let alignment = self.offset_alignment;
        if !(alignment.is_power_of_two() && alignment <= 1 << 16) {
            return Err(Error::OffsetAlignment { alignment });
        }
        let narrow = |what, least: u32, limit: u32| Error::within(what, least.into(), limit.into());
        let bytes = INVOCATION_BYTES * LEAST_WORKGROUP;
        let most = self.iterations.unwrap_or(u32::MAX);
        // Two partial results of 16 bytes are bound together: those of both extremes.
        let binding = alignment.max(16) + 16;
        Error::within("a storage binding", binding, self.binding_bytes)?;
        Error::within("a buffer", 16, self.buffer_bytes)?;
        narrow("workgroups of a dispatch", 1, self.workgroups)?;
        narrow("a workgroup", LEAST_WORKGROUP, self.invocations)?;
        narrow("bytes of workgroup memory", bytes, self.workgroup_bytes)?;
        narrow("loop iterations of an invocation", MESA_ITERATIONS, most)?;
        narrow("storage buffers of a shader", buffers, self.storage_buffers)
    }

    /// Refuses bindings that are too small for a partial result of that format at any offset.
    pub(crate) fn hold(&self, partial: StoreFormat) -> Result<(), Error> {
        let needed = self.offset_alignment + partial.bytes();
        let limit = self.binding_bytes.min(self.budget(false));
        Error::within("a storage binding for partial sums", needed, limit)
    }

    /// The workgroup size to plan with: tuning's, within the limits, a power of two.
    pub(crate) fn workgroup(&self) -> u32 {
        // Columns and exact sums ask first whether there is more.
        let held = self.workgroup_bytes / INVOCATION_BYTES;
        let most = self.invocations.min(held);
        let wg = self.tuning.workgroup.min(most).max(LEAST_WORKGROUP);
        1 << wg.ilog2()
    }

    /// Workgroups of a dispatch. No dimension needs more than devices have.
    pub(crate) fn groups(&self) -> u64 {
        u64::from(self.workgroups.min(1 << 16)).pow(2)
    }

    /// Invocations of a dispatch.
    pub(crate) fn most_invocations(&self) -> u64 {
        self.groups() * u64::from(self.workgroup())
    }

    /// Most iterations of an invocation, over all its loops. Without a limit of the driver's a number that no plan
    /// comes near and that can be multiplied by a block's bytes.
    pub(crate) fn most_iterations(&self) -> u64 {
        self.iterations.map_or(1 << 40, u64::from)
    }

    /// Elements of so many bytes that a binding holds, wherever in a buffer they begin.
    pub(crate) fn elements(&self, bytes: u64) -> u64 {
        let binding = self.binding_bytes / 4 * 4;
        let usable = binding.saturating_add(bytes);
        let usable = usable.saturating_sub(self.offset_alignment);
        usable.min(binding) / bytes
    }

    /// Partial results of that format that a dispatch may read or write. Scratch is whole vec4, and must not
    /// exceed a buffer.
    pub(crate) fn partials(&self, partial: StoreFormat) -> u64 {
        let most = self.binding_bytes.min(self.budget(false)).min(MAX_PARTIALS);
        most / 16 * 16 / partial.bytes()
    }

    /// Bytes that a dispatch may read or write: the submit budget. Strided reads cost four times as much.
    pub(crate) fn budget(&self, apart: bool) -> u64 {
        let bytes = self.tuning.submit_bytes.max(LEAST_SUBMIT);
        if apart { bytes / STRIDED_COST } else { bytes }
    }
}

/// Refuses so many regions that they would take forever to plan.
pub(crate) fn dispatches(regions: u64) -> Result<(), Error> {
    Error::within("regions of a step", regions, MAX_REGIONS)
}
