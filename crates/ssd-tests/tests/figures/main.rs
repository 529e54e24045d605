//! Figures of the engine against theory and data sheets.

#[path = "../common/mod.rs"]
mod common;

mod idle_latency;
mod streams;
mod wear_and_space;
mod write_amplification;
