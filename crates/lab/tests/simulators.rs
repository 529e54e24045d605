//! Parameters of other simulators as drives: small files in their formats; the numbers are worked out by hand beside them.

use experiment::{Experiment, Overrides};
use std::path::{Path, PathBuf};

fn written(test: &str, name: &str, text: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulators").join(test);
    std::fs::create_dir_all(&here).expect("the target directory can be written");
    std::fs::write(here.join(name), text).expect("written");
    here.join(name)
}

fn experiment(drive: &str) -> Result<Experiment, String> {
    let option = ("--drive".to_owned(), "drive.preset".to_owned(), drive.to_owned());
    Experiment::with(&Overrides { trace: Some("uniform".into()), options: vec![option], ..Overrides::default() })
        .map_err(|problem| problem.to_string())
}

fn read(path: &Path) -> Experiment {
    experiment(&path.to_string_lossy()).unwrap_or_else(|problem| panic!("{problem}"))
}

/// The complaint about a file that is wrong.
fn refused(test: &str, name: &str, text: &str) -> String {
    let path = written(test, name, text);
    experiment(&path.to_string_lossy()).map(|_| ()).expect_err("it is wrong")
}

const SIMPLESSD: &str = "# A drive.
[pal]
Channel = 4
Package = 2   # packages in one channel
Die = 2
Plane = 2
Block = 100
Page = 60
PageSize = 8192
EnableMultiPlaneOperation = 1
NANDType = 2
LSBRead = 58000000
LSBWrite = 500000000
CSBRead = 78000000
CSBWrite = 2000000000
MSBRead = 107000000
MSBWrite = 5000000000
Erase = 3500000000
DMASpeed = 400
DMAWidth = 16
SuperblockSize = C

[ftl]
OverProvisioningRatio = 0.2
EraseThreshold = 5000
EvictPolicy = 3
DChoiceParam = 7
FillRatio = 0.5

[icl]
EnableWriteCache = true
CacheSize = 1048576

[nvme]
PCIEGeneration = 2
PCIELane = 4

[dram]
Model = 0
";

#[test]
fn a_configuration_of_simplessd_is_a_drive() {
    let read = read(&written("simplessd", "a.cfg", SIMPLESSD));
    let drive = &read.drive;
    let shape = &drive.geometry;
    assert_eq!((shape.channels, shape.dies_per_channel, shape.planes), (4, 4, 2));
    assert_eq!((shape.blocks_per_plane, shape.pages_per_block, shape.page_size.0), (100, 60, 8192));
    let times: Vec<(u64, u64)> = drive.timing.page.iter().map(|kind| (kind.read.0, kind.program.0)).collect();
    assert_eq!(times, [(58_000, 500_000), (78_000, 2_000_000), (107_000, 5_000_000)]);
    // 7 cycles of 400 x 2^20 transfers a second, of 2 bytes each.
    assert_eq!((drive.timing.erase.0, drive.timing.command.0), (3_500_000, 8));
    assert_eq!(drive.endurance.0, 5000);
    assert_eq!((read.capacity.over_provisioning.of_raw(), read.gc.policy.as_str(), read.gc.choices), (0.2, "d-choices", 7));
    assert_eq!(read.buffer.size.to_string(), "1MiB");
    // Four lanes of 8 GT/s, 128 bits in 130.
    assert_eq!(drive.controller.link_mb_per_s, 3938);
    let notes = read.left_out.join("\n");
    assert!(notes.contains("[dram]") && notes.contains("SuperblockSize"), "{notes}");
    // 3.3 V x 25 mA x 58 us.
    assert_eq!(drive.energy.read.0, 4785);
}

