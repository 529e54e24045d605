//! Several recordings as a workload, and recordings whose times go back.

use experiment::{Experiment, Overrides, Workload};
use flashkeep_studies::inspect;
use std::path::{Path, PathBuf};

fn folder(test: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recordings").join(test);
    let _ = std::fs::remove_dir_all(&here);
    std::fs::create_dir_all(&here).expect("the target directory can be written");
    here
}

fn open(experiment: &Experiment) -> Workload {
    Workload::open(experiment, &|_| {}).unwrap_or_else(|problem| panic!("{problem}"))
}

/// Two volumes one after the other in one file: 3000 requests each, at the same times (case T14).
#[test]
fn times_that_go_back_are_said_or_sorted() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/cases/T14-two-volumes-one-after-the-other.csv");
    let read = |set: &[&str]| {
        let set = set.iter().map(ToString::to_string).collect();
        let overrides = Overrides { trace: Some(file.display().to_string()), set, ..Overrides::default() };
        Experiment::with(&overrides).unwrap_or_else(|problem| panic!("{problem}"))
    };
    let notes =
        |experiment: &Experiment| inspect(experiment, &|_| {}).unwrap_or_else(|problem| panic!("{problem}")).notes.join("\n");
    let (as_it_is, sorted) = (read(&[]), read(&["trace.order=sorted"]));
    let said = notes(&as_it_is);
    assert!(said.contains("come earlier than one before them") && said.contains("`--set trace.order=sorted` sorts"), "{said}");
    assert!(open(&as_it_is).facts().doubts.join("\n").contains("come earlier"));
    assert!(!notes(&sorted).contains("earlier"), "{}", notes(&sorted));
    let (before, after) = (open(&as_it_is), open(&sorted));
    let (before, after) = (before.facts(), after.facts());
    assert_eq!((after.requests, after.clamped, after.doubts.len()), (6000, 0, 0));
    assert_eq!((before.requests, before.reads, before.written_bytes), (after.requests, after.reads, after.written_bytes));
    // Two requests every two seconds; as it is, one every two seconds, then all others at once.
    assert_eq!((after.duration_s.round(), after.longest_gap_s.round()), (5998.0, 2.0));
    assert!((2990..=3000).contains(&before.clamped), "{}", before.clamped);
}

/// Paths of a file of settings count from its folder; the effective experiment has them whole and is the same workload.
#[test]
fn recordings_of_an_experiment_are_found_beside_it() {
    let here = folder("beside");
    let csv = |start: u64, place: u64| -> String {
        (0..20u64).map(|index| format!("{},W,{},4096\n", start + index * 1000, place + index * 4096)).collect()
    };
    std::fs::write(here.join("a.csv"), csv(5, 0)).expect("written");
    std::fs::write(here.join("b.csv"), csv(900, 0)).expect("written");
    let settings =
        "[trace]\nsource = \"a.csv\"\nthen = [\"b.csv\"]\nbeside = [\"b.csv\"]\ncolumns = \"time=us,op,lba=bytes,size=bytes\"\n";
    std::fs::write(here.join("e.toml"), settings).expect("written");
    let read = Experiment::load(&here.join("e.toml"), &Overrides::default()).unwrap_or_else(|problem| panic!("{problem}"));
    let workload = open(&read);
    let facts = workload.facts();
    // Two of the same places, one after the other, and one of its own.
    assert_eq!((facts.requests, facts.footprint_bytes), (60, 2 * 20 * 4096));
    assert_eq!(facts.name, "a.csv, then b.csv, beside b.csv");
    assert!((facts.duration_s - 0.038).abs() < 1e-9, "{}", facts.duration_s);
    let again = Experiment::parse("again", &read.to_toml()).unwrap_or_else(|problem| panic!("{problem}"));
    assert_eq!(open(&again).facts().digest, facts.digest);
    let typed = |option: &str, path: &str, value: &Path| (option.to_owned(), path.to_owned(), value.display().to_string());
    let options = vec![
        typed("--then", "trace.then", &here.join("b.csv")),
        typed("--beside", "trace.beside", &here.join("b.csv")),
        ("--columns".into(), "trace.columns".into(), "time=us,op,lba=bytes,size=bytes".into()),
    ];
    let typed = Overrides { trace: Some(here.join("a.csv").display().to_string()), options, ..Overrides::default() };
    let typed = Experiment::with(&typed).unwrap_or_else(|problem| panic!("{problem}"));
    assert_eq!(open(&typed).facts().digest, facts.digest);
}
