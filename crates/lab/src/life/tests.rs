//! Lives against brute force, formulas and what must not change them.

use super::*;
use crate::compare::Bench;

/// A drive of 8 dies of 32 blocks of 96 pages that is rated for this many cycles, under random writes over all that the host may use.
fn tiny(schemes: &str, endurance: u32, rest: &str) -> Experiment {
    let text = format!(
        "schemes = [{schemes}]\n{rest}\n[trace]\nsource = \"uniform\"\n[generate]\nrequests = 2000\nrange = \"100%\"\nread_fraction = 0.2\n\
         [capacity]\nsize = \"drive\"\nover_provisioning = \"40% of raw\"\n\
         [drive]\npreset = \"tlc\"\nendurance = {endurance}\ngeometry.pages_per_block = 96\ngeometry.blocks_per_plane = 32\n"
    );
    Experiment::parse("life.toml", &text).unwrap_or_else(|e| panic!("{e}"))
}

fn lived(experiment: &Experiment, settings: &LifeSettings) -> Life {
    let bench = Bench { threads: 2, clock: &|| 0.0, progress: &|_| {} };
    life(experiment, settings, &bench, &|_, _, _| {}).unwrap_or_else(|e| panic!("{e}"))
}

/// Wear alone: no error model ends a life, no run in time.
fn wear_alone(leaps: bool) -> LifeSettings {
    LifeSettings { epochs: 10, leaps, timed: 0, refresh_days: None, worn: (0.02, 4.0), ..LifeSettings::default() }
}

/// Every program of a life, against leaps over most of it: the same end by the same cause, and drive writes within the error that leaps
/// state and 1 %. Catches cycles that are taken twice or not at all, thresholds that are drawn again, and a drive that leaps past its end.
#[test]
fn leaps_end_where_every_program_ends() {
    let experiment = tiny("\"none\", \"ds-raid\"", 50, "errors.model = \"none\"");
    let (all, leaps) = (lived(&experiment, &wear_alone(false)), lived(&experiment, &wear_alone(true)));
    for (all, leaps) in all.schemes.iter().zip(&leaps.schemes) {
        let (one, other) = (all.last(), leaps.last());
        assert_eq!((all.end, leaps.end), (End::ReadOnly, End::ReadOnly), "{}", all.label);
        assert_eq!(one.drive_writes_off, 0.0);
        let (off, stated) = ((one.drive_writes - other.drive_writes).abs(), other.drive_writes_off + 0.01 * one.drive_writes);
        assert!(off <= stated, "{}: {} and {}, stated {stated}", all.label, one.drive_writes, other.drive_writes);
        assert!(other.drive_writes_off > 0.0 && other.drive_writes_off < 0.05 * one.drive_writes, "{}", all.label);
        let share = |epoch: &Epoch| f64::from(epoch.worn_blocks) / f64::from(all.blocks);
        assert!(share(one) > 0.05 && share(other) > 0.05, "spare was there to lose");
    }
}

/// A drive that is written twice as fast has half of the years and the same drive writes, where nothing depends on time. Catches a calendar
/// that is stretched twice.
#[test]
fn without_retention_the_pace_of_writes_changes_the_years_alone() {
    let experiment = tiny("\"none\"", 20, "errors.model = \"none\"");
    let at = |dwpd: f64| lived(&experiment, &LifeSettings { dwpd, ..wear_alone(true) }).schemes[0].last().clone();
    let (slow, fast) = (at(1.0), at(2.0));
    assert_eq!((slow.drive_writes, slow.worn_blocks), (fast.drive_writes, fast.worn_blocks));
    assert!((slow.years / fast.years - 2.0).abs() < 1e-9);
    assert!((slow.years * 365.0 - slow.drive_writes).abs() < 1e-6 * slow.drive_writes, "one drive write a day");
}

