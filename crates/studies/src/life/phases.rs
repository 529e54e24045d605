//! Phases of a life's calendar: how much the host writes, and whether the drive has power. They come one after the other, again and again until the
//! life is over.

use super::LifeSettings;
use super::options::number_of;
use common::Problem;
use std::ops::RangeInclusive;

/// A phase as it was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AskedPhase {
    /// Days that it lasts.
    pub days: f64,
    /// Drive writes of the host a day; `None`: those of the settings.
    pub dwpd: Option<f64>,
    /// Whether the drive is switched off.
    pub is_off: bool,
    /// Temperature in degrees Celsius; `None`: that of the settings, and of a drive that is switched off that of the time without power of
    /// its class.
    pub celsius: Option<f64>,
    /// Hours a day in which the drive has power; `None`: all.
    pub hours: Option<f64>,
}

/// A phase of the calendar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Phase {
    /// Days that it lasts.
    pub days: f64,
    pub kind: Kind,
}

/// Use of a drive in a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// The host writes so many times the user capacity a day, at this temperature in degrees Celsius; the drive has power in so many hours of it.
    On { dwpd: f64, celsius: f64, hours: f64 },
    /// The drive is switched off, at this temperature in degrees Celsius.
    Off { celsius: f64 },
}

/// Days of a month: a twelfth of a year.
const MONTH: f64 = 365.0 / 12.0;

/// Most phases, and most days of one.
const PHASES_MAX: usize = 100;
const DAYS_MAX: f64 = 365.0 * super::YEARS_MAX;

/// Hours of a day, and those in which a drive may have power.
const DAY: f64 = 24.0;
const HOURS: (f64, f64) = (0.1, DAY);

/// Drive writes that a phase with power must have: a stretch of the life is half of one.
const WRITES_MIN: f64 = 1.0;

/// Phases of a text such as `years=1; years=2,dwpd=0.3,celsius=45,hours=8; months=3,off`.
///
/// # Errors
/// A text that is none, with the phase and what is valid.
pub fn phases_of(option: &str, text: &str) -> Result<Vec<AskedPhase>, Problem> {
    let phases: Vec<&str> = text.split(';').map(str::trim).filter(|phase| !phase.is_empty()).collect();
    if phases.is_empty() || phases.len() > PHASES_MAX {
        let found = phases.len();
        return Err(Problem::new(option, format!("found {found} phases, valid are 1 to {PHASES_MAX}, with `;` between them")));
    }
    phases.into_iter().enumerate().map(|(number, phase)| phase_of(&format!("{option}: phase {}", number + 1), phase)).collect()
}

fn phase_of(field: &str, text: &str) -> Result<AskedPhase, Problem> {
    let (mut phase, mut named) = (AskedPhase::default(), Vec::new());
    for part in text.split(',').map(str::trim) {
        let (key, value) = part.split_once('=').map_or((part, None), |(key, value)| (key.trim(), Some(value.trim())));
        let field_of_part = format!("{field}, {key}");
        let number = || number_of::<f64>(&field_of_part, value.unwrap_or_default());
        if named.contains(&key) {
            return Err(Problem::new(field, format!("found {key} twice, valid is each part once")));
        }
        named.push(key);
        match key {
            "years" => phase.days += 365.0 * number()?,
            "months" => phase.days += MONTH * number()?,
            "days" => phase.days += number()?,
            "dwpd" => phase.dwpd = Some(number()?),
            "celsius" => phase.celsius = Some(number()?),
            "hours" => phase.hours = Some(number()?),
            "off" if value.is_none() => phase.is_off = true,
            _ => return Err(Problem::unknown(field, "part of a phase", part, &PARTS)),
        }
    }
    Ok(phase)
}

/// Parts of a phase.
const PARTS: [&str; 7] = ["years", "months", "days", "dwpd", "off", "celsius", "hours"];

