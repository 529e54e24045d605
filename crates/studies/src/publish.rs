//! Writes reports of lives and of advice.

use crate::advise::Advice;
use crate::life::{AGES, Life};
use common::Problem;
use report::study::Study;
use report::{html, parquet_bytes, report_directory, write_to};
use std::path::{Path, PathBuf};

/// Writes `index.html`, `ages.csv`, `ages.parquet`, `results.json` and `experiment.toml` of lives into `directory`; returns the path of the first.
///
/// # Errors
/// A file that cannot be written.
pub fn write_life(life: &Life, study: &Study, directory: &Path) -> Result<PathBuf, Problem> {
    report_directory(directory, true)?;
    let results = serde_json::to_string_pretty(&study.to_json()).expect("a JSON document prints");
    let files = [
        ("experiment.toml", life.experiment.to_toml()),
        ("results.json", results),
        ("ages.csv", study.to_csv()),
        ("index.html", html::study(study)),
    ];
    for (name, text) in &files {
        write_to(directory, name, text)?;
    }
    if let Some(ages) = study.tables.iter().find(|table| table.key == AGES) {
        write_to(directory, "ages.parquet", parquet_bytes(&ages.to_columns()))?;
    }
    Ok(directory.join("index.html"))
}

/// Writes `index.html`, `designs.csv`, `results.json` and the `experiment.toml` of the chosen or nearest design into `directory`; returns the path
/// of the first.
///
/// # Errors
/// A file that cannot be written.
pub fn write_advice(advice: &Advice, study: &Study, results: &serde_json::Value, directory: &Path) -> Result<PathBuf, Problem> {
    report_directory(directory, true)?;
    let design = advice.chosen().or_else(|| advice.nearest()).map(|index| advice.experiment(index)).transpose()?;
    let results = serde_json::to_string_pretty(results).expect("a JSON document prints");
    let experiment = design.map(|experiment| ("experiment.toml", experiment.to_toml()));
    let files = [("results.json", results), ("designs.csv", study.to_csv()), ("index.html", html::study(study))];
    for (name, text) in experiment.iter().chain(&files) {
        write_to(directory, name, text)?;
    }
    Ok(directory.join("index.html"))
}
