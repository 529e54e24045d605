//! Tests of the device alone: dies, channels and what they wait for, against times worked out by hand.

mod ahead;
mod common;
mod giving_way;
mod ladder;
mod service;
mod units;
mod waits;