/// Numbers with a fraction of zero are the same drive, a switch with one the same switch.
#[test]
fn whole_numbers_of_a_configuration_may_have_a_fraction_of_zero() {
    let plain = read(&written("simplessd-zeros", "a.cfg", SIMPLESSD));
    let text =
        SIMPLESSD.replace("400\n", "400.0\n").replace("Block = 100", "Block = 100.0").replace("Operation = 1", "Operation = 1.0");
    let zeros = read(&written("simplessd-zeros/written", "a.cfg", &text));
    assert!(text.matches(".0").count() > SIMPLESSD.matches(".0").count());
    assert_eq!(zeros.drive, plain.drive);
    assert!(refused("simplessd-zeros", "c.cfg", &SIMPLESSD.replace("= 400", "= 400.5")).contains("found `400.5`"));
}

#[test]
fn what_is_wrong_in_a_configuration_of_simplessd_has_its_place() {
    let changed = |from: &str, to: &str| {
        assert!(SIMPLESSD.contains(from), "{from}");
        refused("simplessd-wrong", "a.cfg", &SIMPLESSD.replace(from, to))
    };
    for (from, to, said) in [
        ("NANDType = 2", "NANDType = 7", "a.cfg:11:12: NANDType"),
        ("Channel = 4", "Channel = many", "a.cfg:3:11: Channel: found `many`"),
        ("Channel = 4", "Channel 4", "a.cfg:3:1"),
        ("[pal]", "[pal", "a.cfg:2:1"),
        ("[pal]", "", "no section is open"),
        ("[pal]", "[lap]", "no section `[pal]`"),
    ] {
        let problem = changed(from, to);
        assert!(problem.contains(said), "{to}: {problem}");
    }
    assert!(changed("[ftl]", "[ftl]\nMappingMode = 4").contains("MappingMode"));
    let unknown = written("simplessd-wrong", "b.cfg", &SIMPLESSD.replace("[ftl]", "[ftl]\nZones = 4"));
    let problem = experiment::refuse_unknown(&read(&unknown)).expect_err("strict").to_string();
    assert!(problem.contains("ftl: SimpleSSD does not know, and neither do we: Zones"), "{problem}");
}

const NVMEVIRT: &str = "#define CONSUMER 1
#define ZONED 2
#define SSD_TYPE_CONV 1
#if (BASE_SSD == CONSUMER)
#define NS_SSD_TYPE_0 SSD_TYPE_CONV
#define CELL_MODE (2)
#define NAND_CHANNELS (8)
#define LUNS_PER_NAND_CH (2)
#define PLNS_PER_LUN (1)
#define FLASH_PAGE_SIZE KB(32)
#define ONESHOT_PAGE_SIZE (FLASH_PAGE_SIZE * 1)
#define BLKS_PER_PLN (8192)
#define BLK_SIZE (0) /* not 0 */
#define NAND_CHANNEL_BANDWIDTH (800ull) //MB/s
#define PCIE_BANDWIDTH (3360ull)
#define NAND_4KB_READ_LATENCY_LSB (35760 - 6000)
#define NAND_4KB_READ_LATENCY_MSB (35760 + 6000)
#define NAND_PROG_LATENCY (185000)
#define NAND_ERASE_LATENCY (0)
#define FW_4KB_READ_LATENCY (21500)
#define FW_WBUF_LATENCY0 (4000)
#define OP_AREA_PERCENT (0.25)
#define GLOBAL_WB_SIZE (NAND_CHANNELS * LUNS_PER_NAND_CH * ONESHOT_PAGE_SIZE * 2)
#define WRITE_EARLY_COMPLETION 1
#define MDTS (6)
#elif (BASE_SSD == ZONED)
#define CELL_MODE (3)
#define NAND_CHANNELS (8)
#define LUNS_PER_NAND_CH (4)
#define PLNS_PER_LUN (1)
#define DIES_PER_ZONE (NAND_CHANNELS * LUNS_PER_NAND_CH)
#define FLASH_PAGE_SIZE KB(32)
#define ONESHOT_PAGE_SIZE (FLASH_PAGE_SIZE * 3)
#define ZONE_SIZE MB(96)
#define BLKS_PER_PLN 0
#define BLK_SIZE (ZONE_SIZE / DIES_PER_ZONE)
#define NAND_PROG_LATENCY (561000)
#define OP_AREA_PERCENT (0)
#define ZONE_WB_SIZE (10 * ONESHOT_PAGE_SIZE)
#endif
";

