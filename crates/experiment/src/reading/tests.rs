use super::*;
use crate::drives;
use crate::generate::GenerateSpec;
use crate::textual::Size;
use ssd::PayloadKind;
use ssd::ftl::GcConfig;
use vocab::{Bytes, Nanos, Stream, Streams};

fn parse(text: &str) -> Experiment {
    Experiment::parse("test.toml", text).unwrap_or_else(|e| panic!("{e}"))
}

fn problem(text: &str) -> Problem {
    Experiment::parse("test.toml", text).expect_err("this text is wrong")
}

fn set(settings: &[&str]) -> Result<Experiment, Problem> {
    let set = settings.iter().map(ToString::to_string).collect();
    Experiment::with(&Overrides { set, ..Overrides::default() })
}

/// An experiment in which no section has its default.
const FULL: &str = r#"
seed = 42
payload = "page"
schemes = ["ds-raid", "none"]
scheduler = "fifo"
[trace]
source = "zipf"
loops = 2
arrival = "scaled=1.5"
addresses = "fold"
[generate]
requests = 5000
range = "64MiB"
read_fraction = 0.25
arrivals = { poisson = "150us" }
placement = "clustered"
[drive]
preset = "mlc-da"
endurance = 20000
[drive.geometry]
channels = 3
[drive.timing]
transfer = { per-page = "50us" }
worn = { above_pe = 10, erase = "9ms", program = ["2ms", "6ms"] }
[capacity]
size = "96MiB"
over_provisioning = 0.4
fairness = "equal-op"
[gc]
policy = "d-choices"
choices = 7
[wear]
static_threshold = 5
[buffer]
kind = "plp"
size = "2MiB"
[precondition]
fill = 0.75
[age]
pe_cycles = 1000
retention = "30d"
[faults]
dead_die = 2
"#;

#[test]
fn an_empty_file_is_the_default_experiment() {
    let experiment = parse("");
    assert_eq!(experiment, Experiment::with(&Overrides::default()).unwrap());
    assert_eq!(experiment.schemes, ["none", "raid5", "ds-raid", "mds-groups"]);
    assert_eq!((experiment.trace.source.as_str(), experiment.drive.name.as_str()), ("pgbench", "tlc"));
    assert_eq!((experiment.seed, experiment.capacity.over_provisioning.of_raw()), (1, 0.28));
}

#[test]
fn the_effective_experiment_is_the_same_experiment_again() {
    for text in ["", FULL] {
        let experiment = parse(text);
        let effective = experiment.to_toml();
        let again = Experiment::parse("effective.toml", &effective).unwrap_or_else(|e| panic!("{e}\n{effective}"));
        assert_eq!(again, experiment);
        assert_eq!(again.to_toml(), effective);
    }
}

#[test]
fn every_preset_makes_an_effective_experiment() {
    for entry in drives::DRIVES {
        let experiment = parse(&format!("drive.preset = \"{}\"", entry.name));
        assert_eq!(experiment.drive.name, entry.name);
        assert_eq!(experiment.schemes.len() + experiment.left_out.len(), 4, "of the default schemes each runs or is named");
        // An SLC cache, which `xg6` has, is refused later than a shape.
        let planned = crate::capacity::plan(&experiment, 4096);
        assert!(planned.is_ok(), "{}: {:?}", entry.name, planned.err());
        // The effective experiment asks for the schemes that are left by name.
        assert_eq!(parse(&experiment.to_toml()), Experiment { left_out: Vec::new(), ..experiment });
    }
}

#[test]
fn sections_override_the_preset_key_by_key_and_choices_as_a_whole() {
    let experiment = parse(FULL);
    let drive = experiment.drive.drive();
    assert_eq!((drive.geometry.channels, drive.geometry.blocks_per_plane), (3, 8192));
    assert_eq!(drive.timing.transfer, ssd::nand::Transfer::PerPage(Nanos(50_000)));
    assert_eq!(drive.timing.worn.unwrap().program.len(), 2);
    assert_eq!(experiment.drive.name, "mlc-da (changed)");
    assert_eq!(experiment.capacity.size, Size::User(Bytes(96 << 20)));
    assert_eq!(experiment.gc.free_blocks, GcConfig::default().free_blocks);
}

