//! Tests of the device alone: dies, channels and what they wait for, against times worked out by hand.

mod ahead;
mod common;
mod ladder;
mod service;
mod units;
mod waits;
