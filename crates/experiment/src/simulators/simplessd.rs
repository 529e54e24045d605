//! The configuration file of SimpleSSD: an INI file with a section for each of its layers.

use super::{COUNT, Kind, OOB_PARTS, energy, finished, set_all, set_pages, size, time};
use crate::document::{Document, Foreign};
use crate::over_provisioning::OverProvisioning;
use crate::parameters::{Field, Fields, Writing, whole};
use common::{Problem, printable};
use std::collections::BTreeMap;

const PROGRAM: &str = "SimpleSSD";

/// Flash, parallelism and power.
const PAL: &str = "Channel Package PageAllocation SuperblockSize Die Plane Block Page PageSize EnableMultiPlaneOperation DMASpeed \
    DMAWidth NANDType LSBRead LSBWrite CSBRead CSBWrite MSBRead MSBWrite Erase Voltage ReadCurrent ProgramCurrent EraseCurrent \
    IdleCurrent StandbyCurrent";

/// Map and GC.
const FTL: &str = "MappingMode OverProvisioningRatio GCThreshold EraseThreshold FillingMode FillRatio InvalidPageRatio GCMode \
    GCReclaimBlocks GCReclaimThreshold EvictPolicy DChoiceParam EnableRandomIOTweak";

/// Cache.
const ICL: &str = "EnableReadCache EnableWriteCache EnableReadPrefetch EvictPolicy EvictMode CacheSize CacheWaySize \
    ReadPrefetchCount ReadPrefetchRatio ReadPrefetchMode CacheLatency";

/// The host interface.
const NVME: &str = "PCIEGeneration PCIELane AXIBusWidth AXIClock FIFOTransferUnit WorkInterval MaxRequestCount MaxIOCQueue \
    MaxIOSQueue WRRHigh WRRMedium DefaultNamespace LBASize EnableDiskImage StrictSizeCheck DiskImageFile DiskImageFile1 \
    UseCopyOnWriteDisk";

/// Longest operation, in picoseconds.
const PICOS: (u64, u64) = (0, 1_000_000_000_000);

/// Cycles of command and address before a read or program.
const COMMAND_CYCLES: f64 = 7.0;

/// Megatransfers: SimpleSSD counts them by 2^20.
const MEGA: f64 = 1.048_576;

/// The drive of a configuration.
pub(super) fn drive(file: &Foreign, text: &str) -> Result<(Document, Vec<String>), Problem> {
    let mut sections = sections(file, text)?;
    let mut set = |name: &'static str, known: &str| {
        let (start, found) = sections.remove(name).unwrap_or((0, Vec::new()));
        Fields::new(file, PROGRAM, name, start..start + 1, found, known)
    };
    let (pal, ftl, icl, nvme) = (set("pal", PAL), set("ftl", FTL), set("icl", ICL), set("nvme", NVME));
    if pal.fields.is_empty() {
        let message = "found no section `[pal]`, which has the flash in a configuration of SimpleSSD";
        return Err(Problem::new("", message).at(file.place(&(0..0))));
    }
    let mut writing = Writing { file, document: Document::new() };
    writing.set(&pal, "", "summary", "\"a drive of SimpleSSD\"")?;
    writing.set(&pal, "", "source", "\"its configuration; the out-of-band area is not in it\"")?;
    geometry(&mut writing, &pal, &ftl)?;
    timing(&mut writing, &pal)?;
    usual(&mut writing, &ftl, &icl)?;
    link(&mut writing, &nvme)?;
    let mut notes = vec![format!("the out-of-band area is a {OOB_PARTS}th of a page, since SimpleSSD has none")];
    if !sections.is_empty() {
        let names: Vec<String> = sections.keys().map(|name| format!("[{}]", printable(name))).collect();
        notes.push(format!("has no counterpart here: {}", names.join(", ")));
    }
    Ok(finished(writing, &[&pal, &ftl, &icl, &nvme], notes))
}

/// The parameters of each section, with the place of its name.
type Sections<'a> = BTreeMap<&'a str, (usize, Vec<(&'a str, Field<'a>)>)>;

