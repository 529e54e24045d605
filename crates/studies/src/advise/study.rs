//! The answer as tables and curves: CSV, JSON and the page of the report.

use super::answer::{failures, reasons};
use super::needs::Need;
use super::{Advice, Design, Key, Level};
use crate::life::Epoch;
use report::study::{Axis, Cell, Column, Layout, Mark, Plot, Series, Study, Table};
use serde_json::{Value, json};

/// Figures of a design in the table of designs: column and need.
const FIGURES: [(&str, &str, Need); 11] = [
    ("capacity", "capacity with bad blocks, relative to the need", Need::Capacity),
    ("dies", "dies that may die", Need::Dies),
    ("room_years", "years with room for writes", Need::Years),
    ("pe_of_rated", "P/E cycles at the end, of rated", Need::Pe),
    ("uber", "UBER in use", Need::Uber),
    ("uber_off", "UBER without power", Need::Retention),
    ("loss", "probability of loss", Need::Loss),
    ("read_p99_us", "reads p99, worst age, us", Need::ReadP99),
    ("read_p999_us", "reads p99.9, worst age, us", Need::ReadP999),
    ("write_p99_us", "writes p99, worst age, us", Need::WriteP99),
    ("energy_j_per_gb", "energy, worst age, J/GB of the host", Need::Energy),
];

const fn column(key: &'static str, name: &'static str) -> Column {
    Column { key, name, unit: "" }
}

impl Advice {
    /// Tables and curves, repeated by this command.
    #[must_use]
    pub fn study(&self, command: &str) -> Study {
        let base = &self.space.base;
        let axes = self.space.axes.iter().map(|axis| format!("space: {} = {}", axis.key.name(), axis.values.join(", ")));
        let limits = self.needs.limits.iter().map(|limit| format!("need: {}", limit.words()));
        let mut facts = vec![
            format!("workload: {}, {} drive writes a day, timed runs {}", self.workload, self.needs.dwpd, self.arrival),
            format!("drive: {}, {} for the host", base.drive.name, base.capacity.size),
            format!("years: {}; class: {}", self.needs.years, self.needs.class.name),
        ];
        facts.extend(limits);
        facts.extend(axes);
        facts.push(self.looked_at());
        let mut notes = base.left_out.clone();
        notes.push("Not in the model: controller, firmware and PLP capacitors, time and energy of scrubs".into());
        Study {
            name: report::study::ADVISE,
            title: format!("Advice for {} on {}", self.workload, base.drive.name),
            settings: vec![("command", command.to_owned())],
            facts,
            tables: vec![self.designs_table(), self.out_table(), self.ages_table()],
            plots: self.plots(),
            notes,
        }
    }

    fn designs_table(&self) -> Table {
        let mut columns = vec![
            column("design", "design"),
            column("scheme", "scheme"),
            column("over_provisioning", "over-provisioning"),
            column("code", "code"),
            column("refresh", "refresh"),
            column("scrub", "scrub"),
            column("scrub_reads_per_day", "data that scrubs read a day, by the user capacity"),
            column("plp", "memory that must outlive a power cut"),
            column("seen_by", "seen by"),
            column("front", "on the front"),
            column("meets", "meets every hard need"),
            column("breaks", "breaks"),
            column("raw_by_user", "raw bytes by user byte"),
        ];
        columns.extend(FIGURES.map(|(key, name, _)| column(key, name)));
        let front = self.front();
        let row = |design: &Design| {
            let looked = &design.looked;
            let value = |key: &Key| Cell::Text(self.space.value(&design.at, key).to_owned());
            let broken = self.needs.broken(&looked.values);
            let yes = |is: bool| Cell::Text(if is { "yes" } else { "no" }.into());
            let meets = if looked.level == Level::Full { yes(self.needs.are_met(&looked.values)) } else { Cell::Absent };
            let mut cells = vec![
                Cell::Text(design.name.clone()),
                value(&Key::Scheme),
                value(&Key::OverProvisioning),
                value(&Key::Code),
                value(&Key::Refresh),
                Cell::Text(self.space.scrub(&design.at).to_owned()),
                Cell::Rate(self.scrub_reads(design)),
                Cell::Text(design.bound.plp.words()),
                Cell::Text(looked.level.word().into()),
                yes(front.contains(&looked.index)),
                meets,
                Cell::Text(failures(&broken)),
                Cell::Rate(design.bound.raw_by_user),
            ];
            let is_seen = |need: Need| !Need::OF_TIME.contains(&need) || looked.level == Level::Full;
            cells.extend(FIGURES.map(|(.., need)| match looked.values.get(need).filter(|_| is_seen(need)) {
                Some(value) => Cell::Rate(value),
                None => Cell::Absent,
            }));
            cells
        };
        let mut order: Vec<&Design> = self.designs.iter().collect();
        order.sort_by_key(|design| std::cmp::Reverse(design.looked.level));
        let rows = order.into_iter().map(row).collect();
        let shown = ["design", "seen_by", "front", "breaks", "raw_by_user", "pe_of_rated", "read_p99_us", "loss", "uber_off"];
        let shown = shown.map(|key| columns.iter().position(|column| column.key == key).expect("a column")).to_vec();
        let layouts = vec![Layout::Plain { title: "Designs that formulas let pass".into(), part: None, columns: shown }];
        Table { key: "designs", columns, rows, layouts }
    }

