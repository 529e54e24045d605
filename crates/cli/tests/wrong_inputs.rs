//! Two hundred wrong inputs: each is refused with one clear line that has the place, what was found and what would be right.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wrong_inputs").join(test);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("the target directory can be written");
    path
}

fn flashkeep(here: &Path, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashkeep"));
    command.current_dir(here).args(arguments.split_whitespace()).output().expect("the program starts")
}

/// Files that are wrong, or that wrong things are said about, by name.
fn write_files(here: &Path) {
    let mut tar = vec![b'x'; 1024];
    tar[257..262].copy_from_slice(b"ustar");
    let mlc = include_str!("../../experiment/drives/mlc-2014.toml");
    let drive = |from: &str, to: &str| {
        assert!(mlc.contains(from), "{from}");
        mlc.replacen(from, to, 1).into_bytes()
    };
    let files: Vec<(&str, Vec<u8>)> = vec![
        ("grid.toml", b"seed = 1\n".to_vec()),
        ("empty", Vec::new()),
        ("blank", b"\n\n \n".to_vec()),
        ("binary", b"ab\0\0cd".to_vec()),
        ("trace.bz2", b"BZh91AY&SY\xff\xfe".to_vec()),
        ("trace.zip", b"PK\x03\x04aaaa".to_vec()),
        ("trace.tar", tar),
        ("blktrace.0", b"\x07taexxxx".to_vec()),
        ("utf16", b"\xff\xfe1\x00".to_vec()),
        ("cut.gz", b"\x1f\x8b\x08\x00\x00".to_vec()),
        ("page.html", b"<!DOCTYPE html>\n".to_vec()),
        ("words", b"hello world\n".to_vec()),
        ("cut.spc", b"0,8,4096,r,0.5\n0,8,40".to_vec()),
        ("odd.csv", b"1,R,0,512\n2,X,0,512\n".to_vec()),
        ("disksim", b"0 0 8 8 1\n".to_vec()),
        ("ali.csv", b"0,R,0,4096,1\n0,T,0,4096,2\n".to_vec()),
        ("key.toml", b"[gc]\npolcy = \"fifo\"\n".to_vec()),
        ("syntax.toml", b"seed = 1\n[gc\n".to_vec()),
        ("twice.toml", b"seed = 1\nseed = 2\n".to_vec()),
        ("kind.toml", b"\n\nseed = \"one\"\n".to_vec()),
        ("date.toml", b"seed = 2020-01-01\n".to_vec()),
        ("table.toml", b"gc = 3\n".to_vec()),
        ("absent.toml", b"trace.source = \"nowhere.csv\"\n".to_vec()),
        ("scheme.toml", b"schemes = [\"raid6\"]\n".to_vec()),
        ("latin.toml", b"# caf\xe9\n".to_vec()),
        ("axis.toml", b"[[sweep.axes]]\nkey = \"gc.polcy\"\nvalues = [\"fifo\"]\n".to_vec()),
        ("values.toml", b"[[sweep.axes]]\nkey = \"seed\"\nvalues = []\n".to_vec()),
        ("axes.toml", b"[sweep]\naxis = 1\n".to_vec()),
        ("endurance.toml", drive("endurance = ", "endurance = 0 #")),
        ("planes.toml", drive("planes = ", "planes = 99 #")),
        ("channels.toml", drive("channels = ", "channels = -1 #")),
        ("page.toml", drive("page_size = ", "page_size = \"5000B\" #")),
        ("drivekey.toml", drive("channels = ", "chanels = 1\nchannels = ")),
        ("job.fio", b"[a]\nsize=1m\nrwmxread=5\n".to_vec()),
        ("size.fio", b"[a]\nrw=read\nsize=-5%\n".to_vec()),
        ("engine.fio", b"[a]\nsize=1m\nioengine=net\n".to_vec()),
        ("variable.fio", b"[a]\nsize=${NO_SUCH_VARIABLE}\n".to_vec()),
        ("waits.fio", b"[a]\nsize=1m\nwait_for=b\n".to_vec()),
        ("zones.fio", b"[a]\nsize=1m\nzonemode=zbd\n".to_vec()),
        ("include.fio", b"[a]\ninclude no-such-file\n".to_vec()),
        ("large.fio", b"[a]\nrw=randread\nsize=1t\nio_size=1m\n".to_vec()),
        ("device.xml", b"<?xml version=\"1.0\"?><Execution_Parameter_Set></Execution_Parameter_Set>".to_vec()),
        ("numbers.csv", b"time,op,lba,size\n0,0,0,512\n".to_vec()),
        ("value.fio", b"[a]\nsize=1m\nbs=1000\n".to_vec()),
        ("cut.xml", b"<Execution_Parameter_Set>\n<Device_Parameter_Set>\n".to_vec()),
        ("other.xml", b"<a></a>\n".to_vec()),
        (
            "load.xml",
            b"<?xml version=\"1.0\"?>\n<MQSim_IO_Scenarios>\n<IO_Scenario><Flow/></IO_Scenario>\n</MQSim_IO_Scenarios>\n"
                .to_vec(),
        ),
    ];
    let texts = TEXTS.iter().map(|(name, text)| (*name, text.as_bytes().to_vec()));
    for (name, bytes) in files.into_iter().chain(texts) {
        std::fs::write(here.join(name), bytes).expect("written");
    }
    std::fs::create_dir(here.join("folder")).expect("made");
    std::fs::create_dir(here.join("foreign")).expect("made");
    std::fs::write(here.join("foreign/index.html"), "mine").expect("written");
}