#[test]
fn options_of_compared_schemes_are_filled_in() {
    for entry in ssd::protect::registry::SCHEMES {
        let experiment = parse(&format!("schemes = [\"{}\"]", entry.name));
        let choice = experiment.choice(entry.name);
        assert_eq!(choice.options.len(), entry.options.len());
        for (name, default, _) in entry.options {
            assert_eq!(choice.options[*name], *default);
        }
    }
}

/// Text, line and column, field, one of the known, what was meant.
type Slip = (&'static str, (usize, usize), &'static str, &'static str, &'static str);

const UNKNOWN: [Slip; 12] = [
    ("sede = 1", (1, 1), "sede", "seed", "seed"),
    ("\n[trace]\nsuorce = \"x\"", (3, 1), "trace.suorce", "source", "source"),
    ("[drive]\nprest = \"tlc\"", (2, 1), "drive.prest", "preset", "preset"),
    ("[drive]\npreset = \"tlcc\"", (2, 10), "drive.preset", "mlc-fl", "tlc"),
    ("[drive.geometry]\nchanels = 4", (2, 1), "drive.geometry.chanels", "dies_per_channel", "channels"),
    ("[drive.timing.transfer]\nmt-per-sec = 4", (2, 1), "drive.timing.transfer.mt-per-sec", "per-page", "mt-per-s"),
    ("[gc]\n  policy = \"gredy\"", (2, 12), "gc.policy", "fifo", "greedy"),
    ("schemes = [\"none\", \"raid_5\"]", (1, 20), "schemes.1", "ds-raid", "raid5"),
    ("scheduler = \"read_first\"", (1, 13), "scheduler", "fifo", "read-first"),
    ("trace.format = \"blkpars\"", (1, 16), "trace.format", "auto", "blkparse"),
    ("[buffer]\nkind = \"of\"", (2, 8), "buffer.kind", "plp", "off"),
    ("scheme.raid5.wdth = 4", (1, 14), "scheme.raid5.wdth", "", ""),
];

/// Catches an addition taken for a policy of page ECC, options that go to another scheme, and defaults left out of the
/// effective experiment.
#[test]
fn additions_stand_between_the_scheme_and_its_policy_and_have_options_of_their_own() {
    let experiment = parse("schemes = [\"ds-raid+limits+flares\", \"ds-raid+limits\", \"raid5\"]\n[scheme.limits]\nt_read = 400");
    let choice = experiment.choice("ds-raid+limits+flares");
    assert_eq!(choice.name, "ds-raid+limits");
    assert_eq!((choice.options["limits.t_read"].as_str(), choice.options["limits.margin"].as_str()), ("400", "10"));
    assert!(choice.options.contains_key("sub_stripe") && !choice.options.contains_key("t_read"));
    let policies = ["ds-raid+limits+flares", "ds-raid+limits"].map(|label| experiment.ecc_setup(label).policy);
    assert_eq!(policies, ["flares", experiment.ecc.policy.as_str()]);
    assert!(experiment.choice("raid5").options.keys().all(|key| !key.contains('.')));
    assert_eq!(parse(&experiment.to_toml()), experiment);
    for (scheme, says) in [
        ("raid5+flares+limits", "unknown addition to a scheme `flares`"),
        ("raid5+limit", "did you mean `limits`"),
        ("raid+limits", "unknown scheme `raid`"),
    ] {
        let problem = problem(&format!("schemes = [\"{scheme}\"]"));
        assert!(problem.to_string().contains(says), "{problem}");
    }
}

#[test]
fn an_unknown_name_at_any_level_is_placed_and_guessed() {
    for (text, (line, column), field, known, meant) in UNKNOWN {
        let problem = problem(text);
        let position = problem.place.clone().and_then(|p| p.position).unwrap_or_else(|| panic!("{text}: no place"));
        assert_eq!((position.line, position.column), (line, column), "{problem}");
        assert_eq!(problem.field, field, "{problem}");
        assert!(problem.known.iter().any(|k| k == known) || known.is_empty(), "{problem}");
        assert!(problem.meant.as_deref() == Some(meant) || meant.is_empty(), "{problem}");
    }
}