/// Older, hotter and more varied data are lost sooner; refresh costs writes by the law f / (a d) and keeps data young; reads are checked.
#[test]
fn retention_follows_age_heat_variation_and_refresh() {
    let mut half = tiny("\"none\"", 2000, "");
    half.generate.as_mut().expect("generated").range = "50%".parse().expect("a share");
    let settings = LifeSettings {
        years: Some(3.0),
        timed: 1,
        dwpd: 0.2,
        class: Class { uber: 1.0, ..CLASSES[1] },
        ..LifeSettings::default()
    };
    let last = |change: &dyn Fn(&mut LifeSettings)| {
        let mut settings = settings.clone();
        change(&mut settings);
        lived(&half, &settings)
    };
    let usual = last(&|_| {});
    let of = |life: &Life| life.schemes[0].last().clone();
    let one = of(&usual);
    let timed = one.timed.expect("the end is replayed in time");
    assert!(usual.passed() && timed.read.count > 0 && timed.read.p99 > 0.0);
    // Half of the capacity is never written: it is refreshed every 30 days, at 0.2 drive writes a day, but for what GC moves before.
    let law = 0.5 / (30.0 * 0.2);
    assert!(one.refreshed > 0.0 && one.refreshed <= law, "{} and {law}", one.refreshed);
    assert!(one.data_days < 30.0, "{}", one.data_days);
    let never = of(&last(&|settings| settings.refresh_days = None));
    assert!(never.refreshed == 0.0 && never.data_days > 30.0 && never.uber > one.uber, "{never:?}");
    let hotter = of(&last(&|settings| settings.celsius.0 = 55.0));
    assert!(hotter.uber > one.uber && hotter.uber_off == hotter.uber_off.max(one.uber_off));
    let varied = of(&last(&|settings| settings.sigma = (0.5, 0.3)));
    assert!(varied.uber > 10.0 * one.uber, "{} and {}", varied.uber, one.uber);
    assert!(one.uber_off > one.uber, "three months without power");
}

/// Data of uniform writes are young in a drive that leaps as in one of which every program is simulated. Catches a leap that ages what the
/// last stretch happened not to write.
#[test]
fn leaps_keep_the_age_of_what_is_rewritten() {
    let experiment = tiny("\"none\"", 200, "");
    let at = |leaps: bool| {
        let settings = LifeSettings { years: Some(0.5), ..wear_alone(leaps) };
        lived(&experiment, &settings).schemes[0].last().clone()
    };
    let (all, leaps) = (at(false), at(true));
    // Uniform writes leave e^-3 of the data unwritten in the three drive writes whose data keep their age; GC moves most of the rest.
    assert!((leaps.data_days / all.data_days - 1.0).abs() < 0.2, "{} and {}", leaps.data_days, all.data_days);
}

/// Bad input names the setting.
#[test]
fn lives_refuse_what_they_decide_themselves() {
    let bench = Bench { threads: 1, clock: &|| 0.0, progress: &|_| {} };
    let refused = |rest: &str, settings: &LifeSettings| {
        let error = life(&tiny("\"none\"", 100, rest), settings, &bench, &|_, _, _| {}).expect_err("refused");
        (error.field.clone(), error.message)
    };
    let usual = LifeSettings::default();
    assert_eq!(refused("age.pe_cycles = 100", &usual).0, "age");
    assert_eq!(refused("faults.dead_die = 1", &usual).0, "faults");
    assert_eq!(refused("wear.static_threshold = 0", &usual).0, "wear.static_threshold");
    assert_eq!(refused("", &LifeSettings { dwpd: 0.0, ..usual.clone() }).0, "--dwpd");
    assert_eq!(refused("", &LifeSettings { epochs: 0, ..usual }).0, "--epochs");
}

/// Annex C of JESD218: 52 weeks at 30 C do to data what at least 105 weeks at 25 C do.
#[test]
fn weeks_without_power_are_those_of_annex_c() {
    let weeks = 52.0 * ssd::nand::rber::acceleration(1.1, 30.0, 25.0);
    assert!((weeks - 105.4).abs() < 0.1, "{weeks}");
}

