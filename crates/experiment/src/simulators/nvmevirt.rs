//! The header of NVMeVirt, `ssd_config.h`: constants for each model of drive, of which one is chosen when it is built.

use super::macros::{Macros, Number, cleaned};
use super::{COUNT, Kind, TIME, WATT, energy, finished, set_all, set_pages, size, time};
use crate::document::{Document, Foreign};
use crate::over_provisioning::OverProvisioning;
use crate::parameters::{Field, Fields, Writing};
use common::{Problem, printable};

const PROGRAM: &str = "NVMeVirt";

pub(super) const ENDING: &str = ".h";

/// The constant that chooses a model, and what the names of models stand for end with.
const CHOICE: &str = "BASE_SSD";

/// All that a model of flash has.
const KNOWN: &str = "NR_NAMESPACES NS_SSD_TYPE_0 NS_CAPACITY_0 NS_SSD_TYPE_1 NS_CAPACITY_1 MDTS CELL_MODE LBA_BITS LBA_SIZE \
    SSD_PARTITIONS NAND_CHANNELS LUNS_PER_NAND_CH PLNS_PER_LUN FLASH_PAGE_SIZE ONESHOT_PAGE_SIZE BLKS_PER_PLN BLK_SIZE \
    MAX_CH_XFER_SIZE WRITE_UNIT_SIZE NAND_CHANNEL_BANDWIDTH PCIE_BANDWIDTH NAND_4KB_READ_LATENCY_LSB NAND_4KB_READ_LATENCY_MSB \
    NAND_4KB_READ_LATENCY_CSB NAND_READ_LATENCY_LSB NAND_READ_LATENCY_MSB NAND_READ_LATENCY_CSB NAND_PROG_LATENCY \
    NAND_ERASE_LATENCY FW_4KB_READ_LATENCY FW_READ_LATENCY FW_WBUF_LATENCY0 FW_WBUF_LATENCY1 FW_CH_XFER_LATENCY OP_AREA_PERCENT \
    GLOBAL_WB_SIZE ZONE_WB_SIZE WRITE_EARLY_COMPLETION DIES_PER_ZONE ZONE_SIZE MAX_ZRWA_ZONES ZRWAFG_SIZE ZRWA_SIZE \
    ZRWA_BUFFER_SIZE";

/// Constants of the header that are about the header: names of models, types and modes.
const NAMES: &str = "_NVMEVIRT_SSD_CONFIG_H BASE_SSD INTEL_OPTANE SAMSUNG_970PRO ZNS_PROTOTYPE KV_PROTOTYPE WD_ZN540 SSD_TYPE_NVM \
    SSD_TYPE_CONV SSD_TYPE_ZNS SSD_TYPE_KV CELL_MODE_UNKNOWN CELL_MODE_SLC CELL_MODE_MLC CELL_MODE_TLC CELL_MODE_QLC";

/// A page of NVMeVirt's map.
const PAGE: u64 = 4096;

/// Flash of a drive: the header has no size, NVMeVirt takes that of the memory that it is given.
const FLASH: u64 = 8 << 30;

/// Programs of a block at least: with all the blocks that the header has, a drive of that size would have too small ones.
const PROGRAMS_MIN: u64 = 8;

/// Blocks of a plane at least, where the header says how large they are.
const BLOCKS_MIN: u64 = 16;

/// The model that is named behind the path.
pub(super) fn model(name: &str) -> Option<&str> {
    name.rsplit_once('#').filter(|(path, _)| path.ends_with(ENDING)).map(|(_, model)| model)
}

/// The drive of one model of a header.
pub(super) fn drive(file: &Foreign, text: &str, model: Option<&str>) -> Result<(Document, Vec<String>), Problem> {
    let text = &cleaned(text);
    let models = models(text);
    let start = |message: String| Problem::new("", message).at(file.place(&(0..0)));
    let macros = match model {
        Some(model) if !models.is_empty() && !models.contains(&model) => {
            return Err(Problem::unknown("", "model of the header", model, &models).at(file.place(&(0..0))));
        }
        Some(model) => Macros::read(file, text, &[(CHOICE, model)])?,
        None => Macros::read(file, text, &[])?,
    };
    if model.is_none() && macros.number(CHOICE).is_none() && !models.is_empty() {
        let known = models.iter().map(|model| (*model).to_owned()).collect();
        let has_flash = |model: &&&str| {
            Macros::read(file, text, &[(CHOICE, model)]).is_ok_and(|macros| macros.number("NAND_CHANNELS").is_some())
        };
        let example = models.iter().find(has_flash).unwrap_or(&models[0]);
        let message =
            format!("the header has several models, of which NVMeVirt builds one: name it, such as `ssd_config.h#{example}`");
        return Err(Problem { known, ..start(message) });
    }
    let found = found(&macros)?;
    let fields = Fields::new(file, PROGRAM, "the header", 0..0, found, KNOWN);
    if !fields.fields.contains_key("NAND_CHANNELS") {
        let named = model.map_or_else(String::new, |model| format!(" of the model {}", printable(model)));
        return Err(start(format!(
            "found no NAND_CHANNELS{named}: a drive of NVMeVirt has flash, which Optane and key-value models lack"
        )));
    }
    let mut writing = Writing { file, document: Document::new() };
    writing.set(&fields, "", "summary", "\"a drive of NVMeVirt\"")?;
    writing.set(&fields, "", "source", "\"its header; energy, size and endurance are not in it\"")?;
    let mut notes = vec![format!("energy is {:.1} mW times the time of an operation, since NVMeVirt has none", WATT * 1000.0)];
    notes.push("endurance is 3000 P/E cycles and the out-of-band area an 8th of a page, since NVMeVirt has none".to_owned());
    geometry(&mut writing, &fields, &mut notes)?;
    timing(&mut writing, &fields)?;
    usual(&mut writing, &fields)?;
    if fields.fields.contains_key("ZONE_SIZE") {
        notes.push("zones are not modelled: pages are mapped one by one".to_owned());
    }
    Ok(finished(writing, &[&fields], notes))
}