impl LifeSettings {
    /// The calendar: phases in order, equal neighbours as one; without any a single one that lasts for ever.
    pub(super) fn calendar(&self) -> Vec<Phase> {
        let kind = |asked: &AskedPhase| match asked.is_off {
            true => Kind::Off { celsius: asked.celsius.unwrap_or(self.class.off_celsius) },
            false => Kind::On {
                dwpd: asked.dwpd.unwrap_or(self.dwpd),
                celsius: asked.celsius.unwrap_or(self.celsius.0),
                hours: asked.hours.unwrap_or(DAY),
            },
        };
        let mut calendar: Vec<Phase> = Vec::new();
        for (days, kind) in self.phases.iter().map(|asked| (asked.days, kind(asked))) {
            match calendar.last_mut().filter(|before| before.kind == kind) {
                Some(before) => before.days += days,
                None => calendar.push(Phase { days, kind }),
            }
        }
        match calendar.as_slice() {
            [] => vec![Phase { days: f64::INFINITY, kind: kind(&AskedPhase::default()) }],
            [one] => vec![Phase { days: f64::INFINITY, ..*one }],
            _ => calendar,
        }
    }

    /// The temperature of all phases with power in degrees Celsius, where it is one.
    pub(super) fn celsius_in_use(&self) -> Option<f64> {
        let calendar = self.calendar();
        let mut in_use = calendar.iter().filter(|phase| phase.powered() > 0.0).map(Phase::celsius);
        let first = in_use.next()?;
        in_use.all(|celsius| celsius == first).then_some(first)
    }

    /// All phases with power have this temperature in degrees Celsius.
    pub(super) fn set_celsius_in_use(&mut self, celsius: f64) {
        self.celsius.0 = celsius;
        self.phases.iter_mut().filter(|phase| !phase.is_off).for_each(|phase| phase.celsius = None);
    }

    /// The temperature in a phase by its number from 1 on, in degrees Celsius; without a number that of the first.
    pub(super) fn celsius_in(&self, phase: Option<u32>) -> f64 {
        self.calendar()[phase.map_or(0, |phase| phase as usize - 1)].celsius()
    }

    /// The calendar in words; nothing where there is one phase.
    pub(super) fn calendar_words(&self) -> Option<String> {
        let calendar = self.calendar();
        let words: Vec<String> = calendar.iter().enumerate().map(|(number, phase)| phase.words(number + 1)).collect();
        (calendar.len() > 1).then(|| format!("calendar, again and again: {}", words.join("; ")))
    }

    /// Refuses a phase that a life cannot have.
    pub(super) fn check_phases(&self, writes: RangeInclusive<f64>, temperatures: RangeInclusive<f64>) -> Result<(), Problem> {
        if self.phases.first().is_some_and(|first| first.is_off) {
            return Err(Problem::new("--phases: phase 1", "found `off`, valid is a phase with power: a life begins with one"));
        }
        for (number, asked) in self.phases.iter().enumerate() {
            let fail = |message: String| Err(Problem::new(format!("--phases: phase {}", number + 1), message));
            let (days, dwpd) = (asked.days, asked.dwpd.unwrap_or(self.dwpd));
            if !(days > 0.0 && days <= DAYS_MAX) {
                return fail(format!(
                    "found {days} days, valid are years, months or days that add up to more than 0 and at most {DAYS_MAX} days"
                ));
            }
            if asked.is_off && (asked.dwpd.is_some() || asked.hours.is_some()) {
                let found = if asked.dwpd.is_some() { "dwpd" } else { "hours" };
                return fail(format!("found {found} beside `off`, valid is celsius: without power nothing is written"));
            }
            if let Some(hours) = asked.hours.filter(|hours| !(HOURS.0..=HOURS.1).contains(hours)) {
                return fail(format!("found hours {hours}, valid are {} to {} a day", HOURS.0, HOURS.1));
            }
            if let Some(celsius) = asked.celsius.filter(|celsius| !temperatures.contains(celsius)) {
                return fail(format!("found celsius {celsius}, valid are {} to {}", temperatures.start(), temperatures.end()));
            }
            if !asked.is_off && !writes.contains(&dwpd) {
                return fail(format!("found dwpd {dwpd}, valid are {} to {}", writes.start(), writes.end()));
            }
            if !asked.is_off && days * dwpd < WRITES_MIN {
                let found = days * dwpd;
                return fail(format!(
                    "found {found} drive writes in all of it, valid are {WRITES_MIN} or more: a longer phase, or `off`"
                ));
            }
        }
        Ok(())
    }
}