    fn out_table(&self) -> Table {
        let columns = vec![column("reason", "out by formula"), column("designs", "designs"), column("example", "one of them")];
        let row = |(reason, count, example): (String, usize, String)| {
            vec![Cell::Text(reason), Cell::Count(count as u64), Cell::Text(example)]
        };
        let rows = reasons(&self.space, &self.out).into_iter().map(row).collect();
        let layouts = vec![Layout::Plain { title: "Designs that are out".into(), part: None, columns: vec![0, 1, 2] }];
        Table { key: "out", columns, rows, layouts }
    }

    fn ages_table(&self) -> Table {
        let columns = vec![
            column("design", "design"),
            column("years", "years"),
            column("pe_mean", "P/E cycles, mean"),
            column("waf", "write amplification"),
            column("worn_blocks", "worn-out blocks"),
            column("uber", "UBER in use"),
            column("uber_off", "UBER without power"),
            column("loss_so_far", "probability of loss so far"),
            column("read_p99_us", "reads p99, us"),
        ];
        let row = |design: &Design, epoch: &Epoch| {
            let p99 = epoch.timed.filter(|timed| timed.read.count > 0).map_or(Cell::Absent, |timed| Cell::Rate(timed.read.p99));
            vec![
                Cell::Text(design.name.clone()),
                Cell::Rate(epoch.years),
                Cell::Rate(epoch.pe[0]),
                Cell::Rate(epoch.waf),
                Cell::Count(epoch.worn_blocks.into()),
                Cell::Rate(epoch.uber),
                Cell::Rate(epoch.uber_off),
                Cell::Rate(epoch.loss_probability()),
                p99,
            ]
        };
        let rows = self.lived().flat_map(|(design, epochs)| epochs.iter().map(move |epoch| row(design, epoch))).collect();
        let layouts = vec![Layout::Plain { title: "Lives in full".into(), part: Some(0), columns: (1..columns.len()).collect() }];
        Table { key: "ages", columns, rows, layouts }
    }

    /// Designs that lived in full, with their ages.
    fn lived(&self) -> impl Iterator<Item = (&Design, &[Epoch])> {
        let design = |&index: &usize| {
            let design = &self.designs[index];
            Some((design, design.looked.life.as_ref()?.epochs.as_slice()))
        };
        self.finalists.iter().filter_map(design)
    }

    /// Designs that lived in full and meet every hard need of which no other is better or as good in raw flash, worst p99 of reads, cycles
    /// and loss, by index.
    #[must_use]
    pub fn front(&self) -> Vec<usize> {
        let meets = |&&index: &&usize| self.needs.are_met(&self.designs[index].looked.values);
        let among: Vec<usize> = self.finalists.iter().filter(meets).copied().collect();
        let figures = |index: usize| {
            let (design, values) = (&self.designs[index], &self.designs[index].looked.values);
            let of = |need: Need| values.get(need).unwrap_or(0.0);
            [design.bound.raw_by_user, of(Need::ReadP99), of(Need::Pe), of(Need::Loss)]
        };
        let dominates = |a: usize, b: usize| {
            let (a, b) = (figures(a), figures(b));
            a.iter().zip(&b).all(|(a, b)| a <= b) && a != b
        };
        among.iter().copied().filter(|&one| !among.iter().any(|&other| dominates(other, one))).collect()
    }

