//! Options of code zones, and the drive they make.

use super::{CodeZones, Offer, Offline, When, ZoneLayout};
use crate::lazy::{EXTRA_READS, ReadAround};
use crate::read_ahead::{ReadAhead, ReadAheadSettings};
use crate::{Options, SchemeError, Shape};
use coding::gf2::Decoder;
use coding::graph::{BLOCKS_MAX, CodeGraph};
use vocab::{Bytes, Lba, Nanos, SECTOR_BYTES};

/// Options of the scheme: `(name, default, help)`.
pub(crate) const OPTIONS: &[(&str, &str, &str)] = &[
    ("group", "auto", "stripe blocks of a code group, G; divides the dies; `auto`: 4, or what divides them and is next below it"),
    ("degree", "2", "data blocks that a code block is the sum of, m"),
    ("decoder", "peeling", "how reads are decoded: `peeling` or `elimination`"),
    ("offer", "wanted", "which blocks of a coded line reads may use: `wanted` data and their code, all `code`, or `all`"),
    ("stripe_block", "auto", "size of a stripe block, whole pages; `auto`: one page"),
    (
        "access",
        "pages",
        "least unit of reads and writes: `pages`, or whole stripe `blocks`, the rest of which is read for a write: the paper's",
    ),
    (
        "zone_blocks",
        "auto",
        "flash blocks of a segment; `auto`: 1/88 of a die, with at most 1/8 of them spare, and at least 4 zones",
    ),
    ("spare_blocks", "2", "flash blocks of each segment kept for garbage collection and bad blocks"),
    ("code_zones", "auto", "zones of code; `auto`: one for ten data zones"),
    ("counters", "keep", "whether reads of zones are counted on after a choice, `keep`, or again, `restart`"),
    ("hysteresis", "0", "percent by which a zone must be read more than one whose code zone it takes"),
    ("read_ahead_over", "128", "sectors read in sequence from which on reads are of whole groups"),
    ("read_ahead_threads", "20", "sequences of reads that are followed at a time; 0: no read-ahead"),
    ("read_ahead_window", "20", "recent reads that a new sequence may continue"),
    ("read_around", "0", "commands at a die from which on reads of it go to code too; 0: always; `off`: never"),
    EXTRA_READS,
    (
        "offline",
        "idle",
        "when zones are chosen and encoded: whenever the drive is `idle`, `never`, or at these times of the run, as `10s,1h`",
    ),
    ("offline_after", "100ms", "idle time after which the drive takes itself off line"),
    ("offline_cost", "charged", "whether off-line work takes time, `charged`, or none, `free`: the paper's"),
];

/// The group size of the paper, which chose it because it divides the banks.
const GROUP: u32 = 4;

/// Most segments of a drive.
const SEGMENTS_MAX: u32 = u16::MAX as u32;

/// Settings that do not depend on the drive.
pub(super) struct Settings {
    pub decoder: Decoder,
    pub offer: Offer,
    pub restart: bool,
    pub hysteresis: u32,
    pub whole_blocks: bool,
    pub read_around: Option<ReadAround>,
    pub offline: Offline,
    pub read_ahead: Option<Sequences>,
    pub page_sectors: u64,
}

/// Which sequences of reads are followed.
pub(super) struct Sequences {
    threads: u32,
    window: u32,
    over_sectors: u64,
}

impl Sequences {
    /// The read-ahead of a drive with this layout.
    pub fn read_ahead(&self, layout: &ZoneLayout, page_sectors: u64) -> ReadAhead {
        ReadAhead::new(ReadAheadSettings {
            threads: self.threads,
            window: self.window,
            over_sectors: self.over_sectors,
            group_sectors: u64::from(layout.group_size() * layout.stripe_pages()) * page_sectors,
            end: Lba(u64::from(layout.user_pages()) * page_sectors),
        })
    }
}

