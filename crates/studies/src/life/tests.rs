//! Lives against brute force, formulas and what must not change them.

mod deaths;

use super::*;
use experiment::Fairness;
use lab::Bench;
use std::collections::BTreeMap;

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
    for epochs in [0, 1001] {
        assert_eq!(refused("", &LifeSettings { epochs, ..usual.clone() }).0, "--epochs");
    }
    assert_eq!(refused("", &LifeSettings { timed: 1001, ..usual.clone() }).0, "--timed");
    assert_eq!(refused("", &LifeSettings { class: Class { uber: 2.0, ..CLASSES[1] }, ..usual }).0, "--uber");
}

/// Refresh that is written, program by program, follows f / (a d): 80 % of the capacity is never written by the host and refreshed every 30
/// days, 18 times in a year and a half, at 0.1 drive writes a day. Blocks are refreshed by their first page and found at one of 32 looks in that age, so
/// that a tenth more or less is within what the law leaves out. Catches a refresh at the wrong age, twice or not at all.
#[test]
fn refresh_that_is_written_follows_its_law() {
    let mut idle = tiny("\"none\"", 3000, "errors.model = \"none\"");
    idle.generate.as_mut().expect("generated").range = "20%".parse().expect("a share");
    let settings = LifeSettings { years: Some(1.5), dwpd: 0.1, leaps: false, timed: 0, ..LifeSettings::default() };
    let last = lived(&idle, &settings).schemes[0].last().clone();
    let (found, law) = (last.by_cause[Cause::Refresh as usize], 0.8 / (30.0 * 0.1));
    assert!((found / law - 1.0).abs() < 0.1, "{found} and {law}");
    assert_eq!(last.refreshed, found, "nothing is counted beside");
    assert!(last.data_days < 30.0, "{}", last.data_days);
}

/// A hot drive, half of which is never rewritten, for a quarter of a year.
fn hot() -> LifeSettings {
    LifeSettings {
        years: Some(0.25),
        dwpd: 0.2,
        epochs: 2,
        timed: 0,
        celsius: (55.0, 40.0),
        class: Class { uber: 1.0, ..CLASSES[1] },
        ..LifeSettings::default()
    }
}

fn half_cold(schemes: &str) -> Experiment {
    let mut experiment = tiny(schemes, 1500, "");
    experiment.generate.as_mut().expect("generated").range = "50%".parse().expect("a share");
    experiment
}

/// The first seed is the life alone, whatever the threads; others differ. Parameters of the tornado go the way that they have to.
#[test]
fn seeds_and_parameters_move_lives_as_they_have_to() {
    let experiment = half_cold("\"none\"");
    let bench = Bench { threads: 1, clock: &|| 0.0, progress: &|_| {} };
    let alone = life(&experiment, &hot(), &bench, &|_, _, _| {}).unwrap_or_else(|e| panic!("{e}"));
    let all = lived(&Experiment { seeds: 3, ..experiment }, &LifeSettings { tornado: true, ..hot() });
    assert_eq!(alone.schemes, all.schemes);
    assert_eq!(all.all_seeds(), [1, 2, 3]);
    assert_ne!(all.seeds[0].schemes, all.seeds[1].schemes);
    for key in ["sigma", "activation_ev", "celsius", "refresh_days", "die_rate", "block_rate"] {
        let [low, high] = all.swings.iter().find(|swing| swing.parameter.key == key).expect("it is varied").ends;
        assert!(low.losses < high.losses, "{key}: {low:?} {high:?}");
    }
}

/// A life that is stopped has the ages that it had, and no other. Catches an age of a stretch that was cut short.
#[test]
fn a_life_that_is_stopped_has_its_first_ages() {
    let experiment = tiny("\"none\"", 50, "errors.model = \"none\"");
    let whole = lived(&experiment, &wear_alone(true)).schemes.remove(0);
    let asked = std::sync::atomic::AtomicU32::new(0);
    let is_asked = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 40_000;
    let bench = Bench { threads: 1, clock: &|| 0.0, progress: &|_| {} };
    let stopped = life_until(&experiment, &wear_alone(true), &bench, &|_, _, _| {}, &is_asked, None);
    let stopped = stopped.unwrap_or_else(|e| panic!("{e}")).schemes.remove(0);
    let ages = stopped.epochs.len();
    assert_eq!(stopped.end, End::Stopped);
    assert!(ages > 1 && ages < whole.epochs.len(), "{ages} of {}", whole.epochs.len());
    assert_eq!(stopped.epochs[..], whole.epochs[..ages]);
}

