//! Lives as tables and curves: CSV, JSON and the page of the report.

use super::{Epoch, Life, Outcome, Parameter, SchemeLife, Swing};
use report::study::{Axis, Cell, Column, Layout, Plot, Series, Study, Table};
use vocab::Cause;

/// Key of the table of ages.
pub(crate) const AGES: &str = "ages";

/// A column of the table of ages, and how it is read.
type Of = (Column, fn(&SchemeLife, &Epoch, f64) -> Cell);

const fn column(key: &'static str, name: &'static str, unit: &'static str) -> Column {
    Column { key, name, unit }
}

/// Columns of the table of ages, beside the scheme.
const COLUMNS: &[Of] = &[
    (column("years", "years", ""), |_, e, _| Cell::Rate(e.years)),
    (column("drive_writes", "drive writes", ""), |_, e, _| Cell::Rate(e.drive_writes)),
    (column("drive_writes_off", "drive writes, error of leaps", "+-"), |_, e, _| Cell::Rate(e.drive_writes_off)),
    (column("pe_mean", "P/E cycles, mean", ""), |_, e, _| Cell::Rate(e.pe[0])),
    (column("pe_p1", "P/E cycles, 1 % of blocks", ""), |_, e, _| Cell::Rate(e.pe[1])),
    (column("pe_p99", "P/E cycles, 99 % of blocks", ""), |_, e, _| Cell::Rate(e.pe[2])),
    (column("percentage_used", "Percentage Used (SMART)", "%"), |_, e, rated| Cell::Count(e.percentage_used(rated).into())),
    (column("waf", "write amplification", ""), |_, e, _| Cell::Rate(e.waf)),
    (column("programs_host", "programs for the host", "by host page"), |_, e, _| by_cause(e, Cause::Host)),
    (column("programs_parity", "programs of parity", "by host page"), |_, e, _| by_cause(e, Cause::Parity)),
    (column("programs_gc", "programs of GC", "by host page"), |_, e, _| by_cause(e, Cause::Gc)),
    (column("programs_wear_level", "programs of wear levelling", "by host page"), |_, e, _| by_cause(e, Cause::WearLevel)),
    (column("programs_rebuild", "programs of rebuilds", "by host page"), |_, e, _| by_cause(e, Cause::Rebuild)),
    (column("programs_refresh", "programs of refresh", "by host page"), |_, e, _| Cell::Rate(e.refreshed)),
    (column("worn_blocks", "worn-out blocks", ""), |_, e, _| Cell::Count(e.worn_blocks.into())),
    (column("worn_share", "worn-out blocks", "share"), |one, e, _| Cell::Rate(f64::from(e.worn_blocks) / f64::from(one.blocks))),
    (column("dead_dies", "dead dies", "not replaced"), |_, e, _| Cell::Count(e.dead_dies.into())),
    (column("survives_dies", "die failures survived", "at a time"), |_, e, _| Cell::Count(e.survives.into())),
    (column("over_provisioning", "over-provisioning", "of good blocks, share of user capacity"), |_, e, _| {
        Cell::Rate(e.over_provisioning)
    }),
    (column("data_days", "mean age of data", "days"), |_, e, _| Cell::Rate(e.data_days)),
    (column("rber_default", "RBER, default references", ""), |_, e, _| Cell::Rate(e.rber[0])),
    (column("rber_best", "RBER, best references", ""), |_, e, _| Cell::Rate(e.rber[1])),
    (column("rber_worst_page", "RBER of the worst page, best references", ""), |_, e, _| Cell::Rate(e.rber[2])),
    (column("unreadable_pages", "pages that ECC does not give back", ""), |_, e, _| Cell::Rate(e.unreadable)),
    (column("uber", "UBER in use", ""), |_, e, _| Cell::Rate(e.uber)),
    (column("uber_off", "UBER after time without power", ""), |_, e, _| Cell::Rate(e.uber_off)),
    (column("loss_a_year_bits", "losses a year by bit errors", ""), |_, e, _| Cell::Rate(e.hazard.bits)),
    (column("loss_a_year_blocks", "losses a year by a lost block", ""), |_, e, _| Cell::Rate(e.hazard.blocks)),
    (column("loss_a_year_dies", "losses a year by a lost die", ""), |_, e, _| Cell::Rate(e.hazard.dies)),
    (column("loss_a_year_more_dies", "losses a year by more lost dies", ""), |_, e, _| Cell::Rate(e.hazard.more_dies)),
    (column("losses_with_deaths", "losses so far with dies that died at their age", "expected pages"), |_, e, _| {
        Cell::Rate(e.losses_by_cause.deaths)
    }),
    (column("loss_so_far", "probability of loss so far", ""), |_, e, _| Cell::Rate(e.loss_probability())),
    (column("read_p50_us", "reads, p50", "us"), |_, e, _| timed(e, |t| t.read.p50)),
    (column("read_p99_us", "reads, p99", "us"), |_, e, _| timed(e, |t| t.read.p99)),
    (column("read_p999_us", "reads, p99.9", "us"), |_, e, _| timed(e, |t| t.read.p999)),
    (column("read_p9999_us", "reads, p99.99", "us"), |_, e, _| timed(e, |t| t.read.p9999)),
    (column("write_p99_us", "writes, p99", "us"), |_, e, _| timed(e, |t| t.write.p99)),
    (column("block_reads", "reads of a block since its erase, mean over data", ""), |_, e, _| Cell::Rate(e.block_reads)),
    (column("retries", "retries a page read", ""), |_, e, _| timed(e, |t| t.retries)),
    (column("waf_timed", "write amplification in time", ""), |_, e, _| timed(e, |t| t.waf)),
    (column("read_mean_us", "reads, mean", "us"), |_, e, _| timed(e, |t| t.read.mean)),
    (column("write_mean_us", "writes, mean", "us"), |_, e, _| timed(e, |t| t.write.mean)),
    (column("energy_j_per_gb", "energy of flash and codecs", "J/GB of the host"), |_, e, _| timed(e, |t| t.energy_j_per_gb)),
    (column("above_rated", "blocks above the rated P/E cycles", "share"), |_, e, _| Cell::Rate(e.above_rated)),
    (column("stage", "stage of life (da-raid5)", ""), |_, e, _| {
        e.stage.map_or(Cell::Absent, |(stage, _)| Cell::Count(stage.into()))
    }),
    (column("stripes_with_parity", "stripes with parity (da-raid5)", "share"), |_, e, _| {
        e.stage.map_or(Cell::Absent, |(_, share)| Cell::Rate(share))
    }),
    (column("unreadable_pages_off", "pages that ECC does not give back after time without power", ""), |_, e, _| {
        Cell::Rate(e.unreadable_off)
    }),
    (column("phase", "phase of the calendar", ""), |_, e, _| e.phase.map_or(Cell::Absent, |phase| Cell::Count(phase.into()))),
    (column("pages_lost_with_die", "logical pages lost with a die", "expected, mean over dies"), |_, e, _| {
        Cell::Rate(e.lost_with_die)
    }),
];