#[test]
fn values_out_of_range_are_placed_and_say_what_is_valid() {
    let cases = [
        ("seed = -1", "seed", "wanted a whole number, not negative"),
        ("seed = \"x\"", "seed", "wanted a whole number"),
        ("schemes = []", "schemes", "at least one"),
        ("schemes = [\"none\", \"none\"]", "schemes.1", "twice"),
        ("[capacity]\nover_provisioning = 20", "capacity.over_provisioning", "valid is 0 to 19"),
        ("[capacity]\nsize = \"0B\"", "capacity.size", "above 0"),
        ("[gc]\nfree_blocks = 1", "gc.free_blocks", "valid is 2 to 16777216"),
        ("[precondition]\nfill = 2", "precondition.fill", "valid is 0 to 1"),
        ("[faults]\ndead_die = 8", "faults.dead_die", "dies 0 to 7"),
        ("[faults]\ndead_die_every = 4", "faults.dead_die_every", "no `faults.dead_die`"),
        ("[faults]\ndead_die = 1\ndead_die_every = 1", "faults.dead_die_every", "2 to 8"),
        ("[drive.geometry]\nchannels = 0", "drive.geometry.channels", "valid is 1 to 256"),
        ("[drive.timing]\nerase = \"3 parsec\"", "drive.timing.erase", "wanted a time"),
        ("[drive.timing]\npage = []", "drive.timing.page", "at least one page kind"),
        ("[drive]\npreset = \"none\"", "drive", "`endurance` is missing"),
        ("[trace]\narrival = \"fast\"", "trace.arrival", "closed=QUEUE_DEPTH"),
        ("[trace]\nloops = 0", "trace.loops", "at least 1"),
        ("[trace]\nblk_action = \"X\"", "trace.blk_action", "Q, D, C"),
        ("[generate]\nrequests = 5", "generate", "is no generator"),
        ("[trace]\nsource = \"uniform\"\n[generate]\nread_fraction = 3", "generate.read_fraction", "0 to 1"),
        ("gc = 5", "gc", "wanted a table"),
        ("drive = \"tlc\"", "drive", "wanted a table"),
        ("seed = inf", "", "no finite number"),
        ("seed = 1979-05-27", "", "a date"),
        ("seed = ", "", ""),
    ];
    for (text, field, part) in cases {
        let problem = problem(text);
        assert_eq!(problem.field, field, "{text}: {problem}");
        assert!(problem.message.contains(part), "{text}: {problem}");
        assert!(problem.place.is_some_and(|p| p.source.ends_with(".toml")), "{text}");
    }
}