/// Without bit errors and redundancy the rate of losses is the same all the life: they are that rate times the years. Catches years that count
/// twice, or not at all, such as those of the first stretch.
#[test]
fn losses_of_a_constant_rate_are_the_rate_times_the_years() {
    let settings = LifeSettings { years: Some(1.0), epochs: 5, ..wear_alone(true) };
    let life = lived(&tiny("\"none\"", 3000, "errors.model = \"none\""), &settings);
    let last = life.schemes[0].last();
    let expected = last.hazard.all() * last.years;
    // A die holds an eighth of the user's pages, and what is obsolete counts as none.
    assert!((last.lost_with_die * 8.0 * 4096.0 - life.user_bytes as f64).abs() < 1.0, "{}", last.lost_with_die);
    assert!(last.years >= 1.0 && expected > 0.1 && (last.losses / expected - 1.0).abs() < 1e-6, "{} and {expected}", last.losses);
}

/// A scrub takes nothing from `none`, which it cannot repair, and makes losses of redundancy rarer where its reads disturb nothing.
#[test]
fn scrubs_take_losses_of_redundancy_away() {
    let of = |days: Option<f64>| {
        let mut experiment = half_cold("\"none\", \"ds-raid\"");
        (experiment.errors.model, experiment.ecc.policy) = ("flares".into(), "fixed".into());
        experiment.drive.endurance = vocab::PeCycles(30_000);
        experiment.ecc.codeword = "1KiB".into();
        let options = experiment.ecc.options.entry("fixed".into()).or_default();
        options.insert("t".into(), experiment::OptionText("1".into()));
        let life = lived(&experiment, &LifeSettings { scrub_days: days, dwpd: 20.0, ..hot() });
        [0, 1].map(|scheme| life.schemes[scheme].last().hazard)
    };
    let (usual, looked) = (of(None), of(Some(1.0)));
    assert!(usual[0].bits > 0.0 && looked[0].bits == usual[0].bits, "{looked:?} {usual:?}");
    assert!(looked[1].bits < usual[1].bits && looked[1].dies < usual[1].dies, "{looked:?} {usual:?}");
}

/// A rate of zero means no such loss.
#[test]
fn rates_of_zero_take_losses_away() {
    let of = |change: &dyn Fn(&mut LifeSettings)| {
        let mut settings = hot();
        change(&mut settings);
        let life = lived(&half_cold("\"none\", \"ds-raid\""), &settings);
        [0, 1].map(|scheme| life.schemes[scheme].last().hazard)
    };
    let usual = of(&|_| {});
    let [none, _] = of(&|settings| (settings.rates.dies, settings.rates.blocks) = (0.0, 0.0));
    assert_eq!((none.dies, none.blocks, none.more_dies, none.bits), (0.0, 0.0, 0.0, usual[0].bits));
    let larger = of(&|settings| settings.represents = Some(3_840_000_000_000));
    assert!(larger[0].bits > 1000.0 * usual[0].bits && larger[0].blocks == usual[0].blocks, "{larger:?}");
}

/// Reads of scrubs disturb where the error model has read disturb: each interval adds the reads of a whole block, so that three times as many
/// scrubs add three times the errors. Where reads disturb nothing they change nothing.
#[test]
fn reads_of_scrubs_disturb_as_often_as_they_come() {
    let rber = |model: &str, days: Option<f64>| {
        let mut experiment = half_cold("\"none\"");
        experiment.errors.model = model.into();
        let settings = LifeSettings { scrub_days: days, ..hot() };
        lived(&experiment, &settings).schemes[0].last().rber[0]
    };
    let added = |days: f64| rber("flares-disturb", Some(days)) - rber("flares-disturb", None);
    let (seldom, often) = (added(0.03), added(0.01));
    assert!(seldom > 0.0 && (often / seldom - 3.0).abs() < 0.03, "{often} by {seldom}");
    assert_eq!(rber("flares", Some(0.01)).to_bits(), rber("flares", None).to_bits());
}

