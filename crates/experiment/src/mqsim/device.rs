//! A device of MQSim as a drive.

use super::{element, fields, parse, without_late_declaration};
use crate::document::{Document, Foreign};
use crate::over_provisioning::OverProvisioning;
use crate::parameters::{Fields, Writing};
use common::Problem;
use std::ops::RangeInclusive;

/// Power of a die at work, in nanojoules a nanosecond: MQSim has no energy, so 3.3 V and 25 mA as in the preset `mlc-mqsim`.
const WATT: f64 = 0.0825;

const HOST: &str = "PCIe_Lane_Bandwidth PCIe_Lane_Count SATA_Processing_Delay Enable_ResponseTime_Logging \
    ResponseTime_Logging_Period_Length";

const DEVICE: &str = "Seed Enabled_Preconditioning Memory_Type HostInterface_Type IO_Queue_Depth Queue_Fetch_Size \
    Caching_Mechanism Data_Cache_Sharing_Mode Data_Cache_Capacity Data_Cache_DRAM_Row_Size Data_Cache_DRAM_Data_Rate \
    Data_Cache_DRAM_Data_Busrt_Size Data_Cache_DRAM_tRCD Data_Cache_DRAM_tCL Data_Cache_DRAM_tRP Address_Mapping \
    Ideal_Mapping_Table CMT_Capacity CMT_Sharing_Mode Plane_Allocation_Scheme Transaction_Scheduling_Policy \
    Overprovisioning_Ratio GC_Exec_Threshold GC_Block_Selection_Policy Use_Copyback_for_GC Preemptible_GC_Enabled \
    GC_Hard_Threshold Dynamic_Wearleveling_Enabled Static_Wearleveling_Enabled Static_Wearleveling_Threshold \
    Preferred_suspend_erase_time_for_read Prefered_suspend_erase_time_for_read Preferred_suspend_erase_time_for_write \
    Preferred_suspend_write_time_for_read Flash_Channel_Count Flash_Channel_Width Channel_Transfer_Rate Chip_No_Per_Channel \
    Flash_Comm_Protocol";

const FLASH: &str = "Flash_Technology CMD_Suspension_Support Page_Read_Latency_LSB Page_Read_Latency_CSB Page_Read_Latency_MSB \
    Page_Program_Latency_LSB Page_Program_Latency_CSB Page_Program_Latency_MSB Block_Erase_Latency Block_PE_Cycles_Limit \
    Suspend_Erase_Time Suspend_Program_Time Die_No_Per_Chip Plane_No_Per_Die Block_No_Per_Plane Page_No_Per_Block Page_Capacity \
    Page_Metadat_Capacity";

/// Times of reads and programs, in the order of the pages of a word line.
const LATENCIES: &[&str] = &[
    "Page_Read_Latency_LSB",
    "Page_Read_Latency_CSB",
    "Page_Read_Latency_MSB",
    "Page_Program_Latency_LSB",
    "Page_Program_Latency_CSB",
    "Page_Program_Latency_MSB",
];

/// Longest operation, in nanoseconds; the bounds of a drive say so again.
const TIME: RangeInclusive<u64> = 0..=1_000_000_000;

/// Bounds of a whole number of the shape; the bounds of a drive are tighter.
const COUNT: RangeInclusive<u64> = 1..=1 << 24;

/// The drive of a device file: its fields, and under `usual` what such a device has besides; and as notes what of the file has
/// no counterpart.
pub(crate) fn drive(name: &str, text: &str) -> Result<(Document, Vec<String>), Problem> {
    let file = Foreign::new(name, text);
    let text = without_late_declaration(text);
    let xml = parse(&file, &text)?;
    let root = element(&file, xml.root(), "Execution_Parameter_Set")?;
    let node = element(&file, root, "Device_Parameter_Set")?;
    let device = fields(&file, "Device_Parameter_Set", node, DEVICE, &["Flash_Parameter_Set"]);
    let flash = fields(&file, "Flash_Parameter_Set", element(&file, node, "Flash_Parameter_Set")?, FLASH, &[]);
    refuse(&device)?;
    let mut writing = Writing { file: &file, document: Document::new() };
    about(&mut writing, &device)?;
    geometry(&mut writing, &device, &flash)?;
    timing(&mut writing, &device, &flash)?;
    usual(&mut writing, &device)?;
    let mut without = device.unread();
    without.extend(flash.unread());
    let mut about_fields: Vec<String> = device.notes().into_iter().chain(flash.notes()).collect();
    if let Some(node) = root.children().find(|child| child.has_tag_name("Host_Parameter_Set")) {
        let host = fields(&file, "Host_Parameter_Set", node, HOST, &[]);
        without.extend(host.unread());
        about_fields.extend(host.notes());
    }
    let mut notes =
        vec![format!("drive: energy is {:.1} mW times the time of an operation, since MQSim has none", WATT * 1000.0)];
    if !without.is_empty() {
        notes.push(format!("drive: has no counterpart here: {}", without.join(", ")));
    }
    notes.extend(about_fields.into_iter().map(|note| format!("drive: {note}")));
    Ok((writing.document, notes))
}

