//! Workloads and drives that files of other tools describe: fio's jobs, MQSim's devices and flows.

use experiment::{Experiment, Overrides, Workload};
use flashkeep_lab::{Bench, compare};
use std::path::{Path, PathBuf};

fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("described").join(test);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("the target directory can be written");
    path
}

fn written(test: &str, files: &[(&str, &str)]) -> PathBuf {
    let here = directory(test);
    files.iter().for_each(|(name, text)| std::fs::write(here.join(name), text).expect("written"));
    here
}

/// A small device: 2 channels of 2 chips of 2 dies, 64 MiB.
fn device(changed: &str, to: &str) -> String {
    let parameters = [
        ("Enabled_Preconditioning", "false"),
        ("Memory_Type", "FLASH"),
        ("HostInterface_Type", "NVME"),
        ("Queue_Fetch_Size", "512"),
        ("Caching_Mechanism", "ADVANCED"),
        ("Data_Cache_Capacity", "1048576"),
        ("Address_Mapping", "PAGE_LEVEL"),
        ("Overprovisioning_Ratio", "0.25"),
        ("GC_Block_Selection_Policy", "RGA"),
        ("Static_Wearleveling_Enabled", "true"),
        ("Static_Wearleveling_Threshold", "50"),
        ("Flash_Channel_Count", "2"),
        ("Flash_Channel_Width", "1"),
        ("Channel_Transfer_Rate", "333"),
        ("Chip_No_Per_Channel", "2"),
        ("Flash_Comm_Protocol", "NVDDR2"),
    ];
    let flash = [
        ("Flash_Technology", "MLC"),
        ("Page_Read_Latency_LSB", "75000"),
        ("Page_Read_Latency_MSB", "75000"),
        ("Page_Program_Latency_LSB", "750000"),
        ("Page_Program_Latency_MSB", "750000"),
        ("Block_Erase_Latency", "3800000"),
        ("Block_PE_Cycles_Limit", "10000"),
        ("Die_No_Per_Chip", "2"),
        ("Plane_No_Per_Die", "2"),
        ("Block_No_Per_Plane", "16"),
        ("Page_No_Per_Block", "32"),
        ("Page_Capacity", "8192"),
        ("Page_Metadat_Capacity", "448"),
    ];
    let lines = |all: &[(&str, &str)]| {
        let line = |(name, value): &(&str, &str)| {
            let value = if *name == changed { to } else { value };
            format!("      <{name}>{value}</{name}>\n")
        };
        all.iter().map(line).collect::<String>()
    };
    format!(
        "<?xml version=\"1.0\" encoding=\"us-ascii\"?>\n<Execution_Parameter_Set>\n  <Device_Parameter_Set>\n{}    \
         <Flash_Parameter_Set>\n{}    </Flash_Parameter_Set>\n  </Device_Parameter_Set>\n</Execution_Parameter_Set>\n",
        lines(&parameters),
        lines(&flash)
    )
}

fn flow(changed: &str, to: &str) -> String {
    let parameters = [
        ("Priority_Class", "HIGH"),
        ("Channel_IDs", "0,1"),
        ("Chip_IDs", "0,1"),
        ("Die_IDs", "0,1"),
        ("Plane_IDs", "0,1"),
        ("Working_Set_Percentage", "50"),
        ("Synthetic_Generator_Type", "QUEUE_DEPTH"),
        ("Read_Percentage", "100"),
        ("Address_Distribution", "RANDOM_UNIFORM"),
        ("Percentage_of_Hot_Region", "20"),
        ("Generated_Aligned_Addresses", "true"),
        ("Address_Alignment_Unit", "16"),
        ("Request_Size_Distribution", "FIXED"),
        ("Average_Request_Size", "16"),
        ("Variance_Request_Size", "0"),
        ("Seed", "798"),
        ("Average_No_of_Reqs_in_Queue", "3"),
        ("Bandwidth", "81920000"),
        ("Stop_Time", "0"),
        ("Total_Requests_To_Generate", "2000"),
    ];
    let line = |(name, value): &(&str, &str)| format!("      <{name}>{}</{name}>\n", if *name == changed { to } else { value });
    let lines: String = parameters.iter().map(line).collect();
    format!("    <IO_Flow_Parameter_Set_Synthetic>\n{lines}    </IO_Flow_Parameter_Set_Synthetic>\n")
}

