//! The command line of FEMU: properties of its device, as a script has them.

use super::{COUNT, Kind, OOB_PARTS, TIME, WATT, energy, finished, set_all, set_pages, size, time};
use crate::document::{Document, Foreign};
use crate::over_provisioning::OverProvisioning;
use crate::parameters::{Field, Fields, Writing};
use common::Problem;
use std::collections::BTreeMap;
use std::ops::Range;

const PROGRAM: &str = "FEMU";

/// Properties of the device. Those of other modes of FEMU begin with its name.
const KNOWN: &str = "femu_mode devsz_mb namespaces namespace_sizes namespace_modes op_pcent subsys cxl_ssd pel_file serial id queues \
    entries max_sqes max_cqes stride multipoller_enabled poller_ratio hiops_inline aerl elpe mdts intc intc_thresh intc_time vid did acl \
    cqr vwc temperature mpsmin mpsmax oacs oncs sgl cmbsz cmbloc nlbaf lba_index extended meta mc pi dpc dps ms ms_max dlfeat ns_mgmt \
    bbssd_ns_limit streams streams.max power_loss secsz secs_per_pg pgs_per_blk blks_per_pl pls_per_lun luns_per_ch nchs pg_rd_lat \
    pg_wr_lat blk_er_lat ch_xfer_lat cmd_addr_lat pg_xfer_lat status_lat tplpbsy tplrbsy tplebsy mp_program mp_read trcbsy trim_lat_ns \
    pe_suspend tsusp_ns nand_cell_type cell_pages pgtype_lat ecc_step_ns ecc_retention_sec pe_cycles_rated nand_bad_blocks \
    err_read_unc_ppm err_write_fail_ppm read_reclaim_limit retention_limit_sec gc_thres_pcent gc_thres_pcent_high gc_policy gc_seed \
    gc_strategy mapping mapping_cache_mb read_cache_mb cache_evict hot_cold_sep buffer_size buffer_thres_pcent fdp_trim_erase_all \
    debug_ftl pcie_bandwidth_mbps pcie_prop_delay_ns fw_cpu_ns lver ldebug lstrict flash_type lsec_size lsecs_per_pg lpgs_per_blk \
    lmax_sec_per_rq lnum_ch lnum_lun lnum_pln lmetasize learly_reset oc12_channel_timing";

/// The device on a command line.
const DEVICE: &str = "-device";

/// Most bytes of a variable: each may name others.
const TEXT_MAX: usize = 64 << 10;

/// The drive of the last device of FEMU in a script.
pub(super) fn drive(file: &Foreign, text: &str) -> Result<(Document, Vec<String>), Problem> {
    let (span, found) = properties(file, text)?;
    let fields = Fields::new(file, PROGRAM, "the device", span, found, KNOWN);
    refuse(&fields)?;
    let mut writing = Writing { file, document: Document::new() };
    writing.set(&fields, "", "summary", "\"a drive of FEMU\"")?;
    writing.set(&fields, "", "source", "\"its command line; energy is not in it\"")?;
    let mut notes = vec![
        format!("energy is {:.1} mW times the time of an operation, since FEMU has none", WATT * 1000.0),
        format!("the out-of-band area is a {OOB_PARTS}th of a page, since FEMU has none"),
    ];
    let raw = geometry(&mut writing, &fields)?;
    timing(&mut writing, &fields)?;
    usual(&mut writing, &fields, raw)?;
    let rated = fields.number_or("pe_cycles_rated", (0, 1 << 32), 0)?;
    if rated == 0 {
        notes.push("endurance is 3000 P/E cycles, since the device has no rating".to_owned());
    }
    writing.set(&fields, "pe_cycles_rated", "endurance", &if rated == 0 { 3000 } else { rated }.to_string())?;
    Ok(finished(writing, &[&fields], notes))
}

/// A device's place, and its properties.
type Device<'a> = (Range<usize>, Vec<(&'a str, Field<'a>)>);