fn sections<'a>(file: &Foreign, text: &'a str) -> Result<Sections<'a>, Problem> {
    let mut sections = Sections::new();
    let (mut open, mut start) = (None, 0);
    for whole in text.split_inclusive('\n') {
        let at = start;
        start += whole.len();
        let line = without_comment(whole.trim_start_matches('\u{feff}')).trim();
        if line.is_empty() {
            continue;
        }
        let at = at + whole.find(line).unwrap_or(0);
        let wrong = |message: &str| Problem::new("", message).at(file.place(&(at..at + line.len())));
        if let Some(rest) = line.strip_prefix('[') {
            let name = rest.strip_suffix(']').ok_or_else(|| wrong("wanted a section in brackets, such as `[pal]`"))?.trim();
            sections.entry(name).or_insert((at, Vec::new()));
            open = Some(name);
            continue;
        }
        let (name, value) =
            line.split_once('=').ok_or_else(|| wrong("wanted a section, or a parameter such as `Channel = 8`"))?;
        let open = open.ok_or_else(|| wrong("no section is open: parameters follow one, such as `[pal]`"))?;
        let value = value.trim();
        let from = at + line.rfind(value).unwrap_or(0);
        let field = Field { value: value.into(), span: from..from + value.len() };
        sections.get_mut(open).expect("it was opened").1.push((name.trim(), field));
    }
    Ok(sections)
}

/// A line up to its comment: a sign at its start, or behind a blank.
fn without_comment(line: &str) -> &str {
    let is_comment = |(at, sign): &(usize, char)| matches!(sign, '#' | ';') && line[..*at].ends_with([' ', '\t']);
    if line.starts_with(['#', ';']) {
        return "";
    }
    line.char_indices().find(is_comment).map_or(line, |(at, _)| &line[..at])
}

fn geometry(writing: &mut Writing<'_>, pal: &Fields<'_>, ftl: &Fields<'_>) -> Result<(), Problem> {
    let dies = pal.number_or("Package", COUNT, 4)? * pal.number_or("Die", COUNT, 2)?;
    let page = pal.number_or("PageSize", (512, 1 << 30), 16_384)?;
    let is_ganged = flag(pal, "EnableMultiPlaneOperation", true)?;
    let planes = pal.number_or("Plane", COUNT, 1)?;
    let plane_use = if is_ganged && planes > 1 { "\"ganged\"" } else { "\"single\"" };
    set_all(
        writing,
        pal,
        &[
            ("Channel", "geometry.channels", pal.number_or("Channel", COUNT, 8)?.to_string()),
            ("Package", "geometry.dies_per_channel", dies.to_string()),
            ("Plane", "geometry.planes", planes.to_string()),
            ("EnableMultiPlaneOperation", "geometry.plane_use", plane_use.into()),
            ("Block", "geometry.blocks_per_plane", pal.number_or("Block", COUNT, 512)?.to_string()),
            ("Page", "geometry.pages_per_block", pal.number_or("Page", COUNT, 512)?.to_string()),
            ("PageSize", "geometry.page_size", size(page)),
            ("PageSize", "geometry.slot_size", size(page)),
            ("PageSize", "geometry.oob_size", size(page / OOB_PARTS)),
        ],
    )?;
    let endurance = ftl.number_or("EraseThreshold", (1, 1 << 32), 100_000)?;
    writing.set(ftl, "EraseThreshold", "endurance", &endurance.to_string())
}

