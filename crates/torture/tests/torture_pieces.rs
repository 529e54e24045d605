//! A campaign in pieces gives what one run gives, whoever ran which piece, and loses none.

use common::parts::{CAMPAIGN, Directory, SWEEP};
use common::{Columns, Values};
use flashkeep_torture::{Campaign, Crew, KEPT_OF_A_KIND, Kept, PIECE_MAX, Rule, Runner, Scope, Summary, campaign};
use std::path::PathBuf;
use std::sync::Mutex;

/// A scheme that loses data and one that does not.
fn scope(seed: u64) -> Scope {
    Scope::named(seed, &["canary".into(), "none".into()], &[], false).expect("known names")
}

fn pieces(seed: u64, scenarios: u64) -> Campaign {
    Campaign::new(scope(seed), scenarios, 64).unwrap_or_else(|e| panic!("{e}"))
}

/// The campaign in one run.
fn whole(seed: u64, scenarios: u64) -> Summary {
    part_of(seed, 0, scenarios)
}

fn part_of(seed: u64, first: u64, scenarios: u64) -> Summary {
    flashkeep_torture::quiet_panics();
    let with = Runner { threads: 2, first, scenarios: Some(scenarios), keep_going: true, go_on: &|| true, progress: &|| {} };
    campaign(&scope(seed), &with)
}

#[test]
fn two_parts_of_a_campaign_have_the_scenarios_of_the_whole() {
    let (whole, parts) = (whole(3, 320), [part_of(3, 0, 128), part_of(3, 128, 192)]);
    for (index, (scheme, tally)) in whole.schemes.iter().enumerate() {
        let found = |tally: &flashkeep_torture::Tally| (tally.scenarios, tally.cuts, tally.pages_checked, tally.violations);
        let [one, other] = [found(&parts[0].schemes[index].1), found(&parts[1].schemes[index].1)];
        assert_eq!(found(tally), (one.0 + other.0, one.1 + other.1, one.2 + other.2, one.3 + other.3), "{scheme}");
    }
    let violations: u64 = whole.schemes.iter().map(|(_, tally)| tally.violations).sum();
    assert!(violations > 0, "the canary loses data in either part");
}

/// Tables as text.
fn encode(columns: &Columns) -> Vec<u8> {
    format!("{columns:?}").into_bytes()
}

