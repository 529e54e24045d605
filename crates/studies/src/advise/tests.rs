//! Advice against lives of every design, bounds against simulated lives.

use super::answer::wilson;
use super::measured::measured;
use super::*;
use crate::life::life;
use experiment::Overrides;
use std::collections::BTreeSet;
use vocab::Streams;

/// A drive of 8 dies of some 16 blocks of 48 pages that is rated for few cycles, with page ECC and bit errors; half of the requests are reads.
fn tiny(source: &str, seed: u64, rest: &str) -> Experiment {
    let text = format!(
        "seed = {seed}\n{rest}\n[trace]\nsource = \"{source}\"\n[generate]\nrequests = 1500\nrange = \"80%\"\nread_fraction = 0.5\n\
         [capacity]\nsize = \"16MiB\"\n[drive]\npreset = \"tlc\"\nendurance = 300\ngeometry.pages_per_block = 48\n"
    );
    Experiment::parse("advise.toml", &text).unwrap_or_else(|e| panic!("{e}"))
}

fn model() -> LifeSettings {
    LifeSettings { epochs: 3, timed: 1, ..LifeSettings::default() }
}

fn vary(axes: &[(&str, &str)]) -> Vec<(String, String)> {
    axes.iter().map(|(key, values)| ((*key).to_owned(), (*values).to_owned())).collect()
}

fn bench(threads: usize) -> Bench<'static> {
    Bench { threads, clock: &|| 0.0, progress: &|_| {} }
}

fn asked(given: Given) -> Needs {
    Needs::of(&given).unwrap_or_else(|e| panic!("{e}"))
}

/// A tenth of a year at a drive write a day is 37 drive writes: seconds of simulation, and an eighth of the rated cycles.
fn short_needs(pe: f64) -> Given {
    Given { years: Some(0.1), dwpd: Some(1.0), dies: Some(0), pe: Some(pe), ..Given::default() }
}

fn advised(experiment: &Experiment, axes: &[(&str, &str)], needs: &Needs, budget: Budget, threads: usize) -> Advice {
    advised_into(experiment, axes, needs, budget, threads, None)
}

fn advised_into(
    experiment: &Experiment,
    axes: &[(&str, &str)],
    needs: &Needs,
    budget: Budget,
    threads: usize,
    into: Option<&Kept>,
) -> Advice {
    let crew = Crew { bench: &bench(threads), hear: &|_| {}, into };
    advise(experiment, &vary(axes), needs, &model(), budget, &crew).unwrap_or_else(|e| panic!("{e}"))
}

const ALL: Budget = Budget { lives: 1000, minutes: None, finalists: 18, seeds: 1, epochs: 2, corners: 0 };

const SMALL: [(&str, &str); 4] =
    [("scheme", "none,ds-raid,mds-groups"), ("over-provisioning", "120%,160%,200%"), ("code", "none"), ("refresh", "none")];

/// No bit errors: lives without tables of odds take a fraction of the time.
const NO_ERRORS: &str = "errors.model = \"none\"";

/// The life in full of each design, and which of those that meet every need no other is as good as: what a search must find.
fn exhaustive(advice: &Advice, needs: &Needs) -> BTreeSet<String> {
    let mut found: Vec<(String, [f64; 4])> = Vec::new();
    let rates = advice.settings.rates;
    for design in &advice.designs {
        let experiment = advice.experiment(design.looked.index).expect("valid");
        let settings =
            search::life_settings(&advice.space, needs, &advice.budget, &design.at, Stage::Full, advice.settings.clone());
        let lived = life(&experiment, &settings, &bench(1), &|_, _, _| {}).unwrap_or_else(|e| panic!("{e}"));
        let mut values = measured(&lived.schemes[0], needs, 300.0, &rates, design.bound.survives);
        values.set(Need::Capacity, design.bound.values.get(Need::Capacity).expect("a bound"));
        if needs.are_met(&values) {
            let of = |need: Need| values.get(need).unwrap_or(0.0);
            found.push((design.name.clone(), [design.bound.raw_by_user, of(Need::ReadP99), of(Need::Pe), of(Need::Loss)]));
        }
    }
    let is_beaten = |one: &[f64; 4]| found.iter().any(|(_, other)| other != one && other.iter().zip(one).all(|(a, b)| a <= b));
    found.iter().filter(|(_, figures)| !is_beaten(figures)).map(|(name, _)| name.clone()).collect()
}