/// Settings with a bound: a section, a key, values that are refused, and the range that the complaint names.
const BOUNDED: [(&str, &str, &[&str], &str); 39] = [
    ("drive.timing", "command", &["\"18446744073709551615ns\"", "\"1001ms\""], "valid is 0ns to 1s"),
    ("drive.timing", "erase", &["\"18446744073709551615ns\"", "\"1h\""], "valid is 0ns to 1s"),
    ("drive.timing", "transfer.per-page", &["\"18446744073709551615ns\""], "valid is 0ns to 1s"),
    ("drive.timing", "transfer.mt-per-s", &["0"], "must be positive"),
    ("drive.timing", "transfer.mt-per-s", &["4294967296", "-1", "1e308"], "0 to 4294967295"),
    ("drive.timing", "erase", &["\"-1ns\"", "\"NaN\"", "\"inf\"", "\"1e308s\"", "\"18446744073709551616ns\""], "wanted a time"),
    ("drive.energy", "read", &["\"18446744073709551615nJ\""], "valid is 0nJ to 1J"),
    ("drive.energy", "program", &["\"2J\""], "valid is 0nJ to 1J"),
    ("drive.energy", "erase", &["\"18446744073709551615nJ\""], "valid is 0nJ to 1J"),
    ("drive", "endurance", &["0", "4294967295"], "valid is 1 to 100000000"),
    ("age", "retention", &["\"18446744073709551615ns\"", "\"18251d\""], "valid is 0ns to 18250d"),
    ("age", "pe_cycles", &["4294967295"], "valid is 0 to 100000000"),
    ("age", "worn_pe_cycles", &["4294967295"], "valid is 0 to 100000000"),
    ("age", "pe_deviation", &["1e308", "-1.0"], "valid is 0 to 100000000"),
    ("age", "reads", &["4294967295"], "valid is 0 to 1000000000"),
    ("age", "reads", &["18446744073709551615", "-1"], "0 to 4294967295"),
    ("age", "bad_blocks", &["1e308", "0.6"], "valid is 0 to 0.5"),
    ("buffer", "latency", &["\"18446744073709551615ns\""], "valid is 0ns to 1s"),
    ("buffer", "size", &["\"16777215TiB\""], "valid is 0B to 1TiB"),
    ("gc", "choices", &["0", "4294967295"], "valid is 1 to 65536"),
    ("gc", "free_blocks", &["1", "4294967295"], "valid is 2 to 16777216"),
    ("gc", "idle_free_blocks", &["4294967295"], "valid is 0 to 16777216"),
    ("gc", "moves_in_flight", &["0", "4294967295"], "valid is 1 to 4096"),
    ("faults", "rebuild_at_once", &["0", "4294967295"], "valid is 1 to 65536"),
    ("faults", "uncorrectable_reads", &["1e308", "-0.1"], "valid is 0 to 1"),
    ("errors", "celsius", &["1e308", "-41.0"], "valid is -40 to 125"),
    ("errors", "activation_ev", &["1e308", "-1.0"], "valid is 0 to 3"),
    ("errors", "page_sigma", &["1e308"], "valid is 0 to 3"),
    ("errors", "recharge_rber", &["1e308"], "valid is 0 to 0.5"),
    ("errors", "unaccelerated", &["-0.1", "1.1"], "valid is 0 to 1"),
    ("errors", "read_celsius", &["-41.0", "126.0"], "valid is -40 to 125"),
    ("errors", "cross_shift", &["-1.0", "2.5"], "valid is 0 to 2"),
    ("errors", "stage_1_hours", &["0.0", "8760.0"], "valid is above 0"),
    ("ecc", "retries", &["65"], "valid is 0 to 64"),
    ("ecc", "soft_bits", &["0", "4"], "valid is 1 to 3"),
    ("ecc", "prediction_sigma", &["-0.5", "4.0"], "valid is 0 to 3"),
    ("precondition", "overwrite_at_most", &["1e308", "-1.0"], "valid is 0 to 1000000"),
    ("refresh", "uber", &["1e308", "0.0"], "valid is above 0 and below 1"),
    ("capacity", "over_provisioning", &["1e308", "\"96% of raw\""], "valid is 0"),
];

#[test]
fn a_value_beyond_its_bound_is_refused_with_file_line_field_and_range() {
    for (section, key, values, range) in BOUNDED {
        for value in values {
            let text = format!("seed = 1\n[{section}]\n{key} = {value}\n");
            let problem = problem(&text);
            assert_eq!(problem.field, format!("{section}.{key}"), "{text}: {problem}");
            assert!(problem.message.contains(range) && problem.message.len() < 500, "{text}: {problem}");
            let place = problem.place.as_ref().expect("a place");
            let line = place.position.as_ref().map(|position| position.line);
            assert_eq!((place.source.as_str(), line), ("test.toml", Some(3)), "{text}: {problem}");
        }
    }
}

#[test]
fn numbers_that_are_none_are_refused_wherever_they_stand() {
    for value in ["nan", "inf", "-inf", "+nan"] {
        let problem = problem(&format!("seed = 1\n[age]\npe_deviation = {value}"));
        assert!(problem.message.contains("no finite number"), "{problem}");
        assert_eq!(problem.place.and_then(|p| p.position).map(|p| p.line), Some(3), "{value}");
    }
}

#[test]
fn times_of_each_kind_of_page_have_the_same_bound() {
    let page = |read: &str, program: &str| {
        format!(
            "drive.preset = \"mlc-2014\"\ndrive.timing.page = [{{ name = \"lsb\", read = \"{read}\", program = \"{program}\" }}]"
        )
    };
    for (text, field) in [
        (page("18446744073709551615ns", "1ms"), "drive.timing.page.0.read"),
        (page("1ms", "18446744073709551615ns"), "drive.timing.page.0.program"),
        ("drive.preset = \"mlc-2014\"\ndrive.timing.worn = { above_pe = 5, erase = \"2s\" }".into(), "drive.timing.worn.erase"),
        (
            "drive.preset = \"mlc-2014\"\ndrive.timing.worn = { above_pe = 5, erase = \"1s\", program = [\"2s\"] }".into(),
            "drive.timing.worn.program.0",
        ),
    ] {
        let problem = problem(&text);
        assert_eq!(problem.field, field, "{problem}");
        assert!(problem.message.contains("valid is 0ns to 1s"), "{problem}");
        assert_eq!(problem.place.and_then(|p| p.position).map(|p| p.line), Some(2));
    }
    // The slowest drive that is valid.
    parse(&page("1s", "1s"));
}

