//! The ways of writing: one folder each.

pub(crate) mod groups;
pub(crate) mod pages;
pub(crate) mod rescue;
pub(crate) mod rows;
pub(crate) mod stripes;
pub(crate) mod zones;

use crate::care::collect::Move;
use crate::config::Setup;
use crate::core::Core;
use crate::device::contents::HostPayload;
use crate::session::SetupError;
use crate::write::groups::Groups;
use crate::write::pages::PageWriter;
use crate::write::rescue::Rescue;
use crate::write::rows::Rows;
use crate::write::stripes::Stripes;
use crate::write::zones::Zones;
use ftl::{Stream, UnitId};
use nand::{FlashArray, Member, OobTag, PageRole};
use protect::Protection;
use std::collections::VecDeque;
use vocab::{Grid, Slot, StripeId};

/// The scheme and its way of writing.
#[derive(Clone)]
pub(crate) struct Writer<P: HostPayload> {
    pub protection: Protection,
    pub pages: PageWriter,
    pub rows: Rows<P>,
    /// Pages on their way from a victim to a row or group.
    pub moves: VecDeque<Move<P>>,
    pub rescue: Rescue,
    pub groups: Groups<P>,
    pub stripes: Stripes<P>,
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
        Ok(Self {
            pages: PageWriter::new(logs),
            rows: Rows::default(),
            moves: VecDeque::new(),
            rescue: Rescue::default(),
            groups: Groups::new(&protection, grid.blocks_per_die(), streams, &setup.scheme.name)?,
            stripes: Stripes::new(scheme, &setup.power, setup.user_slots),
            zones: Zones::new(&protection),
            protection,
        })
    }

    /// What a page that moves away from `from` keeps of its codeword's members.
    pub fn members_to_keep<A: FlashArray<P>>(&self, core: &Core<P, A>, tag: OobTag, from: Slot) -> KeptMembers {
        let members = core.device.array.members(core.device.grid.page_of(from).0);
        let (stripe, is_data) = match (&self.protection, tag.role()) {
            (Protection::Stripes(scheme), PageRole::Data(lpn)) => (Some(StripeId(lpn.0 / scheme.data_strips())), true),
            (Protection::Stripes(_), PageRole::Parity(stripe)) => (Some(stripe), false),
            _ => (None, false),
        };
        match stripe {
            // Its program failed, so it has no members in flash; or it names strips that a mount dropped.
            Some(stripe) if members.is_empty() || is_data && self.stripes.unnamed.contains(&stripe) => {
                KeptMembers::OfStripeNow(stripe)
            }
            _ if members.is_empty() => KeptMembers::None,
            _ => KeptMembers::These(members.to_vec()),
        }
    }
}

/// The members of its codeword that a page which moves has beside it at its new place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeptMembers {
    None,
    These(Vec<Member>),
    /// Those that the stripe has by now.
    OfStripeNow(StripeId),
}

/// The coverage in the OOB bytes of a page that moves away from `from`: that of the page, where a mount or a
/// decoder needs it.
pub(crate) fn coverage_to_keep<P: HostPayload, A: FlashArray<P>>(protection: &Protection, core: &Core<P, A>, from: Slot) -> u32 {
    let kept = match protection {
        Protection::Zones(_) => true,
        Protection::Stripes(_) => core.is_mountable(),
        Protection::None | Protection::Rows(_) | Protection::Groups(_) => false,
    };
    let ppn = core.device.grid.page_of(from).0;
    if kept && core.device.is_programmed(ppn) { core.device.array.page(ppn).oob.coverage } else { 0 }
}
