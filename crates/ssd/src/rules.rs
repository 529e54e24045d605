//! The rules that keep data through power cuts. A drive can be told to break one of them: whoever
//! tests drives can see that the tests would notice (`docs/torture.md`, mutation check).

/// A rule of recovery, or of what recovery builds on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SafetyRule {
    /// Old versions are kept from erase until the new ones are durable.
    Pins,
    /// A write to a row is answered when a parity covers it.
    Cover,
    /// Pages that a cut may have interrupted are written again after a mount.
    Suspects,
    /// Pages that would be current without the suspects are kept from erase until then.
    Fallback,
    /// Copies are ranked by the write of their contents, not by their program.
    Rank,
    /// Updates of static stripes that were cut are dropped as a whole.
    Whole,
    /// Parity of a static stripe is believed for the contents that it names.
    Named,
    /// Data of rows that no parity covers are written again.
    Coverage,
    /// Pages that did not get to flash are taken out of the sums of block groups.
    Sums,
    /// A partial parity whose update was cut gives way to the one before.
    Undo,
    /// Units are kept free for recovery.
    Reserve,
    /// Blocks found unneeded are erased again before use.
    EraseAgain,
    /// Pages of a PLP buffer survive.
    Buffer,
    /// Summaries are struck out before their blocks are erased.
    StrikeOut,
    /// A page whose newest contents are lost has no older ones, and was written.
    Journal,
    /// Results of reads are checked against the request.
    Compare,
    /// Counts of reads come back a step higher than they were saved.
    ReadReserve,
}

/// Every rule, with its name on the command line.
pub const SAFETY_RULES: &[(&str, SafetyRule)] = &[
    ("pins", SafetyRule::Pins),
    ("cover", SafetyRule::Cover),
    ("suspects", SafetyRule::Suspects),
    ("fallback", SafetyRule::Fallback),
    ("rank", SafetyRule::Rank),
    ("whole", SafetyRule::Whole),
    ("named", SafetyRule::Named),
    ("coverage", SafetyRule::Coverage),
    ("sums", SafetyRule::Sums),
    ("undo", SafetyRule::Undo),
    ("reserve", SafetyRule::Reserve),
    ("erase-again", SafetyRule::EraseAgain),
    ("buffer", SafetyRule::Buffer),
    ("strike-out", SafetyRule::StrikeOut),
    ("read-reserve", SafetyRule::ReadReserve),
    ("journal", SafetyRule::Journal),
    ("compare", SafetyRule::Compare),
];