/// The front of a small space is that of all its lives, and the chosen design is the cheapest of it: under two workloads, with cycles that bind
/// and without. Catches a bound or an estimate that lets a good design go.
#[test]
fn the_front_is_that_of_the_lives_of_all_designs() {
    for (source, seed, pe) in [("uniform", 1, 0.09), ("zipf", 2, 1.0)] {
        let needs = asked(short_needs(pe));
        let found = advised(&tiny(source, seed, NO_ERRORS), &SMALL, &needs, ALL, 2);
        let expected = exhaustive(&found, &needs);
        let front: BTreeSet<String> = found.front().into_iter().map(|index| found.designs[index].name.clone()).collect();
        assert!(!expected.is_empty(), "{source}: a space in which something meets the needs");
        assert_eq!(front, expected, "{source}: {}", found.to_screen(None));
        let chosen = &found.designs[found.chosen().expect("there is a front")];
        let cheapest = found.designs.iter().filter(|one| expected.contains(&one.name)).map(|one| one.bound.raw_by_user);
        assert_eq!(Some(chosen.bound.raw_by_user), cheapest.reduce(f64::min), "{source}");
    }
}

/// Designs that [`bounds_are_optimistic`] draws; the environment's `FLASHKEEP_BOUNDS` asks for others.
const BOUNDS: u64 = 24;
/// Designs under one workload.
const OF_A_WORKLOAD: u64 = 4;

