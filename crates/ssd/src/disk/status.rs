//! How a drive is: what SMART tells of one, and what only a model can tell.

use super::Disk;
use crate::engine::Engine;
use crate::session::pe_cycles;
use device::contents::PageBuf;
use device::facts::RequestKind;
use device::folds::EccFolds;
use ftl::{LogKind, UnitState};
use nand::FlashArray;
use serde::Serialize;
use vocab::{BlockAddr, Cause, DieId, SuperblockId};

/// How a drive is. Counts are since it was made in this process, or opened, or its power was last cut.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DiskStatus {
    /// Virtual time, in seconds.
    pub time_s: f64,
    /// Bytes that the host may use.
    pub size: u64,
    /// The scheme.
    pub scheme: String,
    /// Where in its life the drive is, 1 to 3, under a scheme with stages.
    pub stage: Option<u8>,
    /// Whether it takes no writes any more.
    pub read_only: bool,
    /// Whether it recovers from a power cut.
    pub recovering: bool,
    /// Requests under way.
    pub outstanding: u64,
    /// Requests answered, by kind.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Discards.
    pub discards: u64,
    /// Logical pages that the host wrote.
    pub pages_written: u64,
    /// Slots programmed for each page that the host wrote; none: it wrote nothing.
    pub write_amplification: Option<f64>,
    /// Flash pages read, by cause.
    pub flash_reads: Vec<(String, u64)>,
    /// Flash pages programmed, by cause.
    pub flash_programs: Vec<(String, u64)>,
    /// Blocks erased, by cause.
    pub flash_erases: Vec<(String, u64)>,
    /// Share of blocks that are free.
    pub free_share: f64,
    /// Of the flash beyond what the host may use, the share that still works.
    pub spare: f64,
    /// Blocks that are not used any more, those of dead dies included.
    pub bad_blocks: u32,
    /// Temperature in degrees Celsius.
    pub temperature: f64,
    /// Mean P/E cycles of a block.
    pub pe_mean: f64,
    /// Most P/E cycles of a block.
    pub pe_max: u32,
    /// Rated P/E cycles.
    pub pe_rated: u32,
    /// Mean P/E cycles as a share of the rated ones.
    pub wear: f64,
    /// Host pages that could not be read.
    pub media_errors: u64,
    /// Host pages that could not be written.
    pub write_errors: u64,
    /// Host pages read that their codewords brought back.
    pub rebuilt_reads: u64,
    /// Bit errors that page ECC corrected.
    pub corrected_bits: u64,
    /// Codewords of page ECC that could not be corrected.
    pub failed_codewords: u64,
    /// Page reads that were corrected, by their bit errors: the fewest of a class, and how many reads.
    pub ecc_histogram: Vec<(u32, u64)>,
    /// Pages whose contents were compared with what was written.
    pub checked_reads: u64,
    /// Of these, wrong.
    pub mismatches: u64,
    /// Pages in the write buffer.
    pub buffered_pages: u64,
    /// Power cuts in the life of the process.
    pub power_cuts: u64,
    /// Each die.
    pub dies: Vec<DieStatus>,
}

/// How a die is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DieStatus {
    /// Whether it answers.
    pub alive: bool,
    /// Whether it works on a command.
    pub busy: bool,
    /// How long it has worked, in virtual seconds.
    pub worked_s: f64,
    /// Commands that it has.
    pub queued: u32,
    /// The channel that it is on.
    pub channel: u32,
    /// By what its array times are multiplied.
    pub slow: f64,
    /// Mean P/E cycles of its blocks.
    pub pe_mean: f64,
}

fn histogram(ecc: &EccFolds) -> Vec<(u32, u64)> {
    let classes = ecc.reads_by_errors.iter().enumerate().map(|(class, &reads)| (EccFolds::fewest_errors(class), reads));
    classes.filter(|&(_, reads)| reads > 0).collect()
}