/// Files of others with one wrong line each.
const TEXTS: &[(&str, &str)] = &[
    ("msr.csv", "128166372003061629,usr,0,Read,7014609920,24576,41286\n128166372016382155,usr,0,Erase,1,2,3\n"),
    ("tencent.csv", "1538323200,12910952,128,0,1063\n1538323200,6338688,8,7,1360\n"),
    ("blk.txt", "8,16 1 1 0.000000000 7 D WS 8 + 16 [a]\n8,16 1 2 0.1 7 D WS many + 16 [a]\n"),
    ("log.iolog", "fio version 3 iolog\n0 a add\n0 a open\n10 a write 0 4096\n20 a erase 0 4096\n"),
    ("log1.iolog", "fio version 1 iolog\n"),
    ("times.iolog", "fio version 3 iolog\nsoon a read 0 4096\n"),
    ("large.csv", "0,R,0,512\n1,R,0,2147483648\n"),
    ("far.csv", "0,R,0,512\n1,R,18446744073709551615,512\n"),
    ("late.csv", "0,R,0,512\n9223372036854775807,R,0,512\n"),
    ("good.csv", "0,R,0,512\n1,W,512,512\n"),
    ("cut.tape", "\u{89}FKTAPE\u{2}"),
    ("rw.fio", "[a]\nsize=1m\nrw=randwrit\n"),
    ("depth.fio", "[a]\nsize=1m\niodepth=0\n"),
    ("mix.fio", "[a]\nsize=1m\nrw=rw\nrwmixread=170\n"),
    ("bssplit.fio", "[a]\nsize=1m\nbssplit=4k/60:8k/70\n"),
    ("range.fio", "[a]\nsize=1m\nbsrange=8k-4k\n"),
    ("zipf.fio", "[a]\nsize=1m\nrw=randread\nrandom_distribution=zipf:-1\n"),
    ("parts.fio", "[a]\nsize=1m\nrw=randread\nrandom_distribution=zoned:60/10:60/90\n"),
    ("name.fio", "[a\nsize=1m\n"),
    ("early.fio", "size=1m\n[a]\n"),
    ("none.fio", "[global]\nsize=1m\n"),
    ("formula.fio", "[a]\nsize=(4*\n"),
    ("machine.fio", "[a]\nsize=(4*$mb_memory)\n"),
    ("iolog.fio", "[a]\nread_iolog=nowhere\n"),
    ("table.fio", "[a]\nread_iolog=good.csv\n"),
    ("clones.fio", "[a]\nsize=1m\nnumjobs=100000\n"),
    ("time.fio", "[a]\nsize=1m\nrate_iops=5\nruntime=5 weeks\n"),
    ("rate.fio", "[a]\nsize=1m\nrate_iops=fast\n"),
    ("process.fio", "[a]\nsize=1m\nrate_iops=5\nrate_process=bursts\n"),
    ("sync.fio", "[a]\nsize=1m\nrw=write\nsync=maybe\n"),
    ("clones.xml", "<MQSim_IO_Scenarios><IO_Scenario></IO_Scenario></MQSim_IO_Scenarios>"),
    (
        "zones.xml",
        "<Execution_Parameter_Set><Device_Parameter_Set>\n<Address_Mapping>ZONE_LEVEL</Address_Mapping>\n\
     <Flash_Parameter_Set></Flash_Parameter_Set></Device_Parameter_Set></Execution_Parameter_Set>",
    ),
    (
        "channels.xml",
        "<Execution_Parameter_Set><Device_Parameter_Set>\n<Flash_Channel_Count>0</Flash_Channel_Count>\n\
     <Flash_Parameter_Set></Flash_Parameter_Set></Device_Parameter_Set></Execution_Parameter_Set>",
    ),
    ("flash.xml", "<Execution_Parameter_Set><Device_Parameter_Set>\n</Device_Parameter_Set></Execution_Parameter_Set>"),
    (
        "cells.xml",
        "<Execution_Parameter_Set><Device_Parameter_Set><Flash_Parameter_Set>\n<Flash_Technology>HLC</Flash_Technology>\n\
     </Flash_Parameter_Set></Device_Parameter_Set></Execution_Parameter_Set>",
    ),
    ("pal.cfg", "[ftl]\nOverProvisioningRatio = 0.25\n"),
    ("channel.cfg", "[pal]\nChannel = eight\n"),
    ("line.cfg", "[pal]\nChannel 8\n"),
    ("nand.cfg", "[pal]\nNANDType = 5\n"),
    ("spare.cfg", "[pal]\nChannel = 8\n[ftl]\nOverProvisioningRatio = 1.5\n"),
    ("victim.cfg", "[pal]\nChannel = 8\n[ftl]\nEvictPolicy = 9\n"),
    ("models.h", "#if (BASE_SSD == ONE)\n#define NAND_CHANNELS 8\n#elif (BASE_SSD == TWO)\n#define NAND_CHANNELS 4\n#endif\n"),
    ("optane.h", "#define CELL_MODE 0\n"),
    ("constant.h", "#define NAND_CHANNELS (8 * MANY)\n"),
    ("divided.h", "#define NAND_CHANNELS (8 / 0)\n"),
    ("branch.h", "#else\n#define NAND_CHANNELS 8\n#endif\n"),
    ("oneshot.h", "#define NAND_CHANNELS 8\n#define FLASH_PAGE_SIZE KB(32)\n#define ONESHOT_PAGE_SIZE KB(48)\n"),
    ("device.sh", "qemu-system-x86_64 -device nvme\n"),
    ("mode.sh", "qemu-system-x86_64 -device femu,femu_mode=2\n"),
    ("nomode.sh", "qemu-system-x86_64 -device femu,nchs=8\n"),
    ("size.sh", "nchs=1\nO=\"-device femu,femu_mode=1,devsz_mb=99999,nchs=${nchs}\"\n"),
    ("map.sh", "qemu-system-x86_64 -device femu,femu_mode=1,mapping=hybrid\n"),
    ("victims.sh", "qemu-system-x86_64 -device femu,femu_mode=1,gc_policy=hot\n"),
    ("cells.sh", "qemu-system-x86_64 -device femu,femu_mode=1,nand_cell_type=4\n"),
    ("shape.sh", "qemu-system-x86_64 -device femu,femu_mode=1,nchs=-1\n"),
];

