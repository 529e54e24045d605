//! Duties of every registered scheme, whatever fails.

#[path = "../common/mod.rs"]
mod common;

mod conformance;
mod disturb;
mod every_step;
mod fault_atlas;
mod flows;
mod gathered;
mod given_up;
mod ladder;
mod limits;
mod outages;
mod page_ecc;
mod page_profiles;
mod power_cuts;
mod read_around;
mod read_only;
mod rebuild;
mod series;
mod slc;
mod streams;
mod waits;
mod where_peers_fail;
mod wide;