#[test]
fn a_header_of_nvmevirt_is_a_drive_for_each_model() {
    let path = written("nvmevirt", "ssd_config.h", NVMEVIRT);
    let of = |model: &str| experiment(&format!("{}#{model}", path.display())).unwrap_or_else(|problem| panic!("{problem}"));
    let read = of("CONSUMER");
    let (drive, unit) = (&read.drive, read.drive.timing.unit.expect("pages are programmed together"));
    assert_eq!((drive.geometry.channels, drive.geometry.dies_per_channel), (8, 2));
    // 8 GiB in 16 planes are 16 384 programs of 32 KiB: eight a block.
    assert_eq!((drive.geometry.blocks_per_plane, drive.geometry.pages_per_block), (2048, 64));
    assert_eq!((unit.planes, unit.plane_pages, unit.bits), (1, 8, 1));
    let times: Vec<(u64, u64)> = drive.timing.page.iter().map(|kind| (kind.read.0, kind.program.0)).collect();
    assert_eq!(times, [(29_760, 185_000), (41_760, 185_000)]);
    assert_eq!((drive.controller.read.0, drive.controller.write.0, drive.controller.link_mb_per_s), (21_500, 4000, 3360));
    // Flash is a quarter more than what the host may store: a fifth of it.
    assert_eq!((read.capacity.over_provisioning.of_raw(), read.buffer.size.to_string()), (0.2, "1MiB".into()));
    let notes = read.left_out.join("\n");
    assert!(notes.contains("MDTS") && notes.contains("the flash is 8GiB, 2048 blocks"), "{notes}");
    let zoned = of("ZONED");
    let unit = zoned.drive.timing.unit.expect("pages are programmed together");
    assert_eq!((unit.plane_pages, unit.bits, zoned.drive.timing.page.len()), (8, 3, 3));
    // 96 MiB in 32 dies are 3 MiB a block, 768 pages of 4 KiB.
    assert_eq!(zoned.drive.geometry.pages_per_block, 768);
    assert!(zoned.left_out.join("\n").contains("zones are not modelled"));
}

#[test]
fn what_is_wrong_in_a_header_of_nvmevirt_is_said() {
    let path = written("nvmevirt-wrong", "ssd_config.h", NVMEVIRT);
    let of = |model: &str| experiment(&format!("{}{model}", path.display())).map(|_| ()).expect_err("it is wrong");
    let several = of("");
    assert!(several.contains("several models") && several.contains("CONSUMER, ZONED"), "{several}");
    // The example that is named has flash, whichever models come first.
    let first =
        NVMEVIRT.replacen("#if (BASE_SSD == CONSUMER)", "#if (BASE_SSD == KV_PROTOTYPE)\n#elif (BASE_SSD == CONSUMER)", 1);
    let several = refused("nvmevirt-wrong", "prototype.h", &format!("#define KV_PROTOTYPE 3\n{first}"));
    assert!(several.contains("such as `ssd_config.h#CONSUMER`"), "{several}");
    assert!(of("#CONSUMR").contains("unknown model of the header `CONSUMR`"), "{}", of("#CONSUMR"));
    let none = refused("nvmevirt-wrong", "other.h", "#define ANSWER 42\n");
    assert!(none.contains("found no NAND_CHANNELS"), "{none}");
    let number = refused("nvmevirt-wrong", "number.h", "#define NAND_CHANNELS 8\n#define PLNS_PER_LUN many\n");
    assert!(number.contains("number.h:2:22: PLNS_PER_LUN: found `many`"), "{number}");
}