/// Command lines, and parts of the messages.
const WRONG: &[(&str, &[&str])] = &[
    // Traces.
    ("compare empty", &["empty: found an empty file"]),
    ("compare blank", &["nothing but blank lines"]),
    ("compare binary", &["binary data"]),
    ("compare trace.bz2", &["bunzip2"]),
    ("compare trace.zip", &["unzip"]),
    ("compare trace.tar", &["tar xf"]),
    ("compare blktrace.0", &["the last record is cut short"]),
    ("compare utf16", &["iconv"]),
    ("compare cut.gz", &["cut.gz"]),
    ("compare page.html", &["HTML page"]),
    ("compare words", &["--columns"]),
    ("compare cut.spc", &["cut.spc, line 2"]),
    ("compare ali.csv --format alibaba", &["ali.csv, line 2, field `opcode`: found `T`"]),
    ("compare odd.csv --columns time=us,op,lba=bytes,size=bytes", &["line 2, field `op`"]),
    ("compare odd.csv --columns time,op,lba=bytes,size=bytes", &["needs a unit"]),
    ("compare odd.csv --columns time=us,op,lba=bytes", &["`size` is missing"]),
    ("compare odd.csv --columns time=us,op,lba=bytes,size=bytes,lba=bytes", &["columns", "lba"]),
    ("compare odd.csv --format csv", &["needs the names of the columns"]),
    ("compare odd.csv --format cvs", &["trace format `cvs`", "did you mean `csv`"]),
    ("compare disksim", &["--format"]),
    ("compare absent", &["absent", "no such file"]),
    ("compare folder", &["folder"]),
    ("inspect grid.toml", &["`flashkeep sweep` a grid"]),
    ("compare pgbnech", &["did you mean `pgbench`"]),
    // Jobs of fio, files of MQSim.
    ("compare job.fio", &["job.fio, line 3, option `rwmxread`", "did you mean `rwmixread`"]),
    ("compare size.fio", &["size.fio, line 3, option `size`: found `-5%`"]),
    ("compare engine.fio", &["engine.fio, line 3, option `ioengine`: found `net`", "sends data over a network"]),
    ("compare variable.fio", &["variable.fio, line 2, option `size`: the variable `NO_SUCH_VARIABLE` is not set"]),
    ("inspect waits.fio", &["waits.fio, line 3, option `wait_for`: found `b`, wanted the name of a job above"]),
    ("inspect zones.fio", &["zones.fio, line 3, option `zonemode`"]),
    ("inspect include.fio", &["include.fio, line 2, option `include`: no-such-file cannot be read"]),
    ("compare large.fio", &["the host's space is 1TiB", "--capacity 1GiB"]),
    ("compare device.xml", &["is a device of MQSim, no workload", "--drive"]),
    ("inspect numbers.csv --columns time=s,op,lba=bytes,size=bytes", &["line 2, field `op`: found `0`", "op=0:read,1:write"]),
    ("inspect numbers.csv --columns time=s,op=0:reed,lba=bytes,size=bytes", &["found `0:reed`", "WORD:read"]),
    ("inspect numbers.csv --columns time=s,op,lba=blocks:0,size=bytes", &["lba=blocks:N"]),
    ("convert pgbench --to nothing", &["unknown format to write `nothing`", "fio-iolog"]),
    ("inspect pgbench --device 7", &["there is no request in it"]),
    ("inspect -- --rw=reed", &["option `rw`: found `reed`"]),
    ("inspect -- job.fio", &["found `job.fio`, wanted options"]),
    ("compare value.fio", &["value.fio, line 3, option `bs`: found `1000`"]),
    ("compare words --format fio-job", &["words, line 1"]),
    ("compare load.xml", &["load.xml:3:", "unknown element of a scenario `Flow`"]),
    ("compare words --format mqsim", &["words:1:"]),
    ("compare --drive cut.xml", &["cut.xml:", "found no XML"]),
    ("compare --drive other.xml", &["other.xml:1:1", "Execution_Parameter_Set"]),
    ("compare --drive nowhere.xml", &["nowhere.xml cannot be read"]),
    // Recordings.
    ("inspect msr.csv", &["msr.csv, line 2, field `Type`", "found `Erase`"]),
    ("inspect tencent.csv --format tencent", &["tencent.csv, line 2, field", "found `7`"]),
    ("inspect blk.txt", &["blk.txt, line 2, field", "found `many`"]),
    ("inspect log.iolog", &["log.iolog, line 5, field `action`: found `erase`", "read, write, trim"]),
    ("inspect log1.iolog --format fio-iolog", &["log1.iolog, line 1, field `header`", "fio version 3 iolog"]),
    ("inspect times.iolog", &["times.iolog, line 2, field `timestamp`: found `soon`"]),
    ("inspect large.csv --columns time=us,op,lba=bytes,size=bytes", &["large.csv, line 2, field `size`", "at most 1GiB"]),
    ("inspect far.csv --columns time=us,op,lba=bytes,size=bytes", &["far.csv, line 2, field `lba`", "below 2^63 bytes"]),
    ("inspect late.csv --columns time=ns,op,lba=bytes,size=bytes", &["late.csv, line 2, field `time`", "73 years"]),
    ("inspect good.csv --columns time=us,op,lba=bytes,size=acres", &["columns", "acres"]),
    ("inspect good.csv --columns time=us,op,-,-", &["columns", "`lba` is missing"]),
    ("inspect good.csv --columns time=weeks,op,lba=bytes,size=bytes", &["columns", "weeks"]),
    ("inspect cut.tape --format tape", &["no recording of Flashkeep of version 1"]),
    ("inspect pgbench --set trace.order=backwards", &["trace.order", "unknown", "sorted"]),
    ("inspect pgbench --then", &["--then"]),
    ("inspect pgbench --then absent", &["--then absent: unknown trace `absent`, and no such file"]),
    ("inspect pgbench --beside uniform", &["--beside uniform: `uniform` is no recording", "flashkeep convert"]),
    ("inspect pgbench --beside job.fio", &["--beside job.fio: `job.fio` is no recording"]),
    ("inspect uniform --then pgbench", &["--then pgbench: `uniform` is no recording"]),
    ("compare pgbench --beside cut.spc", &["cut.spc, line 2"]),
    ("inspect pgbench --set trace.ranges=mine", &["trace.ranges", "separate"]),
    ("inspect pgbench --since tomorrow", &["--since tomorrow: `tomorrow` is not"]),
    ("inspect pgbench --first none", &["--first none: found string"]),
    ("inspect pgbench --device one", &["--device one: found string"]),
    ("inspect pgbench --since 2d", &["there is no request in it"]),
    ("convert pgbench --to csv --out nowhere/a.csv", &["--out: nowhere/a.csv cannot be written"]),
    ("convert pgbench --to csv --out good.csv", &["--out: good.csv cannot be written"]),
    ("convert pgbench --to csv --set trace.addresses=fold", &["capacity.size=4GiB"]),
    // More jobs of fio.
    ("inspect rw.fio", &["rw.fio, line 3, option `rw`: found `randwrit`"]),
    ("inspect depth.fio", &["depth.fio, line 3, option `iodepth`: found `0`"]),
    ("inspect mix.fio", &["mix.fio, line 4, option `rwmixread`: found `170`"]),
    ("inspect bssplit.fio", &["bssplit.fio, line 3, option `bssplit`", "up to 100 in all"]),
    ("inspect range.fio", &["range.fio, line 3, option `bsrange`: found `8k-4k`"]),
    ("inspect zipf.fio", &["zipf.fio, line 4, option `random_distribution`", "zipf:THETA"]),
    ("inspect parts.fio", &["parts.fio, line 4, option `random_distribution`", "100 % in all"]),
    ("inspect name.fio --format fio-job", &["name.fio, line 1", "a name in brackets"]),
    ("inspect early.fio --format fio-job", &["early.fio, line 1, option `size`: no section is open"]),
    ("inspect none.fio", &["none.fio: no request of format `fio-job`", "a job begins with its name"]),
    ("inspect formula.fio", &["formula.fio, line 2, option `size`: found `(4*`"]),
    ("inspect machine.fio", &["machine.fio, line 2, option `size`", "$mb_memory"]),
    ("inspect iolog.fio", &["nowhere: cannot be opened"]),
    ("inspect table.fio", &["good.csv", "fits no known trace format"]),
    ("inspect clones.fio", &["clones.fio, line 3, option `numjobs`: found `100000`"]),
    ("inspect time.fio", &["time.fio, line 4, option `runtime`: found `5 weeks`"]),
    ("inspect rate.fio", &["rate.fio, line 3, option `rate_iops`: found `fast`"]),
    ("inspect process.fio", &["process.fio, line 4, option `rate_process`", "linear or poisson"]),
    ("inspect sync.fio", &["sync.fio, line 4, option `sync`: found `maybe`"]),
    ("inspect -- --size=1m --iodepth", &["option `iodepth`"]),
    ("inspect -- --size=1m --nosuch=1", &["option `nosuch`", "fio has no such option"]),
    // Drives of other simulators.
    ("inspect clones.xml", &["clones.xml:1:", "no flow"]),
    ("list schemes --drive zones.xml", &["zones.xml:2:18: Address_Mapping: found `ZONE_LEVEL`", "map page by page"]),
    ("list schemes --drive channels.xml", &["channels.xml:2:22: Flash_Channel_Count: found `0`"]),
    ("list schemes --drive flash.xml", &["flash.xml:1:", "no element Flash_Parameter_Set"]),
    ("list schemes --drive cells.xml", &["cells.xml:2:19: Flash_Technology: unknown value `HLC`", "SLC"]),
    ("compare --drive pal.cfg", &["pal.cfg:1:1", "no section `[pal]`"]),
    ("compare --drive channel.cfg", &["channel.cfg:2:11: Channel: found `eight`"]),
    ("compare --drive line.cfg", &["line.cfg:2:1", "`Channel = 8`"]),
    ("compare --drive nand.cfg", &["nand.cfg:2:12: NANDType: unknown value `5`"]),
    ("compare --drive spare.cfg", &["spare.cfg:4:25: OverProvisioningRatio: found `1.5`"]),
    ("compare --drive victim.cfg", &["victim.cfg:4:15: EvictPolicy: unknown value `9`"]),
    ("compare --drive nowhere.cfg", &["nowhere.cfg cannot be read"]),
    ("compare --drive models.h", &["models.h:1:1", "several models", "ONE, TWO"]),
    ("compare --drive models.h#TOW", &["models.h:1:1", "unknown model of the header `TOW`", "known: ONE, TWO"]),
    ("compare --drive optane.h", &["optane.h:1:1", "found no NAND_CHANNELS"]),
    ("compare --drive constant.h", &["constant.h:1:23: NAND_CHANNELS: found `MANY`"]),
    ("compare --drive divided.h", &["divided.h:1:23: NAND_CHANNELS: found a division by 0"]),
    ("compare --drive branch.h", &["branch.h:1:1", "found no `#if` before it"]),
    ("compare --drive oneshot.h", &["oneshot.h:3:27: ONESHOT_PAGE_SIZE: found `49152`"]),
    ("compare --drive device.sh", &["device.sh:1:1", "found no `-device femu,..`"]),
    ("compare --drive mode.sh", &["mode.sh:1:1: femu_mode: found `2`", "femu_mode=1"]),
    ("compare --drive nomode.sh", &["nomode.sh:1:1", "lacks femu_mode"]),
    ("compare --drive size.sh", &["size.sh:2:1: devsz_mb: found `99999`", "less than the flash"]),
    ("compare --drive map.sh", &["map.sh:1:1: mapping: unknown value `hybrid`"]),
    ("compare --drive victims.sh", &["victims.sh:1:1: gc_policy: unknown value `hot`"]),
    ("compare --drive cells.sh", &["cells.sh:1:1: nand_cell_type", "pg_rd_lat"]),
    ("compare --drive shape.sh", &["shape.sh:1:1: nchs: found `-1`"]),
    // Drives.
    ("compare --drive tcl", &["unknown drive `tcl`", "did you mean `tlc`"]),
    ("compare --drive nowhere.toml", &["nowhere.toml cannot be read"]),
    ("compare --drive endurance.toml", &["endurance.toml:", "drive.endurance: found 0"]),
    ("compare --drive planes.toml", &["planes.toml:", "planes", "99"]),
    ("compare --drive channels.toml", &["channels.toml:", "drive.geometry.channels"]),
    ("compare --drive page.toml", &["page.toml:", "5000B"]),
    ("compare --drive drivekey.toml", &["drivekey.toml:", "`chanels`", "did you mean `channels`"]),
    ("compare --drive latin.toml", &["latin.toml", "no UTF-8"]),
    ("compare --drive folder.toml", &["folder.toml"]),
    ("list schemes --drive tcl", &["unknown drive `tcl`"]),
    ("list gc --drive tlc", &["only the list `schemes` depends on a drive"]),
    // Settings.
    ("compare uniform --set generate.requests=0", &["found 0 requests"]),
    ("compare uniform --set generate.requests=many", &["--set generate.requests=many", "generate.requests"]),
    ("compare uniform --set generate.range=1", &["generate.range"]),
    ("compare uniform --set generate.read_fraction=1.5", &["--set generate.read_fraction=1.5: found 1.5, wanted a share"]),
    ("compare uniform --set generate.request_size=100B", &["--set generate.request_size=100B: found 100B"]),
    ("compare zipf --set generate.theta=-1", &["--set generate.theta=-1: found -1"]),
    ("compare mixed --set generate.sizes=[]", &["--set generate.sizes=[]: found an empty list"]),
    ("compare --read-share 0.7", &["--read-share 0.7", "`pgbench` is a recorded trace", "known: uniform"]),
    ("compare --rate 5000", &["--rate 5000", "`pgbench` is a recorded trace", "--arrival scaled=FACTOR"]),
    ("compare uniform --read-share 130%", &["--read-share 130%", "found `130%`", "0.7 or 70%"]),
    ("compare uniform --read-share most", &["generate.read_fraction", "found `most`"]),
    ("compare uniform --rate 0", &["--rate 0", "found `0`", "above 0"]),
    ("compare uniform --rate nan", &["--rate nan", "found `nan`"]),
    ("compare --iodepth 0", &["--iodepth 0", "trace.arrival", "1 to 65536"]),
    ("compare uniform --iodepth 8 --rate 100", &["'--iodepth <N>' cannot be used with '--rate <IOPS>'"]),
    ("compare uniform --set generate.arrivals=never", &["--set generate.arrivals=never", "arrivals"]),
    ("compare --set gc.polcy=fifo", &["--set gc.polcy=fifo", "did you mean `policy`"]),
    ("compare --set gc.policy=fiof", &["--set gc.policy=fiof: unknown", "did you mean `fifo`"]),
    ("compare --set gc.free_blocks=1", &["--set gc.free_blocks=1: found 1, valid is 2"]),
    ("compare --set gc.choices=0", &["--set gc.choices=0: found 0"]),
    ("compare --set gc", &["found no `=`"]),
    ("compare --set =3", &["is no path of a setting"]),
    ("compare --set capacity.over_provisioning=25", &["--set capacity.over_provisioning=25: found 25"]),
    ("compare --set capacity.fairness=equal", &["capacity.fairness"]),
    ("compare --set buffer.kind=volatle", &["buffer.kind", "volatile"]),
    ("compare --set buffer.size=9EiB", &["buffer.size"]),
    ("compare --set scheduler=lifo", &["scheduler", "fifo"]),
    ("compare --set payload=pages", &["payload", "page"]),
    ("compare --set age.retention=60y", &["age.retention"]),
    ("compare --set age.pe_cycles=-1", &["age.pe_cycles"]),
    ("compare --set errors.celsius=500", &["--set errors.celsius=500: found 500, valid is -40 to 125"]),
    ("life --set errors.celsius=60", &["--set errors.celsius: found in a life", "valid is --celsius"]),
    ("advise --set errors.persistent=false", &["--set errors.persistent: found in a life", "valid is --redrawn-errors"]),
    ("life --phases years=1,celsius=nan", &["--phases: phase 1: found celsius NaN, valid are -40 to 125"]),
    ("life --phases years=1,hours=0", &["--phases: phase 1: found hours 0, valid are 0.1 to 24 a day"]),
    ("compare --set ecc.retries=65", &["--set ecc.retries=65: found 65"]),
    ("compare --set trace.loops=0", &["--set trace.loops=0: found 0"]),
    ("compare --set trace.blk_action=X", &["trace.blk_action"]),
    ("compare --set trace.keep_writes=2", &["trace.keep_writes"]),
    (
        "compare --drive mlc-2014 --set drive.timing.independent_planes=true",
        &["drive.timing.independent_planes=true: found true, wants timing.unit"],
    ),
    ("compare --set drive.timing.cache_read=2s", &["--set drive.timing.cache_read=2s: found 2s, valid is 0ns to 1s"]),
    ("compare --set drive.timing.erase=2s", &["--set drive.timing.erase=2s: found 2s, valid is 0ns to 1s"]),
    ("compare --set drive.geometry.dies=3", &["`dies`", "known"]),
    ("compare --set faults.dead_die=x", &["--set faults.dead_die=x", "faults.dead_die"]),
    ("compare --set precondition.fill=2", &["--set precondition.fill=2: found 2"]),
    // Options.
    ("compare --schemes raid6", &["unknown scheme `raid6`", "did you mean `raid5`"]),
    ("compare --schemes none,none", &["none"]),
    ("compare --schemes none+nothing", &["nothing"]),
    ("compare --ecc flare", &["--ecc flare", "did you mean `flares`"]),
    ("compare --error-model flare", &["--error-model flare", "did you mean `flares`"]),
    ("compare --seed=-1", &["--seed -1: found integer"]),
    ("compare --seeds 0", &["--seeds 0: found 0, valid is 1 to 100"]),
    ("compare --arrival fast", &["--arrival fast", "wanted auto, half-busy"]),
    ("compare --arrival closed=0", &["--arrival closed=0", "1 to 65536"]),
    ("compare --capacity 0B", &["--capacity 0B", "wanted a size above 0"]),
    ("compare --capacity much", &["--capacity much", "wanted auto, drive or a size"]),
    ("compare --threads 0", &["--threads", "valid is 1 to 1024"]),
    ("compare uniform --plot p.png", &["valid is .svg"]),
    ("compare uniform --log l.csv", &["valid is .parquet"]),
    ("compare uniform --series nowhere/s.parquet", &["--series: nowhere/s.parquet cannot be written"]),
    ("compare uniform --report empty", &["--report: directory empty cannot be made"]),
    ("compare uniform --report foreign", &["foreign/index.html is not a file that Flashkeep wrote"]),
    // Experiments and grids.
    ("run key.toml", &["key.toml:2:1: gc.polcy: unknown key `polcy`", "did you mean `policy`"]),
    ("run syntax.toml", &["syntax.toml:2:"]),
    ("run twice.toml", &["twice.toml:2:1"]),
    ("run kind.toml", &["kind.toml:3:8: seed"]),
    ("run date.toml", &["date.toml:1:8: found a date"]),
    ("run table.toml", &["table.toml:1:6: gc"]),
    ("run absent.toml", &["absent.toml:1:16: trace.source", "nowhere.csv"]),
    ("run scheme.toml", &["scheme.toml:1:12: schemes", "did you mean `raid5`"]),
    ("run latin.toml", &["latin.toml", "byte 5 begins no UTF-8"]),
    ("run nowhere.toml", &["nowhere.toml cannot be read"]),
    ("run trace.bz2", &["`flashkeep compare` replays a trace"]),
    ("sweep grid.toml", &["grid.toml:1:1", "sweep"]),
    ("sweep axis.toml", &["axis.toml", "polcy"]),
    ("sweep values.toml", &["values.toml:", "sweep.axes"]),
    ("sweep axes.toml", &["axes.toml:2:1", "axis"]),
    ("sweep nowhere.toml", &["nowhere.toml cannot be read"]),
    // Other commands.
    ("reliability upper", &["upper", "did you mean `uper`"]),
    ("reliability uper --plot p.svg", &["valid is .html"]),
    ("settings gc.polcy", &["did you mean `gc.policy`"]),
    ("list scheme", &["unknown list `scheme`", "did you mean `schemes`"]),
    ("inspect", &["required"]),
    ("inspect absent", &["absent", "no such file"]),
    ("torture --scheme raid6", &["raid6", "did you mean `raid5`"]),
    ("torture --fault fire", &["fire", "known"]),
    ("torture --minutes 0", &["--minutes: found 0"]),
    ("torture --without anything", &["anything"]),
    ("figures nosuch", &["folder experiments cannot be read"]),
    ("nothing", &["nothing"]),
];