/// A directory of one test, empty at its start.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("flashkeep-pieces-{}-{test}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    fn open(&self, campaign: &Campaign) -> Directory {
        campaign.open(&self.0).unwrap_or_else(|e| panic!("{e}"))
    }

    fn run(&self, campaign: &Campaign, threads: usize) -> Kept {
        let crew = Crew { threads, turn: 5, progress: &|_, _| {}, encode };
        campaign.run_into(&self.open(campaign), &crew).unwrap_or_else(|e| panic!("{e}"))
    }

    fn tables(&self) -> [Vec<u8>; 2] {
        ["results.parquet", "violations.parquet"].map(|name| std::fs::read(self.0.join(name)).expect("merged"))
    }

    fn part(&self, campaign: &Campaign, piece: usize) -> PathBuf {
        self.0.join(format!("pieces/{:016x}.json", campaign.key(piece)))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn pieces_together_give_what_one_run_gives() {
    // The last piece has 13 scenarios: it ends inside a drive.
    let (campaign, whole) = (pieces(3, 1_997), whole(3, 1_997));
    assert_eq!((campaign.pieces(), campaign.range(31)), (32, 1_984..1_997));
    let parts: Vec<_> = (0..campaign.pieces()).rev().map(|piece| campaign.part(piece)).collect();
    let merged = campaign.merged(|piece| Ok(parts[31 - piece].clone())).expect("all are of this campaign");
    assert_eq!(merged, whole);
    let turned = campaign.merged(|piece| Ok(parts[piece].clone())).unwrap_err().to_string();
    assert!(turned.contains("the part of scenarios 0 to 63 is not of this campaign"), "{turned}");
    let canary = &merged.schemes[1].1;
    assert!(merged.schemes[0].1.violations == 0 && canary.violations > 50, "{}", merged.to_text());
    let kept: usize = canary.found.iter().map(|found| 1 + found.next.len()).sum();
    assert!(
        kept > canary.found.len() && canary.found.iter().any(|found| found.violation.rule == Rule::Panic || found.times > 20)
    );
}

/// Fails if the table leaves a violation out, or names another scenario, scheme or rule than the one that broke it.
#[test]
fn the_table_of_violations_names_scenarios_that_broke_a_rule() {
    let summary = whole(3, 1_997);
    let columns = summary.violations();
    let table = columns.columns();
    let names: Vec<&str> = table.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["scenario", "scheme", "rule", "what", "alike"]);
    let (Values::Whole(scenario), Values::Text(scheme)) = (&table[0].values, &table[1].values) else { panic!("{names:?}") };
    let (Values::Text(rule), Values::Text(what)) = (&table[2].values, &table[3].values) else { panic!("{names:?}") };
    let Values::Whole(alike) = &table[4].values else { panic!("{names:?}") };
    let counted = summary.schemes[1].1.violations;
    let many = summary.schemes[1].1.found.iter().filter(|found| found.times > KEPT_OF_A_KIND as u64);
    let forgotten: u64 = many.map(|found| found.times - KEPT_OF_A_KIND as u64).sum();
    assert_eq!(columns.rows() as u64, counted - forgotten);
    assert!(scenario.is_sorted() && scheme.iter().all(|scheme| scheme.as_deref() == Some("canary")));
    for row in (0..columns.rows()).step_by(7) {
        let number = scenario[row].expect("a number");
        let violation = scope(3).replay(number as u64).1.violation.expect("broken").1;
        assert_eq!((Some(violation.rule.name()), Some(&violation.what)), (rule[row].as_deref(), what[row].as_ref()), "{number}");
        let same = |found: &&flashkeep_torture::Found| Some(found.times as i64) == alike[row];
        assert!(summary.schemes[1].1.found.iter().any(|found| same(&found) && found.violation.rule == violation.rule));
    }
    let none = Summary::default().violations();
    assert_eq!((none.rows(), none.columns().len()), (0, 5), "a table without rows has its columns");
}

#[test]
fn violations_of_a_kind_are_remembered_up_to_a_bound_and_all_counted() {
    let summary = whole(4, 8_000);
    let most = summary.schemes[1].1.found.iter().max_by_key(|found| found.times).expect("the canary breaks rules");
    assert!(most.times > KEPT_OF_A_KIND as u64, "{}", most.times);
    assert_eq!(most.next.len(), KEPT_OF_A_KIND - 1);
    assert!(most.next.is_sorted_by_key(|(number, _)| *number) && most.number < most.next[0].0);
}

#[test]
fn threads_interruptions_and_lengths_cannot_be_seen_in_the_tables() {
    let (serial, other) = (Scratch::new("serial"), Scratch::new("other"));
    let campaign = pieces(3, 600);
    assert_eq!(serial.run(&campaign, 1).summary, whole(3, 600));
    // Another process did piece 4, was killed in piece 2; and a smaller campaign was run before.
    let directory = other.open(&campaign);
    directory.keep(&campaign.part(4)).expect("kept");
    std::fs::write(other.part(&campaign, 2).with_extension("99-0.part"), "{\"flashk").expect("written");
    let smaller = other.run(&pieces(3, 150), 1);
    assert_eq!((smaller.found, smaller.run, smaller.others), (0, 150, 1));
    let heard = Mutex::new(Vec::new());
    let note = |done, all| heard.lock().expect("no panic").push((done, all));
    let kept = campaign.run_into(&directory, &Crew { threads: 3, turn: 0, progress: &note, encode }).expect("done");
    // Of the smaller one its third piece of 22 scenarios is no piece of this one.
    assert_eq!((kept.found, kept.run, kept.others), (3, 600 - 3 * 64, 1));
    assert_eq!(kept.summary, whole(3, 600));
    assert_eq!(other.tables(), serial.tables());
    let mut heard = heard.into_inner().expect("no panic");
    heard.sort_unstable();
    assert_eq!((heard[0], heard[heard.len() - 1], heard.len()), ((192, 600), (600, 600), 8));
    let left = std::fs::read_dir(other.0.join("pieces")).expect("there").count();
    assert_eq!(left, 11, "what the killed process left is gone");
    assert_eq!(other.run(&campaign, 2).run, 0);
    assert_eq!(other.tables(), serial.tables());
}

