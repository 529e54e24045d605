//! Questions by the names of the options of `flashkeep advise`, for programs that have them as texts.

use super::{Budget, Given};
use crate::life::{LifeSettings, number_of};
use crate::problem::Problem;

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

/// Those of needs and budget.
const OWN: [&str; 15] = [
    "class",
    "years",
    "dwpd",
    "dies",
    "pe",
    "uber",
    "loss",
    "read-p99",
    "read-p999",
    "write-p99",
    "soft",
    "lives",
    "minutes",
    "finalists",
    "seeds",
];

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
        let (given, budget) = (&mut self.given, &mut self.budget);
        match name {
            "class" => given.class = Some(text.to_owned()),
            "years" => given.years = Some(number_of(name, text)?),
            "dwpd" => given.dwpd = Some(number_of(name, text)?),
            "dies" => given.dies = Some(number_of(name, text)?),
            "pe" => given.pe = Some(number_of(name, text)?),
            "uber" => given.uber = Some(number_of(name, text)?),
            "loss" => given.loss = Some(number_of(name, text)?),
            "read-p99" => given.read_p99 = Some(text.to_owned()),
            "read-p999" => given.read_p999 = Some(text.to_owned()),
            "write-p99" => given.write_p99 = Some(text.to_owned()),
            "soft" => given.soft = Some(text.split(',').map(|need| need.trim().to_owned()).collect()),
            "lives" => budget.lives = number_of(name, text)?,
            "minutes" => budget.minutes = Some(number_of(name, text)?),
            "finalists" => budget.finalists = number_of(name, text)?,
            "seeds" => budget.seeds = number_of(name, text)?,
            _ => return Err(Problem::unknown(name, "option of advice", name, &[&OWN[..], &OF_LIFE].concat())),
        }
        Ok(())
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
        // What is told as known is.
        for name in OWN.iter().chain(&OF_LIFE) {
            assert!(Question::with([(*name, "1")]).is_ok(), "{name}");
        }
    }
}
