//! Options of code zones, and the drive they make.

use super::{CodeZones, Offer, ZoneLayout};
use crate::read_ahead::{ReadAhead, ReadAheadSettings};
use crate::{Options, SchemeError, Shape};
use coding::gf2::Decoder;
use coding::graph::{BLOCKS_MAX, CodeGraph};
use std::collections::BTreeMap;
use vocab::{Bytes, Lba, SECTOR_BYTES};

/// Options of the scheme: `(name, default, help)`.
pub const OPTIONS: &[(&str, &str, &str)] = &[
    ("group", "4", "stripe blocks of a code group, G; divides the dies"),
    ("degree", "2", "data blocks that a code block is the sum of, m"),
    ("decoder", "peeling", "how reads are decoded: `peeling` or `elimination`"),
    ("offer", "wanted", "which blocks of a coded line reads may use: `wanted` data and their code, all `code`, or `all`"),
    ("stripe_block", "auto", "size of a stripe block, whole pages; `auto`: one page"),
    (
        "zone_blocks",
        "auto",
        "flash blocks of a segment; `auto`: 1/88 of a die, with at most 1/8 of them spare, and at least 4 zones",
    ),
    ("spare_blocks", "2", "flash blocks of each segment kept for garbage collection and bad blocks"),
    ("code_zones", "auto", "zones of code; `auto`: one for ten data zones"),
    ("counters", "keep", "whether reads of zones are counted on after a choice, `keep`, or anew, `restart`"),
    ("hysteresis", "0", "percent by which a zone must be read more than one whose code zone it takes"),
    ("read_ahead_over", "128", "sectors read in sequence from which on reads are of whole groups"),
    ("read_ahead_threads", "20", "sequences of reads that are followed at a time; 0: no read-ahead"),
    ("read_ahead_window", "20", "recent reads that a new sequence may continue"),
];

/// What does not depend on the drive.
pub(super) struct Settings {
    pub decoder: Decoder,
    pub offer: Offer,
    pub restart: bool,
    pub hysteresis: u32,
}

/// Builds the scheme for a drive, and its read-ahead, if there is one.
///
/// # Errors
/// Names the setting at fault and what would be valid.
pub fn build(given: &BTreeMap<String, String>, shape: Shape) -> Result<(CodeZones, Option<ReadAhead>), SchemeError> {
    let options = &Options::new("scheme", "code-zones", given, OPTIONS)?;
    shape.need_one_slot_per_page(options)?;
    let layout = layout(options, shape)?;
    let read_ahead = read_ahead(options, shape, &layout)?;
    let settings = Settings {
        decoder: [Decoder::Peeling, Decoder::Elimination][options.word("decoder", &["peeling", "elimination"])?],
        offer: [Offer::Wanted, Offer::Code, Offer::All][options.word("offer", &["wanted", "code", "all"])?],
        restart: options.word("counters", &["keep", "restart"])? == 1,
        hysteresis: options.number("hysteresis", 0..=10_000)?,
    };
    Ok((CodeZones::new(layout, settings), read_ahead))
}

fn layout(options: &Options<'_>, shape: Shape) -> Result<ZoneLayout, SchemeError> {
    let graph = graph(options, shape.dies)?;
    let stripe_pages = stripe_pages(options, shape)?;
    let spare = options.number("spare_blocks", 1..=shape.blocks_per_die.saturating_sub(1).max(1))?;
    let zone_blocks = zone_blocks(options, shape, spare)?;
    let rows = (zone_blocks - spare) * (shape.pages_per_block / stripe_pages);
    let zones = shape.blocks_per_die / zone_blocks;
    let code_zones = options.number_or_auto("code_zones", 0..=zones / 2)?.unwrap_or((zones / 11).max(1));
    let pages = [zones, rows, shape.dies, stripe_pages].iter().fold(1u64, |pages, &n| pages.saturating_mul(n.into()));
    if pages > u64::from(u32::MAX) {
        return Err(options.error("zone_blocks", format!("found {zone_blocks}: the zones have more than 2^32 - 1 pages")));
    }
    let data_zones = zones - code_zones;
    Ok(ZoneLayout { dies: shape.dies, graph, stripe_pages, zone_blocks, rows, data_zones, code_zones })
}

fn graph(options: &Options<'_>, dies: u32) -> Result<CodeGraph, SchemeError> {
    let most = dies.min(BLOCKS_MAX as u32);
    if most < 2 {
        return Err(options.error("dies", format!("the drive has {dies}, a code group takes at least 2")));
    }
    let group = options.number("group", 2..=most)?;
    if !dies.is_multiple_of(group) {
        let valid: Vec<_> = (2..=most).filter(|g| dies.is_multiple_of(*g)).map(|g| g.to_string()).collect();
        let valid = if valid.is_empty() { "none".into() } else { valid.join(", ") };
        return Err(options.error("group", format!("found `{group}`, which does not divide {dies} dies; valid are {valid}")));
    }
    let degree = options.number("degree", 1..=group)?;
    Ok(CodeGraph::regular(group as usize, degree as usize).expect("1 <= m <= G"))
}

/// Pages of a stripe block: a block of flash holds whole ones.
fn stripe_pages(options: &Options<'_>, shape: Shape) -> Result<u32, SchemeError> {
    let Some(Bytes(found)) = options.size("stripe_block")? else { return Ok(1) };
    let (page, most) = (shape.page_size.0, shape.pages_per_block);
    let pages = if found.is_multiple_of(page) { found / page } else { 0 };
    match u32::try_from(pages).ok().filter(|&pages| pages > 0 && most.is_multiple_of(pages)) {
        Some(pages) => Ok(pages),
        None => {
            let valid: Vec<_> =
                (1..=most).filter(|n| most.is_multiple_of(*n)).map(|n| Bytes(u64::from(n) * page).to_string()).collect();
            Err(options.error("stripe_block", format!("found {}, valid are {}", Bytes(found), valid.join(", "))))
        }
    }
}

/// The paper has 88 zones of 256 blocks, 2 of them spare. Small drives have fewer and smaller ones.
fn zone_blocks(options: &Options<'_>, shape: Shape, spare: u32) -> Result<u32, SchemeError> {
    let blocks = shape.blocks_per_die;
    // Two zones at least: one of data, one of code.
    let (least, most) = (spare.saturating_add(1), blocks / 2);
    if least > most {
        let reason = format!("found {spare}: segments of {blocks} blocks a die need 2 zones with a block of data each");
        return Err(options.error("spare_blocks", reason));
    }
    let auto = (blocks / 88).max(spare.saturating_mul(8)).min(blocks / 4).clamp(least, most);
    Ok(options.number_or_auto("zone_blocks", least..=most)?.unwrap_or(auto))
}

fn read_ahead(options: &Options<'_>, shape: Shape, layout: &ZoneLayout) -> Result<Option<ReadAhead>, SchemeError> {
    let threads = options.number("read_ahead_threads", 0..=4096)?;
    let window = options.number("read_ahead_window", 1..=4096)?;
    let over = options.number("read_ahead_over", 0..=1 << 30)?;
    let page_sectors = shape.page_size.0 / SECTOR_BYTES;
    let settings = ReadAheadSettings {
        threads,
        window,
        over_sectors: over.into(),
        group_sectors: u64::from(layout.group_size() * layout.stripe_pages()) * page_sectors,
        end: Lba(u64::from(layout.user_pages()) * page_sectors),
    };
    Ok((threads > 0).then(|| ReadAhead::new(settings)))
}
