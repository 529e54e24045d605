//! Settings of lives by the names of the options of `flashkeep life`, for programs that have them as texts.

use super::phases::phases_of;
use super::settings::{Class, LifeSettings, bytes_of, days_of, micros_of, years_of};
use common::Problem;

/// An option: its name, and how its text is read.
type Read = (&'static str, fn(&mut LifeSettings, &str, &str) -> Result<(), Problem>);

/// A number as an option says it.
pub(crate) fn number_of<T: std::str::FromStr>(option: &str, text: &str) -> Result<T, Problem> {
    text.parse().map_err(|_| Problem::new(option, format!("found `{}`, valid is a number", common::printable(text))))
}

fn truth(option: &str, text: &str) -> Result<bool, Problem> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(Problem::new(option, format!("found `{}`, valid are true and false", common::printable(text)))),
    }
}

const OPTIONS: &[Read] = &[
    ("dwpd", |s, o, t| number_of(o, t).map(|value| s.dwpd = value)),
    ("years", |s, o, t| number_of(o, t).map(|value| s.years = Some(value))),
    ("epochs", |s, o, t| number_of(o, t).map(|value| s.epochs = value)),
    ("every-program", |s, o, t| truth(o, t).map(|value| s.leaps = !value)),
    ("timed", |s, o, t| number_of(o, t).map(|value| s.timed = value)),
    ("refresh", |s, o, t| days_of(o, t).map(|value| s.refresh_days = value)),
    ("scrub", |s, o, t| days_of(o, t).map(|value| s.scrub_days = value)),
    ("represents", |s, o, t| bytes_of(o, t).map(|value| s.represents = Some(value))),
    ("phases", |s, o, t| phases_of(o, t).map(|phases| s.phases = phases)),
    ("die-dies", |s, o, t| years_of(o, t).map(|years| s.die_dies = years)),
    ("spare-dies", |s, o, t| number_of(o, t).map(|value| s.spare_dies = value)),
    ("tornado", |s, o, t| truth(o, t).map(|value| s.tornado = value)),
    ("class", |s, o, t| Class::named(o, t).map(|class| s.class = class)),
    ("uber", |s, o, t| number_of(o, t).map(|value| s.class.uber = value)),
    ("read-p99", |s, o, t| micros_of(o, t).map(|value| s.read_p99_us = Some(value))),
    ("worn-at-rated", |s, o, t| number_of(o, t).map(|value| s.worn.0 = value)),
    ("wear-exponent", |s, o, t| number_of(o, t).map(|value| s.worn.1 = value)),
    ("die-rate", |s, o, t| number_of(o, t).map(|value| s.rates.dies = value)),
    ("block-rate", |s, o, t| number_of(o, t).map(|value| s.rates.blocks = value)),
    ("rebuild-hours", |s, o, t| number_of(o, t).map(|value| s.rates.rebuild_hours = value)),
    ("page-sigma", |s, o, t| number_of(o, t).map(|value| s.sigma.0 = value)),
    ("block-sigma", |s, o, t| number_of(o, t).map(|value| s.sigma.1 = value)),
    ("redrawn-errors", |s, o, t| truth(o, t).map(|value| s.redrawn_errors = value)),
    ("celsius", |s, o, t| number_of(o, t).map(|value| s.celsius.0 = value)),
    ("reference-celsius", |s, o, t| number_of(o, t).map(|value| s.celsius.1 = value)),
];

impl LifeSettings {
    /// The default settings changed by these options, by name and text as on the command line, without `--`.
    ///
    /// # Errors
    /// An unknown name, or a text that its option does not take.
    pub fn with<'a>(options: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, Problem> {
        let mut settings = Self::default();
        // A class sets the limit on UBER, which `uber` changes wherever it stands.
        let (class, others): (Vec<_>, Vec<_>) = options.into_iter().partition(|(name, _)| *name == "class");
        class.into_iter().chain(others).try_for_each(|(name, text)| settings.change(name, text))?;
        Ok(settings)
    }

    /// Changes what one option says.
    ///
    /// # Errors
    /// As [`Self::with`].
    pub(crate) fn change(&mut self, name: &str, text: &str) -> Result<(), Problem> {
        let Some((_, read)) = OPTIONS.iter().find(|(known, _)| *known == name) else {
            let known: Vec<&str> = OPTIONS.iter().map(|(name, _)| *name).collect();
            return Err(Problem::unknown(name, "option of a life", name, &known));
        };
        read(self, name, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::life::CLASSES;

    #[test]
    fn options_are_those_of_the_command_line() {
        let settings =
            LifeSettings::with([("dwpd", "3"), ("uber", "1e-17"), ("refresh", "none"), ("scrub", "30d"), ("class", "client")])
                .expect("valid");
        let class = Class { uber: 1e-17, ..CLASSES[0] };
        let expected = LifeSettings { dwpd: 3.0, refresh_days: None, scrub_days: Some(30.0), class, ..LifeSettings::default() };
        assert_eq!(settings, expected);
        for (name, text, field) in [("dwpd", "much", "dwpd"), ("color", "red", "color"), ("class", "toy", "class")] {
            assert_eq!(LifeSettings::with([(name, text)]).expect_err("refused").field, field);
        }
    }
}
