//! What keeps a drive sound while nobody asks: collection, rebuild, patrol, limits, refresh, bad blocks.

pub(crate) mod bad_blocks;
pub(crate) mod collect;
pub(crate) mod limits;
pub(crate) mod patrol;
pub(crate) mod rebuild;
pub(crate) mod refresh;