/// Properties of the last device of FEMU that the script makes, with its variables in their places.
fn properties<'a>(file: &Foreign, text: &'a str) -> Result<Device<'a>, Problem> {
    let mut variables = BTreeMap::<&str, (String, Range<usize>)>::new();
    let (mut device, mut properties) = (String::new(), Vec::<(String, Range<usize>)>::new());
    let mut start = 0;
    for whole in text.split_inclusive('\n') {
        let at = start;
        start += whole.len();
        let line = whole.trim();
        if line.starts_with('#') {
            continue;
        }
        let span = at..at + whole.trim_end().len();
        let expanded = match assigned(line) {
            Some((name, value)) => {
                let value = expanded(value, &variables);
                if value.len() > TEXT_MAX {
                    return Err(Problem::new("", format!("{name} becomes longer than {TEXT_MAX} bytes")).at(file.place(&span)));
                }
                variables.insert(name, (value.clone(), span.clone()));
                value
            }
            None => expanded(line, &variables),
        };
        let Some(found) = device_of(&expanded).filter(|found| *found != device) else { continue };
        // A device that grows line by line keeps the places of what it has.
        let added = found.strip_prefix(&device).unwrap_or_else(|| {
            properties.clear();
            found
        });
        properties
            .extend(added.split(',').filter(|one| !one.is_empty() && *one != "femu").map(|one| (one.to_owned(), span.clone())));
        found.clone_into(&mut device);
    }
    let Some((_, last)) = properties.last().cloned() else {
        let message = format!("found no `{DEVICE} femu,..`: a drive of FEMU is the device of its command line");
        return Err(Problem::new("", message).at(file.place(&(0..0))));
    };
    let field = |(property, span): (String, Range<usize>)| {
        let (name, value) = property.split_once('=').unwrap_or((&property, "on"));
        // The name as the text has it, so that it lives as long.
        let place = text.find(name)?;
        // Scripts have a variable for each property, of its name.
        let own = variables.get(name).filter(|(text, _)| text == value).map(|(_, span)| span.clone());
        Some((&text[place..place + name.len()], Field { value: value.to_owned().into(), span: own.unwrap_or(span) }))
    };
    Ok((last, properties.into_iter().filter_map(field).collect()))
}

/// A variable that a line sets, and its text without quotes and comment.
fn assigned(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then(|| (name, value.find(" #").map_or(value, |at| &value[..at]).trim()))
}

/// A text with the values of its variables, without quotes; those that are not set stay as they are.
fn expanded(text: &str, variables: &BTreeMap<&str, (String, Range<usize>)>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let (name, behind) = match after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some(found) => found,
            None => after.split_at(after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(after.len())),
        };
        match variables.get(name) {
            Some((value, _)) => out.push_str(value),
            None => out.push_str(&rest[at..rest.len() - behind.len()]),
        }
        rest = behind;
        if out.len() > TEXT_MAX {
            break;
        }
    }
    out.push_str(rest);
    out.replace(['"', '\''], "")
}

/// The device of a line: `femu` and what follows it up to a blank.
fn device_of(line: &str) -> Option<&str> {
    let at = line.rfind("femu,").filter(|at| *at == 0 || line[..*at].trim_end().ends_with(DEVICE))?;
    line[at..].split_whitespace().next()
}

/// Refuses other kinds of devices.
fn refuse(device: &Fields<'_>) -> Result<(), Problem> {
    if !device.fields.contains_key("femu_mode") {
        let message = "without one FEMU has no flash; `femu_mode=1` is a drive that maps its pages itself";
        return Err(device.missing("femu_mode").and(message));
    }
    device.number("femu_mode", (1, 1)).map_err(|problem| problem.and("a drive that maps its pages itself is femu_mode=1"))?;
    device.choice("mapping", &[("PAGE", ()), ("DFTL", ())])?;
    // Its times are in tables of FEMU's own.
    device.choice("nand_cell_type", &[("0", ())]).map_err(|problem| {
        problem.and("times of a cell type are in FEMU's own tables: give pg_rd_lat, pg_wr_lat and blk_er_lat instead")
    })?;
    Ok(())
}

/// The shape; returns the bytes of all flash.
fn geometry(writing: &mut Writing<'_>, device: &Fields<'_>) -> Result<u64, Problem> {
    let number = |name: &'static str, default| device.number_or(name, COUNT, default);
    let page = number("secsz", 512)? * number("secs_per_pg", 8)?;
    let shape = [
        ("nchs", "geometry.channels", number("nchs", 8)?),
        ("luns_per_ch", "geometry.dies_per_channel", number("luns_per_ch", 8)?),
        ("pls_per_lun", "geometry.planes", number("pls_per_lun", 1)?),
        ("blks_per_pl", "geometry.blocks_per_plane", number("blks_per_pl", 256)?),
        ("pgs_per_blk", "geometry.pages_per_block", number("pgs_per_blk", 256)?),
    ];
    for (name, path, value) in shape {
        writing.set(device, name, path, &value.to_string())?;
    }
    let is_ganged = shape[2].2 > 1 && device.number_or("mp_program", (0, 1), 0)? == 1;
    let plane_use = if is_ganged { "\"ganged\"" } else { "\"single\"" };
    writing.set(device, "mp_program", "geometry.plane_use", plane_use)?;
    for (path, bytes) in [("geometry.page_size", page), ("geometry.slot_size", page), ("geometry.oob_size", page / OOB_PARTS)] {
        writing.set(device, "secs_per_pg", path, &size(bytes))?;
    }
    let raw = shape.iter().try_fold(page, |bytes, (_, _, value)| bytes.checked_mul(*value));
    raw.ok_or_else(|| device.bad("nchs", "a drive of less than 2^64 bytes"))
}