#[test]
fn a_bus_moves_a_page_within_a_second() {
    let text = "[drive]\npreset = \"mlc-2014\"\n[drive.geometry]\npage_size = \"4MiB\"\nslot_size = \"1MiB\"\nblocks_per_plane = 8\n[drive.timing]\ntransfer.mt-per-s = ";
    let problem = problem(&format!("{text}4"));
    assert_eq!(problem.field, "drive.timing.transfer.mt-per-s");
    assert!(problem.message.contains("found 4, valid is 5 to 4294967295 for pages of 4MiB"), "{problem}");
    parse(&format!("{text}5"));
}

#[test]
fn what_is_generated_has_bounds_and_weights_that_say_something() {
    let cases: [(&str, &str, &[&str]); 7] = [
        ("requests", "18446744073709551615", &["at most 1000000000000 requests"]),
        ("arrivals", "{ every = \"18446744073709551615ns\" }", &["73 years"]),
        ("arrivals", "{ poisson = \"1000d\" }", &["found 1000d", "73 years"]),
        ("sizes", "[[\"4KiB\", 0.0], [\"8KiB\", 0]]", &["found only weights of 0", "weights of 0 to 1e9, not all of them 0"]),
        ("sizes", "[[\"4KiB\", 1e308], [\"8KiB\", 1e308]]", &["of 4KiB", "weights of 0 to 1e9"]),
        ("sizes", "[[\"4KiB\", 1], [\"8KiB\", -1]]", &["the weight -1 of 8KiB"]),
        ("sizes", "[]", &["an empty list"]),
    ];
    for source in ["mixed", "uniform"] {
        for (key, value, parts) in cases {
            let problem = problem(&format!("trace.source = \"{source}\"\n[generate]\n{key} = {value}"));
            assert_eq!(problem.field, format!("generate.{key}"), "{problem}");
            assert!(parts.iter().all(|part| problem.message.contains(part)), "{problem}");
            assert_eq!(problem.place.and_then(|p| p.position).map(|p| p.line), Some(3));
        }
    }
}

#[test]
fn set_wins_over_options_and_options_win_over_the_file() {
    let file = Document::parse("test.toml", "seed = 1\n[gc]\npolicy = \"fifo\"\nchoices = 3").unwrap();
    let overrides = Overrides {
        options: vec![("--seed".into(), "seed".into(), "2".into()), ("--payload".into(), "payload".into(), "none".into())],
        schemes: Some("none, raid5".into()),
        set: vec!["seed=3".into(), "gc.policy=random".into(), "seed = 4".into()],
        trace: None,
    };
    let experiment = Experiment::from_document(file, &overrides).unwrap();
    assert_eq!((experiment.seed, experiment.payload), (4, PayloadKind::None));
    assert_eq!((experiment.gc.policy.as_str(), experiment.gc.choices), ("random", 3));
    assert_eq!(experiment.schemes, ["none", "raid5"]);
}

#[test]
fn set_reads_toml_values_and_plain_texts() {
    let experiment = set(&[
        "schemes=[\"none\"]",
        "capacity.size=4GiB",
        "drive.timing.page.0.program=\"1ms\"",
        "drive.timing.transfer.per-page=9us",
        "wear.dynamic=false",
        "capacity.over_provisioning=3e-1",
    ])
    .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(experiment.capacity.size, Size::User(Bytes(4 << 30)));
    assert_eq!(experiment.drive.timing.transfer, ssd::nand::Transfer::PerPage(Nanos(9000)));
    assert!(!experiment.wear.dynamic);
    assert_eq!(experiment.capacity.over_provisioning, crate::OverProvisioning::OfUser(0.3));
}

