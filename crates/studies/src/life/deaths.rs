//! Dies that die at ages that were asked for: they leave the map, the drive rebuilds what they held by its scheme, and its life goes on with
//! what is left, or with a spare die.

use super::age::Age;
use super::drive::Lived;
use super::screen::probability;
use super::{End, Epoch, Hazard, Life, SchemeLife, Timed};
use common::quantity::{micros, percent, short};
use common::table::Row;
use common::{Problem, Quantity};
use report::study::{Cell, Column, Layout, Table};
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

impl SchemeLife {
    /// The ages just before and after a death; without the second the life ended with it.
    #[must_use]
    pub fn around(&self, death: &Death) -> [Option<&Epoch>; 2] {
        [self.epochs.get(death.before), self.epochs.get(death.before + 1)]
    }
}

/// A figure of the age before a death and of the one after, and how it is read.
type Around = (Column, fn(&Epoch) -> Cell);

const fn column(key: &'static str, name: &'static str, unit: &'static str) -> Column {
    Column { key, name, unit }
}

const fn around(before: &'static str, after: &'static str, name: &'static str, of: fn(&Epoch) -> Cell) -> [Around; 2] {
    [(column(before, name, "before"), of), (column(after, name, "after"), of)]
}

fn timed(epoch: &Epoch, of: fn(&Timed) -> f64) -> Cell {
    epoch.timed.as_ref().map_or(Cell::Absent, |timed| Cell::Rate(of(timed)))
}

/// Figures before and after.
const AROUND: [[Around; 2]; 7] = [
    around("over_provisioning_before", "over_provisioning_after", "over-provisioning", |e| Cell::Rate(e.over_provisioning)),
    around("waf_before", "waf_after", "write amplification", |e| Cell::Rate(e.waf)),
    around("pe_mean_before", "pe_mean_after", "P/E cycles, mean", |e| Cell::Rate(e.pe[0])),
    around("read_p99_us_before", "read_p99_us_after", "reads, p99, us", |e| timed(e, |t| t.read.p99)),
    around("survives_dies_before", "survives_dies_after", "die failures survived", |e| Cell::Count(e.survives.into())),
    around("uber_before", "uber_after", "UBER in use", |e| Cell::Rate(e.uber)),
    around("loss_a_year_before", "loss_a_year_after", "losses a year", |e| Cell::Rate(e.hazard.all())),
];

impl Life {
    /// Dies that die at ages, in words; nothing where none does.
    pub(super) fn deaths_words(&self) -> Option<String> {
        let deaths = &self.settings.die_dies;
        if deaths.is_empty() {
            return None;
        }
        let years: Vec<String> = deaths.iter().map(|&years| short(years)).collect();
        let spares = match self.settings.spare_dies {
            0 => "no spare die".to_owned(),
            1 => "1 spare die".to_owned(),
            spares => format!("{spares} spare dies"),
        };
        Some(format!("a die dies after {} years; {spares}", years.join(", ")))
    }

    pub(super) fn table_of_deaths(&self) -> Option<Table> {
        if self.schemes.iter().all(|one| one.deaths.is_empty()) {
            return None;
        }
        let own = [
            column("scheme", "scheme", ""),
            column("die", "die", ""),
            column("years", "years", ""),
            column("is_replaced", "spare dies in its place", ""),
            column("rebuilt_drive_writes", "programs of the rebuild", "drive writes"),
            column("rebuild_left", "superblocks and strips that are not rebuilt", ""),
            column("pages_lost", "logical pages lost for certain", ""),
            column("loss_with_it", "probability of loss with it", ""),
        ];
        let columns: Vec<Column> = own.into_iter().chain(AROUND.iter().flatten().map(|(column, _)| *column)).collect();
        let row = |one: &SchemeLife, death: &Death| {
            let ages = one.around(death);
            let mut cells = vec![
                Cell::Text(one.label.clone()),
                Cell::Count(death.die.into()),
                Cell::Rate(death.years),
                Cell::Count(death.is_replaced.into()),
                Cell::Rate(death.rebuilt),
                Cell::Count(death.left),
                Cell::Count(death.gone.into()),
                Cell::Rate(-(-death.losses).exp_m1()),
            ];
            let figures = AROUND.iter().flat_map(|both| both.iter().zip(ages));
            cells.extend(figures.map(|((_, of), age)| age.map_or(Cell::Absent, of)));
            cells
        };
        let rows = self.schemes.iter().flat_map(|one| one.deaths.iter().map(move |death| row(one, death))).collect();
        let title = "Deaths of dies, and the drive just before and after".into();
        let layouts = vec![Layout::Plain { title, part: Some(0), columns: (1..columns.len()).collect() }];
        Some(Table { key: "deaths", columns, rows, layouts })
    }

    /// Rows of the first screen: the drive just before and after each death.
    pub(super) fn rows_of_deaths(&self) -> Vec<Row> {
        self.settings.die_dies.iter().enumerate().flat_map(|(number, &years)| self.rows_of_death(number, years)).collect()
    }

    fn rows_of_death(&self, number: usize, years: f64) -> Vec<Row> {
        let row = |label: &str, cell: &dyn Fn(&SchemeLife, &Death) -> String| {
            let of = |one: &SchemeLife| one.deaths.get(number).map_or_else(|| "-".into(), |death| cell(one, death));
            Row { label: format!("  {label}"), cells: self.schemes.iter().map(of).collect() }
        };
        let both = |one: &SchemeLife, death: &Death, of: &dyn Fn(&Epoch) -> String| match one.around(death) {
            [Some(before), Some(after)] => super::screen::from_to(of(before), of(after)),
            [before, _] => before.map_or_else(|| "-".into(), of),
        };
        let latency = |epoch: &Epoch| match &epoch.timed {
            Some(timed) if timed.read.count > 0 => micros(timed.read.p99),
            _ => "-".into(),
        };
        let rebuilt = |_: &SchemeLife, death: &Death| match (death.gone, death.left) {
            (1.., _) => "data lost".to_owned(),
            (0, 1..) => "no: lacks a die or room".to_owned(),
            (0, 0) if death.is_replaced => "yes, on a spare die".to_owned(),
            (0, 0) => "yes".to_owned(),
        };
        let heading = format!("a die dies after {}: before -> after", Quantity::Years.show(years));
        vec![
            Row { label: heading, cells: Vec::new() },
            row("rebuilt", &rebuilt),
            row("over-provisioning, of good blocks", &|one, death| both(one, death, &|epoch| percent(epoch.over_provisioning))),
            row("write amplification", &|one, death| both(one, death, &|epoch| short(epoch.waf))),
            row("reads p99", &|one, death| both(one, death, &latency)),
            row("die failures survived", &|one, death| both(one, death, &|epoch| epoch.survives.to_string())),
            row("loss a year", &|one, death| both(one, death, &|epoch| probability(-(-epoch.hazard.all()).exp_m1()))),
            row("loss with that die", &|_, death| probability(-(-death.losses).exp_m1())),
        ]
    }
}