/// Blocks that are not used any more.
fn bad_blocks(engine: &Engine<PageBuf>) -> u32 {
    let (device, map) = (&engine.core.device, &engine.core.map);
    let is_bad = |block: BlockAddr| {
        let (die, superblock) = device.grid.split_block(block);
        let is_out = match map.kind() {
            LogKind::Regions => map.unit(map.unit_of_block(block)).state == UnitState::Bad,
            LogKind::Group => !map.rows().members(SuperblockId(superblock.0)).contains(u32::from(die.0)),
        };
        is_out || device.is_dead(die) || device.array.block(block).bad || !device.losses.keeps(block)
    };
    (0..device.grid.geometry().blocks()).filter(|&block| is_bad(BlockAddr(block))).count() as u32
}

impl Disk {
    fn spare(&self, bad_blocks: u32) -> f64 {
        let geometry = &self.setup.drive.geometry;
        let beyond = f64::from(geometry.slots().saturating_sub(self.setup.user_slots));
        let lost = f64::from(bad_blocks) * f64::from(geometry.pages_per_block) * f64::from(geometry.slots_per_page());
        (1.0 - lost / beyond.max(1.0)).max(0.0)
    }

    /// How the drive is.
    #[must_use]
    pub fn status(&self) -> DiskStatus {
        let engine = self.medium.engine();
        let (device, map, folds) = (&engine.core.device, &engine.core.map, &engine.core.device.folds);
        let dies = device.grid.dies();
        let pe = pe_cycles(engine);
        let mean = |pe: &[u32]| pe.iter().map(|&pe| f64::from(pe)).sum::<f64>() / pe.len().max(1) as f64;
        let die = |die: u16| {
            let blocks = (0..device.grid.blocks_per_die()).map(|block| device.grid.block(DieId(die), block));
            let of_die: Vec<u32> = blocks.map(|block: BlockAddr| device.array.block(block).pe).collect();
            let id = DieId(die);
            DieStatus {
                alive: !device.is_dead(id),
                busy: device.is_busy(id),
                worked_s: device.dies()[id.index()].worked.as_secs_f64(),
                queued: device.backlog(id),
                channel: device.grid.channel_of(id).index() as u32,
                slow: device.slowness.of(id),
                pe_mean: mean(&of_die),
            }
        };
        let bad_blocks = bad_blocks(engine);
        let by_cause = |counts: &[u64; Cause::ALL.len()]| {
            Cause::ALL.iter().map(|&cause| (cause.name().to_owned(), counts[cause as usize])).filter(|(_, n)| *n > 0).collect()
        };
        let answered = |kind: RequestKind| folds.requests[kind as usize];
        let written = folds.pages[RequestKind::Write as usize];
        let free: u32 = (0..map.logs()).map(|log| map.free_units(log)).sum();
        DiskStatus {
            time_s: device.now.0 as f64 * 1e-9,
            size: self.sectors() * super::SECTOR as u64,
            scheme: self.setup.scheme.to_string(),
            stage: engine.writer.stripe_scheme().and_then(|scheme| scheme.life_stage()),
            read_only: self.is_read_only(),
            recovering: engine.power.mounting.is_some(),
            outstanding: self.outstanding() as u64,
            reads: answered(RequestKind::Read),
            writes: answered(RequestKind::Write),
            flushes: answered(RequestKind::Flush),
            discards: answered(RequestKind::Discard),
            pages_written: written,
            write_amplification: (written > 0).then(|| folds.programmed_slots() as f64 / written as f64),
            flash_reads: by_cause(&folds.reads),
            flash_programs: by_cause(&folds.programs),
            flash_erases: by_cause(&folds.erases),
            free_share: f64::from(free) / map.units().max(1) as f64,
            spare: self.spare(bad_blocks),
            bad_blocks,
            temperature: self.celsius,
            pe_mean: mean(&pe),
            pe_max: pe.iter().copied().max().unwrap_or(0),
            pe_rated: self.setup.drive.endurance.0,
            wear: mean(&pe) / f64::from(self.setup.drive.endurance.0.max(1)),
            media_errors: folds.media_errors,
            write_errors: folds.write_errors,
            rebuilt_reads: folds.rebuilt,
            corrected_bits: folds.ecc.corrected_bits,
            failed_codewords: folds.ecc.failed_codewords,
            ecc_histogram: histogram(&folds.ecc),
            checked_reads: folds.checked,
            mismatches: folds.mismatches,
            buffered_pages: engine.host.buffer.pages() as u64,
            power_cuts: self.cuts,
            dies: (0..dies as u16).map(die).collect(),
        }
    }
}
