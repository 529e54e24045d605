//! Dies that die at an age: against drives that were built without the die, comparisons with a dead die, formulas, and every program.

use super::*;

/// Lives of a year at most in which nothing but a death changes: no error model, hardly any wear.
fn after_deaths(die_dies: &[f64]) -> LifeSettings {
    LifeSettings { years: Some(0.25), epochs: 10, die_dies: die_dies.to_vec(), ..wear_alone(true) }
}

/// A drive of so many dies for as much user data as half of eight dies has, without bit errors.
fn of_dies(schemes: &str, dies: u32) -> Experiment {
    let mut experiment = tiny(schemes, 400, "errors.model = \"none\"");
    experiment.capacity.over_provisioning = format!("{}%", 25 * (dies - 4)).parse().expect("a share");
    experiment.drive.geometry.channels = dies;
    experiment
}

/// Mean write amplification of the ages from this one on.
fn waf_from(epochs: &[Epoch]) -> f64 {
    epochs.iter().map(|epoch| epoch.waf).sum::<f64>() / epochs.len() as f64
}

/// A drive that lost a die, rebuilt it, and went on has the write amplification of a drive that was built without it, at the same user capacity:
/// rows and groups are narrower. Within 3 %, the equivalence band. Catches a die that GC still counts as room, rows that keep its place, and a rebuild
/// that leaves superblocks as they were. Static stripes are left out: lost strips go to the next die, so that some dies are fuller than others.
#[test]
fn a_drive_that_lost_a_die_writes_like_one_built_without_it() {
    let schemes = "\"ds-raid\", \"mds-groups\"";
    let lost = lived(&of_dies(schemes, 8), &after_deaths(&[0.02]));
    let built = lived(&of_dies(schemes, 7), &after_deaths(&[]));
    assert_eq!(lost.user_bytes, built.user_bytes);
    for (lost, built) in lost.schemes.iter().zip(&built.schemes) {
        let death = &lost.deaths[0];
        assert_eq!((death.die, death.left, death.gone, death.is_replaced), (7, 0, 0, false), "{}", lost.label);
        let [before, after] = lost.around(death).map(|epoch| epoch.expect("it lives on"));
        let (found, expected) = (waf_from(&lost.epochs[death.before + 1..]), waf_from(&built.epochs));
        assert!((found / expected - 1.0).abs() < 0.03, "{}: {found} and {expected}", lost.label);
        assert!(expected / before.waf > 1.05, "{}: less room costs writes, or this says nothing", lost.label);
        assert!((after.over_provisioning - built.epochs[0].over_provisioning).abs() < 1e-9, "{}", lost.label);
        assert_eq!((before.survives, after.survives, before.dead_dies, after.dead_dies), (1, 1, 0, 1), "{}", lost.label);
        // All that the die held is written again, and no more than all data with parity.
        assert!(death.rebuilt > 1.0 / 8.0 && death.rebuilt < 1.5, "{}: {}", lost.label, death.rebuilt);
    }
}

/// A die that is dead from the beginning makes a comparison and the runs in time of a life write alike, what the rebuild writes left out: within 5 %, as
/// the comparison has its rebuild in the measurement. The map alone agrees as well under rows and block groups. Where some dies are fuller than others,
/// as those with lost strips are, the map and time differ by more: that is not what a death changes.
#[test]
fn a_life_with_a_death_writes_like_a_comparison_with_a_dead_die() {
    let mut experiment = of_dies("\"ds-raid\", \"mds-groups\", \"raid5:data_strips=3\"", 8);
    experiment.generate.as_mut().expect("generated").requests = 60_000;
    let life = lived(&experiment, &LifeSettings { timed: 1, years: Some(0.1), ..after_deaths(&[0.0]) });
    experiment.generate.as_mut().expect("generated").requests = 300_000;
    experiment.faults.dead_die = Some(7);
    let bench = Bench { threads: 2, clock: &|| 0.0, progress: &|_| {} };
    let compared = lab::compare(&experiment, &bench).unwrap_or_else(|e| panic!("{e}"));
    for (one, outcome) in life.schemes.iter().zip(&compared.outcomes) {
        let (flash, host) = (&outcome.result.flash, &outcome.result.host);
        assert!(flash.programs["rebuild"] > 0 && host.write_errors == 0, "{}", one.label);
        let without_rebuild = flash.programs.iter().filter(|(cause, _)| *cause != "rebuild").map(|(_, pages)| pages).sum::<u64>();
        let expected = without_rebuild as f64 / host.write_pages as f64;
        let after = one.around(&one.deaths[0])[1].expect("it lives on");
        let timed = after.timed.expect("the first age after a death").waf;
        assert!((timed / expected - 1.0).abs() < 0.05, "{}: {timed} and {expected}", one.label);
        let found = waf_from(&one.epochs[one.deaths[0].before + 1..]);
        let is_near = (found / expected - 1.0).abs() < 0.05;
        assert!(is_near || one.label.starts_with("raid5"), "{}: {found} and {expected}", one.label);
    }
}

