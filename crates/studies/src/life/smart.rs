//! Logs of a drive at each age: SMART / Health Information (NVMe 02h), Endurance Group Information (09h) and the extended
//! SMART log of the Open Compute Project (C0h), so that a life can be checked against a real drive's.
//!
//! Where a drive counts whole numbers, expected numbers are given as they are. Fields that no figure here says anything of are left
//! out: temperatures over time, commands, power cycles, capacitors, and what depends on the firmware.

use super::{Epoch, Life, SchemeLife};
use report::study::{Cell, Column, Layout, Table};

/// Bytes of a data unit of NVMe: 1000 of 512 bytes.
const DATA_UNIT: f64 = 512_000.0;
/// Bytes of the units of log 09h.
const BILLION: f64 = 1e9;
/// Available Spare below which a drive warns, in percent.
const SPARE_THRESHOLD: f64 = 10.0;

/// A drive at an age, and what had come to pass by then.
struct Then<'a> {
    life: &'a Life,
    one: &'a SchemeLife,
    epoch: &'a Epoch,
    /// Of pages refreshed until then, how many blocks they fill.
    refreshed_blocks: f64,
    /// Reads of the host until then, in drive writes.
    reads: f64,
}

/// A field: its column, how it is read, and the log that has it.
type Field = (Column, fn(&Then<'_>) -> Cell);

const fn field(key: &'static str, name: &'static str, unit: &'static str) -> Column {
    Column { key, name, unit }
}

/// Fields in the order of the logs.
const FIELDS: &[Field] = &[
    (field("smart_critical_warning", "02h Critical Warning", "bits"), |then| Cell::Count(then.warnings())),
    (field("smart_composite_temperature", "02h Composite Temperature", "K"), |then| {
        Cell::Count((then.life.settings.celsius_in(then.epoch.phase) + 273.15).round().max(0.0) as u64)
    }),
    (field("smart_available_spare", "02h Available Spare", "%"), |then| Cell::Count(then.spare() as u64)),
    (field("smart_available_spare_threshold", "02h Available Spare Threshold", "%"), |_| Cell::Count(SPARE_THRESHOLD as u64)),
    (field("smart_percentage_used", "02h Percentage Used", "%"), |then| {
        Cell::Count(then.epoch.percentage_used(then.rated()).into())
    }),
    (field("smart_data_units_read", "02h Data Units Read", ""), |then| whole(then.reads * then.user() / DATA_UNIT)),
    (field("smart_data_units_written", "02h Data Units Written", ""), |then| {
        whole(then.epoch.drive_writes * then.user() / DATA_UNIT)
    }),
    (field("smart_power_on_hours", "02h Power On Hours", ""), |then| {
        whole(then.life.powered(then.one, then.epoch.years) * 8760.0)
    }),
    (field("smart_media_errors", "02h Media and Data Integrity Errors", "expected"), |then| Cell::Rate(then.epoch.losses)),
    (field("endurance_estimate_gb", "09h Endurance Estimate", "billion bytes"), |then| {
        whole(then.raw() * then.rated() / BILLION)
    }),
    (field("endurance_data_written_gb", "09h Data Units Written", "billion bytes"), |then| {
        whole(then.epoch.drive_writes * then.user() / BILLION)
    }),
    (field("endurance_media_written_gb", "09h Media Units Written", "billion bytes"), |then| whole(then.media() / BILLION)),
    (field("ocp_media_units_written", "C0h Physical Media Units Written", "bytes"), |then| whole(then.media())),
    (field("ocp_bad_blocks_raw", "C0h Bad User NAND Blocks, raw", ""), |then| Cell::Count(then.epoch.bad_blocks.into())),
    (field("ocp_bad_blocks_normalized", "C0h Bad User NAND Blocks, normalized", "% of spare left"), |then| {
        Cell::Count(then.spare() as u64)
    }),
    (field("ocp_erase_count_max", "C0h Max User Data Erase Counts", ""), |then| Cell::Count(then.epoch.pe_ends[1].into())),
    (field("ocp_erase_count_min", "C0h Min User Data Erase Counts", ""), |then| Cell::Count(then.epoch.pe_ends[0].into())),
    (field("ocp_refresh_count", "C0h Refresh Counts", "blocks"), |then| whole(then.refreshed_blocks)),
    (field("ocp_endurance_estimate", "C0h Endurance Estimate", "bytes"), |then| whole(then.raw() * then.rated())),
    (field("ocp_total_media_dies", "C0h Total media dies", ""), |then| {
        Cell::Count(then.life.experiment.drive.geometry.dies().into())
    }),
    (field("ocp_die_failure_tolerance", "C0h Total die failure tolerance", ""), |then| Cell::Count(then.epoch.survives.into())),
    (field("ocp_dies_offline", "C0h Media dies offline", ""), |then| Cell::Count(then.epoch.dead_dies.into())),
    (field("ocp_erase_count_mean", "C0h NAND avg erase count", ""), |then| whole(then.epoch.pe[0])),
];

fn whole(value: f64) -> Cell {
    Cell::Count(value.max(0.0).round() as u64)
}

impl Then<'_> {
    fn rated(&self) -> f64 {
        f64::from(self.life.experiment.drive.endurance.0)
    }

    fn user(&self) -> f64 {
        self.life.user_bytes as f64
    }

    /// Bytes of all flash.
    fn raw(&self) -> f64 {
        let geometry = &self.life.experiment.drive.geometry;
        f64::from(geometry.pages_per_block) * geometry.page_size.0 as f64 * f64::from(self.one.blocks)
    }

    /// Bytes programmed: each P/E cycle of a block programs all of it.
    fn media(&self) -> f64 {
        self.epoch.pe_taken * self.raw()
    }

    /// Flash beyond the user capacity that is left, in percent of that of the new drive.
    fn spare(&self) -> f64 {
        let new = self.one.epochs[0].over_provisioning;
        (self.epoch.over_provisioning / new * 100.0).clamp(0.0, 100.0)
    }

    /// Bit 0: spare below its threshold; bit 2: reliability degraded, UBER above the limit of its class; bit 3: read-only.
    fn warnings(&self) -> u64 {
        let is_last = std::ptr::eq(self.epoch, self.one.last());
        let bits = [
            (0, self.spare() < SPARE_THRESHOLD),
            (2, self.epoch.uber > self.life.settings.class.uber),
            (3, is_last && self.one.end == super::End::ReadOnly),
        ];
        bits.into_iter().filter(|(_, is_set)| *is_set).map(|(bit, _)| 1 << bit).sum()
    }
}

impl Life {
    /// The fields of all logs by scheme and age.
    pub(super) fn smart(&self) -> Table {
        let head = [field("scheme", "scheme", ""), field("years", "years", "")];
        let columns: Vec<Column> = head.into_iter().chain(FIELDS.iter().map(|(column, _)| *column)).collect();
        let rows = self.schemes.iter().flat_map(|one| self.smart_of(one)).collect();
        let layouts = Vec::<Layout>::new();
        Table { key: "smart", columns, rows, layouts }
    }

    fn smart_of(&self, one: &SchemeLife) -> Vec<Vec<Cell>> {
        let geometry = &self.experiment.drive.geometry;
        let slots_a_block = f64::from(geometry.pages_per_block * geometry.slots_per_page());
        let user_slots = self.user_bytes as f64 / geometry.slot_size.0 as f64;
        let (mut refreshed, mut reads, mut rows) = (0.0, 0.0, Vec::new());
        for (at, epoch) in one.epochs.iter().enumerate() {
            // Between two ages both rates are the mean of those at them.
            let before = &one.epochs[at.saturating_sub(1)];
            let written = epoch.drive_writes - if at == 0 { 0.0 } else { before.drive_writes };
            refreshed += f64::midpoint(before.refreshed, epoch.refreshed) * written * user_slots / slots_a_block;
            reads += f64::midpoint(before.reads_by_write, epoch.reads_by_write) * written;
            let then = Then { life: self, one, epoch, refreshed_blocks: refreshed, reads };
            let fields = FIELDS.iter().map(|(_, of)| of(&then));
            rows.push([vec![Cell::Text(one.label.clone()), Cell::Rate(epoch.years)], fields.collect()].concat());
        }
        rows
    }

    /// Fields down, ages across: at most `most` ages of each scheme, the first and the last among them.
    #[must_use]
    pub fn smart_text(&self, most: usize) -> String {
        let mut out = String::new();
        for one in &self.schemes {
            let rows = self.smart_of(one);
            let picked = picked(rows.len(), most);
            let cells = |at: usize| picked.iter().map(|&row| rows[row][at].text()).collect();
            let mut lines = vec![common::table::Row { label: one.label.clone(), cells: Vec::new() }];
            lines.push(common::table::Row {
                label: "  years".into(),
                cells: picked.iter().map(|&row| common::quantity::short(one.epochs[row].years)).collect(),
            });
            for (number, (column, _)) in FIELDS.iter().enumerate() {
                lines.push(common::table::Row { label: format!("  {}", column.label()), cells: cells(number + 2) });
            }
            out.push_str(&common::table::aligned(&lines));
            out.push('\n');
        }
        out
    }
}

/// At most `most` of `all` places, evenly apart, the first and the last among them.
fn picked(all: usize, most: usize) -> Vec<usize> {
    let count = most.min(all).max(1);
    let mut places: Vec<usize> = (0..count).map(|at| if count == 1 { all - 1 } else { at * (all - 1) / (count - 1) }).collect();
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_picked_from_the_first_to_the_last() {
        assert_eq!(picked(30, 4), [0, 9, 19, 29]);
        assert_eq!(picked(3, 6), [0, 1, 2]);
        assert_eq!(picked(1, 6), [0]);
    }
}
