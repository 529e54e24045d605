use super::*;
use ssd::Life;

/// A scheme with a mean latency, a life, an energy, and dies that it survives.
fn scheme(name: &str, dies: u32, [latency, life, energy]: [f64; 3]) -> SchemeVerdict {
    SchemeVerdict {
        scheme: name.into(),
        survives: Survives {
            dies,
            exposed_share: if dies > 0 { 0.0 } else { 1.0 },
            lost_share: 0.0,
            dead_dies: 0,
            life: None,
            pe_cycles: (3.0, 3000),
            power_cuts: PowerCuts::Survived,
            code_groups: 0,
            canary: false,
        },
        costs: Costs {
            latency_us_mean: Some(latency),
            tbw_tb: Some(life),
            energy_j: energy,
            capacity_overhead: 0.0,
            ..Costs::default()
        },
        ratios: vec![None; MEASURES.len()],
        not_comparable: Vec::new(),
        dominated_by: None,
        late_share: None,
        stalled_share: None,
        sentence: String::new(),
        over: None,
    }
}

fn apart(mut verdict: SchemeVerdict, reason: &'static str) -> SchemeVerdict {
    verdict.not_comparable.push(reason);
    verdict
}

fn dominated(schemes: Vec<SchemeVerdict>) -> Vec<Option<String>> {
    Verdict::judge(schemes).schemes.into_iter().map(|one| one.dominated_by).collect()
}

#[test]
fn a_scheme_is_dominated_by_one_that_is_no_worse_in_anything_and_better_in_something() {
    let by = |name: &str| Some(name.to_owned());
    let none = || scheme("none", 0, [1.0, 9.0, 1.0]);
    let worse = scheme("worse", 1, [4.0, 3.0, 3.0]);
    assert_eq!(dominated(vec![none(), scheme("better", 1, [4.0, 3.0, 2.0]), worse.clone()]), [None, None, by("better")]);
    // One thing in which it is better saves it, be it what it survives.
    assert_eq!(dominated(vec![none(), scheme("other", 1, [3.8, 3.0, 3.1]), worse.clone()]), [None, None, None]);
    // Less than 3 % is no difference, for or against.
    assert_eq!(dominated(vec![none(), scheme("other", 1, [3.9, 3.0, 3.05]), worse.clone()]), [None, None, None]);
    assert_eq!(dominated(vec![none(), scheme("other", 1, [3.8, 2.95, 3.05]), worse.clone()]), [None, None, by("other")]);
    assert_eq!(dominated(vec![none(), scheme("bare", 0, [9.0, 9.0, 1.0])]), [None, by("none")]);
    assert_eq!(dominated(vec![none(), scheme("twice", 2, [4.0, 3.0, 3.0]), worse.clone()]), [None, None, by("twice")]);
    // Memory that must last without power is one part more.
    let mut leaning = scheme("leaning", 1, [1.0, 9.0, 1.0]);
    leaning.survives.power_cuts = PowerCuts::WithPlpMemory;
    assert_eq!(dominated(vec![leaning.clone(), worse.clone()]), [None, None]);
    leaning.costs.energy_j = 9.0;
    assert_eq!(dominated(vec![leaning, scheme("upright", 1, [1.0, 9.0, 1.0])]), [Some("upright".into()), None]);
    // Equal schemes do not dominate each other; a figure that one of them lacks says nothing.
    assert_eq!(dominated(vec![worse.clone(), SchemeVerdict { scheme: "twin".into(), ..worse.clone() }]), [None, None]);
    let mut silent = scheme("silent", 1, [1.0, 1.0, 2.0]);
    silent.costs.latency_us_mean = None;
    assert_eq!(dominated(vec![silent, scheme("loud", 1, [9.0, 1.0, 3.0])]), [None, by("silent")]);
}

