//! Which data zones are worth a code zone: those that are read most.

use super::layout::ZoneId;

/// A code zone that now belongs to another data zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Which code zone, from 0.
    pub code_zone: u32,
    /// The data zone it had.
    pub from: Option<ZoneId>,
    /// The data zone it has now.
    pub to: ZoneId,
}

/// Reads of each data zone, and which of them have a code zone.
#[derive(Clone, Debug)]
pub(super) struct Popularity {
    reads: Vec<u64>,
    /// Data zone of each code zone.
    owner: Vec<Option<ZoneId>>,
    /// Code zone of each data zone.
    code_zone: Vec<Option<u32>>,
    /// By how many percent a zone must be read more than one whose code zone it takes.
    hysteresis: u32,
}

impl Popularity {
    pub(super) fn new(data_zones: u32, code_zones: u32, hysteresis: u32) -> Self {
        let (reads, code_zone) = (vec![0; data_zones as usize], vec![None; data_zones as usize]);
        Self { reads, owner: vec![None; code_zones as usize], code_zone, hysteresis }
    }

    pub(super) fn count(&mut self, zone: ZoneId, reads: u64) {
        let of = &mut self.reads[zone.0 as usize];
        *of = of.saturating_add(reads);
    }

    pub(super) fn reads(&self, zone: ZoneId) -> u64 {
        self.reads[zone.0 as usize]
    }

    pub(super) fn code_zone(&self, zone: ZoneId) -> Option<u32> {
        self.code_zone[zone.0 as usize]
    }

    pub(super) fn owner(&self, code_zone: u32) -> Option<ZoneId> {
        self.owner[code_zone as usize]
    }

    pub(super) fn restart(&mut self) {
        self.reads.fill(0);
    }

    /// Gives the code zones to the data zones read most; those that keep theirs keep the very same one.
    /// Of zones read equally often one that has a code zone comes first, then the first in number.
    pub(super) fn assign(&mut self) -> Vec<Assignment> {
        let all = || (0..self.reads.len() as u32).map(ZoneId);
        let mut rising: Vec<ZoneId> = all().filter(|z| self.reads(*z) > 0 && self.code_zone(*z).is_none()).collect();
        rising.sort_by_key(|zone| std::cmp::Reverse(self.reads(*zone)));
        // Code zones by how readily they change hands: unused ones, then those of zones read least.
        let mut places: Vec<u32> = (0..self.owner.len() as u32).collect();
        places.sort_by_key(|place| self.owner(*place).map(|zone| (self.reads(zone), std::cmp::Reverse(zone))));
        let mut changes = Vec::new();
        for (code_zone, to) in places.into_iter().zip(rising) {
            let from = self.owner(code_zone);
            if from.is_some_and(|zone| !self.beats(to, zone)) {
                break;
            }
            changes.push(Assignment { code_zone, from, to });
        }
        for &Assignment { code_zone, from, to } in &changes {
            from.into_iter().for_each(|zone| self.code_zone[zone.0 as usize] = None);
            self.code_zone[to.0 as usize] = Some(code_zone);
            self.owner[code_zone as usize] = Some(to);
        }
        changes
    }

    fn beats(&self, zone: ZoneId, owner: ZoneId) -> bool {
        let wanted = u128::from(self.reads(owner)) * u128::from(100 + self.hysteresis);
        u128::from(self.reads(zone)) * 100 > wanted
    }
}