/// Columns that readers see, by key.
const SHOWN: [&str; 11] = [
    "years",
    "drive_writes",
    "pe_mean",
    "waf",
    "worn_blocks",
    "over_provisioning",
    "rber_best",
    "uber",
    "uber_off",
    "loss_so_far",
    "read_p99_us",
];

fn by_cause(epoch: &Epoch, cause: Cause) -> Cell {
    Cell::Rate(epoch.by_cause[cause as usize])
}

fn timed(epoch: &Epoch, of: fn(&super::Timed) -> f64) -> Cell {
    epoch.timed.as_ref().map_or(Cell::Absent, |timed| Cell::Rate(of(timed)))
}

impl Life {
    /// Tables and curves, repeated by this command.
    #[must_use]
    pub fn study(&self, command: &str) -> Study {
        let rated = f64::from(self.experiment.drive.endurance.0);
        Study {
            name: report::study::LIFE,
            title: format!("Life of drive {} under {}", self.experiment.drive.name, self.workload),
            settings: vec![("command", command.to_owned())],
            facts: self.facts(rated),
            tables: [
                Some(self.ends()),
                self.table_of_deaths(),
                self.table_of_strata(),
                self.table_of_seeds(),
                self.tornado(),
                Some(self.ages(rated)),
                Some(self.smart()),
            ]
            .into_iter()
            .flatten()
            .collect(),
            plots: [self.plots(), self.bars()].concat(),
            notes: self.notes.clone(),
        }
    }