#[test]
fn what_cannot_be_compared_is_no_baseline_dominates_nothing_and_wins_nothing() {
    let fast = || scheme("fast", 1, [0.1, 99.0, 0.1]);
    let slow = || scheme("slow", 1, [5.0, 5.0, 5.0]);
    let verdict =
        Verdict::judge(vec![apart(scheme("none", 0, [1.0, 9.0, 1.0]), "saturated"), apart(fast(), "read-only"), slow()]);
    assert_eq!(verdict.baseline.as_deref(), Some("slow"));
    assert_eq!(verdict.schemes[2].dominated_by, None);
    assert!(verdict.schemes[1].ratios.iter().all(Option::is_none), "no ratio of what cannot be compared");
    assert_eq!(verdict.answer[0], "Only `slow` survives a die failure, among the schemes that can be compared.");
    assert!(verdict.answer.contains(&"Not comparable, and not ranked: `none` (saturated) and `fast` (read-only).".into()));
    assert!(verdict.schemes[1].sentence.ends_with("Its costs cannot be compared: read-only."), "{}", verdict.schemes[1].sentence);
    // The same run, when it can be compared, wins and dominates.
    let verdict = Verdict::judge(vec![scheme("none", 0, [1.0, 9.0, 1.0]), fast(), slow()]);
    assert_eq!((verdict.baseline.as_deref(), verdict.schemes[2].dominated_by.as_deref()), (Some("none"), Some("fast")));
    assert!(verdict.answer[0].contains("`fast` is best in mean latency, endurance and energy"), "{:?}", verdict.answer);
    let none = Verdict::judge(vec![apart(fast(), "saturated")]);
    assert_eq!((none.baseline, none.answer[0].as_str()), (None, "No scheme can be compared with another."));
}

#[test]
fn the_best_of_each_cost_is_named_among_those_that_survive() {
    let schemes =
        vec![scheme("none", 0, [1.0, 9.0, 1.0]), scheme("quick", 1, [2.0, 3.0, 3.0]), scheme("lasting", 1, [4.0, 6.0, 2.0])];
    let verdict = Verdict::judge(schemes);
    assert_eq!(
        verdict.answer,
        [
            "Among the schemes that survive a die failure (`quick`, `lasting`), `quick` is best in mean latency (2.00 x the mean \
             latency, 0.33 x the endurance of `none`); `lasting` is best in endurance and energy (4.00 x the mean \
             latency, 0.67 x the endurance of `none`).",
            "`none` has no protection against a die failure.",
        ]
    );
}

/// Fails if a lead of 1 % is praised, or schemes that share the lead are not named.
#[test]
fn schemes_within_the_equivalence_band_share_the_lead() {
    let schemes = vec![
        scheme("none", 0, [1.0, 9.0, 1.0]),
        scheme("a", 1, [2.00, 3.0, 3.0]),
        scheme("b", 1, [2.02, 4.0, 3.05]),
        scheme("c", 1, [2.50, 4.1, 3.02]),
    ];
    let verdict = Verdict::judge(schemes);
    assert!(verdict.answer[0].contains("none is shown to be best in mean latency"), "{:?}", verdict.answer);
    let alike = "As good as the best, as far as one run tells: `a` and `b` in mean latency; `b` and `c` in endurance; `a`, `b` and `c` in energy.";
    assert_eq!(verdict.answer[1], alike);
}

#[test]
fn a_mean_that_is_made_of_stalls_says_so_and_that_one_seed_shows_little() {
    let stalled = |name: &str, share| SchemeVerdict { stalled_share: Some(share), ..scheme(name, 1, [1.0; 3]) };
    let said =
        words::stalls(&[stalled("a", 0.6), stalled("b", 0.93), apart(stalled("c", 0.99), "saturated")]).expect("above half");
    assert!(said.contains("take 93 % of all latency under `b`") && said.contains("--seeds 5"), "{said}");
    assert_eq!(words::stalls(&[stalled("a", 0.49), apart(stalled("c", 0.99), "saturated")]), None);
    assert_eq!(words::stalls(&[scheme("a", 1, [1.0; 3])]), None, "no one watched");
}

