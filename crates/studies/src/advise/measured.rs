//! Figures of a life that needs are checked against.

use super::needs::{Need, Needs, Values};
use crate::life::{End, Epoch, Rates, SchemeLife, Timed};

/// Share of the rate of die failures from which on a lost die loses data for certain.
const CERTAIN: f64 = 0.5;

/// Requests of a timed run, and a figure of theirs.
type CountAndFigure = fn(&Timed) -> (u64, f64);

/// Figures of a life. One that ended before its years is stretched to them where a figure grows with time: how far it is from what is
/// needed then ranks it, and it is out whatever the figure.
pub(super) fn measured(life: &SchemeLife, needs: &Needs, rated: f64, rates: &Rates, survives: u32) -> Values {
    let mut values = Values::default();
    let last = life.last();
    let years = last.years.max(f64::MIN_POSITIVE);
    let stretch = (needs.years / years).max(1.0);
    let worst = |of: &dyn Fn(&Epoch) -> f64| life.epochs.iter().map(of).fold(0.0, f64::max);
    values.set(Need::Dies, f64::from(survived(life, rates, survives)));
    values.set(Need::Years, if life.end == End::ReadOnly { last.years } else { needs.years.max(last.years) });
    values.set(Need::Pe, last.pe[0] * stretch / rated);
    values.set(Need::Uber, worst(&|epoch| epoch.uber));
    values.set(Need::Retention, worst(&|epoch| epoch.uber_off));
    let losses = life.losses_after(needs.years).unwrap_or(last.losses * stretch);
    values.set(Need::Loss, -(-losses).exp_m1());
    let timed: Vec<_> = life.epochs.iter().filter_map(|epoch| epoch.timed.as_ref()).collect();
    let figures: [(Need, CountAndFigure); 4] = [
        (Need::ReadP99, |timed| (timed.read.count, timed.read.p99)),
        (Need::ReadP999, |timed| (timed.read.count, timed.read.p999)),
        (Need::WriteP99, |timed| (timed.write.count, timed.write.p99)),
        (Need::Energy, |timed| (timed.read.count + timed.write.count, timed.energy_j_per_gb)),
    ];
    for (need, of) in figures {
        let known = timed.iter().map(|timed| of(timed)).filter(|(count, _)| *count > 0);
        if let Some(worst) = known.map(|(_, us)| us).reduce(f64::max) {
            values.set(need, worst);
        }
    }
    values
}

/// Dies whose loss at a time loses nothing, at every age: those of the scheme, or none where a lost die lost data at some age, as in a
/// stage of life without parity.
fn survived(life: &SchemeLife, rates: &Rates, survives: u32) -> u32 {
    let loses = |epoch: &Epoch| rates.dies > 0.0 && epoch.hazard.dies > CERTAIN * rates.dies;
    if life.epochs.iter().any(loses) { 0 } else { survives }
}
