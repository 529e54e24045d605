//! Promises of single schemes.

#[path = "../common/mod.rs"]
mod common;

mod code_over;
mod code_zone_times;
mod code_zones;
mod ds_raid;
mod mds_changes;
mod mds_groups;
mod parity_rule;
mod partial_parity;
mod pe_aware;