#[test]
fn what_is_done_is_not_done_again() {
    let scratch = Scratch::new("again");
    let campaign = pieces(3, 256);
    scratch.run(&campaign, 2);
    // A part that says something else, in due form: it is taken as it is.
    let mut part = campaign.part(1);
    part.rows[0]["cuts"] = 1_000_000.into();
    std::fs::write(scratch.part(&campaign, 1), part.to_text()).expect("written");
    let again = scratch.run(&campaign, 2);
    assert!(again.run == 0 && again.summary.schemes[0].1.cuts > 1_000_000);
}

/// Fails if a process does what another one has done since it began.
#[test]
fn a_process_leaves_out_what_another_one_did_since_it_began() {
    let scratch = Scratch::new("shared");
    let campaign = pieces(3, 640);
    let directory = scratch.open(&campaign);
    let there = || (0..10).filter(|&piece| directory.has(campaign.key(piece))).collect::<Vec<_>>();
    let heard = Mutex::new(Vec::new());
    let another = |_, _| {
        let mut heard = heard.lock().expect("no panic");
        heard.push(there());
        if heard.len() == 2 {
            let other = (0..10).find(|piece| !heard[1].contains(piece)).expect("most are missing");
            directory.keep(&campaign.part(other)).expect("kept");
        }
    };
    let kept = campaign.run_into(&directory, &Crew { threads: 1, turn: 37, progress: &another, encode }).expect("done");
    assert_eq!((kept.found, kept.run), (0, 640 - 64));
    let heard = heard.into_inner().expect("no panic");
    assert_eq!(heard.iter().map(Vec::len).collect::<Vec<_>>()[..4], [0, 1, 3, 4]);
    assert_eq!(heard.len(), 11, "who waits hears of what others did, too");
    assert_eq!(kept.summary, whole(3, 640));
}

#[test]
fn a_directory_of_another_campaign_is_refused_and_says_what_differs() {
    let scratch = Scratch::new("differs");
    scratch.open(&pieces(3, 64));
    let apart = Scope::apart(3, &["canary".into(), "none".into()], &["cut".into()], true).expect("known names");
    let cases = [
        (Campaign::new(scope(4), 64, 64), "seed is 3, wanted 4: run the campaign into another directory"),
        (Campaign::new(scope(3), 64, 32), "piece is 64, wanted 32"),
        (Campaign::new(scope(3).without("pins").expect("a rule"), 64, 64), "without is null, wanted pins"),
        (
            Campaign::new(apart, 64, 64),
            "beyond_promise is false, wanted true; draws is together, wanted apart; faults is cut,die,",
        ),
    ];
    for (campaign, says) in cases {
        let problem = campaign.expect("valid").open(&scratch.0).unwrap_err().to_string();
        assert!(problem.contains("campaign.json is of another campaign, ") && problem.contains(says), "{says}: {problem}");
    }
    let problem = Directory::open(&scratch.0, &SWEEP).unwrap_err().to_string();
    assert!(problem.contains("is the directory of a campaign of torture: sweep into another directory"), "{problem}");
    for text in ["", "[]", "{\"flashkeep_campaign\":", "\u{0}"] {
        std::fs::write(scratch.0.join("campaign.json"), text).expect("written");
        let problem = pieces(3, 64).open(&scratch.0).unwrap_err().to_string();
        assert!(problem.contains("does not name a campaign"), "{problem}");
    }
}

