//! Builds of the copy: a check that says which mutants are no Rust, then the programs that judge.

use crate::suites::Program;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// An error of the compiler: the places that it names, and its words.
pub struct Refusal {
    /// File from the root of the copy, first byte.
    pub places: Vec<(String, usize)>,
    pub words: String,
}

/// Runs cargo in the copy and hands on every message of its JSON.
fn cargo(copy: &Path, target: &Path, arguments: &[&str], mut hear: impl FnMut(&Value)) -> bool {
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    command.args(arguments).arg("--message-format=json").arg("--target-dir").arg(target).current_dir(copy);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("cargo runs");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    for line in lines.map_while(Result::ok) {
        if let Ok(message) = serde_json::from_str::<Value>(&line) {
            hear(&message);
        }
    }
    child.wait().expect("cargo ends").success()
}

/// Errors of the compiler in the crates in scope.
pub fn check(copy: &Path, target: &Path) -> Vec<Refusal> {
    let mut refused = Vec::new();
    let passed = cargo(copy, target, &["check", "--keep-going", "-p", "flashkeep-ssd", "-p", "flashkeep-coding"], |message| {
        let said = &message["message"];
        if message["reason"] == "compiler-message" && said["level"] == "error" && !said["spans"][0].is_null() {
            refused.push(refusal(said));
        }
    });
    assert!(passed || !refused.is_empty(), "the copy does not build, and no place is named: run `cargo check` there");
    refused
}

fn refusal(said: &Value) -> Refusal {
    let mut spans: Vec<&Value> = said["spans"].as_array().expect("an array of places").iter().collect();
    spans.sort_by_key(|span| span["is_primary"] != true);
    let place = |span: &&Value| {
        let file = span["file_name"].as_str().unwrap_or_default().to_owned();
        (file, span["byte_start"].as_u64().unwrap_or_default() as usize)
    };
    Refusal { places: spans.iter().map(place).collect(), words: said["rendered"].as_str().unwrap_or_default().to_owned() }
}

/// Builds all test programs of these packages.
pub fn tests(copy: &Path, target: &Path, packages: &[&str]) -> Vec<Program> {
    let mut arguments = vec!["test", "--no-run", "--lib", "--tests"];
    packages.iter().for_each(|package| arguments.extend(["-p", package]));
    programs(copy, target, &arguments)
}

/// Builds one test program of a package.
pub fn test_of(copy: &Path, target: &Path, package: &str, name: &str) -> Vec<Program> {
    programs(copy, target, &["test", "--no-run", "-p", package, "--test", name])
}

fn programs(copy: &Path, target: &Path, arguments: &[&str]) -> Vec<Program> {
    let mut programs = Vec::new();
    let passed = cargo(copy, target, arguments, |message| {
        let Some(path) = message["executable"].as_str().filter(|_| message["profile"]["test"] == true) else { return };
        let manifest = message["manifest_path"].as_str().expect("a path");
        let folder = Path::new(manifest).parent().expect("manifests lie in folders").to_owned();
        let krate = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let name = message["target"]["name"].as_str().expect("a name").replace("flashkeep_", "");
        programs.push(Program::new(path.into(), folder, krate, name));
    });
    assert!(passed, "the tests of the copy do not build: run `cargo test --no-run` there");
    programs
}

/// Builds `flashkeep` as it ships.
pub fn product(copy: &Path, target: &Path) -> Program {
    let passed = cargo(copy, target, &["build", "--release", "-p", "flashkeep-cli", "--bin", "flashkeep"], |_| ());
    assert!(passed, "flashkeep does not build from the copy: run `cargo build --release` there");
    let path = target.join("release").join("flashkeep");
    Program::new(path, copy.to_owned(), "cli".into(), "flashkeep".into())
}