const FEMU: &str = "#!/bin/bash
secsz=512 # sector size in bytes
secs_per_pg=32
pgs_per_blk=128
blks_per_pl=64
luns_per_ch=4
nchs=2
ssd_size=768 # in MiB
pg_rd_lat=45000
pg_wr_lat=250000
#Compose the options
FEMU_OPTIONS=\"-device femu\"
FEMU_OPTIONS=${FEMU_OPTIONS}\",devsz_mb=${ssd_size}\"
FEMU_OPTIONS=${FEMU_OPTIONS}\",femu_mode=1,secsz=${secsz},secs_per_pg=${secs_per_pg},pgs_per_blk=${pgs_per_blk}\"
FEMU_OPTIONS=${FEMU_OPTIONS}\",blks_per_pl=${blks_per_pl},luns_per_ch=${luns_per_ch},nchs=${nchs}\"
FEMU_OPTIONS=${FEMU_OPTIONS}\",pg_rd_lat=${pg_rd_lat},pg_wr_lat=${pg_wr_lat},ch_xfer_lat=20000,gc_policy=d-choice\"
FEMU_OPTIONS=${FEMU_OPTIONS}\",gc_thres_pcent=75,cv_enabled=1\"

sudo qemu-system-x86_64 -m 4G \\
    ${FEMU_OPTIONS} \\
    -nographic
";

#[test]
fn a_script_of_femu_is_a_drive() {
    let path = written("femu", "run-blackbox.sh", FEMU);
    let read = read(&path);
    let (shape, timing) = (&read.drive.geometry, &read.drive.timing);
    assert_eq!((shape.channels, shape.dies_per_channel, shape.planes), (2, 4, 1));
    // 2 x 4 x 64 x 128 pages of 16 KiB are 1 GiB, of which the host may store 768 MiB.
    assert_eq!((shape.raw_size().to_string(), read.capacity.over_provisioning.of_raw()), ("1GiB".into(), 0.25));
    assert_eq!((timing.page[0].read.0, timing.page[0].program.0, timing.erase.0), (45_000, 250_000, 2_000_000));
    assert_eq!((read.gc.policy.as_str(), read.gc.choices), ("d-choices", 4));
    let notes = read.left_out.join("\n");
    assert!(notes.contains("FEMU does not know, and neither do we: cv_enabled"), "{notes}");
    assert!(notes.contains("has no counterpart here: gc_thres_pcent"), "{notes}");
    let one = written(
        "femu",
        "one.sh",
        "qemu-system-x86_64 -device femu,femu_mode=1,nchs=2,luns_per_ch=4,blks_per_pl=64,op_pcent=25 \\\n",
    );
    assert!((self::read(&one).capacity.over_provisioning.of_raw() - 0.2).abs() < 1e-12);
}

#[test]
fn what_is_wrong_in_a_script_of_femu_is_said() {
    let changed = |from: &str, to: &str| {
        assert!(FEMU.contains(from), "{from}");
        refused("femu-wrong", "run.sh", &FEMU.replace(from, to))
    };
    for (from, to, said) in [
        ("nchs=2", "nchs=two", "run.sh:7:1: nchs: found `two`"),
        ("femu_mode=1", "femu_mode=3", "femu_mode: found `3`"),
        ("femu_mode=1,", "", "lacks femu_mode"),
        ("ssd_size=768", "ssd_size=4096", "run.sh:13:1: devsz_mb: found `4096`"),
        ("-device femu", "-device nvme", "found no `-device femu,..`"),
        ("gc_policy=d-choice", "gc_policy=warm", "gc_policy: unknown value `warm`"),
        ("cv_enabled=1", "nand_cell_type=3", "pg_rd_lat, pg_wr_lat and blk_er_lat"),
    ] {
        let problem = changed(from, to);
        assert!(problem.contains(said), "{to}: {problem}");
    }
}