/// Refuses other kinds of device.
fn refuse(device: &Fields<'_>) -> Result<(), Problem> {
    device.choice("Memory_Type", &[("FLASH", ())])?;
    device.choice("HostInterface_Type", &[("NVME", ()), ("SATA", ())])?;
    let mapped = device.choice("Address_Mapping", &[("PAGE_LEVEL", true), ("HYBRID", false), ("ZONE_LEVEL", false)])?;
    if mapped == Some(false) {
        return Err(
            device.bad("Address_Mapping", "PAGE_LEVEL: drives here map page by page, zones and hybrid maps are not modelled")
        );
    }
    device.choice("Flash_Comm_Protocol", &[("NVDDR2", ())])?;
    Ok(())
}

fn about(writing: &mut Writing<'_>, device: &Fields<'_>) -> Result<(), Problem> {
    writing.set(device, "", "summary", "\"a device of MQSim\"")?;
    writing.set(device, "", "source", "\"its file; energy is not in it\"")
}

fn geometry<'a>(writing: &mut Writing<'_>, device: &Fields<'a>, flash: &Fields<'a>) -> Result<(), Problem> {
    let channels = device.number_or("Flash_Channel_Count", COUNT, 8)?;
    let dies = device.number_or("Chip_No_Per_Channel", COUNT, 4)? * flash.number_or("Die_No_Per_Chip", COUNT, 2)?;
    let page = flash.number_or("Page_Capacity", 512..=1 << 30, 8192)?;
    let spare = flash.number_or("Page_Metadat_Capacity", 0..=1 << 30, 1872)?;
    let whole = [
        (device, "Flash_Channel_Count", "geometry.channels", channels),
        (device, "Chip_No_Per_Channel", "geometry.dies_per_channel", dies),
        (flash, "Plane_No_Per_Die", "geometry.planes", flash.number_or("Plane_No_Per_Die", COUNT, 2)?),
        (flash, "Block_No_Per_Plane", "geometry.blocks_per_plane", flash.number_or("Block_No_Per_Plane", COUNT, 2048)?),
        (flash, "Page_No_Per_Block", "geometry.pages_per_block", flash.number_or("Page_No_Per_Block", COUNT, 256)?),
        (flash, "Block_PE_Cycles_Limit", "endurance", flash.number_or("Block_PE_Cycles_Limit", 1..=1 << 32, 10_000)?),
    ];
    for (from, name, path, value) in whole {
        writing.set(from, name, path, &value.to_string())?;
    }
    for (name, path, bytes) in [
        ("Page_Capacity", "geometry.page_size", page),
        ("Page_Capacity", "geometry.slot_size", page),
        ("Page_Metadat_Capacity", "geometry.oob_size", spare),
    ] {
        writing.set(flash, name, path, &format!("\"{bytes}B\""))?;
    }
    writing.set(flash, "Plane_No_Per_Die", "geometry.plane_use", "\"single\"")
}