/// A longer age of refresh never makes losses rarer, nor refresh dearer. Catches ages that a leap sets back, and data that are all as old as each
/// other after a refresh.
#[test]
fn a_longer_age_of_refresh_never_loses_less_and_never_writes_more() {
    let of = |days: Option<f64>| {
        let settings = LifeSettings { refresh_days: days, ..hot() };
        lived(&half_cold("\"none\""), &settings).schemes[0].last().clone()
    };
    let ages = [Some(10.0), Some(25.0), Some(60.0), None].map(of);
    for pair in ages.windows(2) {
        assert!(pair[0].uber < pair[1].uber && pair[0].data_days < pair[1].data_days, "{pair:?}");
        assert!(pair[0].refreshed > pair[1].refreshed, "{pair:?}");
    }
}

/// At equal age and over-provisioning a second parity page never loses more, and the map writes it.
#[test]
fn more_parity_never_loses_more() {
    let mut experiment = half_cold("\"mds-groups\", \"mds-groups:k=6:m=2\"");
    experiment.capacity.fairness = Fairness::EqualOp;
    let life = lived(&experiment, &hot());
    let [one, two] = [0, 1].map(|scheme| life.schemes[scheme].last());
    assert_eq!((one.survives, two.survives), (1, 2));
    assert!(one.hazard.bits > two.hazard.bits && one.hazard.dies > two.hazard.dies, "{:?} {:?}", one.hazard, two.hazard);
    assert!(
        one.hazard.blocks > two.hazard.blocks && one.hazard.more_dies > two.hazard.more_dies,
        "{:?} {:?}",
        one.hazard,
        two.hazard
    );
    assert!(one.by_cause[Cause::Parity as usize] < two.by_cause[Cause::Parity as usize]);
}

/// Bit errors are persistent, and runs in time are on forks: reading more changes no loss. Twice the drive has twice the errors, and the same
/// write amplification.
#[test]
fn reads_change_no_loss_and_a_larger_drive_has_as_many_more() {
    let of = |timed: u32, bytes: u64| {
        let settings = LifeSettings { timed, represents: Some(bytes), ..hot() };
        lived(&half_cold("\"none\""), &settings).schemes.remove(0).epochs
    };
    let (unread, read, twice) = (of(0, 1 << 40), of(4, 1 << 40), of(0, 1 << 41));
    assert!(read.iter().any(|epoch| epoch.timed.is_some()));
    let untimed: Vec<Epoch> = read.into_iter().map(|epoch| Epoch { timed: None, ..epoch }).collect();
    assert_eq!(unread, untimed);
    for (one, two) in unread.iter().zip(&twice) {
        assert_eq!((one.waf, 2.0 * one.hazard.bits, 2.0 * one.lost_with_die), (two.waf, two.hazard.bits, two.lost_with_die));
    }
}

/// More over-provisioning never makes the host write less until the end by wear.
#[test]
fn more_over_provisioning_lets_the_host_write_more() {
    let writes = |share: &str| {
        let mut experiment = tiny("\"none\"", 20, "errors.model = \"none\"");
        experiment.capacity.over_provisioning = share.parse().expect("a share");
        let life = lived(&experiment, &wear_alone(true));
        life.schemes[0].last().drive_writes * life.user_bytes as f64
    };
    let (less, more) = (writes("30% of raw"), writes("50% of raw"));
    assert!(less < more, "{less} and {more}");
}

/// Annex C of JESD218: 52 weeks at 30 C do to data what at least 105 weeks at 25 C do.
#[test]
fn weeks_without_power_are_those_of_annex_c() {
    let weeks = 52.0 * ssd::nand::rber::acceleration(1.1, 30.0, 25.0);
    assert!((weeks - 105.4).abs() < 0.1, "{weeks}");
}