fn scenario(flows: &[String]) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<MQSim_IO_Scenarios>\n  <IO_Scenario>\n{}  </IO_Scenario>\n</MQSim_IO_Scenarios>\n",
        flows.concat()
    )
}

fn experiment(here: &Path, drive: &str, trace: &str) -> Result<Experiment, String> {
    let path = |name: &str| if name.contains('.') { here.join(name).display().to_string() } else { name.to_owned() };
    let overrides = Overrides {
        trace: Some(path(trace)),
        options: vec![("--drive".into(), "drive.preset".into(), path(drive))],
        schemes: Some("none".into()),
        set: Vec::new(),
    };
    Experiment::with(&overrides).map_err(|problem| problem.to_string())
}

#[test]
fn a_device_of_mqsim_is_a_drive_with_what_such_a_device_has() {
    let here = written("device", &[("ssd.xml", &device("", ""))]);
    let read = experiment(&here, "ssd.xml", "uniform").unwrap_or_else(|e| panic!("{e}"));
    let geometry = read.drive.geometry;
    assert_eq!((geometry.channels, geometry.dies_per_channel, geometry.planes), (2, 4, 2));
    assert_eq!(geometry.raw_size().to_string(), "64MiB");
    assert_eq!(
        (read.capacity.over_provisioning.of_raw(), read.buffer.size.to_string(), read.gc.policy.as_str()),
        (0.25, "1MiB".to_owned(), "d-choices")
    );
    assert_eq!((read.wear.static_threshold, read.precondition.converge_within), (50, 0.0));
    // The preset of MQSim's own device, from the same times.
    let preset = experiment(&here, "mlc-mqsim", "uniform").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((&read.drive.timing, read.drive.energy), (&preset.drive.timing, preset.drive.energy));
    let notes = read.left_out.join("\n");
    assert!(notes.contains("has no counterpart here: Queue_Fetch_Size") && notes.contains("82.5 mW"), "{notes}");
    let again = Experiment::parse("again.toml", &read.to_toml()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again.drive, read.drive);
}

#[test]
fn flows_of_mqsim_are_played_on_it() {
    let flows = [flow("", ""), flow("Read_Percentage", "0")];
    let here = written("flows", &[("ssd.xml", &device("", "")), ("load.xml", &scenario(&flows))]);
    let read = experiment(&here, "ssd.xml", "load.xml").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(read.trace.format, "mqsim");
    let compared = compare(&read, &Bench { threads: 1, clock: &|| 0.0, progress: &|_| {} }).unwrap_or_else(|e| panic!("{e}"));
    let facts = &compared.trace;
    assert_eq!((facts.reads, facts.writes, facts.read_bytes), (2000, 2000, 2000 * 8192));
    assert!(compared.clock.said.contains("`flow 1` queue 3; `flow 2` queue 3"), "{}", compared.clock.said);
    // Each flow has half of the 48 MiB, and uses half of that.
    assert!(facts.footprint_bytes <= 24 << 20, "{}", facts.footprint_bytes);
    assert_eq!(u64::from(compared.user_slots) * 8192, 48 << 20);
    assert_eq!(compared.outcomes[0].result.oracle.mismatches, 0);
    assert!(compared.notes.iter().any(|note| note.contains("has no counterpart here: Priority_Class")));
}

#[test]
fn flows_with_a_bandwidth_come_as_often_as_that_says() {
    // 8 KiB at 81.92 MB/s: 10,000 requests a second; the sum of 2000 gaps of a Poisson process has a deviation of 2.2 %.
    let here = written("timed", &[("load.xml", &scenario(&[flow("Synthetic_Generator_Type", "BANDWIDTH")]))]);
    let read = experiment(&here, "mlc-2014", "load.xml").unwrap_or_else(|e| panic!("{e}"));
    let workload = Workload::open(&read, &|_| {}).unwrap_or_else(|e| panic!("{e}"));
    assert!((workload.duration_s() / 0.2 - 1.0).abs() < 4.5 * 0.0224, "{}", workload.duration_s());
}