fn timing(writing: &mut Writing<'_>, device: &Fields<'_>) -> Result<(), Problem> {
    let read = device.number_or("pg_rd_lat", TIME, 40_000)?;
    let program = device.number_or("pg_wr_lat", TIME, 200_000)?;
    let erase = device.number_or("blk_er_lat", TIME, 2_000_000)?;
    set_pages(writing, device, &[Kind { name: "page", from: ("pg_rd_lat", "pg_wr_lat"), read, program }], true)?;
    let transfer = match device.number_or("pg_xfer_lat", TIME, 0)? {
        0 => ("ch_xfer_lat", device.number_or("ch_xfer_lat", TIME, 0)?),
        nanos => ("pg_xfer_lat", nanos),
    };
    set_all(
        writing,
        device,
        &[
            ("blk_er_lat", "timing.erase", time(erase)),
            ("cmd_addr_lat", "timing.command", time(device.number_or("cmd_addr_lat", TIME, 0)?)),
            (transfer.0, "timing.transfer", format!("{{ per-page = {} }}", time(transfer.1))),
            ("pg_rd_lat", "energy.read", energy(read, WATT)),
            ("pg_wr_lat", "energy.program", energy(program, WATT)),
            ("blk_er_lat", "energy.erase", energy(erase, WATT)),
        ],
    )?;
    if device.number_or("pe_suspend", (0, 1), 0)? == 1 {
        writing.set(device, "tsusp_ns", "timing.suspend", &time(device.number_or("tsusp_ns", TIME, 0)?))?;
    }
    let firmware = device.number_or("fw_cpu_ns", TIME, 0)?;
    let link = device.number_or("pcie_bandwidth_mbps", (0, 1_000_000), 0)?;
    set_all(
        writing,
        device,
        &[
            // One modelled core takes so long for each command.
            ("fw_cpu_ns", "controller.read", time(firmware)),
            ("fw_cpu_ns", "controller.write", time(firmware)),
            ("fw_cpu_ns", "controller.read_every", time(firmware)),
            ("fw_cpu_ns", "controller.write_every", time(firmware)),
            ("pcie_bandwidth_mbps", "controller.link_mb_per_s", link.to_string()),
        ],
    )
}

/// The rest of the drive besides its flash: settings of the experiment, where that says nothing else.
fn usual(writing: &mut Writing<'_>, device: &Fields<'_>, raw: u64) -> Result<(), Problem> {
    let beyond = device.number_or("op_pcent", (0, 10_000), 0)? as f64 / 100.0;
    let (from, over) = if beyond > 0.0 {
        ("op_pcent", OverProvisioning::OfUser(beyond))
    } else {
        let megabytes = device.number_or("devsz_mb", (1, 1 << 32), 1024)?;
        ("devsz_mb", OverProvisioning::OfRaw(1.0 - (megabytes << 20) as f64 / raw as f64))
    };
    if over.of_raw() <= 0.0 {
        return Err(device.bad(from, &format!("less than the flash, which is {}", vocab::Bytes(raw))));
    }
    writing.set(device, "", "usual.capacity.size", "\"drive\"")?;
    writing.set(device, from, "usual.capacity.over_provisioning", &over.to_toml())?;
    let page = device.number_or("secsz", COUNT, 512)? * device.number_or("secs_per_pg", COUNT, 8)?;
    match device.number_or("buffer_size", (0, 1 << 30), 0)? * page {
        0 => writing.set(device, "buffer_size", "usual.buffer.kind", "\"off\"")?,
        bytes => {
            let kind = if device.number_or("vwc", (0, 1), 0)? == 1 { "\"volatile\"" } else { "\"plp\"" };
            writing.set(device, "vwc", "usual.buffer.kind", kind)?;
            writing.set(device, "buffer_size", "usual.buffer.size", &size(bytes))?;
        }
    }
    let policies = [
        ("GREEDY", "greedy"),
        ("RANDOM", "random"),
        ("COST-BENEFIT", "cost-benefit"),
        ("FIFO", "fifo"),
        ("D-CHOICE", "d-choices"),
    ];
    let policy = device.choice("gc_policy", &policies)?.unwrap_or("greedy");
    if policy == "d-choices" {
        writing.set(device, "gc_policy", "usual.gc.choices", "4")?;
    }
    writing.set(device, "gc_policy", "usual.gc.policy", &format!("\"{policy}\""))
}
