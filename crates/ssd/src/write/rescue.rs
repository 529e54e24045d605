//! Pages of rows and groups whose program failed and that go elsewhere.

use device::slab::Id;
use ftl::UnitId;
use vocab::Lpn;

/// Pages whose program failed, until they are in flash elsewhere: old versions stay as long as that, and who
/// wrote them is not answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hurt {
    pub lpns: Vec<Lpn>,
    pub pins: Vec<UnitId>,
    pub jobs: Vec<Id>,
}

/// Rescued pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rescue {
    /// Whether some of the moves under way are pages whose program failed.
    pub under_way: bool,
    /// What waits for them to be in flash.
    pub hurt: Vec<Hurt>,
}
