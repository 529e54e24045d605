//! Paper: Guo et al., DA-RAID-5, Eq. 3 and Fig. 2: T_read and T_retention over wear.
//! Idea: the RBER at which a codeword still comes back with a yield of 99.9 % bounds reads and
//! age of a block.
//! Differs: the paper excludes all other errors from either limit; but errors add, and a block at
//! both limits has about twice the RBER. So the share of both that may be used up together stands
//! beside them. A yield of 99.9 % of 512 bytes is an UBER of 2.4e-7; limits of real UBERs stand
//! beside it. Fig. 2 gives no numbers: the model da-raid5 is scaled to the two values of the text.

use super::settings::{Ageing, Settings};
use super::{ENDLESS, Extent, FOREVER, PE, WEAR, cycles, extent, model_notes, wear_axis};
use common::Problem;
use report::study::DAY;
use report::study::{Axis, Cell, Column, Layout, Plot, Series, Study, Table};
use ssd::coding::odds::Per;
use ssd::nand::rber::Stress;

pub(super) const OPTIONS: &[(&str, &str)] = &[
    ("model", "da-raid5"),
    ("yield", "0.999"),
    ("uber", "1e-11,1e-15"),
    ("per", "data"),
    ("code", "512B"),
    ("t", "8"),
    ("pe", "1000,3000,5000,10000,15000,20000"),
];

/// Target of the limits: its name, and the RBER it bears.
struct Target {
    name: String,
    rber: f64,
}

fn targets(settings: &Settings) -> Result<Vec<Target>, Problem> {
    let (code, per, wanted) = (settings.code()?, settings.per()?, settings.target_yield()?);
    let several = settings.capabilities()?.len() > 1;
    let mut found = Vec::new();
    for t in settings.capabilities()? {
        let name = |of: String| if several { format!("{of}, t {t}") } else { of };
        let rber = code.max_rber_for_yield(t, wanted, 1);
        let same = code.ln_uber(t, rber, Per::DataBit).exp();
        found.push(Target { name: name(format!("yield {wanted} (UBER {same:.1e})")), rber });
        for uber in settings.ubers()? {
            found.push(Target { name: name(format!("UBER {uber:e}")), rber: code.max_rber(t, uber, per) });
        }
    }
    Ok(found)
}

/// Limits at one age.
struct Limits {
    retention: Extent,
    reads: Extent,
    /// Share of both limits that may be used up together, and RBER at both in full; if both exist.
    joint: Option<(f64, f64)>,
}

fn limits(ageing: &Ageing, pe: f64, rber: f64) -> Limits {
    let at = |retention_hours: f64, reads: f64| ageing.model.model.rber(&Stress { pe, retention_hours, reads });
    let retention = extent(FOREVER, |hours| at(hours, 0.0) <= rber);
    let reads = extent(ENDLESS, |reads| at(0.0, reads) <= rber);
    let joint = match (retention, reads) {
        (Extent::Limit(hours), Extent::Limit(reads)) if hours > 0.0 && reads > 0.0 => {
            let share = match extent(1.0, |share| at(share * hours, share * reads) <= rber) {
                Extent::Limit(share) => share,
                Extent::NoLimit => 1.0,
            };
            Some((share, at(hours, reads)))
        }
        _ => None,
    };
    Limits { retention, reads, joint }
}

pub(super) fn study(settings: &Settings) -> Result<Study, Problem> {
    let ageing = Ageing { model: settings.model()?, reads: 0.0 };
    let (ages, targets) = (settings.cycles()?, targets(settings)?);
    let mut rows = Vec::new();
    for (target, &pe) in targets.iter().flat_map(|target| ages.iter().map(move |pe| (target, pe))) {
        let Limits { retention, reads, joint } = limits(&ageing, pe, target.rber);
        let of_joint = |of: fn((f64, f64)) -> f64| joint.map_or(Cell::Absent, |joint| Cell::Rate(of(joint)));
        let limits = [retention.hours(), reads.count(), of_joint(|j| j.0), of_joint(|j| j.1)];
        rows.push([[Cell::Text(target.name.clone()), Cell::Rate(target.rber), cycles(pe)].as_slice(), &limits].concat());
    }
    let column = |key, name| Column { key, name, unit: "" };
    let columns = vec![
        column("target", "limits for"),
        column("rber_max", "highest RBER"),
        PE,
        column("t_retention_h", "T_retention, unread"),
        column("t_read", "T_read, at once"),
        column("joint_share", "share of both at once"),
        column("rber_at_both", "RBER at both in full"),
    ];
    let title = "Limits on age and on reads of a block";
    let layouts = vec![Layout::Plain { title: title.into(), part: Some(0), columns: vec![2, 1, 3, 4, 5, 6] }];
    let mut notes = model_notes(ageing.model);
    notes.push("each limit leaves no room for the other: a block may use up only the given share of both together".into());
    Ok(Study {
        name: "thresholds",
        title: format!("{title}, by wear"),
        settings: settings.values(),
        facts: settings.facts()?,
        tables: vec![Table { key: "thresholds", columns, rows, layouts }],
        plots: plots(&ageing, &ages, &targets),
        notes,
    })
}

fn plots(ageing: &Ageing, ages: &[f64], targets: &[Target]) -> Vec<Plot> {
    let curves = |of: &dyn Fn(&Limits) -> Extent, unit: f64| {
        let point = |pe: f64, rber: f64| match of(&limits(ageing, pe, rber)) {
            Extent::Limit(limit) if limit > 0.0 => Some((pe, limit / unit)),
            _ => None,
        };
        let points = |target: &Target| wear_axis(ages).into_iter().filter_map(|pe| point(pe, target.rber)).collect();
        targets.iter().map(|target| Series { name: target.name.clone(), points: points(target) }).collect()
    };
    let plot = |id, title: &str, name, series| Plot {
        id,
        title: title.into(),
        hint: "One curve for each target.".into(),
        axes: [WEAR, Axis { name, log: true }],
        series,
        marks: Vec::new(),
        categories: Vec::new(),
    };
    vec![
        plot("t-retention", "Longest age of a block that is not read", "T_retention, days", curves(&|l| l.retention, DAY)),
        plot(
            "t-read",
            "Most reads of a block that has just been written",
            "T_read, reads since erase",
            curves(&|l| l.reads, 1.0),
        ),
    ]
}
