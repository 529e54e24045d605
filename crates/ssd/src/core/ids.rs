//! Identities of what the engine keeps in slabs, a type for each kind.

use device::slab::Id;

/// Marks updates of static stripes.
pub(crate) enum OfOp {}
/// Marks covers of rows.
pub(crate) enum OfCover {}
/// Marks groups of code zones that are being encoded.
pub(crate) enum OfEncode {}
/// Marks solves.
pub(crate) enum OfSolve {}
/// Marks reads with alternatives.
pub(crate) enum OfLazy {}
/// Marks effects that wait beside the stack.
pub(crate) enum OfParcel {}

pub(crate) type OpId = Id<OfOp>;
pub(crate) type CoverId = Id<OfCover>;
pub(crate) type EncodeId = Id<OfEncode>;
pub(crate) type SolveId = Id<OfSolve>;
pub(crate) type LazyId = Id<OfLazy>;
pub(crate) type ParcelId = Id<OfParcel>;