fn timing(writing: &mut Writing<'_>, pal: &Fields<'_>) -> Result<(), Problem> {
    const LSB: (&str, (&str, &str), u64, u64) = ("lsb", ("LSBRead", "LSBWrite"), 40_000_000, 500_000_000);
    const CSB: (&str, (&str, &str), u64, u64) = ("csb", ("CSBRead", "CSBWrite"), 0, 0);
    const MSB: (&str, (&str, &str), u64, u64) = ("msb", ("MSBRead", "MSBWrite"), 65_000_000, 1_300_000_000);
    let types = [("0", &[LSB][..]), ("1", &[LSB, MSB]), ("2", &[LSB, CSB, MSB])];
    let kinds = pal.choice("NANDType", &types)?.unwrap_or(types[1].1);
    let nanos = |name: &'static str, default| pal.number_or(name, PICOS, default).map(|picos| (picos + 500) / 1000);
    let kind = |(name, from, read, program): &(&'static str, (&'static str, &'static str), u64, u64)| {
        Ok(Kind { name, from: *from, read: nanos(from.0, *read)?, program: nanos(from.1, *program)? })
    };
    let kinds: Vec<Kind> = kinds.iter().map(kind).collect::<Result<_, Problem>>()?;
    set_pages(writing, pal, &kinds, true)?;
    let erase = nanos("Erase", 3_500_000_000)?;
    let (speed, width) = (pal.number_or("DMASpeed", (1, 100_000), 400)?, pal.number_or("DMAWidth", (8, 64), 8)?);
    // One byte of width moves a byte with each transfer.
    let rate = speed as f64 * MEGA * (width / 8) as f64;
    let milliwatts = |name: &'static str| -> Result<f64, Problem> {
        let volts = pal.number_or("Voltage", (0, 100_000), 3300)? as f64 / 1000.0;
        Ok(volts * pal.number_or(name, (0, 10_000_000), 25_000)? as f64 / 1e6)
    };
    set_all(
        writing,
        pal,
        &[
            ("Erase", "timing.erase", time(erase)),
            ("DMASpeed", "timing.command", time((COMMAND_CYCLES * 1000.0 / rate).round() as u64)),
            ("DMASpeed", "timing.transfer", format!("{{ data-mt-per-s = {} }}", rate.round())),
            ("ReadCurrent", "energy.read", energy(kinds[0].read, milliwatts("ReadCurrent")?)),
            ("ProgramCurrent", "energy.program", energy(kinds[0].program, milliwatts("ProgramCurrent")?)),
            ("EraseCurrent", "energy.erase", energy(erase, milliwatts("EraseCurrent")?)),
        ],
    )
}

/// The rest of the drive besides its flash: settings of the experiment, where that says nothing else.
fn usual(writing: &mut Writing<'_>, ftl: &Fields<'_>, icl: &Fields<'_>) -> Result<(), Problem> {
    ftl.choice("MappingMode", &[("0", ())])?;
    writing.set(ftl, "", "usual.capacity.size", "\"drive\"")?;
    let spare = ftl.share_or("OverProvisioningRatio", 0.25)?;
    writing.set(ftl, "OverProvisioningRatio", "usual.capacity.over_provisioning", &OverProvisioning::OfRaw(spare).to_toml())?;
    let policies = [("0", "greedy"), ("1", "cost-benefit"), ("2", "random"), ("3", "d-choices")];
    let policy = ftl.choice("EvictPolicy", &policies)?.unwrap_or("greedy");
    writing.set(ftl, "EvictPolicy", "usual.gc.policy", &format!("\"{policy}\""))?;
    if policy == "d-choices" {
        let choices = ftl.number_or("DChoiceParam", (1, 65_536), 3)?;
        writing.set(ftl, "DChoiceParam", "usual.gc.choices", &choices.to_string())?;
    }
    if flag(icl, "EnableWriteCache", true)? {
        let bytes = icl.number_or("CacheSize", (1, 1 << 40), 32 << 20)?;
        writing.set(icl, "EnableWriteCache", "usual.buffer.kind", "\"plp\"")?;
        writing.set(icl, "CacheSize", "usual.buffer.size", &size(bytes))?;
    }
    if ftl.share_or("FillRatio", 0.0)? == 0.0 {
        // Written once, so that reads find something: SimpleSSD answers reads of an empty drive without its flash.
        writing.set(ftl, "FillRatio", "usual.precondition.converge_within", "0.0")?;
    }
    Ok(())
}

/// The host link, where the file has one.
fn link(writing: &mut Writing<'_>, nvme: &Fields<'_>) -> Result<(), Problem> {
    if nvme.fields.is_empty() {
        return Ok(());
    }
    // MB/s of a lane: 2.5 and 5 GT/s with 8 bits in 10, 8 GT/s with 128 in 130.
    let generations = [("0", 250.0), ("1", 500.0), ("2", 8000.0 / 8.0 * 128.0 / 130.0)];
    let lane = nvme.choice("PCIEGeneration", &generations)?.unwrap_or(generations[2].1);
    let lanes = nvme.number_or("PCIELane", (1, 32), 4)?;
    writing.set(nvme, "PCIELane", "controller.link_mb_per_s", &(lane * lanes as f64).round().to_string())
}

/// A switch as SimpleSSD reads one: `true`, or a number that is not 0.
fn flag(fields: &Fields<'_>, name: &'static str, default: bool) -> Result<bool, Problem> {
    match fields.get(name).map(|field| whole(&field.value)) {
        None => Ok(default),
        Some(Some(number)) => Ok(number != 0),
        Some(None) => fields.flag(name, default),
    }
}
