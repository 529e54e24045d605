//! Limits on read disturb and retention, of DA-RAID-5 (`da_raid5`) or beside any other scheme, as the addition
//! `limits`.
//!
//! Paper: as of [`da_raid5`](crate::da_raid5), sections III-B and III-C (UDL, unbound-disturb limiting): a block that
//! was read T_read times, or whose data are T_retention old, is recycled before ECC stops sufficing. Nothing in that
//! needs stripes, or a stage of life: it is said of blocks, and every way of writing has blocks.
//!
//! Differs: where a unit of GC has several blocks, rows and block groups, it is recycled when one of its blocks
//! comes to a limit, for it is erased as a whole.

use crate::{DisturbLimits, Options, SchemeError};
use vocab::Nanos;

/// An option: `(name, default, help)`.
type OptionRow = (&'static str, &'static str, &'static str);

pub(crate) const T_READ: OptionRow =
    ("t_read", "auto", "reads of a block after which its data are moved; `auto`: by its P/E cycles, from the error model");
pub(crate) const T_RETENTION: OptionRow =
    ("t_retention", "auto", "age of a block's data at which they are moved; `auto`: by its P/E cycles, from the error model");
pub(crate) const YIELD: OptionRow = ("yield", "0.999", "share of codewords that come back at a limit that is `auto`");
pub(crate) const MARGIN: OptionRow =
    ("margin", "10", "last percent of both limits: idle dies recycle in its first half, all in its second");

/// Options of the addition.
pub(crate) const OPTIONS: &[OptionRow] = &[T_READ, T_RETENTION, YIELD, MARGIN];

impl DisturbLimits {
    /// The limits that these options, of a scheme or of the addition, ask for.
    ///
    /// # Errors
    /// Names the setting at fault and what would be valid.
    pub(crate) fn new(options: &Options<'_>) -> Result<Self, SchemeError> {
        let limits = Self {
            reads: options.number_or_auto("t_read", 16..=u32::MAX)?,
            retention: options.time("t_retention")?,
            target_yield: options.real("yield", 0.001..=0.999_999_999)?,
            margin_percent: options.number("margin", 1..=90)?,
        };
        if limits.retention == Some(Nanos(0)) {
            return Err(options.error("t_retention", "found 0, at least 1ns".into()));
        }
        Ok(limits)
    }
}