#[test]
fn a_flow_may_be_a_recording_beside_its_file() {
    let flow = "<IO_Flow_Parameter_Set_Trace_Based><Channel_IDs>0</Channel_IDs><Chip_IDs>0</Chip_IDs><Die_IDs>0</Die_IDs>\
                <Plane_IDs>0</Plane_IDs><File_Path>t.trace</File_Path><Percentage_To_Be_Executed>50</Percentage_To_Be_Executed>\
                <Relay_Count>2</Relay_Count><Time_Unit>NANOSECOND</Time_Unit></IO_Flow_Parameter_Set_Trace_Based>";
    let trace = "1000 0 0 8 1\n2000 0 8 8 0\n3000 0 16 8 1\n4000 0 24 8 0\n";
    let here = written("recorded", &[("load.xml", &scenario(&[flow.to_owned()])), ("t.trace", trace)]);
    let read = experiment(&here, "mlc-2014", "load.xml").unwrap_or_else(|e| panic!("{e}"));
    let workload = Workload::open(&read, &|_| {}).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((workload.facts().reads, workload.facts().writes), (2, 2));
    assert_eq!(workload.duration_s(), 2e-6);
}

/// Changed settings of a device, and the words for them.
const DEVICES: [((&str, &str), &str); 6] = [
    (("Flash_Channel_Count", "two"), "ssd.xml:15:28: Flash_Channel_Count: found `two`, wanted a whole number"),
    (("Flash_Technology", "QLC"), "Flash_Technology: unknown value `QLC`"),
    (("Address_Mapping", "HYBRID"), "Address_Mapping: found `HYBRID`, wanted PAGE_LEVEL: drives here map page by page"),
    (("Overprovisioning_Ratio", "1.5"), "Overprovisioning_Ratio: found `1.5`, wanted a share from 0"),
    (("Block_Erase_Latency", "2000000000"), "Block_Erase_Latency: found `2000000000`, wanted a whole number from 0"),
    (("Page_Capacity", "1000"), "ssd.xml:"),
];

/// Our small cases.
fn case(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/mqsim").join(name).display().to_string()
}

fn opened(trace: &str, drive: &str) -> Result<(Experiment, Workload), String> {
    let options = vec![("--drive".into(), "drive.preset".into(), drive.into())];
    let overrides = Overrides { trace: Some(trace.into()), options, ..Overrides::default() };
    let read = Experiment::with(&overrides).map_err(|problem| problem.to_string())?;
    let workload = Workload::open(&read, &|_| {}).map_err(|problem| problem.to_string())?;
    Ok((read, workload))
}

#[test]
fn lists_with_a_comma_at_their_end_and_picoseconds_are_those_of_mqsim() {
    for (name, duration) in [("M01-trailing-comma.xml", 3.98e-3), ("M02-picoseconds.xml", 3.98e-6)] {
        let (_, workload) = opened(&case(name), "mlc-2014").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(workload.requests(), 200, "{name}");
        assert!((workload.duration_s() / duration - 1.0).abs() < 1e-9, "{name}: {}", workload.duration_s());
    }
}

#[test]
fn a_device_is_no_workload_and_says_so() {
    let problem = opened(&case("M04-device-to-inspect.xml"), "mlc-2014").err().expect("a device");
    assert!(problem.contains("is a device of MQSim, no workload: `--drive "), "{problem}");
}

/// Forks that compute rates with fractions write all numbers so (HybridSim: `1200.0`). A fraction that is not zero would be cut off.
#[test]
fn whole_numbers_may_be_written_with_a_fraction_of_zero() {
    let of = |name: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(case(name)).expect("a case");
        assert!(text.contains(from), "{from}");
        let here = written("fractions", &[(name, &text.replace(from, to))]);
        here.join(name).display().to_string()
    };
    let device = "M05-field-of-a-fork.xml";
    let with = |from: &str, to: &str| experiment(Path::new("/"), &of(device, from, to), "uniform");
    let plain = with("333<", "333<").unwrap_or_else(|e| panic!("{e}"));
    for (from, to) in [("333<", "333.0<"), ("0<", "0.00<")] {
        assert_eq!(with(from, to).unwrap_or_else(|e| panic!("{e}")).drive, plain.drive, "{to}");
    }
    for wrong in ["333.5<", "333.<", ".0<", "333.0.0<", "-333.0<", "3e2<"] {
        let problem = with("333<", wrong).map(|_| ()).expect_err(wrong);
        assert!(problem.contains("Channel_Transfer_Rate: found `") && problem.contains("wanted a whole number"), "{problem}");
    }
    let flows = of("M02-picoseconds.xml", "0,1,2,", "0.0,1,2.0,");
    std::fs::create_dir_all(Path::new(&flows).with_file_name("traces")).expect("a directory");
    std::fs::copy(case("traces/t.trace"), Path::new(&flows).with_file_name("traces/t.trace")).expect("copied");
    assert_eq!(opened(&flows, "mlc-2014").unwrap_or_else(|e| panic!("{e}")).1.requests(), 200);
}