    /// Settings in words, of a drive with this many rated P/E cycles.
    fn facts(&self, rated: f64) -> Vec<String> {
        let settings = &self.settings;
        let mut facts = vec![
            match settings.calendar_words() {
                Some(_) => format!("workload: {}; timed runs: {}", self.workload, self.clock),
                None => {
                    let dwpd = settings.calendar()[0].dwpd();
                    format!("workload: {}, {dwpd} drive writes a day; timed runs: {}", self.workload, self.clock)
                }
            },
            format!(
                "drive: {}, {} for the host, {rated} rated P/E cycles",
                self.experiment.drive.name,
                common::quantity::bytes(self.user_bytes as f64)
            ),
            format!(
                "ends: read-only, UBER above {:e} in use or after {} h at {} C without power",
                settings.class.uber, settings.class.off_hours, settings.class.off_celsius
            ),
            match settings.refresh_days {
                Some(days) => format!("refresh: data are written again when they are {days} days old"),
                None => "refresh: none".into(),
            },
            format!("blocks: {} worn out at the rated cycles, exponent {}", settings.worn.0, settings.worn.1),
            format!(
                "failures by drive and year: {} dies, {} blocks; a rebuild takes {} h",
                settings.rates.dies, settings.rates.blocks, settings.rates.rebuild_hours
            ),
            format!(
                "variation: sigma {} of pages, {} of blocks",
                self.experiment.errors.page_sigma, self.experiment.errors.block_sigma
            ),
            format!(
                "bit errors of a page: drawn {}",
                if settings.redrawn_errors { "at each read" } else { "once for each program" }
            ),
            match settings.calendar_words() {
                Some(_) => format!("times of the error model are at {} C", settings.celsius.1),
                None => {
                    let (celsius, hours) = (settings.celsius_in(None), settings.calendar()[0].hours_words());
                    format!("temperature: {celsius} C{hours}; times of the error model are at {} C", settings.celsius.1)
                }
            },
            format!("seeds: {}", self.all_seeds().iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
        ];
        facts.extend(self.deaths_words());
        facts
    }

    fn ends(&self) -> Table {
        let columns = vec![
            column("scheme", "scheme", ""),
            column("end", "ended by", ""),
            column("years", "years", ""),
            column("drive_writes", "drive writes", ""),
            column("drive_writes_off", "error of leaps", "+- drive writes"),
            column("straight_line", "straight line to rated P/E", "drive writes"),
            column("waf", "write amplification", "of the last age"),
            column("programs_refresh", "programs of refresh", "by host page, of the last age"),
            column("windows_off", "error of samples between leaps", "+- share of drive writes"),
        ];
        let row = |one: &SchemeLife| {
            let last = one.last();
            let numbers = [last.years, last.drive_writes, last.drive_writes_off, one.straight_line, last.waf, last.refreshed]
                .map(Cell::Rate);
            let windows = one.windows_off().map_or(Cell::Absent, Cell::Rate);
            [vec![Cell::Text(one.label.clone()), Cell::Text(one.end.key().into())], numbers.into(), vec![windows]].concat()
        };
        let layouts = vec![Layout::Plain { title: "End of life".into(), part: None, columns: (0..columns.len()).collect() }];
        Table { key: "ends", columns, rows: self.schemes.iter().map(row).collect(), layouts }
    }

    /// The end under each seed, where there are several.
    fn table_of_seeds(&self) -> Option<Table> {
        if self.seeds.is_empty() {
            return None;
        }
        let columns = vec![
            column("scheme", "scheme", ""),
            column("seed", "seed", ""),
            column("end", "ended by", ""),
            column("years", "years", ""),
            column("drive_writes", "drive writes", ""),
            column("loss_told", "probability of loss", "within 5 years or those asked for"),
        ];
        let years = self.settings.told_years();
        let row = |seed: u64, one: &SchemeLife| {
            let loss = one.losses_after(years).map_or(Cell::Absent, |losses| Cell::Rate(-(-losses).exp_m1()));
            let numbers = [Cell::Rate(one.last().years), Cell::Rate(one.last().drive_writes), loss];
            [vec![Cell::Text(one.label.clone()), Cell::Count(seed), Cell::Text(one.end.key().into())], numbers.into()].concat()
        };
        let seeds = self.all_seeds();
        let rows = (0..self.schemes.len()).flat_map(|scheme| {
            seeds.iter().zip(self.of_all_seeds(scheme)).map(|(&seed, one)| row(seed, one)).collect::<Vec<_>>()
        });
        let layouts =
            vec![Layout::Plain { title: "End of life by seed".into(), part: Some(0), columns: (1..columns.len()).collect() }];
        Some(Table { key: "seeds", columns, rows: rows.collect(), layouts })
    }

    /// Lives with each parameter at both of its ends, where that was asked for.
    fn tornado(&self) -> Option<Table> {
        if self.swings.is_empty() {
            return None;
        }
        let columns = vec![
            column("scheme", "scheme", ""),
            column("parameter", "parameter", ""),
            column("name", "parameter", ""),
            column("usual", "value", ""),
            column("low", "low value", ""),
            column("high", "high value", ""),
            column("end_low", "ended by", "low value"),
            column("end_high", "ended by", "high value"),
            column("years_low", "years", "low value"),
            column("years_high", "years", "high value"),
            column("drive_writes_low", "drive writes", "low value"),
            column("drive_writes_high", "drive writes", "high value"),
            column("loss_told_low", "probability of loss", "low value"),
            column("loss_told_high", "probability of loss", "high value"),
            column("source", "source of the range", ""),
        ];
        let row = |swing: &Swing| {
            let [low, high] = &swing.ends;
            let (parameter, of) = (&swing.parameter, |get: fn(&Outcome) -> f64| [Cell::Rate(get(low)), Cell::Rate(get(high))]);
            let text = |text: &str| Cell::Text(text.to_owned());
            let mut cells = vec![text(&self.schemes[swing.scheme].label), text(parameter.key), text(parameter.name)];
            cells.extend([swing.usual, parameter.ends[0], parameter.ends[1]].map(Cell::Rate));
            cells.extend([text(low.end.key()), text(high.end.key())]);
            cells.extend(of(|at| at.years));
            cells.extend(of(|at| at.drive_writes));
            cells.extend(of(|at| -(-at.losses).exp_m1()));
            cells.push(text(parameter.source));
            cells
        };
        let rows = self.swings.iter().map(row).collect();
        let title =
            format!("What the end, and the loss within {}, depend on", common::Quantity::Years.show(self.settings.told_years()));
        let layouts = vec![Layout::Plain { title, part: Some(0), columns: vec![2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 14] }];
        Some(Table { key: "tornado", columns, rows, layouts })
    }

    /// The same as bars: one for each end of a parameter, and scheme.
    fn bars(&self) -> Vec<Plot> {
        let mut parameters: Vec<Parameter> = Vec::new();
        for swing in &self.swings {
            if !parameters.contains(&swing.parameter) {
                parameters.push(swing.parameter);
            }
        }
        if parameters.is_empty() {
            return Vec::new();
        }
        let plot = |id, title: String, axis: Axis, of: &dyn Fn(&Outcome) -> Option<f64>| {
            let series = |(scheme, end): (usize, usize)| {
                let name = format!("{}, {}", self.schemes[scheme].label, ["low value", "high value"][end]);
                let of_scheme = self.swings.iter().filter(|swing| swing.scheme == scheme);
                let place = |swing: &Swing| parameters.iter().position(|one| *one == swing.parameter).map(|at| at as f64);
                Series { name, points: of_scheme.filter_map(|swing| Some((place(swing)?, of(&swing.ends[end])?))).collect() }
            };
            let all = (0..self.schemes.len()).flat_map(|scheme| [(scheme, 0), (scheme, 1)]);
            let hint = "Each parameter goes to its low and its high value, alone.".into();
            let named = |one: &Parameter| format!("{}: {} to {}", one.name, one.ends[0], one.ends[1]);
            let axes = [Axis { name: "parameter", log: false }, axis];
            let categories = parameters.iter().map(named).collect();
            Plot { id, title, hint, axes, series: all.map(series).collect(), marks: Vec::new(), categories }
        };
        let years = common::Quantity::Years.show(self.settings.told_years());
        vec![
            plot("life-tornado-end", "What the end depends on".into(), Axis { name: "years", log: false }, &|at| Some(at.years)),
            plot(
                "life-tornado-loss",
                format!("What the loss within {years} depends on"),
                Axis { name: "probability", log: true },
                &|at| Some(-(-at.losses).exp_m1()).filter(|p| *p > 1e-30),
            ),
        ]
    }

    fn ages(&self, rated: f64) -> Table {
        let columns: Vec<Column> =
            std::iter::once(column("scheme", "scheme", "")).chain(COLUMNS.iter().map(|(column, _)| *column)).collect();
        let row = |one: &SchemeLife, epoch: &Epoch| {
            let cells = COLUMNS.iter().map(|(_, of)| of(one, epoch, rated));
            std::iter::once(Cell::Text(one.label.clone())).chain(cells).collect()
        };
        let rows = self.schemes.iter().flat_map(|one| one.epochs.iter().map(move |epoch| row(one, epoch))).collect();
        let shown = SHOWN.map(|key| columns.iter().position(|column| column.key == key).expect("a column")).to_vec();
        let layouts = vec![Layout::Plain { title: "Ages".into(), part: Some(0), columns: shown }];
        Table { key: AGES, columns, rows, layouts }
    }

    fn plots(&self) -> Vec<Plot> {
        let writes = Axis { name: "drive writes of the host", log: false };
        let years = Axis { name: "years", log: false };
        let plot = |id, title: &str, axes, x: fn(&Epoch) -> f64, y: &dyn Fn(&SchemeLife, &Epoch) -> Option<f64>| {
            let points = |one: &SchemeLife| one.epochs.iter().filter_map(|epoch| Some((x(epoch), y(one, epoch)?))).collect();
            let series = self.schemes.iter().map(|one| Series { name: one.label.clone(), points: points(one) }).collect();
            let hint = "One curve for each scheme; it ends with the life of the drive.".into();
            Plot { id, title: title.into(), hint, axes, series, marks: Vec::new(), categories: Vec::new() }
        };
        let log = |name| Axis { name, log: true };
        let linear = |name| Axis { name, log: false };
        vec![
            plot("life-loss", "Probability of data loss so far", [years, log("probability")], |e| e.years, &|_, e| {
                Some(e.loss_probability()).filter(|p| *p > 1e-30)
            }),
            plot(
                "life-uber",
                "UBER after the time without power of the class",
                [writes, log("UBER")],
                |e| e.drive_writes,
                &|_, e| Some(e.uber_off).filter(|uber| *uber > 1e-30),
            ),
            plot("life-read-p99", "Latency of reads, p99", [writes, linear("us")], |e| e.drive_writes, &|_, e| {
                e.timed.map(|timed| timed.read.p99)
            }),
            plot(
                "life-waf",
                "Write amplification",
                [writes, linear("pages programmed by page of the host")],
                |e| e.drive_writes,
                &|_, e| Some(e.waf),
            ),
            plot("life-blocks", "Worn-out blocks", [writes, linear("share")], |e| e.drive_writes, &|one, e| {
                Some(f64::from(e.worn_blocks) / f64::from(one.blocks))
            }),
            plot("life-rber", "RBER with the best references, mean", [writes, log("RBER")], |e| e.drive_writes, &|_, e| {
                Some(e.rber[1])
            }),
        ]
    }
}