#[test]
fn a_wrong_set_quotes_itself() {
    for (setting, part) in [
        ("gc.polcy=fifo", "unknown key `polcy`"),
        ("gc.policy", "found no `=`"),
        ("=5", "no path"),
        ("gc..policy=5", "no path"),
        ("schemes.7=none", "no such setting"),
        ("seed.x=5", "wanted a whole number"),
    ] {
        let problem = set(&[setting]).unwrap_err();
        assert!(problem.message.contains(part) || setting == "schemes.7=none", "{setting}: {problem}");
        assert_eq!(problem.place.map(|p| p.source), Some(format!("--set {setting}")));
    }
}

#[test]
fn a_drive_named_on_the_command_line_replaces_the_drive_of_the_file() {
    let file = Document::parse("effective.toml", &parse(FULL).to_toml()).unwrap();
    let options = vec![("--drive".into(), "drive.preset".into(), "qlc".into())];
    let overrides = Overrides { options, trace: Some("uniform".into()), ..Overrides::default() };
    let experiment = Experiment::from_document(file, &overrides).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(experiment.drive.name, "qlc");
    assert_eq!(experiment.drive, parse("drive.preset = \"qlc\"").drive);
    assert_eq!(experiment.generate, Some(GenerateSpec::default()), "options of another generator are gone");
}

/// One random edit: flip, delete, repeat or swap in a fragment, on characters.
fn mutated(text: &str, draws: &mut Stream) -> String {
    const FRAGMENTS: [&str; 16] = [
        "=",
        "\"",
        "[",
        "]",
        "\n",
        "-1",
        "1e308",
        "\u{0}",
        "\u{1f4a5}",
        "99999999999999999999",
        "none",
        "'''",
        "{",
        "}",
        ".",
        "#",
    ];
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=draws.below(4) {
        let at = draws.below(chars.len() as u64) as usize;
        match draws.below(4) {
            0 => chars[at] = char::from(draws.below(127) as u8),
            1 => drop(chars.drain(at..(at + draws.below(30) as usize).min(chars.len()))),
            2 => {
                let part = chars[at..(at + 40).min(chars.len())].to_vec();
                chars.splice(at..at, part);
            }
            _ => {
                let fragment = FRAGMENTS[draws.below(FRAGMENTS.len() as u64) as usize];
                chars.splice(at..at, fragment.chars());
            }
        }
        if chars.is_empty() {
            chars.push('x');
        }
    }
    chars.into_iter().collect()
}

#[test]
fn no_text_makes_the_reader_panic() {
    const SEED: u64 = 0x5EED;
    let mut draws = Streams::new(SEED).stream("lab/fuzz");
    let sources = [FULL.to_owned(), parse("").to_toml(), parse(FULL).to_toml()];
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..6000 {
        let text = mutated(&sources[round % sources.len()], &mut draws);
        match Experiment::parse("fuzz.toml", &text) {
            Ok(experiment) => {
                assert_eq!(Experiment::parse("again.toml", &experiment.to_toml()).as_ref(), Ok(&experiment), "{text}");
                accepted += 1;
            }
            Err(problem) => {
                assert!(!problem.to_string().is_empty());
                refused += 1;
            }
        }
    }
    assert!(accepted > 100 && refused > 1000, "{accepted} accepted, {refused} refused: the fuzz has lost its teeth");
}

/// Fails if the card of a drive is that of its preset.
#[test]
fn a_changed_drive_is_described_by_its_own_geometry() {
    let tlc = |rest: &str| {
        Experiment::parse("test.toml", &format!("drive.preset = \"tlc\"\n{rest}")).unwrap_or_else(|e| panic!("{e}")).drive
    };
    // 4 planes of 16 KiB, 3 bits in one shot.
    assert_eq!(tlc("").program_bytes(), Bytes(192 << 10));
    assert!(tlc("").summary.starts_with("TLC, 8 dies on 8 channels"));
    let changed = tlc("drive.geometry.dies_per_channel = 2");
    assert_eq!((changed.name.as_str(), changed.geometry.dies()), ("tlc (changed)", 16));
    assert_eq!(changed.summary, "16 dies on 8 channels, 192KiB a program, blocks of 384 pages of 4KiB");
}