impl Phase {
    /// Drive writes of the host a day.
    pub fn dwpd(&self) -> f64 {
        match self.kind {
            Kind::On { dwpd, .. } => dwpd,
            Kind::Off { .. } => 0.0,
        }
    }

    /// The share of the phase in which the drive has power.
    pub fn powered(&self) -> f64 {
        match self.kind {
            Kind::On { hours, .. } => hours / DAY,
            Kind::Off { .. } => 0.0,
        }
    }

    /// Its temperature in degrees Celsius.
    pub fn celsius(&self) -> f64 {
        match self.kind {
            Kind::On { celsius, .. } | Kind::Off { celsius } => celsius,
        }
    }

    /// The hours with power a day in words, where they are not all.
    pub fn hours_words(&self) -> String {
        match self.kind {
            Kind::On { hours, .. } if hours < DAY => format!(", with power {hours} h a day"),
            _ => String::new(),
        }
    }

    fn words(&self, number: usize) -> String {
        let time = match self.days {
            days if days < 60.0 => format!("{} days", common::quantity::short(days)),
            days => common::Quantity::Years.show(days / 365.0),
        };
        match self.kind {
            Kind::Off { celsius } => format!("{number}. {time} switched off at {celsius} C"),
            Kind::On { dwpd, celsius, .. } => {
                format!("{number}. {time} at {dwpd} drive writes a day and {celsius} C{}", self.hours_words())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> Result<LifeSettings, Problem> {
        Ok(LifeSettings { phases: phases_of("--phases", text)?, ..LifeSettings::default() })
    }

    /// Parts that are not said are those of the settings; equal neighbours are one phase; a single phase lasts for ever.
    #[test]
    fn phases_are_read_as_they_are_meant() {
        let calendar = |text: &str| with(text).expect("valid").calendar();
        let on = |days: f64, dwpd: f64| Phase { days, kind: Kind::On { dwpd, celsius: 40.0, hours: 24.0 } };
        let off = |days: f64, celsius: f64| Phase { days, kind: Kind::Off { celsius } };
        let found = calendar("years=1; months=6,dwpd=0.3; months=3, off; days=1 , off, celsius=-5;");
        assert_eq!(found, [on(365.0, 1.0), on(182.5, 0.3), off(91.25, 40.0), off(1.0, -5.0)]);
        assert_eq!(calendar("years=1;years=1,dwpd=1;days=1,off")[0], on(730.0, 1.0));
        let warm = calendar("years=1; years=1, celsius=55, hours=8");
        assert_eq!(warm[1].kind, Kind::On { dwpd: 1.0, celsius: 55.0, hours: 8.0 });
        assert_eq!(calendar("years=1;years=1,dwpd=1"), LifeSettings::default().calendar());
    }

    #[test]
    fn wrong_phases_name_the_phase() {
        for (text, said) in [
            ("", "found 0 phases"),
            ("years=1;years=x", "phase 2, years: found `x`"),
            ("years=1,color=red", "color=red"),
            ("months=3,off;years=1", "phase 1: found `off`"),
            ("years=0", "phase 1: found 0 days"),
            ("years=inf", "found inf days"),
            ("days=2,dwpd=0.1", "drive writes in all of it"),
            ("years=1;years=1,celsius=450", "phase 2: found celsius 450"),
            ("years=1;days=9,off,dwpd=1", "phase 2: found dwpd beside `off`, valid is celsius"),
            ("years=1;days=9,off,hours=1", "phase 2: found hours beside `off`, valid is celsius"),
            ("years=1,hours=8,hours=9", "phase 1: found hours twice"),
            ("years=1,celsius", "phase 1, celsius: found ``"),
            ("years=1,hours=25", "phase 1: found hours 25"),
            ("years=1,hours=NaN", "found hours NaN"),
            ("years=1;days=9,off,celsius=400", "found celsius 400"),
            ("years=1,dwpd=NaN", "found dwpd NaN"),
        ] {
            let checked = with(text).and_then(|settings| settings.check_phases(0.01..=1000.0, -40.0..=125.0));
            let problem = checked.expect_err(text).to_string();
            assert!(problem.contains(said) && problem.contains("--phases"), "{text}: {problem}");
        }
    }
}
