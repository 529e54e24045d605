//! The ways of writing: one folder each.

pub(crate) mod groups;
pub(crate) mod pages;
pub(crate) mod rows;
pub(crate) mod stripes;
pub(crate) mod zones;

use crate::care::collect::Move;
use crate::config::Setup;
use crate::core::jobs::StripeLocks;
use crate::device::contents::HostPayload;
use crate::device::slab::{Id, Slab};
use crate::session::SetupError;
use crate::write::groups::Groups;
use crate::write::pages::PageWriter;
use crate::write::rows::loss::Bare;
use crate::write::rows::{Cover, RowWriter};
use crate::write::stripes::StripeOp;
use crate::write::stripes::partial::ParityCache;
use crate::write::zones::Zones;
use protect::Protection;
use std::collections::{BTreeSet, VecDeque};
use vocab::{Grid, PeCycles, StripeId};

/// The scheme and its way of writing.
#[derive(Clone)]
pub(crate) struct Writer<P: HostPayload> {
    pub protection: Protection,
    pub pages: PageWriter,
    pub rows: [RowWriter<P>; 2],
    pub covers: Slab<Cover>,
    /// What waits for its rows to be covered after all.
    pub bare: Vec<Bare>,
    /// Pages on their way from a victim to a row or group.
    pub moves: VecDeque<Move<P>>,
    pub groups: Groups<P>,
    pub stripes: Slab<StripeOp<P>>,
    pub stripe_locks: StripeLocks,
    pub stalled_stripes: VecDeque<Id>,
    /// Partial parities.
    pub held: ParityCache<P>,
    /// P/E cycles above which the scheme takes a block for worn.
    pub worn_above: Option<PeCycles>,
    /// Rank of the contents of each logical page, of a drive of static stripes that is to be mounted.
    pub versions: Vec<u64>,
    /// The same for the parity of each stripe; 0: none.
    pub parity_versions: Vec<u64>,
    /// Stripes of which no page names the newest consistent state: one that is written anew does.
    pub unnamed: BTreeSet<StripeId>,
    /// What a drive of code zones has beside its map; `None` under other schemes.
    pub zones: Option<Box<Zones<P>>>,
}

impl<P: HostPayload> Writer<P> {
    /// Nothing written yet.
    ///
    /// # Errors
    /// A parity cache that is too small for block groups.
    pub fn new(setup: &Setup, protection: Protection, grid: &Grid, logs: usize) -> Result<Self, SetupError> {
        let streams = 1 + u32::from(setup.gc.separate_frontier);
        let scheme = if let Protection::Stripes(scheme) = &protection { Some(&**scheme) } else { None };
        let width = scheme.filter(|_| setup.power.mountable).map(|scheme| scheme.data_strips());
        Ok(Self {
            pages: PageWriter::new(logs),
            rows: [RowWriter::default(), RowWriter::default()],
            covers: Slab::default(),
            bare: Vec::new(),
            moves: VecDeque::new(),
            groups: Groups::new(&protection, grid.blocks_per_die(), streams, &setup.scheme.name)?,
            stripes: Slab::default(),
            stripe_locks: StripeLocks::default(),
            stalled_stripes: VecDeque::new(),
            held: ParityCache::new(scheme.map_or(0, |scheme| scheme.parity_cache())),
            worn_above: scheme.and_then(|scheme| scheme.worn_above()),
            versions: vec![0; width.map_or(0, |_| setup.user_slots as usize)],
            parity_versions: vec![0; width.map_or(0, |width| setup.user_slots.div_ceil(width) as usize)],
            unnamed: BTreeSet::new(),
            zones: Zones::new(&protection),
            protection,
        })
    }
}