/// A rebuild by stripes writes what the die held, one by GC the whole drive. Fails if a reader of the second is not told.
#[test]
fn a_rebuild_is_told_with_what_it_wrote_as_a_multiple_of_a_die() {
    let rebuilt = |of_a_die| {
        let mut verdict = scheme("rebuilt", 1, [1.0; 3]);
        verdict.costs.rebuild = Some(costs::Rebuild { seconds: 4.41, programs: 564_039, of_a_die });
        Verdict::judge(vec![verdict]).schemes.remove(0).sentence
    };
    let all = rebuilt(14.92);
    assert!(all.contains("took 4.41 s and 564 039 page programs, 14.9 x the user capacity of a die: it writes all"), "{all}");
    let one = rebuilt(1.02);
    assert!(one.contains("1.02 x the user capacity of a die.") && !one.contains("all superblocks"), "{one}");
}

#[test]
fn a_backlog_is_told_with_the_scheme_that_had_it() {
    let late = SchemeVerdict { late_share: Some(0.15), ..scheme("late", 1, [9.0; 3]) };
    let verdict = Verdict::judge(vec![scheme("none", 0, [1.0; 3]), late]);
    assert!(!verdict.schemes[0].sentence.contains("backlog"));
    let told = "15 % of its requests waited behind a backlog of more than a second: its mean says how long that lasted.";
    assert!(verdict.schemes[1].sentence.contains(told), "{}", verdict.schemes[1].sentence);
}

#[test]
fn a_life_says_of_how_much_flash_it_is() {
    let of = |name: &str, mib: u64| {
        let mut one = scheme(name, 1, [1.0; 3]);
        one.costs.flash_bytes = mib << 20;
        one
    };
    let (_, life) = costs::measure("endurance_years");
    let equal = Verdict::judge(vec![of("none", 972), of("raid5", 972)]);
    assert_eq!(equal.title(life), "endurance of 972 MiB, at this load");
    assert!(
        equal.schemes[0].sentence.contains("endurance 1.00 TB written, of 972 MiB of flash"),
        "{}",
        equal.schemes[0].sentence
    );
    assert_eq!(
        Verdict::judge(vec![of("none", 972), of("raid5", 1104)]).title(life),
        "endurance of 972 to 1104 MiB, at this load"
    );
    assert_eq!(equal.title(costs::measure("waf").1), "write amplification");
}

fn life(stage: u8, began_s: Option<f64>) -> Life {
    Life { stage, began_s: [began_s, None], stripes: 8, with_parity: 2 }
}

#[test]
fn what_is_survived_is_said_with_stage_age_and_losses() {
    let words = |change: &dyn Fn(&mut Survives)| {
        let mut survives = scheme("x", 1, [1.0; 3]).survives;
        change(&mut survives);
        survives.words()
    };
    assert_eq!(words(&|_| {}), "survives the failure of any one die, block or page; power cuts lose nothing");
    assert!(words(&|s| s.dies = 2).starts_with("survives the failure of any 2 dies, blocks or pages at a time;"));
    let young = words(&|s| (s.dies, s.life, s.exposed_share) = (0, Some(life(1, None)), 1.0));
    assert!(young.starts_with("survives no loss now, not even of a page: in life stage 1 of 3, at 3 of 3000 P/E cycles"));
    let older = words(&|s| (s.dies, s.life, s.exposed_share) = (0, Some(life(2, Some(2.5))), 0.75));
    assert!(
        older.contains("in life stage 2 of 3 (since 2.5 s after the first request), at 3 of 3000 P/E cycles, 25 % of its stripes have parity and 75 % of its pages"),
        "{older}"
    );
    let hurt = words(&|s| (s.dies, s.dead_dies, s.exposed_share, s.lost_share) = (0, 1, 1.0, 0.25));
    assert!(
        hurt.contains(
            "no further loss: one die is dead, 25 % of its pages are lost, 75 % of its pages would be lost with one more"
        )
    );
    assert!(words(&|s| s.dead_dies = 1).contains("any one die, block or page, after the loss of one die"));
    assert!(
        words(&|s| s.power_cuts = PowerCuts::LosesBuffer)
            .ends_with("a power cut loses the contents of the volatile write buffer")
    );
}