/// Without redundancy an eighth of the data is lost for certain: the life ends with it, at that age, and says so.
#[test]
fn without_redundancy_a_dead_die_ends_the_life() {
    let life = lived(&of_dies("\"none\"", 8), &LifeSettings { timed: 1, spare_dies: 1, ..after_deaths(&[0.1]) });
    let (one, death) = (&life.schemes[0], &life.schemes[0].deaths[0]);
    assert_eq!((one.end, one.last().dead_dies, death.is_replaced), (End::Die, 1, false));
    let user = life.user_bytes as f64 / 4096.0;
    assert!((f64::from(death.gone) / (user / 8.0) - 1.0).abs() < 0.02, "{} of {user}", death.gone);
    assert!((one.last().loss_probability() - 1.0).abs() < 1e-12 && one.last().hazard.deaths == 0.0);
    // A lost page is one uncorrectable error of 4 KiB.
    assert!((one.last().uber * user * 32_768.0 / f64::from(death.gone) - 1.0).abs() < 1e-9);
    let [before, after] = one.around(death);
    assert_eq!((death.before + 2, after), (one.epochs.len(), Some(one.last())));
    assert!((one.last().years - 0.1).abs() < 2.0 / 365.0 && before.is_some_and(|before| before.timed.is_some()));
    let screen = life.to_screen();
    assert!(screen.contains("a dead die") && screen.contains("data lost") && screen.contains("100 %"), "{screen}");
}

/// Stripes over all eight dies have no ninth for the lost strips. Each other die then takes an eighth of the data with it, and the strips that lean on
/// it: those of the dead die. With a spare die everything is rebuilt, and the drive is as it was.
#[test]
fn stripes_over_all_dies_stay_without_redundancy_unless_a_spare_die_comes() {
    let of = |spare_dies: u32| lived(&of_dies("\"raid5\"", 8), &LifeSettings { spare_dies, ..after_deaths(&[0.02]) });
    let (life, spared) = (of(0), of(1));
    let (one, rates) = (&life.schemes[0], LifeSettings::default().rates);
    let death = &one.deaths[0];
    let after = one.around(death)[1].expect("it lives on");
    assert!(death.left > 0 && death.gone == 0 && one.end == End::Years);
    assert_eq!((one.epochs[death.before].survives, after.survives), (1, 0));
    let user = life.user_bytes as f64 / 4096.0;
    assert!((after.lost_with_die / (user / 4.0) - 1.0).abs() < 0.02, "{} of {user}", after.lost_with_die);
    assert!((after.hazard.dies / (rates.dies * 7.0 / 8.0) - 1.0).abs() < 1e-9, "{:?}", after.hazard);
    // Until the rebuild would be over, another of seven dies; none of the pages that it reads is unreadable without an error model.
    let further = rates.dies * 7.0 / 8.0 * rates.rebuild_hours / 8760.0;
    assert!((death.losses / further - 1.0).abs() < 1e-3, "{} and {further}", death.losses);
    let (one, death) = (&spared.schemes[0], &spared.schemes[0].deaths[0]);
    let [before, after] = one.around(death).map(|epoch| epoch.expect("it lives on"));
    assert!(death.is_replaced && (death.left, death.gone) == (0, 0));
    assert_eq!((after.survives, after.dead_dies, after.over_provisioning), (1, 0, before.over_provisioning));
    assert!((waf_from(&one.epochs[death.before + 1..]) / waf_from(&one.epochs[..=death.before]) - 1.0).abs() < 0.03);
    assert!((death.rebuilt / (8.0 / 7.0 / 8.0) - 1.0).abs() < 0.1, "an eighth of data and parity: {}", death.rebuilt);
    assert!(after.pe_ends[0] < before.pe_ends[0] && after.pe_taken > before.pe_taken, "the spare die is new");
}