/// Lives that are kept are those of a run that was never stopped, byte for byte, wherever it was stopped: before the first, with one missing, with a file of a
/// killed process, or with all of them there. A changed setting asks for other lives, more seeds for further ones, and a damaged part is refused.
#[test]
fn lives_that_are_kept_are_those_of_one_go() {
    let path = std::env::temp_dir().join(format!("flashkeep-lives-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    let experiment = Experiment { seeds: 2, ..half_cold("\"none\", \"ds-raid\"") };
    let settings = LifeSettings { timed: 1, ..hot() };
    let bench = Bench { threads: 2, clock: &|| 0.0, progress: &|_| {} };
    let into = |experiment: &Experiment, settings: &LifeSettings, turn: u64, is_asked: &(dyn Fn() -> bool + Sync)| {
        let kept = Kept::open(&path, turn).expect("a directory of lives");
        let life = life_until(experiment, settings, &bench, &|_, _, _| {}, is_asked, Some(&kept));
        life.map(|life| (life, kept.found()))
    };
    let go_on = |turn: u64| into(&experiment, &settings, turn, &|| false).unwrap_or_else(|e| panic!("{e}"));
    let files = || -> Vec<std::path::PathBuf> {
        let mut files: Vec<_> =
            std::fs::read_dir(path.join("lives")).expect("made").map(|file| file.expect("a file").path()).collect();
        files.sort();
        files
    };
    let whole = lived(&experiment, &settings);
    let (stopped, _) = into(&experiment, &settings, 0, &|| true).unwrap_or_else(|e| panic!("{e}"));
    assert!(stopped.schemes.iter().all(|life| life.end == End::Stopped) && files().is_empty());
    assert_eq!(go_on(3), (whole.clone(), 0));
    assert_eq!(files().len(), 4);
    let text = whole.study("life").to_json().to_string();
    for missing in 0..2 {
        let file = &files()[missing];
        std::fs::rename(file, file.with_extension("1-0.part")).expect("renamed");
        let (again, found) = go_on(missing as u64);
        assert_eq!((&again, found), (&whole, 3));
        assert_eq!(again.study("life").to_json().to_string(), text);
    }
    assert_eq!((files().len(), go_on(0)), (4, (whole.clone(), 4)));
    let one = into(&Experiment { seeds: 1, ..experiment.clone() }, &settings, 0, &|| false).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((&one.0.schemes, one.1), (&whole.schemes, 2));
    let other = LifeSettings { dwpd: 0.21, ..settings.clone() };
    let (_, found) = into(&Experiment { seeds: 1, ..experiment.clone() }, &other, 0, &|| false).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((found, files().len()), (0, 6));
    for file in files() {
        let text = std::fs::read_to_string(&file).expect("written");
        std::fs::write(&file, text.replace("\"years\":0.", "\"years\":9.")).expect("written");
    }
    let refused = into(&experiment, &settings, 0, &|| false).expect_err("damaged").to_string();
    assert!(refused.contains("its check sum is wrong") && refused.contains("its life is run again"), "{refused}");
    std::fs::remove_dir_all(&path).expect("removed");
}

fn with_phases(text: &str, change: &dyn Fn(&mut LifeSettings)) -> Vec<Epoch> {
    let mut settings = LifeSettings { phases: phases_of("--phases", text).expect("valid"), years: Some(0.5), ..hot() };
    change(&mut settings);
    lived(&half_cold("\"none\""), &settings).schemes.remove(0).epochs
}

/// One phase is the life without phases, and so are two equal ones. A phase that is cut in two by a difference of next to nothing has the same end but for
/// where its ages lie.
#[test]
fn a_phase_in_two_halves_is_one_life() {
    let whole = lived(&half_cold("\"none\""), &LifeSettings { years: Some(0.5), ..hot() }).schemes.remove(0).epochs;
    assert_eq!(with_phases("days=20", &|_| {}), whole);
    assert_eq!(with_phases("months=1; days=40,dwpd=0.2", &|_| {}), whole);
    let cut = with_phases("months=3; months=9,dwpd=0.2000001", &|_| {});
    let (one, two) = (whole.last().expect("ages"), cut.last().expect("ages"));
    assert_eq!((cut[0].phase, two.phase), (Some(1), Some(2)));
    // Three drive writes at the beginning of a phase are programs of their own, and a leap ends where the phase does.
    for (what, one, two) in
        [("P/E", one.pe[0], two.pe[0]), ("UBER", one.uber.ln(), two.uber.ln()), ("loss", one.losses, two.losses)]
    {
        assert!((one / two - 1.0).abs() < 0.05, "{what}: {one} {two}");
    }
}