#[test]
fn two_hundred_wrong_inputs_are_refused_in_one_clear_line() {
    let here = directory("all");
    write_files(&here);
    assert!(WRONG.len() >= 200, "{}", WRONG.len());
    let (next, wrong) = (Mutex::new(0..WRONG.len()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some(index) = next.lock().expect("a number").next() else { return };
                    let (typed, parts) = WRONG[index];
                    let output = flashkeep(&here, typed);
                    let said = String::from_utf8_lossy(&output.stderr).into_owned();
                    let errors = said.lines().filter(|line| line.starts_with("error:")).count();
                    let is_right = output.status.code() == Some(2)
                        && output.stdout.is_empty()
                        && errors == 1
                        && !said.contains("panicked")
                        && parts.iter().all(|part| said.contains(part));
                    if !is_right {
                        wrong
                            .lock()
                            .expect("a list")
                            .push(format!("{typed}: code {:?}\n{said}wanted {parts:?}\n", output.status.code()));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("a list");
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), WRONG.len(), wrong.join("\n"));
    let several = flashkeep(&here, "inspect disksim");
    let text = String::from_utf8_lossy(&several.stdout).into_owned();
    assert!(several.status.code() == Some(0) && text.contains("disksim-ns-sectors"), "{text}");
}

/// Paths of any bytes, wherever one may be typed.
#[cfg(unix)]
#[test]
fn paths_that_are_no_utf_8_are_paths_like_any_other() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let here = directory("bytes").join(OsStr::from_bytes(b"f\xfc"));
    std::fs::create_dir_all(&here).expect("made");
    let name = |bytes: &'static [u8]| OsStr::from_bytes(bytes);
    std::fs::write(here.join(name(b"t\xff.csv")), "0,R,0,4096\n1000,W,4096,4096\n").expect("written");
    std::fs::write(here.join(name(b"d\xff.toml")), include_str!("../../experiment/drives/mlc-2014.toml")).expect("written");
    let columns = ["--columns", "time=us,op,lba=bytes,size=bytes"].map(OsStr::new);
    let run = |arguments: &[&OsStr]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_flashkeep")).current_dir(&here).args(arguments).output().expect("it starts");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let report = name(b"r\xff");
    let files = [("--log", name(b"l\xff.parquet")), ("--series", name(b"s\xff.parquet")), ("--plot", name(b"p\xff.svg"))];
    let mut arguments = vec![OsStr::new("compare"), name(b"t\xff.csv"), columns[0], columns[1]];
    arguments.extend(["--schemes", "none", "--drive"].map(OsStr::new));
    arguments.extend([name(b"d\xff.toml"), OsStr::new("--report"), report]);
    files.iter().for_each(|(option, file)| arguments.extend([OsStr::new(option), file]));
    run(&arguments);
    assert!(files.iter().all(|(_, file)| here.join(file).exists()));
    // The written file names the trace, and repeats the run.
    let again = Path::new(report).join("experiment.toml");
    run(&[OsStr::new("run"), again.as_os_str(), OsStr::new("--report"), name(b"again\xff")]);
    run(&[OsStr::new("inspect"), name(b"t\xff.csv"), columns[0], columns[1], OsStr::new("--report"), name(b"i\xff")]);
    let grid = "schemes = [\"none\"]\ndrive.preset = \"mlc-2014\"\ntrace.source = \"uniform\"\ngenerate.requests = 50\n\
                generate.range = \"1MiB\"\n[[sweep.axes]]\nkey = \"generate.read_fraction\"\nvalues = [0.1, 0.9]\n";
    std::fs::write(here.join(name(b"g\xff.toml")), grid).expect("written");
    run(&[OsStr::new("sweep"), name(b"g\xff.toml"), OsStr::new("--out"), name(b"o\xff")]);
    for file in ["results.parquet", "results.csv", "index.html"] {
        assert!(here.join(name(b"o\xff")).join(file).exists(), "{file}");
    }
    run(&[
        OsStr::new("torture"),
        OsStr::new("--scenarios"),
        OsStr::new("16"),
        OsStr::new("--piece"),
        OsStr::new("16"),
        OsStr::new("--into"),
        name(b"c\xff"),
    ]);
}

/// A disk of 64 KiB, where this user may have one.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_found_before_the_run() {
    let here = directory("full");
    let small = here.join("small");
    std::fs::create_dir(&small).expect("made");
    let script = "mount -t tmpfs -o size=64k none small && exec \"$0\" compare pgbench --schemes none \"$@\"";
    for options in
        [["--report", "small/r"], ["--log", "small/l.parquet"], ["--series", "small/s.parquet"], ["--plot", "small/p.svg"]]
    {
        let mut command = Command::new("unshare");
        let arguments = ["-rm", "sh", "-c", script, env!("CARGO_BIN_EXE_flashkeep")];
        let Ok(output) = command.current_dir(&here).args(arguments).args(options).output() else { return };
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if !said.contains("error:") {
            eprintln!("no disk of its own here: not tried: {said}");
            return;
        }
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("{}: small", options[0])) && said.contains("takes no file of 1MiB"), "{said}");
    }
}