fn timing(writing: &mut Writing<'_>, device: &Fields<'_>, flash: &Fields<'_>) -> Result<(), Problem> {
    let technologies = [("SLC", &["LSB"][..]), ("MLC", &["LSB", "MSB"]), ("TLC", &["LSB", "CSB", "MSB"])];
    let kinds: &[&str] = flash.choice("Flash_Technology", &technologies)?.unwrap_or(technologies[1].1);
    let of = |what: &str, kind: &str| format!("Page_{what}_Latency_{kind}");
    // MQSim has the same time for each kind of page.
    let times = |what: &str, default: u64| -> Result<Vec<u64>, Problem> {
        let names = LATENCIES.iter().filter(|name| kinds.iter().any(|kind| **name == of(what, kind)));
        names.map(|name| flash.number_or(name, TIME, default)).collect()
    };
    let (reads, programs) = (times("Read", 75_000)?, times("Program", 750_000)?);
    // One entry for all where they are alike: blocks may then have any number of pages.
    let alike = |times: &[u64]| times.iter().all(|time| *time == times[0]);
    let count = if alike(&reads) && alike(&programs) { 1 } else { kinds.len() };
    let page = |index: usize| {
        let name = if count == 1 { "page" } else { kinds[index] };
        format!("{{ name = \"{name}\", read = \"{}ns\", program = \"{}ns\" }}", reads[index], programs[index])
    };
    let pages: Vec<String> = (0..count).map(page).collect();
    writing.set(flash, &of("Read", kinds[0]), "timing.page", &format!("[{}]", pages.join(", ")))?;
    for (index, kind) in kinds.iter().enumerate().take(count) {
        let program = format!("\"{}ns\"", programs[index]);
        writing.set(flash, &of("Program", kind), &format!("timing.page.{index}.program"), &program)?;
    }
    let erase = flash.number_or("Block_Erase_Latency", TIME, 3_800_000)?;
    writing.set(flash, "Block_Erase_Latency", "timing.erase", &format!("\"{erase}ns\""))?;
    writing.set(device, "", "timing.command", "\"0us\"")?;
    let rate =
        device.number_or("Channel_Transfer_Rate", 1..=100_000, 300)? * device.number_or("Flash_Channel_Width", 1..=64, 1)?;
    writing.set(device, "Channel_Transfer_Rate", "timing.transfer", &format!("{{ data-mt-per-s = {rate} }}"))?;
    suspension(writing, flash)?;
    let energy = |time: u64| format!("\"{}nJ\"", (time as f64 * WATT).round());
    writing.set(flash, &of("Read", kinds[0]), "energy.read", &energy(reads[0]))?;
    writing.set(flash, &of("Program", kinds[0]), "energy.program", &energy(programs[0]))?;
    writing.set(flash, "Block_Erase_Latency", "energy.erase", &energy(erase))
}

/// Programs and erases that give way to reads. Dies here suspend both or neither.
fn suspension(writing: &mut Writing<'_>, flash: &Fields<'_>) -> Result<(), Problem> {
    let known = [("NONE", false), ("ERASE", false), ("PROGRAM", false), ("PROGRAM_ERASE", true), ("ERASE_PROGRAM", true)];
    if flash.choice("CMD_Suspension_Support", &known)?.unwrap_or(false) {
        let time = flash.number_or("Suspend_Program_Time", TIME, 100_000)?;
        writing.set(flash, "Suspend_Program_Time", "timing.suspend", &format!("\"{time}ns\""))?;
    }
    Ok(())
}

/// Settings of the device besides its flash, where the experiment does not set them.
fn usual(writing: &mut Writing<'_>, device: &Fields<'_>) -> Result<(), Problem> {
    writing.set(device, "", "usual.capacity.size", "\"drive\"")?;
    let spare = device.share_or("Overprovisioning_Ratio", 0.07)?;
    writing.set(
        device,
        "Overprovisioning_Ratio",
        "usual.capacity.over_provisioning",
        &OverProvisioning::OfRaw(spare).to_toml(),
    )?;
    let caches = [("SIMPLE", true), ("ADVANCED", true), ("TURNED_OFF", false)];
    if device.choice("Caching_Mechanism", &caches)?.unwrap_or(true) {
        let bytes = device.number_or("Data_Cache_Capacity", 1..=1 << 40, 512 << 20)?;
        writing.set(device, "Caching_Mechanism", "usual.buffer.kind", "\"plp\"")?;
        writing.set(device, "Data_Cache_Capacity", "usual.buffer.size", &format!("\"{bytes}B\""))?;
    }
    let policies = [("GREEDY", "greedy"), ("RGA", "d-choices"), ("RANDOM", "random"), ("FIFO", "fifo")];
    let policy = device.choice("GC_Block_Selection_Policy", &policies)?.unwrap_or("d-choices");
    writing.set(device, "GC_Block_Selection_Policy", "usual.gc.policy", &format!("\"{policy}\""))?;
    let is_dynamic = device.flag("Dynamic_Wearleveling_Enabled", true)?;
    writing.set(device, "Dynamic_Wearleveling_Enabled", "usual.wear.dynamic", &is_dynamic.to_string())?;
    let is_static = device.flag("Static_Wearleveling_Enabled", true)?;
    let threshold = device.number_or("Static_Wearleveling_Threshold", 0..=1 << 31, 100)?;
    let threshold = if is_static { threshold } else { 0 };
    writing.set(device, "Static_Wearleveling_Threshold", "usual.wear.static_threshold", &threshold.to_string())?;
    if !device.flag("Enabled_Preconditioning", true)? {
        // Written once, so that reads find something: MQSim maps what it reads without having written it.
        writing.set(device, "Enabled_Preconditioning", "usual.precondition.converge_within", "0.0")?;
    }
    Ok(())
}