/// Three months at 40 C without power do to data what the test of the class says that they would: UBER after the phase is the one that the age before
/// it states for afterwards. Nothing is written in the meantime. Catches time that passes at the temperature with power, and a drive that refreshes without.
#[test]
fn time_without_power_is_retention() {
    let epochs = with_phases("months=2; days=91.25,off", &|settings| settings.scrub_days = None);
    let at = epochs.iter().position(|epoch| epoch.phase == Some(2)).expect("switched off");
    let (before, after) = (&epochs[at - 1], &epochs[at]);
    assert!((after.uber / before.uber_off - 1.0).abs() < 0.01, "{} and {}", after.uber, before.uber_off);
    assert!(after.uber > before.uber && after.losses > before.losses);
    assert_eq!((after.pe, after.drive_writes), (before.pe, before.drive_writes));
    assert!((after.years - before.years - 0.25).abs() < 1e-12);
    let warmer = with_phases("months=2; days=91.25,off,celsius=60", &|_| {});
    assert!(warmer[at].uber > after.uber && warmer[at - 1] == *before);
}

/// A phase at another temperature is a life at that temperature from then on: the first phase ages as a cool life does, the second as one that
/// is so warm throughout, once its data are of that phase. Catches a temperature that is told and not used.
#[test]
fn a_warm_phase_ages_data_as_a_warm_life_does() {
    let [cool, warm, both] = ["years=1,celsius=45", "years=1,celsius=60", "months=2,celsius=45; months=10,celsius=60"]
        .map(|text| with_phases(text, &|_| {}));
    assert_eq!(both[0].rber, cool[0].rber);
    assert!(warm[0].rber[0] > 1.5 * cool[0].rber[0], "{:?} {:?}", warm[0].rber, cool[0].rber);
    let (found, expected) = (both.last().expect("ages"), warm.last().expect("ages"));
    assert_eq!(found.phase, Some(2));
    let (rber, pe) = (found.rber[0] / expected.rber[0], found.pe[0] / expected.pe[0]);
    assert!((rber - 1.0).abs() < 0.03 + 2.0 * (pe - 1.0).abs(), "{rber} times the RBER at {pe} times the cycles");
}

/// Data stay as old as they are when the drive becomes cold, and time without power ages them by its own temperature whatever that of the drive
/// is: as many hours of the error model are as much loss of charge. Catches ages in nanoseconds of a cold drive, of which there are not enough.
#[test]
fn a_cold_drive_keeps_the_age_of_its_data() {
    let no_refresh = |settings: &mut LifeSettings| (settings.refresh_days, settings.years) = (None, Some(1.0));
    let hot_then_cold = with_phases("months=6,celsius=85; months=6,celsius=-20", &no_refresh);
    let at = hot_then_cold.iter().position(|epoch| epoch.phase == Some(2)).expect("a cold phase");
    let [hot, cold] = [at - 1, at].map(|index| hot_then_cold[index].rber[2]);
    assert!(cold > 0.99 * hot, "the page with the highest rate: {cold} after {hot}");
    let off = |celsius: &str| {
        let epochs = with_phases(&format!("months=3,celsius={celsius}; months=3,off,celsius=60"), &no_refresh);
        let at = epochs.iter().position(|epoch| epoch.phase == Some(2)).expect("switched off");
        assert_eq!(epochs[at].hazard.dies, 0.0, "no die fails without power");
        [epochs[at - 1].rber[2], epochs[at].rber[2]]
    };
    // Three months at 60 C are more than twice the three at 55 C before.
    let (cold, warm) = (off("-20"), off("55"));
    assert!(cold[0] < 0.9 * warm[0] && cold[1] > 0.8 * warm[1] && cold[1] > 1.1 * cold[0], "{cold:?} {warm:?}");
}

/// The tornado varies the temperature that the phases have, and leaves it where they have several.
#[test]
fn the_tornado_takes_temperatures_of_phases() {
    let varied = |text: &str| {
        let settings = LifeSettings { phases: phases_of("--phases", text).expect("valid"), celsius: (40.0, 40.0), ..hot() };
        let varied = tornado::varied(&settings, &half_cold("\"none\""));
        varied.into_iter().map(|(parameter, usual)| (parameter.key, usual)).collect::<BTreeMap<_, _>>()
    };
    let one = varied("years=1,celsius=60,hours=8");
    assert_eq!(one.get("celsius"), Some(&60.0));
    assert!(one.contains_key("activation_ev"), "60 C is not that of the error model");
    assert_eq!(varied("days=20,celsius=60; days=20,celsius=40").get("celsius"), None);
    assert_eq!(varied("days=20; days=20,dwpd=0.5; days=20,off,celsius=10").get("celsius"), Some(&40.0));
}

