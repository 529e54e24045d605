//! Questions by the names of the options of `flashkeep advise`, for programs that have them as texts.

use super::{Budget, Given};
use crate::life::{LifeSettings, number_of};
use common::Problem;

/// Questions beside the experiment and the space.
#[derive(Clone, Debug)]
pub struct Question {
    /// Needs as they are given.
    pub given: Given,
    /// The model, and how closely lives in full are looked at.
    pub settings: LifeSettings,
    /// How much is looked at.
    pub budget: Budget,
}

/// Options of a life that are options of advice, too.
const OF_LIFE: [&str; 8] = ["epochs", "timed", "die-rate", "block-rate", "rebuild-hours", "page-sigma", "block-sigma", "celsius"];

/// An option: its name, and how its text is read.
type Read = (&'static str, fn(&mut Question, &str, &str) -> Result<(), Problem>);

/// Options of needs and budget.
const OWN: &[Read] = &[
    ("class", |q, _, t| given(&mut q.given.class, t)),
    ("years", |q, o, t| number_of(o, t).map(|value| q.given.years = Some(value))),
    ("dwpd", |q, o, t| number_of(o, t).map(|value| q.given.dwpd = Some(value))),
    ("plp", |q, _, t| given(&mut q.given.plp, t)),
    ("dies", |q, o, t| number_of(o, t).map(|value| q.given.dies = Some(value))),
    ("pe", |q, o, t| number_of(o, t).map(|value| q.given.pe = Some(value))),
    ("uber", |q, o, t| number_of(o, t).map(|value| q.given.uber = Some(value))),
    ("loss", |q, o, t| number_of(o, t).map(|value| q.given.loss = Some(value))),
    ("read-p99", |q, _, t| given(&mut q.given.read_p99, t)),
    ("read-p999", |q, _, t| given(&mut q.given.read_p999, t)),
    ("write-p99", |q, _, t| given(&mut q.given.write_p99, t)),
    ("energy", |q, o, t| number_of(o, t).map(|value| q.given.energy = Some(value))),
    ("soft", |q, _, t| {
        q.given.soft = Some(t.split(',').map(|need| need.trim().to_owned()).collect());
        Ok(())
    }),
    ("lives", |q, o, t| number_of(o, t).map(|value| q.budget.lives = value)),
    ("minutes", |q, o, t| number_of(o, t).map(|value| q.budget.minutes = Some(value))),
    ("finalists", |q, o, t| number_of(o, t).map(|value| q.budget.finalists = value)),
    ("seeds", |q, o, t| number_of(o, t).map(|value| q.budget.seeds = value)),
];

/// A text that is read later, with the needs.
fn given(need: &mut Option<String>, text: &str) -> Result<(), Problem> {
    *need = Some(text.to_owned());
    Ok(())
}

/// The names of all options.
fn names() -> Vec<&'static str> {
    OWN.iter().map(|(name, _)| *name).chain(OF_LIFE).collect()
}

impl Question {
    /// The default question changed by these options, by name and text as on the command line, without `--`.
    ///
    /// # Errors
    /// An unknown name, or a text that its option does not take.
    pub fn with<'a>(options: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, Problem> {
        let mut question = Self { given: Given::default(), settings: super::settings(), budget: Budget::default() };
        options.into_iter().try_for_each(|(name, text)| question.change(name, text))?;
        Ok(question)
    }

    fn change(&mut self, name: &str, text: &str) -> Result<(), Problem> {
        if OF_LIFE.contains(&name) {
            return self.settings.change(name, text);
        }
        let Some((_, read)) = OWN.iter().find(|(known, _)| *known == name) else {
            return Err(Problem::unknown(name, "option of advice", name, &names()));
        };
        read(self, name, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_those_of_the_command_line() {
        let options = [("years", "3"), ("soft", "pe, loss"), ("lives", "20"), ("celsius", "55"), ("timed", "1")];
        let question = Question::with(options).expect("valid");
        assert_eq!((question.given.years, question.budget.lives), (Some(3.0), 20));
        assert_eq!(question.given.soft, Some(vec!["pe".into(), "loss".into()]));
        assert_eq!((question.settings.celsius.0, question.settings.timed), (55.0, 1));
        // Options of a life that advice decides itself.
        for (name, text, field) in [("years", "long", "years"), ("refresh", "30d", "refresh"), ("color", "red", "color")] {
            assert_eq!(Question::with([(name, text)]).expect_err("refused").field, field);
        }
        // Each name that an error lists is an option.
        for name in names() {
            assert!(Question::with([(name, "1")]).is_ok(), "{name}");
        }
    }
}
