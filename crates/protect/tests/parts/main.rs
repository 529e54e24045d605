//! Tests of the schemes alone: what they decide, against tables of their papers and naive models.

mod code_zones;
mod da_raid5;
mod lazy;
mod settings;
