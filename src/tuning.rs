//! How work is mapped to invocations where several ways are right: policies, as plain data. `docs/tuning.md`
//! has the measurements behind them.

use crate::{Error, UnknownName};

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
/// A zero counts as the least value that can be, but `workgroup` and `row_lanes` are powers of two: [`Tuning::check`].
///
/// With the feature `serde`, fields are read and written by name; a missing one is an error.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub struct Tuning {
    /// Invocations in a workgroup, a power of two; lowered to what the device allows.
    pub workgroup: u32,
    /// Most invocations that share a row; a power of two. 1: each takes a row or a slice of its own, which suits a CPU.
    pub row_lanes: u32,
    /// Invocations that fill the device: shorter work is split to reach them.
    pub invocations: u64,
    /// Bytes of a row for each slice that it may be split into; of a matrix of columns on a software adapter, the least bytes
    /// of a slice.
    pub slice_bytes: u64,
    /// Most slices of a row, or of what goes element by element, unless the limit on iterations asks for more.
    pub slices: u64,
    /// Coarsening: most results, or words of them, that an invocation gives one after another.
    pub short_rows: u64,
    /// Bytes that a dispatch, and a submit of several, may read or write, so that no watchdog fires. At least
    /// 1 KiB. Bytes that are read across rows count four times.
    pub submit_bytes: u64,
    /// Goes element by element wherever that is possible. For tests and measurements: any release may change it.
    #[doc(hidden)]
    #[cfg_attr(feature = "serde", serde(default))]
    pub each: bool,
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

    /// The names and values of all fields, in the order in which they are declared.
    pub fn fields(&self) -> [(&'static str, u64); 7] {
        [
            ("workgroup", self.workgroup.into()),
            ("row_lanes", self.row_lanes.into()),
            ("invocations", self.invocations),
            ("slice_bytes", self.slice_bytes),
            ("slices", self.slices),
            ("short_rows", self.short_rows),
            ("submit_bytes", self.submit_bytes),
        ]
    }

    /// Sets a field by its name, to a value that [`Tuning::check`] may still refuse. A field of 32 bits takes 2^31 for
    /// what is beyond 32 bits.
    ///
    /// # Errors
    /// [`UnknownName`] with the names that there are.
    pub fn set(&mut self, name: &str, value: u64) -> Result<(), UnknownName> {
        let narrow = value.try_into().unwrap_or(1 << 31);
        match name {
            "workgroup" => self.workgroup = narrow,
            "row_lanes" => self.row_lanes = narrow,
            "invocations" => self.invocations = value,
            "slice_bytes" => self.slice_bytes = value,
            "slices" => self.slices = value,
            "short_rows" => self.short_rows = value,
            "submit_bytes" => self.submit_bytes = value,
            _ => {
                return Err(UnknownName {
                    what: "field of the tuning",
                    name: name.into(),
                    names: self.fields().map(|(name, _)| name).to_vec(),
                });
            }
        }
        Ok(())
    }

    /// The defaults of a class.
    pub fn of(class: AdapterClass) -> Tuning {
        // From others' published figures; docs/tuning.md says what an H200 made of them.
        let gpu = Tuning {
            workgroup: 256,
            row_lanes: 256,
            invocations: 1 << 18,
            slice_bytes: 16 << 10,
            slices: 1024,
            short_rows: 1,
            // About a quarter of a second, for each class.
            submit_bytes: 16 << 30,
            each: false,
        };
        match class {
            AdapterClass::Discrete => gpu,
            AdapterClass::Integrated => Tuning {
                invocations: 1 << 15,
                submit_bytes: 2 << 30,
                ..gpu
            },
            // Measured on lavapipe: docs/tuning.md has the figures, and what did not pay.
            AdapterClass::Software => Tuning {
                workgroup: 32,
                row_lanes: 1,
                invocations: 4096,
                short_rows: 256,
                submit_bytes: 512 << 20,
                ..gpu
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_set_by_its_name() {
        let mut tuning = Tuning::of(AdapterClass::Discrete);
        let names = tuning.fields().map(|(name, _)| name);
        for (i, name) in (0..).zip(names) {
            tuning.set(name, 1 << i).expect("a field");
        }
        let expected = (0..).zip(names).map(|(i, name)| (name, 1 << i));
        assert!(tuning.fields().into_iter().eq(expected));
        let unknown = tuning.set("strips", 1).expect_err("no field");
        assert_eq!((&*unknown.name, unknown.names.len()), ("strips", 7));
        tuning.set("workgroup", 1 << 40).expect("a field");
        assert_eq!(tuning.workgroup, 1 << 31);
        tuning.set("row_lanes", 7).expect("a field");
        let refused = tuning.check().expect_err("no power of two");
        let told = "the tuning's row_lanes is 7, which is no power of two";
        assert_eq!(refused.to_string(), told);
    }
}