/// Builds the scheme for a drive.
///
/// # Errors
/// Names the setting at fault and what would be valid.
pub(crate) fn build(options: &Options<'_>, shape: Shape) -> Result<CodeZones, SchemeError> {
    shape.need_one_slot_per_page(options)?;
    Ok(CodeZones::new(layout(options, shape)?, settings(options, shape)?))
}

fn settings(options: &Options<'_>, shape: Shape) -> Result<Settings, SchemeError> {
    Ok(Settings {
        decoder: [Decoder::Peeling, Decoder::Elimination][options.word("decoder", &["peeling", "elimination"])?],
        offer: [Offer::Wanted, Offer::Code, Offer::All][options.word("offer", &["wanted", "code", "all"])?],
        restart: options.word("counters", &["keep", "restart"])? == 1,
        hysteresis: options.number("hysteresis", 0..=10_000)?,
        whole_blocks: options.word("access", &["pages", "blocks"])? == 1,
        read_around: ReadAround::new(options, shape.dies)?,
        offline: offline(options)?,
        read_ahead: read_ahead(options)?,
        page_sectors: shape.page_size.0 / SECTOR_BYTES,
    })
}

fn offline(options: &Options<'_>) -> Result<Offline, SchemeError> {
    let after = options.time("offline_after")?.unwrap_or(Nanos(0));
    let when = match options.text("offline") {
        "never" => When::Never,
        "idle" => When::Idle(after),
        text => {
            let times: Result<Vec<Nanos>, _> = text.split(',').map(|time| time.trim().parse()).collect();
            let valid = times.ok().filter(|times| times.is_sorted() && times.last() <= Some(&Nanos::SETTING_MAX));
            let wanted = format!("times up to {} in ascending order such as `10s,1h`", Nanos::SETTING_MAX);
            let reason = || format!("found `{text}`, valid are `idle`, `never`, and {wanted}");
            When::At(valid.ok_or_else(|| options.error("offline", reason()))?)
        }
    };
    Ok(Offline { when, charged: options.word("offline_cost", &["free", "charged"])? == 1 })
}

fn layout(options: &Options<'_>, shape: Shape) -> Result<ZoneLayout, SchemeError> {
    let graph = graph(options, shape.dies)?;
    let stripe_pages = stripe_pages(options, shape)?;
    // One is erased, for the collector; without garbage of another it would win nothing.
    let spare = options.number("spare_blocks", 2..=shape.blocks_per_die.saturating_sub(1).max(2))?;
    let zone_blocks = zone_blocks(options, shape, spare)?;
    let rows = (zone_blocks - spare) * (shape.pages_per_block / stripe_pages);
    let zones = shape.blocks_per_die / zone_blocks;
    let code_zones = options.number_or_auto("code_zones", 0..=zones / 2)?.unwrap_or((zones / 11).max(1));
    let pages = [zones, rows, shape.dies, stripe_pages].iter().fold(1u64, |pages, &n| pages.saturating_mul(n.into()));
    if pages > u64::from(u32::MAX) {
        return Err(options.error("zone_blocks", format!("found {zone_blocks}: the zones have more than 2^32 - 1 pages")));
    }
    if shape.dies * zones > SEGMENTS_MAX {
        let segments = shape.dies * zones;
        let reason = format!("found {zone_blocks}: that makes {segments} segments, at most {SEGMENTS_MAX} are valid");
        return Err(options.error("zone_blocks", reason));
    }
    let data_zones = zones - code_zones;
    let (dies, die_blocks) = (shape.dies, shape.blocks_per_die);
    let side_by_side = dies / graph.data() as u32;
    Ok(ZoneLayout { dies, graph, stripe_pages, zone_blocks, die_blocks, rows, data_zones, code_zones, side_by_side })
}

