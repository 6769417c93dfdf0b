//! The walks: which invocation meets which element.
//!
//! A walk is all that is to be known of one way to read a region: when it fits, what it decides, its passes and its
//! shader's text. The files here have the names of the shaders in `shaders/walk`, and of their twins in
//! `tests/plan/walks`, which compute on the host which element each invocation meets.

pub(crate) mod columns;
pub(crate) mod rows;
