//! The twins of the walks: what the shaders of the same names compute from `Params`. As `families` otherwise.

mod columns;