/// Builds code zones over a way of writing that finds places for pages itself, rows or block groups.
///
/// # Errors
/// Names the setting at fault and what would be valid.
pub(crate) fn build_over(options: &Options<'_>, shape: Shape) -> Result<CodeZones, SchemeError> {
    shape.need_one_slot_per_page(options)?;
    let below = "this is of segments, and the scheme below the code has none";
    for (name, only) in [("spare_blocks", "2"), ("access", "pages")] {
        if !options.is(name, only) {
            return Err(options.error(name, format!("found `{}`, valid is {only}: {below}", options.text(name))));
        }
    }
    Ok(CodeZones::new(layout_over(options, shape)?, settings(options, shape)?))
}

/// Zones are ranges of logical pages, and there are as many as the drive has pages for at most.
fn layout_over(options: &Options<'_>, shape: Shape) -> Result<ZoneLayout, SchemeError> {
    let most = shape.dies.min(BLOCKS_MAX as u32);
    let group = options.number_or_auto("group", 2..=most)?.unwrap_or(GROUP.min(most));
    let degree = options.number("degree", 1..=group)?;
    let graph = CodeGraph::regular(group as usize, degree as usize).expect("1 <= m <= G");
    let stripe_pages = stripe_pages(options, shape)?;
    let die_blocks = shape.blocks_per_die;
    let zone_blocks = options.number_or_auto("zone_blocks", 1..=die_blocks)?.unwrap_or((die_blocks / 88).max(1));
    let pages = |blocks: u32| u64::from(blocks) * u64::from(shape.pages_per_block) * u64::from(shape.dies);
    let line = u64::from(group * stripe_pages);
    let rows = (pages(zone_blocks) / line).max(1);
    let data_zones = pages(die_blocks).div_ceil(rows * line);
    let most = u32::try_from(data_zones).unwrap_or(u32::MAX);
    let code_zones = options.number_or_auto("code_zones", 0..=most)?.unwrap_or((most / 10).max(1));
    if (data_zones + u64::from(code_zones)) * rows * line > u64::from(u32::MAX) {
        return Err(options.error("code_zones", format!("found {code_zones}: data and code have more than 2^32 - 1 pages")));
    }
    let side_by_side = (shape.dies / group).max(1);
    let (rows, data_zones) = (rows as u32, data_zones as u32);
    Ok(ZoneLayout { dies: group, graph, stripe_pages, zone_blocks, die_blocks, rows, data_zones, code_zones, side_by_side })
}

fn graph(options: &Options<'_>, dies: u32) -> Result<CodeGraph, SchemeError> {
    let most = dies.min(BLOCKS_MAX as u32);
    if most < 2 {
        return Err(options.error("dies", format!("the drive has {dies}, a code group takes at least 2")));
    }
    let group = options.number_or_auto("group", 2..=most)?.unwrap_or_else(|| nearest_group(dies));
    if !dies.is_multiple_of(group) {
        let valid: Vec<_> = (2..=most).filter(|g| dies.is_multiple_of(*g)).map(|g| g.to_string()).collect();
        let valid = if valid.is_empty() { "none".into() } else { valid.join(", ") };
        return Err(options.error("group", format!("found `{group}`, which does not divide {dies} dies; valid are {valid}")));
    }
    let degree = options.number("degree", 1..=group)?;
    Ok(CodeGraph::regular(group as usize, degree as usize).expect("1 <= m <= G"))
}

/// The largest divisor of the dies up to the paper's group size; of dies that have none, the smallest above.
fn nearest_group(dies: u32) -> u32 {
    let below = (2..=GROUP).rev();
    below.chain(GROUP + 1..).find(|group| dies.is_multiple_of(*group)).expect("dies divide themselves")
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

fn read_ahead(options: &Options<'_>) -> Result<Option<Sequences>, SchemeError> {
    let threads = options.number("read_ahead_threads", 0..=4096)?;
    let window = options.number("read_ahead_window", 1..=4096)?;
    let over_sectors = options.number("read_ahead_over", 0..=1 << 30)?.into();
    Ok((threads > 0).then_some(Sequences { threads, window, over_sectors }))
}