/// Parts fail in the hours with power alone: with 8 hours a day a third as often, while bit errors and writes stay as they are.
#[test]
fn parts_fail_in_the_hours_with_power() {
    let (all, third) = (with_phases("years=1", &|_| {}), with_phases("years=1,hours=8", &|_| {}));
    assert_eq!(all.len(), third.len());
    for (all, third) in all.iter().zip(&third) {
        assert_eq!((all.pe, all.uber, all.hazard.bits), (third.pe, third.uber, third.hazard.bits));
        let (expected, found) = (all.losses_by_cause, third.losses_by_cause);
        for (expected, found) in [(expected.dies, found.dies), (expected.blocks, found.blocks)] {
            assert!((3.0 * found - expected).abs() <= 1e-9 * expected, "{found} for a third of {expected}");
        }
    }
}

/// A drive that is switched off loses what one with power refreshes; where UBER is above the limit then, it ends, by retention.
#[test]
fn a_drive_without_power_loses_what_one_with_power_refreshes() {
    // At one temperature, which is that of the time without power, too.
    let at_40 = |settings: &mut LifeSettings| settings.celsius = (40.0, 40.0);
    let on = with_phases("months=2", &at_40);
    let off = with_phases("months=2; months=4,off", &at_40);
    let bits = |epochs: &[Epoch]| epochs.last().expect("ages").losses_by_cause.bits;
    assert!(bits(&off) > 10.0 * bits(&on), "{} {}", bits(&off), bits(&on));
    assert!(off.last().expect("ages").years >= 0.5 - 1e-9);
    let settings = LifeSettings {
        phases: phases_of("--phases", "months=2; months=4,off").expect("valid"),
        years: Some(0.5),
        class: Class { uber: on.last().expect("ages").uber * 2.0, off_hours: 0.0, ..CLASSES[1] },
        celsius: (40.0, 40.0),
        ..hot()
    };
    let life = lived(&half_cold("\"none\""), &settings).schemes.remove(0);
    assert_eq!((life.end, life.last().phase), (End::Retention, Some(2)));
}

/// Strata of a life add up to its loss, as far as both are exact: rebuilds that overlap, and four and more failures, are bounds.
#[test]
fn strata_add_up_to_the_loss_of_the_life() {
    let phases = phases_of("--phases", "months=1; months=2,off").expect("valid");
    let half_off = LifeSettings { phases, years: Some(0.5), ..hot() };
    let life = lived(&half_cold("\"none\""), &half_off);
    // Without redundancy a lost die loses data for certain, and dies fail with power alone.
    let (mut on, mut before) = (0.0, 0.0);
    for epoch in &life.schemes[0].epochs {
        on += if epoch.phase == Some(1) { epoch.years - before } else { 0.0 };
        before = epoch.years;
    }
    let (_, strata) = life.strata(&life.schemes[0]);
    assert!(before > 0.499 && on > 0.15 && on < 0.25, "{before} {on}");
    assert!(strata[1].loss > 0.999 && (strata[1].weight / (0.01 * on * (-0.01 * on).exp()) - 1.0).abs() < 1e-9, "{strata:?}");
    let life = lived(&half_cold("\"none\", \"ds-raid\""), &hot());
    for one in &life.schemes {
        let (years, strata) = life.strata(one);
        let all: f64 = strata.iter().map(|one| one.weight * one.loss).sum();
        let told = -(-one.losses_after(years).expect("it lived so long")).exp_m1();
        // The hazard counts a rebuild that begins at the end of the years in full, a stratum as far as it lies within them.
        let rebuild = LifeSettings::default().rates.rebuild_hours / 8760.0 / years;
        assert!(
            all >= (1.0 - rebuild) * told && all < 1.05 * told + strata.last().expect("strata").weight,
            "{}: {all} {told}",
            one.label
        );
    }
}