/// Refresh that is written, program by program, follows 1 + f / (a d): 80 % of the capacity is never written by the host and refreshed
/// every 30 days, at 0.1 drive writes a day. Blocks are refreshed by their first page, so that what shares a block with old data is, too: no
/// more than one of 32 looks (3 %) and the blocks with both kinds of data come on top. Catches a refresh at the wrong age, twice or not at all.
#[test]
fn refresh_that_is_written_follows_its_law() {
    let mut idle = tiny("\"none\"", 3000, "errors.model = \"none\"");
    idle.generate.as_mut().expect("generated").range = "20%".parse().expect("a share");
    let settings = LifeSettings { years: Some(0.6), dwpd: 0.1, leaps: false, timed: 0, ..LifeSettings::default() };
    let life = lived(&idle, &settings);
    // From the second month on, over whole stretches.
    let (epochs, law) = (&life.schemes[0].epochs, 0.8 / (30.0 * 0.1));
    let refresh = ssd::Cause::Refresh as usize;
    let last: Vec<f64> = epochs.iter().filter(|epoch| epoch.years > 0.2).map(|epoch| epoch.by_cause[refresh]).collect();
    assert!(!last.is_empty(), "{}", epochs.len());
    let mean = last.iter().sum::<f64>() / last.len() as f64;
    assert!((mean / law - 1.0).abs() < 0.1, "{mean} and {law}");
    assert_eq!(life.schemes[0].last().refreshed, life.schemes[0].last().by_cause[refresh], "nothing is counted beside");
    assert!(life.schemes[0].last().data_days < 30.0);
}

/// The first seed is the life alone, whatever the threads; others differ. Parameters of the tornado go the way that they have to, and a rate
/// of zero means no such loss. With more over-provisioning the host writes no less; a scrub takes nothing from `none`, which it cannot
/// repair, and makes losses of redundancy rarer.
#[test]
fn seeds_and_parameters_move_lives_as_they_have_to() {
    let rest = "[errors]\nmodel = \"tlc-gauss\"";
    let of = |seeds: u32, settings: &LifeSettings, threads: usize| {
        let mut experiment = tiny("\"none\", \"ds-raid\"", 1500, rest);
        experiment.seeds = seeds;
        let bench = Bench { threads, clock: &|| 0.0, progress: &|_| {} };
        life(&experiment, settings, &bench, &|_, _, _| {}).unwrap_or_else(|e| panic!("{e}"))
    };
    let usual = LifeSettings {
        years: Some(0.4),
        epochs: 4,
        timed: 0,
        class: Class { uber: 1.0, ..CLASSES[1] },
        ..LifeSettings::default()
    };
    let (alone, three) = (of(1, &usual, 1), of(3, &LifeSettings { tornado: true, ..usual.clone() }, 2));
    assert_eq!(alone.schemes, three.schemes);
    assert_eq!((three.all_seeds(), three.seeds.len()), (vec![1, 2, 3], 2));
    assert_ne!(three.seeds[0].schemes, three.seeds[1].schemes);
    let swing = |scheme: usize, key: &str| {
        three.swings.iter().find(|swing| swing.scheme == scheme && swing.parameter.key == key).expect("it is varied").ends
    };
    for scheme in 0..2 {
        for key in ["sigma", "die_rate", "celsius"] {
            let [low, high] = swing(scheme, key);
            assert!(low.losses < high.losses, "{key} of scheme {scheme}: {low:?} {high:?}");
        }
        assert!(
            three.swings.iter().all(|swing| swing.parameter.key != "activation_ev"),
            "every temperature is that of the model"
        );
    }
    let rates = Rates { dies: 0.0, blocks: 0.0, ..usual.rates };
    let none = of(1, &LifeSettings { rates, ..usual.clone() }, 2);
    let hazard = none.schemes[0].last().hazard;
    assert_eq!((hazard.dies, hazard.blocks, hazard.more_dies), (0.0, 0.0, 0.0));
    let looked = of(1, &LifeSettings { scrub_days: Some(1.0), ..usual.clone() }, 2);
    let at_end = |life: &Life, scheme: usize| life.schemes[scheme].last().hazard;
    assert_eq!(at_end(&looked, 0).bits, at_end(&alone, 0).bits);
    assert!(at_end(&looked, 1).bits < at_end(&alone, 1).bits && at_end(&looked, 1).dies < at_end(&alone, 1).dies);
}