/// rapidxml leaves comments out, wherever they stand.
#[test]
fn comments_may_stand_beside_a_value() {
    let text = std::fs::read_to_string(case("M05-field-of-a-fork.xml")).expect("a case");
    let commented = text.replace("<Flash_Channel_Count>4<", "<Flash_Channel_Count><!-- few -->4<!-- of them --><");
    assert_ne!(commented, text);
    let here = written("comments", &[("ssd.xml", &commented)]);
    let read = experiment(&here, "ssd.xml", "uniform").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(read.drive.geometry.channels, 4);
}

/// MQSim refuses numbers that its device has not (Logical_Address_Partitioning_Unit.cpp); those of the first that is beyond are said.
#[test]
fn channels_that_the_drive_has_not_are_noted() {
    let text = std::fs::read_to_string(case("M01-trailing-comma.xml")).expect("a case");
    let here = written("beyond", &[("flows.xml", &text.replace("0,1,2,3,4,5,6,7<", "0,99<"))]);
    std::fs::create_dir_all(here.join("traces")).expect("a directory");
    std::fs::copy(case("traces/t.trace"), here.join("traces/t.trace")).expect("copied");
    let (_, workload) = opened(&here.join("flows.xml").display().to_string(), "mlc-2014").unwrap_or_else(|e| panic!("{e}"));
    let notes = workload.notes().join("\n");
    assert!(notes.contains("channel 0, plane 1 is not on this drive, which has 4 channels and 1 planes a die"), "{notes}");
}

/// Forks add fields, and MQSim has a default for each that a file lacks (Device_Parameter_Set.cpp, Flash_Parameter_Set.cpp).
#[test]
fn fields_of_forks_are_noted_and_missing_ones_are_mqsims() {
    let with = |drive: &str| experiment(Path::new("/"), &case(drive), "uniform").unwrap_or_else(|e| panic!("{e}"));
    let fork = with("M05-field-of-a-fork.xml");
    let notes = fork.left_out.join("\n");
    assert!(notes.contains("MQSim does not know, and neither do we: Support_Zone"), "{notes}");
    let problem = experiment::refuse_unknown(&fork).expect_err("strict").to_string();
    assert!(problem.contains("Support_Zone") && problem.contains("--strict"), "{problem}");
    let lacking = with("M06-missing-field.xml");
    assert_eq!(lacking.drive.endurance.0, 10_000);
    let notes = lacking.left_out.join("\n");
    assert!(notes.contains("not in the file, as MQSim has it: Block_PE_Cycles_Limit 10000"), "{notes}");
    experiment::refuse_unknown(&lacking).unwrap_or_else(|e| panic!("{e}"));
    let here = written(
        "bare",
        &[(
            "ssd.xml",
            // A declaration that is not at the start, which MQSim takes.
            "\n<?xml version=\"1.0\"?>\n<Execution_Parameter_Set><Device_Parameter_Set><Flash_Parameter_Set></Flash_Parameter_Set>\
             </Device_Parameter_Set></Execution_Parameter_Set>",
        )],
    );
    let bare = experiment(&here, "ssd.xml", "uniform").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        (bare.drive.geometry.raw_size().to_string(), bare.buffer.size.to_string(), bare.capacity.over_provisioning.of_raw()),
        ("512GiB".into(), "512MiB".to_owned(), 0.07)
    );
}