/// The models that a header tells apart, in its order.
fn models(text: &str) -> Vec<&str> {
    let named = |line| -> Option<&str> {
        let (_, rest) = str::split_once(line, CHOICE)?;
        let name = rest.trim_start().strip_prefix("==")?.trim_start();
        let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(name.len());
        Some(&name[..end]).filter(|name| !name.is_empty())
    };
    text.lines().filter(|line| line.trim_start().starts_with('#')).filter_map(named).collect()
}

/// The constants of a model, as numbers.
fn found<'a>(macros: &Macros<'a>) -> Result<Vec<(&'a str, Field<'a>)>, Problem> {
    let mut found = Vec::new();
    for (name, one) in macros.iter().filter(|(name, _)| !NAMES.split_whitespace().any(|known| known == *name)) {
        let is_known = KNOWN.split_whitespace().any(|known| known == name);
        let value = match macros.number(name).expect("it is one of them") {
            Ok(Number { value, .. }) => value.to_string(),
            // Constants that are not known here are noted, whatever they are.
            Err(_) if !is_known => one.text.to_owned(),
            Err(problem) => return Err(problem),
        };
        found.push((name, Field { value: value.into(), span: one.span.clone() }));
    }
    Ok(found)
}

/// Pages of the map in one page of a plane, in one program of a die.
fn pages(fields: &Fields<'_>) -> Result<(u64, u64), Problem> {
    let multiple = |name: &'static str, default, of: u64| -> Result<u64, Problem> {
        let bytes = fields.number_or(name, (PAGE, 1 << 30), default)?;
        if bytes.is_multiple_of(of) { Ok(bytes / PAGE) } else { Err(fields.bad(name, &format!("a multiple of {of} bytes"))) }
    };
    let page = multiple("FLASH_PAGE_SIZE", 32 << 10, PAGE)?;
    Ok((page, multiple("ONESHOT_PAGE_SIZE", page * PAGE, page * PAGE)?))
}

fn geometry(writing: &mut Writing<'_>, fields: &Fields<'_>, notes: &mut Vec<String>) -> Result<(), Problem> {
    let channels = fields.number_or("NAND_CHANNELS", COUNT, 8)?;
    let dies = fields.number_or("LUNS_PER_NAND_CH", COUNT, 2)?;
    let planes = fields.number_or("PLNS_PER_LUN", COUNT, 1)?;
    let (_, program) = pages(fields)?;
    // Pages of a plane.
    let all = FLASH / PAGE / (channels * dies * planes).min(FLASH / PAGE);
    let block = fields.number_or("BLK_SIZE", (0, 1 << 40), 0)? / PAGE;
    let (from, blocks, block) = if block == 0 {
        let blocks = fields.number_or("BLKS_PER_PLN", COUNT, 8192)?;
        let blocks = blocks.min((all / program / PROGRAMS_MIN).max(1));
        ("BLKS_PER_PLN", blocks, (all / blocks / program).max(1) * program)
    } else {
        let block = (block / program).max(1) * program;
        ("BLK_SIZE", (all / block).max(BLOCKS_MIN), block)
    };
    let flash = vocab::Bytes((channels * dies * planes * blocks).saturating_mul(block * PAGE));
    notes.push(format!(
        "{from}: NVMeVirt takes the size from the memory that it is given, so here the flash is {flash}, {blocks} blocks a plane of \
         {block} pages of 4 KiB; `--set drive.geometry.blocks_per_plane=N` has more"
    ));
    set_all(
        writing,
        fields,
        &[
            ("NAND_CHANNELS", "geometry.channels", channels.to_string()),
            ("LUNS_PER_NAND_CH", "geometry.dies_per_channel", dies.to_string()),
            ("PLNS_PER_LUN", "geometry.planes", planes.to_string()),
            ("PLNS_PER_LUN", "geometry.plane_use", "\"single\"".into()),
            (from, "geometry.blocks_per_plane", blocks.to_string()),
            (from, "geometry.pages_per_block", block.to_string()),
            ("", "geometry.page_size", size(PAGE)),
            ("", "geometry.slot_size", size(PAGE)),
            ("", "geometry.oob_size", size(PAGE / 8)),
            ("", "endurance", "3000".into()),
        ],
    )
}

