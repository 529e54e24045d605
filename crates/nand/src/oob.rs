//! Bytes stored beside each page, as `docs/spec/oob.md` lays them out on flash.
//!
//! In memory the same facts are packed: a tag per slot, and per page the write sequence and a
//! coverage word. [`OobPage`] is all of it, and turns it into bytes and back.

mod bytes;

pub use bytes::{OobError, OobPage, OobSlot};
use vocab::{Capability, Lpn, Slot, StripSet, StripeId};

/// Contents of a slot: role and number, 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OobTag(u32);

/// The role of a slot, as its tag tells.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PageRole {
    /// Host data of a logical page.
    Data(Lpn),
    /// Parity of a stripe of logical pages, or of the row the page lies in.
    Parity(StripeId),
    /// Nothing: the page was programmed before it was full.
    Filler,
}

const PARITY: u32 = 1 << 30;
const NUMBER: u32 = PARITY - 1;

impl OobTag {
    /// The tag of a slot without data.
    pub const FILLER: OobTag = OobTag(u32::MAX);

    /// The tag of host data.
    #[inline]
    #[must_use]
    pub fn data(lpn: Lpn) -> Self {
        debug_assert!(lpn.0 <= NUMBER);
        OobTag(lpn.0)
    }

    /// The tag of parity.
    #[inline]
    #[must_use]
    pub fn parity(stripe: StripeId) -> Self {
        debug_assert!(stripe.0 <= NUMBER);
        OobTag(PARITY | stripe.0)
    }

    /// The tag as it is stored.
    #[must_use]
    pub fn word(self) -> u32 {
        self.0
    }

    /// The tag that is stored so; `None` if it has no role.
    #[must_use]
    pub fn from_word(word: u32) -> Option<Self> {
        (word <= PARITY | NUMBER || word == u32::MAX).then_some(OobTag(word))
    }

    /// Role in the tag.
    #[inline]
    #[must_use]
    pub fn role(self) -> PageRole {
        match self.0 {
            u32::MAX => PageRole::Filler,
            word if word & PARITY != 0 => PageRole::Parity(StripeId(word & NUMBER)),
            word => PageRole::Data(Lpn(word)),
        }
    }
}

/// A member of a parity page's codeword, as the OOB of the parity page tells of it.
///
/// On flash a parity page keeps, beside its data, the sums of its members' slot entries by the same
/// code (`docs/spec/oob.md`): they bring back the entries of as many members as the code brings
/// back pages. In memory the entries themselves are kept, to be used only where the sums could be
/// solved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member {
    /// Where it lay when the parity was computed; `u32::MAX` where it had no place.
    pub slot: Slot,
    /// Its contents.
    pub tag: OobTag,
    /// Its `update`.
    pub update: u64,
}

/// Facts about a whole page that are programmed with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Oob {
    /// Rank of this program among all programs of the drive; pages of one stripe update share
    /// it. A moved page gets a new rank: which contents are newer, `update` of the
    /// specification tells (decision 0004).
    pub sequence: u64,
    /// For parity: the strips (or dies of the row) it covers. For data of a static stripe: the
    /// strips that were updated together. Empty where there is no redundancy.
    pub coverage: StripSet,
    /// Errors that the ECC of the page data corrects (FLARES' p_cur).
    pub ecc: Capability,
}