#[test]
fn a_large_file_that_is_hardly_touched_asks_for_a_capacity() {
    let here = written("large", &[("job.fio", "[touch]\nrw=randread\nsize=1t\nio_size=1m\nbs=4k\n")]);
    let bench = Bench { threads: 1, clock: &|| 0.0, progress: &|_| {} };
    let read = experiment(&here, "mlc-2014", "job.fio").unwrap_or_else(|e| panic!("{e}"));
    let problem = compare(&read, &bench).expect_err("a TiB").to_string();
    assert!(problem.contains("the host's space is 1TiB") && problem.contains("--capacity 1GiB"), "{problem}");
    let capacity = experiment::CapacitySpec { size: experiment::Size::User(vocab::Bytes(64 << 20)), ..read.capacity };
    let compared = compare(&Experiment { capacity, ..read }, &bench).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(compared.trace.reads, 256);
}

/// A job on a device means the drive, and a command line is a job.
#[test]
fn jobs_on_a_device_and_command_lines_mean_the_drive() {
    let open = |trace: &str, capacity: &str| {
        let overrides = Overrides {
            trace: Some(trace.into()),
            set: vec![format!("capacity.size={capacity}"), "drive.preset=mlc-2014".into()],
            ..Overrides::default()
        };
        let read = Experiment::with(&overrides).unwrap_or_else(|e| panic!("{e}"));
        Workload::open(&read, &|_| {}).unwrap_or_else(|e| panic!("{e}"))
    };
    let here = written("device", &[("job.fio", "[a]\nfilename=/dev/nvme0n1\nrw=write\nbs=64k\n")]);
    let job = here.join("job.fio").display().to_string();
    assert_eq!(open(&job, "32MiB").facts().written_bytes, 32 << 20);
    // 4 GiB of flash less the spare of 28 %.
    let whole = open(&job, "auto").facts().written_bytes as f64 / (0.72 * (4u64 << 30) as f64);
    assert!((0.999..=1.0).contains(&whole), "{whole}");
    let command = open("fio --rw=write --bs=64k --filename=/dev/nvme0n1", "32MiB");
    assert_eq!(
        (command.facts().written_bytes, command.facts().name.as_str()),
        (32 << 20, "fio --rw=write --bs=64k --filename=/dev/nvme0n1")
    );
}

#[test]
fn what_cannot_be_is_refused_at_its_place() {
    for ((name, value), said) in DEVICES {
        let here = written("wrong", &[("ssd.xml", &device(name, value))]);
        let problem = experiment(&here, "ssd.xml", "uniform").expect_err(said);
        assert!(problem.contains(said), "{name}={value} lacks {said}: {problem}");
    }
    for (text, said) in [
        (scenario(&[flow("Address_Distribution", "ZIPF")]), "load.xml:13:29: Address_Distribution: unknown value `ZIPF`"),
        (scenario(&[flow("Total_Requests_To_Generate", "0")]), "Total_Requests_To_Generate: found `0`, wanted 1 at least"),
        (scenario(&[]), "the scenario has no flow"),
        (scenario(&[flow("", "")]).replace("</IO_Scenario>", ""), "load.xml:"),
    ] {
        let here = written("wrong", &[("load.xml", &text)]);
        let read = experiment(&here, "mlc-2014", "load.xml").unwrap_or_else(|e| panic!("{e}"));
        let problem = Workload::open(&read, &|_| {}).err().expect(said).to_string();
        assert!(problem.contains(said), "{said}: {problem}");
    }
}

/// A job means its whole file, as a generator its whole range; and the seeds of a comparison are the seeds of its jobs.
#[test]
fn a_job_of_fio_is_told_by_its_first_line_and_means_its_whole_file() {
    let here = written("fio", &[("job", "# mine\n[a]\nrw=randwrite\nsize=8m\nio_size=1m\nioengine=libaio\niodepth=7\n")]);
    let with = |seed: &str| {
        let trace = Some(here.join("job").display().to_string());
        Experiment::with(&Overrides { trace, set: vec![format!("seed={seed}")], ..Overrides::default() }).expect("a job")
    };
    let open = |experiment: &Experiment| Workload::open(experiment, &|_| {}).unwrap_or_else(|e| panic!("{e}"));
    let [one, other] = [with("1"), with("2")].map(|experiment| open(&experiment));
    assert_eq!((one.touched(), one.requests(), one.depth()), (2048, 256, Some(7)));
    assert_ne!(one.facts().digest, other.facts().digest);
    assert_eq!(one.facts().digest, open(&with("1")).facts().digest);
}