fn timing(writing: &mut Writing<'_>, fields: &Fields<'_>) -> Result<(), Problem> {
    const LSB: (&str, &str) = ("lsb", "NAND_4KB_READ_LATENCY_LSB");
    const MSB: (&str, &str) = ("msb", "NAND_4KB_READ_LATENCY_MSB");
    const CSB: (&str, &str) = ("csb", "NAND_4KB_READ_LATENCY_CSB");
    let cells = [("1", &[LSB][..]), ("2", &[LSB, MSB]), ("3", &[LSB, MSB, CSB])];
    let kinds = fields.choice("CELL_MODE", &cells)?.unwrap_or(cells[0].1);
    let (page, program) = pages(fields)?;
    let bits = program / page;
    // A program stores one page of each kind, or one page, and the kinds take turns.
    let kinds = if bits == 1 {
        kinds
    } else {
        kinds
            .get(..bits as usize)
            .ok_or_else(|| fields.bad("ONESHOT_PAGE_SIZE", "a FLASH_PAGE_SIZE, or one for each bit of CELL_MODE at most"))?
    };
    let of_program = fields.number_or("NAND_PROG_LATENCY", TIME, 185_000)?;
    let kind = |(name, read): &(&'static str, &'static str)| {
        let from = (*read, "NAND_PROG_LATENCY");
        Ok(Kind { name, from, read: fields.number_or(read, TIME, 36_000)?, program: of_program })
    };
    let kinds: Vec<Kind> = kinds.iter().map(kind).collect::<Result<_, Problem>>()?;
    set_pages(writing, fields, &kinds, bits == 1)?;
    let erase = fields.number_or("NAND_ERASE_LATENCY", TIME, 0)?;
    let rate = fields.number_or("NAND_CHANNEL_BANDWIDTH", (1, 100_000), 800)?;
    let share = of_program / program;
    set_all(
        writing,
        fields,
        &[
            ("ONESHOT_PAGE_SIZE", "timing.unit.planes", "1".into()),
            ("FLASH_PAGE_SIZE", "timing.unit.plane_pages", page.to_string()),
            ("ONESHOT_PAGE_SIZE", "timing.unit.bits", bits.to_string()),
            ("NAND_ERASE_LATENCY", "timing.erase", time(erase)),
            ("NAND_CHANNEL_BANDWIDTH", "timing.transfer", format!("{{ data-mt-per-s = {rate} }}")),
            ("", "timing.command", time(0)),
            ("NAND_4KB_READ_LATENCY_LSB", "energy.read", energy(kinds[0].read, WATT)),
            ("NAND_PROG_LATENCY", "energy.program", energy(share, WATT)),
            ("NAND_ERASE_LATENCY", "energy.erase", energy(erase, WATT)),
            ("FW_4KB_READ_LATENCY", "controller.read", time(fields.number_or("FW_4KB_READ_LATENCY", TIME, 0)?)),
            ("FW_WBUF_LATENCY0", "controller.write", time(fields.number_or("FW_WBUF_LATENCY0", TIME, 0)?)),
            ("FW_WBUF_LATENCY1", "controller.per_4k", time(0)),
            ("PCIE_BANDWIDTH", "controller.link_mb_per_s", fields.number_or("PCIE_BANDWIDTH", (0, 1_000_000), 0)?.to_string()),
        ],
    )
}

/// The rest of the drive besides its flash: settings of the experiment, where that says nothing else.
fn usual(writing: &mut Writing<'_>, fields: &Fields<'_>) -> Result<(), Problem> {
    // Flash is so much larger than what the host may store.
    let beyond = fields.share_or("OP_AREA_PERCENT", 0.07)?;
    if beyond > 0.0 {
        writing.set(fields, "", "usual.capacity.size", "\"drive\"")?;
        writing.set(
            fields,
            "OP_AREA_PERCENT",
            "usual.capacity.over_provisioning",
            &OverProvisioning::OfUser(beyond).to_toml(),
        )?;
    }
    let buffer = match fields.number_or("GLOBAL_WB_SIZE", (0, 1 << 40), 0)? {
        0 => ("ZONE_WB_SIZE", fields.number_or("ZONE_WB_SIZE", (0, 1 << 40), 0)?),
        bytes => ("GLOBAL_WB_SIZE", bytes),
    };
    let is_early = fields.number_or("WRITE_EARLY_COMPLETION", (0, 1), 1)? == 1;
    let kind = if is_early && buffer.1 > 0 { "\"plp\"" } else { "\"off\"" };
    writing.set(fields, "WRITE_EARLY_COMPLETION", "usual.buffer.kind", kind)?;
    if is_early && buffer.1 > 0 {
        writing.set(fields, buffer.0, "usual.buffer.size", &size(buffer.1))?;
    }
    Ok(())
}