#[test]
fn damaged_and_foreign_parts_are_named() {
    let scratch = Scratch::new("damaged");
    let campaign = pieces(3, 128);
    scratch.run(&campaign, 2);
    let path = scratch.part(&campaign, 0);
    let good = std::fs::read(&path).expect("kept");
    let refused = |bytes: &[u8], says: &str| {
        std::fs::write(&path, bytes).expect("written");
        let crew = Crew { threads: 1, turn: 0, progress: &|_, _| {}, encode };
        let problem = campaign.run_into(&scratch.open(&campaign), &crew).unwrap_err().to_string();
        assert!(problem.contains(says), "{says}: {problem}");
    };
    for at in (0..good.len()).step_by(61) {
        refused(&good[..at], path.file_name().expect("a name").to_str().expect("ASCII"));
        let mut bytes = good.clone();
        bytes[at] ^= 4;
        refused(&bytes, path.file_name().expect("a name").to_str().expect("ASCII"));
    }
    refused(b"", "is no part of a campaign of torture");
    refused(&[&good[..good.len() - 2], b" \n"].concat(), "remove it, and its piece is run again");
    // In due form, with a check sum, and no outcome of this piece.
    let mut lies = [0; 7].map(|_| campaign.part(0));
    lies[0].rows.pop();
    lies[1].rows[0]["scenarios"] = 65.into();
    lies[2].rows[0]["cuts"] = u64::MAX.into();
    lies[3].rows[0]["scheme"] = "raid5".into();
    lies[4].rows[0]["violations"] = 3.into();
    lies[5].rows[1]["kinds"] = serde_json::json!([{ "rule": "fire", "times": 1, "broken": [[1, "x"]] }]);
    lies[6] = campaign.part(1);
    lies[6].key = lies[0].key;
    for kind in lies[6].rows[1]["kinds"].as_array().expect("the canary breaks rules").clone() {
        assert!(kind["broken"][0][0].as_u64() >= Some(64), "of another piece");
    }
    for lie in lies {
        refused(lie.to_text().as_bytes(), "the part of scenarios 0 to 63 is not of this campaign");
    }
    std::fs::remove_file(&path).expect("there");
    let (before, crew) = (scratch.tables(), Crew { threads: 2, turn: 0, progress: &|_, _| {}, encode });
    assert_eq!(campaign.run_into(&scratch.open(&campaign), &crew).expect("done").run, 64);
    assert_eq!((scratch.tables(), std::fs::read(&path).expect("kept")), (before, good));
    std::fs::write(scratch.0.join("pieces/notes.txt"), "mine").expect("written");
    let problem = campaign.missing(&Directory::open(&scratch.0, &CAMPAIGN).expect("open")).unwrap_err().to_string();
    assert!(problem.contains("notes.txt is no part of a campaign of torture"), "{problem}");
}

#[test]
fn a_campaign_that_makes_no_sense_is_refused() {
    let refused = |scenarios, piece| Campaign::new(scope(1), scenarios, piece).err().expect("refused").to_string();
    assert!(refused(0, 64).contains("--scenarios: found 0, valid with pieces of 64 are 1 to 6400000"));
    assert!(refused(2_000_000_001, 20_000).contains("valid with pieces of 20000 are 1 to 2000000000"));
    for piece in [0, 8, 100, PIECE_MAX + 16, u64::MAX] {
        assert!(refused(64, piece).contains("--piece: found"), "{piece}");
    }
}

#[test]
fn the_command_that_repeats_a_scenario_draws_the_same_scope() {
    assert_eq!(Scope::named(7, &[], &[], false).expect("all").command(3), "flashkeep torture --seed 7 --scenario 3");
    assert_eq!(
        Scope::apart(7, &[], &[], false).expect("all").command(3),
        "flashkeep torture --seed 7 --draws apart --scenario 3"
    );
    let names = ["raid5".into(), "none".into()];
    let scope = Scope::named(1, &names, &["die".into(), "cut".into()], true).and_then(|scope| scope.without("pins"));
    let said = "flashkeep torture --seed 1 --scheme none,raid5 --fault cut,die --beyond-promise --without pins --scenario 0";
    assert_eq!(scope.expect("known").command(0), said);
}