    fn plots(&self) -> Vec<Plot> {
        let linear = |name| Axis { name, log: false };
        let log = |name| Axis { name, log: true };
        let years = linear("years");
        let over = |id, title: &str, axis, y: &dyn Fn(&Epoch) -> Option<f64>| {
            let points = |epochs: &[Epoch]| epochs.iter().filter_map(|epoch| Some((epoch.years, y(epoch)?))).collect();
            let series =
                self.lived().map(|(design, epochs)| Series { name: design.name.clone(), points: points(epochs) }).collect();
            let hint = "One curve for each design that lived in full.".into();
            Plot { id, title: title.into(), hint, axes: [years, axis], series, marks: Vec::new(), categories: Vec::new() }
        };
        let mut plots = vec![
            self.plot_of("advise-p99", "Worst p99 of reads by cost", linear("us"), Need::ReadP99, Level::Full),
            self.plot_of("advise-pe", "P/E cycles at the end by cost", linear("share of rated"), Need::Pe, Level::Wear),
            self.plot_of("advise-loss", "Probability of loss by cost", log("probability"), Need::Loss, Level::Wear),
        ];
        plots.push(over("advise-life-p99", "Latency of reads, p99", linear("us"), &|epoch| {
            epoch.timed.filter(|timed| timed.read.count > 0).map(|timed| timed.read.p99)
        }));
        plots.push(over("advise-life-uber", "UBER without power", log("UBER"), &|epoch| {
            Some(epoch.uber_off).filter(|uber| *uber > 1e-30)
        }));
        plots.push(over("advise-life-pe", "P/E cycles, mean", linear("cycles"), &|epoch| Some(epoch.pe[0])));
        plots
    }

    /// A figure over raw flash by user byte: a curve for each scheme, of designs looked at this closely.
    fn plot_of(&self, id: &'static str, title: &str, axis: Axis, need: Need, least: Level) -> Plot {
        let mut series: Vec<Series> = Vec::new();
        for design in self.designs.iter().filter(|design| design.looked.level >= least) {
            let Some(value) = design.looked.values.get(need) else { continue };
            let name = self.space.value(&design.at, &Key::Scheme).to_owned();
            let at = series.iter().position(|one| one.name == name).unwrap_or_else(|| {
                series.push(Series { name, points: Vec::new() });
                series.len() - 1
            });
            series[at].points.push((design.bound.raw_by_user, value));
        }
        series.iter_mut().for_each(|one| one.points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))));
        let front = self.front().into_iter().map(|index| &self.designs[index]);
        let marks = front.map(|design| Mark { x: design.bound.raw_by_user, label: design.name.clone() }).collect();
        let seen = if least == Level::Full { "in full" } else { "without timed runs or in full" };
        let hint = format!("Designs that lived {seen}; lines across are the front: no other is as good in everything.");
        Plot { id, title: title.into(), hint, axes: [linear_cost(), axis], series, marks, categories: Vec::new() }
    }

    /// The answer as JSON, the study with it.
    #[must_use]
    pub fn to_json(&self, command: &str, repeat: Option<&str>) -> Value {
        let design = |index: usize| {
            let one = &self.designs[index];
            let met = one.looked.lives.iter().filter(|(_, values)| self.needs.are_met(values)).count();
            json!({
                "design": one.name,
                "scheme": self.space.value(&one.at, &Key::Scheme),
                "over_provisioning": self.space.value(&one.at, &Key::OverProvisioning),
                "code": self.space.value(&one.at, &Key::Code),
                "refresh": self.space.value(&one.at, &Key::Refresh),
                "scrub": self.space.scrub(&one.at),
                "plp": one.bound.plp.words(),
                "settings": self.space.settings(&one.at),
                "raw_by_user": one.bound.raw_by_user,
                "seeds": one.looked.lives.len(),
                "seeds_met": met,
                "breaks": self.needs.broken(&one.looked.values).iter().map(|(limit, _)| limit.need.key()).collect::<Vec<_>>(),
                "corners": one.looked.corners.iter().map(|(corner, values)| {
                    json!({ "corner": corner.words(&self.settings), "meets": self.needs.are_met(values) })
                }).collect::<Vec<_>>(),
            })
        };
        let mut document = self.study(command).to_json();
        document["answer"] = json!({
            "take": self.chosen().map(design),
            "second": self.runner_up().map(design),
            "nearest": if self.chosen().is_none() { self.nearest().map(design) } else { None },
            "front": self.front().into_iter().map(design).collect::<Vec<_>>(),
            "points": self.points,
            "out_by_formula": self.out.len(),
            "lives": self.lives,
            "minutes_ran_out": self.is_late,
            "repeat": repeat,
        });
        document
    }
}

fn linear_cost() -> Axis {
    Axis { name: "raw bytes by user byte", log: false }
}
