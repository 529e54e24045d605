//! The options of fio, by name: what each is to a workload here.

/// How an option is used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// It shapes the workload.
    Read,
    /// It has no counterpart: it is about the machine, or about how fio measures and reports.
    Nothing,
    /// With it the requests would be others than those made here; the reason, and what to do.
    Refused(&'static str),
}

/// Other names of options.
const ALIASES: &[(&str, &str)] = &[
    ("ba", "blockalign"),
    ("blocksize", "bs"),
    ("blocksize_range", "bsrange"),
    ("blocksize_unaligned", "bs_unaligned"),
    ("fileoffset", "offset"),
    ("fill_fs", "fill_device"),
    ("io_limit", "io_size"),
    ("nr_files", "nrfiles"),
    ("readwrite", "rw"),
    ("threads", "thread"),
    ("timeout", "runtime"),
    ("wait_for_previous", "stonewall"),
];

/// Options that shape the workload.
const READ: &[&str] = &[
    "blockalign",
    "bs",
    "bsrange",
    "bssplit",
    "description",
    "directory",
    "do_verify",
    "end_fsync",
    "end_syncfs",
    "experimental_verify",
    "fdatasync",
    "file_service_type",
    "filename",
    "filename_format",
    "filesize",
    "fill_device",
    "fsync",
    "fsync_on_close",
    "io_size",
    "iodepth",
    "ioengine",
    "kb_base",
    "loops",
    "norandommap",
    "nrfiles",
    "num_range",
    "number_ios",
    "numjobs",
    "offset",
    "offset_align",
    "offset_increment",
    "openfiles",
    "percentage_random",
    "random_distribution",
    "random_sequence_stride",
    "randseed",
    "rate",
    "rate_iops",
    "rate_process",
    "read_iolog",
    "replay_align",
    "replay_no_stall",
    "replay_redirect",
    "replay_scale",
    "replay_skip",
    "replay_time_scale",
    "runtime",
    "rw",
    "rw_sequencer",
    "rwmixread",
    "rwmixwrite",
    "size",
    "startdelay",
    "stonewall",
    "sync",
    "thinktime",
    "thinktime_blocks",
    "time_based",
    "verify",
    "verify_backlog",
    "verify_backlog_batch",
    "verify_only",
    "verify_pattern",
    "wait_for",
    "zonemode",
    "zonerange",
    "zonesize",
    "zoneskip",
];

/// Options with which fio would send other requests, and what to do.
const REFUSED: &[(&str, &str)] = &[
    ("bs_is_seq_rand", "sizes that follow the order of addresses cannot be drawn here; give `bs` for reads and writes"),
    ("bs_unaligned", "sizes are multiples of 512 bytes here; give them by `bssplit`"),
    ("create_only", "files are made and nothing is asked for: leave the job out"),
    ("file_append", "a file that grows has no end here; give `offset` and `size`"),
    ("opendir", "files of a folder are not looked up; give `filename`, and `size` or `filesize`"),
    ("percentage_sequential", "give `percentage_random`, which is the rest up to 100"),
    ("profile", "a profile brings options of its own; write them into the job"),
    ("sprandom", "drives are preconditioned by the experiment: `precondition.*` of `flashkeep settings`"),
    ("trim_percentage", "trims among what is verified are not drawn; give a job of its own `rw=randtrim`"),
];

/// Engines of fio that have no options of their own, so that the list below does not name them. fio loads any other from a file.
const ENGINES: &str = "sync psync vsync pvsync splice mmap null posixaio solarisaio windowsaio guasi syslet-rw binject cpuio falloc \
    ftruncate e4defrag net netsplice mtd dev-dax pmem pmemblk zbc fusion-aw-sync filecreate filestat filedelete dircreate dirstat \
    dirdelete ime_psync ime_psyncv ime_aio hdfs";

/// All options of fio and of its engines, with the engines and the versions that have them: `tools/fio-options` writes it.
const ALL: &str = include_str!("../../../data/fio-options.txt");

/// The names of the list.
fn listed() -> impl Iterator<Item = &'static str> {
    ALL.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split(' ').next())
}

/// True of the engines that fio has; it loads any other from a file.
pub(super) fn is_engine(name: &str) -> bool {
    let with_options = || ALL.lines().filter_map(|line| line.split(' ').nth(1)).flat_map(|engines| engines.split(','));
    // The list has engines by the names of their sources, without `lib`.
    let is_named =
        |name: &str| ENGINES.split_whitespace().any(|engine| engine == name) || with_options().any(|engine| engine == name);
    is_named(name) || name.strip_prefix("lib").is_some_and(is_named)
}

/// Names of options that shape the workload.
pub(super) fn read_names() -> Vec<&'static str> {
    READ.iter().copied().chain(ALIASES.iter().map(|(alias, _)| *alias)).collect()
}

/// The name an option goes by here, and what it is; `None` where it is not known.
pub(super) fn known(name: &str) -> Option<(&'static str, Use)> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    if let Some(read) = READ.iter().find(|known| **known == name) {
        return Some((read, Use::Read));
    }
    if let Some((known, why)) = REFUSED.iter().find(|(known, _)| *known == name) {
        return Some((known, Use::Refused(why)));
    }
    listed().find(|known| *known == name).map(|known| (known, Use::Nothing))
}

/// All names, for a guess.
pub(super) fn names() -> Vec<&'static str> {
    let aliases = ALIASES.iter().map(|(alias, _)| *alias);
    let refused = REFUSED.iter().map(|(name, _)| *name);
    READ.iter().copied().chain(aliases).chain(refused).chain(listed()).collect()
}