/// Every program of a life with a death in the middle, against leaps: the same end by the same cause, and drive writes within the error that leaps
/// state and 1 %, as without a death. Catches a leap over the death, and cycles that the dead die takes.
#[test]
fn leaps_with_a_death_end_where_every_program_ends() {
    let mut experiment = of_dies("\"ds-raid\"", 8);
    experiment.drive.endurance = vocab::PeCycles(50);
    let of = |leaps: bool, die_dies: &[f64]| {
        lived(&experiment, &LifeSettings { die_dies: die_dies.to_vec(), ..wear_alone(leaps) }).schemes.remove(0)
    };
    let whole = of(true, &[]).last().years;
    let half = [whole / 2.0];
    let (all, leaps) = (of(false, &half), of(true, &half));
    let (one, other) = (all.last(), leaps.last());
    assert_eq!((all.end, leaps.end, all.deaths.len(), leaps.deaths.len()), (End::ReadOnly, End::ReadOnly, 1, 1));
    // An age lies within two cycles of the death.
    let cycle = whole / one.pe[0];
    assert!(leaps.deaths[0].years - half[0] < 2.0 * cycle && leaps.deaths[0].years >= half[0] - 1e-9, "{:?}", leaps.deaths);
    let (off, stated) = ((one.drive_writes - other.drive_writes).abs(), other.drive_writes_off + 0.01 * one.drive_writes);
    assert!(off <= stated, "{} and {}, stated {stated}", one.drive_writes, other.drive_writes);
    assert!(one.years < whole, "a die less ends it earlier");
}

/// A die that dies at the first age with power, where its years fall into a phase without.
#[test]
fn a_die_dies_when_the_drive_has_power() {
    let phases = phases_of("--phases", "days=20; days=30,off").expect("valid");
    let life = lived(&of_dies("\"ds-raid\"", 8), &LifeSettings { phases, ..after_deaths(&[30.0 / 365.0]) });
    let death = &life.schemes[0].deaths[0];
    assert!(death.years > 50.0 / 365.0 && death.years < 55.0 / 365.0, "{death:?}");
    assert_eq!(life.schemes[0].epochs[death.before].phase, Some(1));
}

/// The same lives on any number of threads, with several deaths, a spare die and several seeds. The second die of rows without room for two ends them or not,
/// alike.
#[test]
fn deaths_do_not_depend_on_threads() {
    let experiment = Experiment { seeds: 2, ..of_dies("\"ds-raid\", \"raid5\", \"none\"", 8) };
    let settings = LifeSettings { spare_dies: 1, timed: 1, ..after_deaths(&[0.02, 0.1]) };
    let of = |threads: usize| {
        let bench = Bench { threads, clock: &|| 0.0, progress: &|_| {} };
        life(&experiment, &settings, &bench, &|_, _, _| {}).unwrap_or_else(|e| panic!("{e}"))
    };
    let (one, three) = (of(1), of(3));
    assert_eq!(one, three);
    assert!(one.passed());
    let rows: Vec<usize> = one.schemes.iter().map(|one| one.deaths.len()).collect();
    assert_eq!(rows, [2, 2, 1]);
    for scheme in &one.schemes[..2] {
        assert!(
            scheme.deaths[0].is_replaced && !scheme.deaths[1].is_replaced && scheme.deaths[1].die == 6,
            "{:?}",
            scheme.deaths
        );
        let ages = scheme.deaths.iter().flat_map(|death| scheme.around(death));
        assert!(ages.flatten().all(|epoch| epoch.timed.is_some()), "{}: ages around a death are replayed in time", scheme.label);
    }
    let study = one.study("life");
    let deaths = study.tables.iter().find(|table| table.key == "deaths").expect("a table");
    assert_eq!(deaths.rows.len(), 5);
    assert!(one.to_screen().contains("a die dies after 36.5 days: before -> after"), "{}", one.to_screen());
}

/// Deaths that a drive cannot have are refused by name.
#[test]
fn wrong_deaths_are_refused() {
    let bench = Bench { threads: 1, clock: &|| 0.0, progress: &|_| {} };
    for (deaths, spare_dies, said) in [
        (&[0.3][..], 0, "--die-dies: found 0.3, valid are years from 0 to below 0.25"),
        (&[-1.0], 0, "--die-dies: found -1"),
        (&[f64::NAN], 0, "--die-dies: found NaN"),
        (&[0.1, 0.1], 0, "--die-dies: found 0.1 after 0.1, valid are years in ascending order"),
        (&[0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08], 0, "--die-dies: found 8 deaths on a drive of 8 dies"),
        (&[0.1], 2, "--spare-dies: found 2, valid are 0 to 1"),
    ] {
        let settings = LifeSettings { spare_dies, ..after_deaths(deaths) };
        let refused = life(&of_dies("\"none\"", 8), &settings, &bench, &|_, _, _| {}).expect_err("refused").to_string();
        assert!(refused.contains(said), "{refused}");
    }
    assert_eq!(years_of("--die-dies", "2, 4.5").expect("valid"), [2.0, 4.5]);
    assert!(years_of("--die-dies", "2,").is_err() && years_of("--die-dies", "soon").is_err());
}