/// A small drive under a workload and at a pace that are drawn.
fn drawn(number: u64) -> (Experiment, Needs) {
    let mut draws = Streams::new(52).stream_of("workloads", number);
    let mut pick = |of: &[&'static str]| of[draws.below(of.len() as u64) as usize];
    let source = pick(&["uniform", "zipf", "sequential", "hot-cold"]);
    let drive =
        pick(&["preset = \"tlc\"\ngeometry.pages_per_block = 48", "preset = \"mlc-2014\"\ngeometry.pages_per_block = 64"]);
    let text = format!(
        "seed = {}\nbuffer.size = \"256KiB\"\n[trace]\nsource = \"{source}\"\n[generate]\nrequests = {}\nrange = \"{}\"\nread_fraction = {}\n\
         request_size = \"{}\"\n[capacity]\nsize = \"16MiB\"\n[precondition]\noverwrite_at_most = 0.5\n[drive]\nendurance = 300\n{drive}\n",
        number + 1,
        pick(&["1000", "4000"]),
        pick(&["10%", "50%", "80%", "100%"]),
        pick(&["0.1", "0.5", "0.9"]),
        pick(&["2KiB", "4KiB", "4KiB", "16KiB", "64KiB"]),
    );
    let experiment = Experiment::parse("advise.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    let dwpd = *[0.3, 1.0, 5.0].get(draws.below(3) as usize).expect("of three");
    (experiment, asked(Given { uber: Some(1e-6), dwpd: Some(dwpd), ..short_needs(10.0) }))
}

/// Designs under one drawn workload: how many of their bounds held, by need, and how many designs there were. A design that cannot be built is no
/// design.
fn bounds_that_held(number: u64, designs: u64) -> [u64; Need::ALL.len() + 1] {
    let axes = [
        ("scheme", "none,raid5,ppc,da-raid5,ds-raid,mds-groups,mds-groups:m=2,raid5:data_strips=3"),
        ("over-provisioning", "120%,150%,220%"),
        // Codes that are far too weak for the cells, so that losses are no zeros.
        ("code", "ldpc:rate=0.901,fixed:t=8/1KiB,fixed:t=24/2KiB,ldpc:rate=0.928/1KiB,none"),
        ("refresh", "10d,none"),
        ("buffer.kind", "plp,off"),
        ("ecc.read_retry", "tracked,none"),
        ("wear.static_threshold", "100,5"),
        ("scrub", "none,1d"),
    ];
    let (experiment, needs) = drawn(number);
    let mut draws = Streams::new(52).stream_of("designs", number);
    let mut held = [0; Need::ALL.len() + 1];
    let (workload, base, settings) = prepared(&experiment, &needs, &model()).unwrap_or_else(|e| panic!("{e}"));
    let space = Space::new(base, &vary(&axes)).unwrap_or_else(|e| panic!("{e}"));
    let (points, formulas) = (space.points(), Formulas::new(&workload, &needs, &settings));
    while held[Need::ALL.len()] < designs {
        let at = &points[draws.below(points.len() as u64) as usize];
        let Ok(experiment) = space.experiment(at) else { continue };
        let Ok(bound) = formulas.bound(&experiment, space.scrub_days(at).is_some()) else { continue };
        let mut of = search::life_settings(&space, &needs, &Budget { epochs: 1, ..ALL }, at, Stage::Full, settings.clone());
        // Requests are replayed in time where that has a bound.
        let is_timed = bound.values.get(Need::ReadP99).is_some_and(|us| us > 0.0);
        (of.class.uber, of.epochs, of.timed) = (1.0, 1, u32::from(is_timed));
        let Ok(found) = life(&experiment, &of, &bench(1), &|_, _, _| {}) else { continue };
        held[Need::ALL.len()] += 1;
        let values = measured(&found.schemes[0], &needs, 300.0, &settings.rates, bound.survives);
        let name = || format!("workload {number}, {}", space.name(at));
        assert!(bound.waf <= found.schemes[0].epochs[0].waf, "{}: {bound:?}", name());
        for need in Need::ALL {
            let (Some(bound), Some(value)) = (bound.values.get(need), values.get(need)) else { continue };
            let holds = if need.is_least() { bound >= value } else { bound <= value };
            assert!(holds, "{}: {} at best {bound}, found {value}", name(), need.key());
            held[need as usize] += u64::from(bound > 0.0);
        }
    }
    held
}

/// Bounds of designs drawn at random are no worse than what their lives find. Catches a bound that counts pages which a buffer absorbs, cycles that
/// no life takes, odds of other pages than a drive has, and pages of large reads as if they were requests.
#[test]
fn bounds_are_optimistic() {
    let asked = std::env::var("FLASHKEEP_BOUNDS").ok().map(|text| text.parse().expect("a number of designs"));
    let workloads: Vec<u64> = (0..asked.unwrap_or(BOUNDS).div_ceil(OF_A_WORKLOAD)).collect();
    let each = |number| Ok(bounds_that_held(number, OF_A_WORKLOAD));
    let of_workloads = common::in_parallel(2, workloads, each).unwrap_or_else(|e| panic!("{e}"));
    let held = |at: usize| of_workloads.iter().map(|held| held[at]).sum::<u64>();
    for need in [Need::Pe, Need::Uber, Need::Retention, Need::Loss, Need::ReadP99] {
        assert!(held(need as usize) > 0, "none of {} designs had a bound on {}", held(Need::ALL.len()), need.key());
    }
}

/// Threads change nothing of the answer. Catches a search that follows what happens to end first.
#[test]
fn the_answer_is_the_same_on_one_thread_and_on_two() {
    let needs = asked(short_needs(0.25));
    let budget = Budget { lives: 30, seeds: 2, finalists: 3, corners: 1, ..ALL };
    let text = |threads: usize| {
        let found = advised(&tiny("zipf", 7, NO_ERRORS), &SMALL, &needs, budget, threads);
        assert!(found.lives <= budget.lives, "{} lives", found.lives);
        (found.to_screen(None), found.study("as typed").to_json())
    };
    let (one, two) = (text(1), text(2));
    assert_eq!(one, two);
    assert!(one.0.lines().count() <= 30, "{}", one.0);
}

/// Needs that no design meets: the answer is none, with what the nearest design breaks; by formula and by lives.
#[test]
fn needs_that_cannot_be_met_are_told_with_the_nearest_design() {
    let experiment = tiny("uniform", 1, NO_ERRORS);
    let said = |needs: &Needs| {
        let found = advised(&experiment, &SMALL, needs, Budget { lives: 12, finalists: 2, ..ALL }, 2);
        assert_eq!((found.chosen(), found.front()), (None, Vec::new()));
        found.to_screen(None)
    };
    let by_formula = said(&asked(Given { dies: Some(3), ..short_needs(1.0) }));
    assert!(by_formula.contains("The nearest by formula") && by_formula.contains("of 3 dies may die"), "{by_formula}");
    let by_lives = said(&asked(Given { read_p99: Some("70us".into()), ..short_needs(1.0) }));
    assert!(by_lives.contains("It breaks: reads p99"), "{by_lives}");
}

/// The experiment of the chosen design is what the printed command makes of the defaults.
#[test]
fn the_command_repeats_the_experiment_of_the_answer() {
    let typed = Overrides {
        trace: Some("zipf".into()),
        options: vec![("--drive".into(), "drive.preset".into(), "tlc".into()), ("--seed".into(), "seed".into(), "9".into())],
        schemes: None,
        set: ["generate.requests=1500", "generate.read_fraction=0.5", "drive.endurance=300", "drive.geometry.pages_per_block=48"]
            .map(String::from)
            .into(),
    };
    let mut with_size = typed.clone();
    with_size.options.push(("--capacity".into(), "capacity.size".into(), "16MiB".into()));
    let experiment = Experiment::with(&with_size).unwrap_or_else(|e| panic!("{e}"));
    let axes = [
        ("scheme", "mds-groups:m=2"),
        ("over-provisioning", "150%"),
        ("code", "ldpc:rate=0.928/2KiB"),
        ("refresh", "10d"),
        ("gc.choices", "40"),
    ];
    let found = advised(&experiment, &axes, &asked(short_needs(1.0)), Budget { finalists: 1, ..ALL }, 2);
    let chosen = found.chosen().unwrap_or_else(|| panic!("{}", found.to_screen(None)));
    let (mut own, again) = (found.experiment(chosen).expect("valid"), found.overrides(chosen, &with_size).expect("valid"));
    let mut again = Experiment::with(&again).unwrap_or_else(|e| panic!("{e}"));
    for experiment in [&mut own, &mut again] {
        // A life sets what it decides itself; defaults of options may be said or not.
        (experiment.errors.page_sigma, experiment.errors.block_sigma) = (0.0, 0.0);
        (experiment.errors.celsius, experiment.errors.reference_celsius) = (40.0, 40.0);
        experiment.errors.persistent = true;
        experiment.scheme.clear();
        experiment.drive.summary.clear();
        experiment.ecc.options.retain(|policy, _| policy == "ldpc");
    }
    assert_eq!(own, again);
    let command = found.command(chosen, &with_size).expect("valid");
    assert!(command.starts_with("flashkeep life zipf --drive tlc --seed 9 --capacity 16MiB --arrival "), "{command}");
    assert!(command.contains("--schemes mds-groups:m=2") && command.contains("--refresh 10d"), "{command}");
}

/// Options of a scheme vary where that scheme is, and nowhere else.
#[test]
fn a_space_has_each_design_once() {
    let space = |axes: &[(&str, &str)]| Space::new(tiny("uniform", 1, ""), &vary(axes));
    let own =
        [("scheme", "none,da-raid5,ds-raid"), ("over-provisioning", "100%"), ("code", "ldpc:rate=0.901"), ("refresh", "none")];
    let more = [&own[..], &[("scheme.da-raid5.t_p", "100,200,300")]].concat();
    assert_eq!(space(&own).expect("valid").points().len(), 3);
    let space_of_more = space(&more).expect("valid");
    let points = space_of_more.points();
    assert_eq!(points.len(), 5);
    let distinct: BTreeSet<String> = points.iter().map(|at| space_of_more.experiment(at).expect("valid").to_toml()).collect();
    assert_eq!(distinct.len(), 5);
    for (axes, field) in [
        (vec![("scheme", "none,none")], "--vary scheme"),
        (vec![("refresh", "soon")], "axis refresh"),
        (vec![("refresh", "10m")], "axis refresh"),
        (vec![("generate.read_fraction", "0.1,0.2")], "--vary generate.read_fraction"),
        (vec![("scheme", "none"), ("scheme.ds-raid.sub_stripe", "defer")], "--vary"),
        (vec![("scheme", "raid6")], "schemes"),
        (vec![("gc.choises", "2")], "gc.choises"),
    ] {
        let problem = space(&axes).expect_err("not valid");
        assert!(problem.field.starts_with(field), "{axes:?}: {problem}");
    }
}

/// The classes of JESD218, what a file changes, and what is refused.
#[test]
fn needs_have_the_defaults_of_their_class() {
    let value = |needs: &Needs, need: Need| needs.limit(need).map(|limit| limit.value);
    let enterprise = asked(Given::default());
    assert_eq!((value(&enterprise, Need::Uber), value(&enterprise, Need::Dies)), (Some(1e-16), Some(1.0)));
    let client = asked(Given { class: Some("client".into()), ..Given::default() });
    assert_eq!((value(&client, Need::Retention), value(&client, Need::Dies)), (Some(1e-15), None));
    assert_eq!((client.class.off_hours, value(&client, Need::Loss)), (8760.0, Some(0.03)));
    let bare = asked(Given { plp: Some("no".into()), ..Given::default() });
    assert!(bare.is_without_plp() && !enterprise.is_without_plp() && !client.is_without_plp());
    let file = Given { loss: Some(1e-4), read_p99: Some("500us".into()), soft: Some(vec!["loss".into()]), ..Given::default() };
    let both = asked(Given { loss: Some(1e-6), ..Given::default() }.or(file));
    assert_eq!((value(&both, Need::Loss), value(&both, Need::ReadP99)), (Some(1e-6), Some(500.0)));
    assert!(!both.limit(Need::Loss).expect("a limit").is_hard && both.limit(Need::Pe).expect("a limit").is_hard);
    for (given, field) in [
        (Given { class: Some("home".into()), ..Given::default() }, "--class"),
        (Given { years: Some(-1.0), ..Given::default() }, "--years"),
        (Given { plp: Some("maybe".into()), ..Given::default() }, "--plp"),
        (Given { read_p99: Some("fast".into()), ..Given::default() }, "--read-p99"),
        (Given { soft: Some(vec!["write-p99".into()]), ..Given::default() }, "--soft"),
        (Given { soft: Some(vec!["speed".into()]), ..Given::default() }, "--soft"),
    ] {
        assert_eq!(Needs::of(&given).expect_err("not valid").field, field);
    }
}

/// A drive without PLP: its buffer is off unless the axes have another, and designs that hold parity in memory are out, with what a cut would
/// take. A soft need puts none out. A drive that gathers program units has no design at all.
#[test]
fn designs_that_need_plp_are_out_where_there_is_none() {
    let experiment = |preset: &str| {
        let text = format!(
            "errors.model = \"none\"\n[trace]\nsource = \"zipf\"\n[generate]\nrequests = 1500\nread_fraction = 0.5\n\
             [capacity]\nsize = \"16MiB\"\n[drive]\npreset = \"{preset}\"\nendurance = 300\ngeometry.pages_per_block = 48\n"
        );
        Experiment::parse("advise.toml", &text).unwrap_or_else(|e| panic!("{e}"))
    };
    let own = [("scheme", "ppc,ds-raid,mds-groups"), ("over-provisioning", "150%"), ("code", "none"), ("refresh", "none")];
    let without = |soft: bool| {
        let soft = soft.then(|| vec!["plp".to_owned()]);
        asked(Given { plp: Some("no".into()), soft, ..short_needs(10.0) })
    };
    let budget = Budget { finalists: 3, ..ALL };
    let found = advised(&experiment("mlc-2014"), &own, &without(false), budget, 2);
    let screen = found.to_screen(None);
    assert_eq!(found.designs.iter().map(|one| &one.name[..]).collect::<Vec<_>>(), ["ds-raid"], "{screen}");
    assert!(screen.contains("without PLP") && screen.contains("it needs no PLP; without a write buffer"), "{screen}");
    let chosen = found.chosen().unwrap_or_else(|| panic!("{screen}"));
    assert_eq!(found.experiment(chosen).expect("valid").buffer.kind, ssd::BufferKind::Off);
    let reasons = answer::reasons(&found.space, &found.out);
    let expected = "ppc: a power cut would take parity that is in the parity cache alone";
    assert!(
        reasons.iter().any(|(reason, count, example)| reason == "ppc: PLP" && *count == 1 && example == expected),
        "{reasons:?}"
    );

    // Buffers of the user's own are looked at as they are.
    let buffers = [&own[..], &[("buffer.kind", "volatile,plp")]].concat();
    let found = advised(&experiment("mlc-2014"), &buffers, &without(false), budget, 2);
    assert_eq!(found.designs.iter().map(|one| &one.name[..]).collect::<Vec<_>>(), ["ds-raid, kind=volatile"]);
    assert!(found.to_screen(None).contains("loses what was not flushed"));

    let found = advised(&experiment("mlc-2014"), &own, &without(true), budget, 2);
    assert_eq!((found.designs.len(), found.space.base.buffer.kind), (3, ssd::BufferKind::Plp));

    let found = advised(&experiment("tlc"), &own, &without(false), budget, 2);
    assert_eq!((found.designs.len(), found.lives), (0, 0));
    let broken = |out: &Out| out.need.expect("a need").1;
    assert!(found.out.iter().all(|out| PlpUse::of_value(broken(out)).units), "{:?}", found.out);
    assert!(found.to_screen(None).contains("a power cut would take acknowledged pages gathered"), "{}", found.to_screen(None));
}

/// Scrubs are an axis: of designs that meet the needs the one with the fewest scrubs is chosen, and a scrub where only that meets them. The
/// command of the answer has it.
#[test]
fn a_scrub_is_chosen_where_it_is_needed() {
    let axes = [
        ("scheme", "ds-raid"),
        ("over-provisioning", "150%"),
        ("code", "fixed:t=14/1KiB"),
        ("refresh", "none"),
        ("scrub", "6d,none"),
    ];
    let experiment = tiny("uniform", 3, "");
    let with = |uber: f64| {
        let soft = Some(vec!["retention".into()]);
        let needs = asked(Given { uber: Some(uber), loss: Some(1.0), soft, ..short_needs(10.0) });
        let found = advised(&experiment, &axes, &needs, ALL, 2);
        let chosen = found.chosen().map(|at| found.designs[at].name.clone());
        let uber = |name: &str| found.designs.iter().find(|one| one.name == name)?.looked.values.get(Need::Uber);
        let command = found.chosen().map(|at| found.command(at, &Overrides::default()).expect("valid"));
        (chosen, uber("ds-raid, scrub 6d"), uber("ds-raid, no scrub"), command.unwrap_or_default())
    };
    let (chosen, often, never, command) = with(1e-6);
    assert_eq!(chosen.as_deref(), Some("ds-raid, no scrub"));
    assert!(!command.contains("--scrub"), "{command}");
    let (often, never) = (often.expect("a figure"), never.expect("a figure"));
    assert!(0.0 < often && often < never / 2.0, "{often} {never}");
    let (chosen, .., command) = with((often * never).sqrt());
    assert_eq!(chosen.as_deref(), Some("ds-raid, scrub 6d"));
    assert!(command.contains(" --scrub 6d"), "{command}");
}

/// Published: 20 of 20 has a lower bound of 0.839, 10 of 20 an interval of 0.299 to 0.701 (Brown, Cai and DasGupta, 2001, by the same formula).
#[test]
fn wilson_intervals_are_the_published_ones() {
    assert!((wilson(20, 20).0 - 0.8389).abs() < 1e-4 && wilson(20, 20).1 == 1.0);
    let (low, high) = wilson(10, 20);
    assert!((low - 0.2993).abs() < 1e-4 && (high - 0.7007).abs() < 1e-4);
    assert!(wilson(0, 5).0.abs() < 1e-12);
}

/// An answer from lives that were kept is the same, and lives none of them again; a part that is damaged ends the search, not its design.
#[test]
fn advice_goes_on_from_lives_that_were_kept() {
    let path = std::env::temp_dir().join(format!("flashkeep-advice-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    let kept = || Kept::open(&path, 5).expect("a directory of lives");
    let (experiment, needs) = (tiny("zipf", 1, ""), asked(short_needs(1.0)));
    let axes = [("scheme", "none,ds-raid"), ("over-provisioning", "150%"), ("code", "ldpc:rate=0.901"), ("refresh", "30d")];
    let budget = Budget { lives: 12, finalists: 2, seeds: 2, ..ALL };
    let alone = advised(&experiment, &axes, &needs, budget, 1);
    assert!(alone.lives >= 4, "{}", alone.lives);
    let (first, second) = (kept(), kept());
    for (into, found) in [(&first, 0), (&second, alone.lives as usize)] {
        let again = advised_into(&experiment, &axes, &needs, budget, 2, Some(into));
        assert_eq!(again.to_json("advise", None), alone.to_json("advise", None));
        assert_eq!(into.found(), found);
    }
    for file in std::fs::read_dir(path.join("lives")).expect("made") {
        std::fs::write(file.expect("a file").path(), "no part").expect("written");
    }
    let third = kept();
    let crew = Crew { bench: &bench(1), hear: &|_| {}, into: Some(&third) };
    let refused = advise(&experiment, &vary(&axes), &needs, &model(), budget, &crew).expect_err("damaged").to_string();
    assert!(refused.contains("is no part of lives"), "{refused}");
    std::fs::remove_dir_all(&path).expect("removed");
}
