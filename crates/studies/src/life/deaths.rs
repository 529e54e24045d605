//! Dies that die at ages that were asked for: they leave the map, the drive rebuilds what they held by its scheme, and its life goes on with
//! what is left, or with a spare die.

use super::age::Age;
use super::drive::Lived;
use super::{End, Epoch, Hazard};
use common::Problem;
use serde::{Deserialize, Serialize};
use vocab::DieId;

/// A die that died at an age that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Death {
    /// Years since the first write of the drive.
    pub years: f64,
    /// The die.
    pub die: u16,
    /// Whether a spare die has its place.
    pub is_replaced: bool,
    /// Logical pages that the rebuild programmed, in multiples of the user capacity.
    pub rebuilt: f64,
    /// Superblocks and strips that the rebuild left undone, for lack of room or of a die.
    pub left: u64,
    /// Logical pages that were lost for certain.
    pub gone: u32,
    /// Expected events of loss with it: pages that nothing brings back, and further deaths before it is rebuilt.
    pub losses: f64,
    /// The age of the drive just before, as an index of the life's ages. The next one is the first after.
    pub before: usize,
}

impl Lived<'_> {
    /// Years at which the next die dies.
    pub(super) fn next_death(&self, age: &Age) -> f64 {
        self.settings.die_dies.get(age.deaths.len()).copied().unwrap_or(f64::INFINITY)
    }

    /// The next die dies: the last one of the drive, or the one before those that died already. The end, if that breaks a requirement; the
    /// drive then has an age with it.
    pub(super) fn die(&self, index: usize, age: &mut Age, epochs: &mut Vec<Epoch>) -> Result<Option<End>, Problem> {
        let odds = self.aged(index, age)?.0.odds(0.0, self.scrub());
        let (dies, number) = (odds.lost_with_die.len(), age.deaths.len());
        let die = dies - 1 - number;
        let lost = Hazard::of_death(&odds, die, &self.settings.rates, self.scale());
        age.lose(&lost);
        let of_a_die = age.wearing.all() / dies as u32;
        let blocks = of_a_die * die as u32..of_a_die * (die as u32 + 1);
        let cycles = &age.session.pe_cycles()[blocks.start as usize..blocks.end as usize];
        let after = age.session.lose_die(DieId(die as u16), number < self.settings.spare_dies as usize);
        age.wearing.die_died(blocks.clone());
        if after.is_replaced {
            let thresholds = self.endurance().spare_thresholds(self.runs.experiment.seed, blocks.clone());
            age.wearing.die_is_new(blocks, &thresholds);
            age.retired_cycles += cycles.iter().copied().map(u64::from).sum::<u64>();
        }
        let drive = self.aged(index, age)?.0;
        let (odds, off) = (drive.odds(0.0, self.scrub()), drive.odds(self.off_hours(), self.scrub()));
        let hazard = self.hazard(&odds, age);
        age.last = Some((age.years, hazard));
        age.deaths.push(Death {
            years: age.years,
            die: die as u16,
            is_replaced: after.is_replaced,
            rebuilt: after.programmed as f64 / f64::from(self.runs.plan.user_slots),
            left: after.left,
            gone: odds.gone,
            losses: lost.all(),
            before: epochs.len() - 1,
        });
        let last = epochs.last().expect("an age comes before each death").clone();
        let epoch = Epoch {
            over_provisioning: self.over_provisioning(index, age),
            worn_blocks: age.wearing.worn(),
            bad_blocks: age.wearing.bad(),
            hazard: self.in_use(&hazard, age),
            losses: age.losses,
            losses_by_cause: age.losses_by_cause,
            timed: None,
            ..self.with_odds(last, &odds, &off)
        };
        let class = &self.settings.class;
        let end = match () {
            () if odds.gone > 0 => Some(End::Die),
            () if epoch.uber > class.uber => Some(End::Uber),
            () if epoch.uber_off > class.uber => Some(End::Retention),
            () => None,
        };
        if end.is_some() {
            epochs.push(epoch);
        }
        Ok(end)
    }
}
