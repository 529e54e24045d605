//! The options of fio, by name: what each is to a workload here.

/// What an option is here.
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
    ("io_limit", "io_size"),
    ("nr_files", "nrfiles"),
    ("readwrite", "rw"),
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
    "fdatasync",
    "filename",
    "filesize",
    "fsync",
    "io_size",
    "iodepth",
    "ioengine",
    "kb_base",
    "loops",
    "norandommap",
    "nrfiles",
    "number_ios",
    "numjobs",
    "offset",
    "offset_increment",
    "percentage_random",
    "random_distribution",
    "randseed",
    "rate",
    "rate_iops",
    "rate_process",
    "runtime",
    "rw",
    "rwmixread",
    "rwmixwrite",
    "size",
    "startdelay",
    "stonewall",
    "sync",
    "thinktime",
    "thinktime_blocks",
    "time_based",
];

/// Options with which fio would send other requests, and what to do.
const REFUSED: &[(&str, &str)] = &[
    ("bs_is_seq_rand", "sizes that follow the order of addresses cannot be drawn here; give `bs` for reads and writes"),
    ("bs_unaligned", "sizes are multiples of 512 bytes here; give them by `bssplit`"),
    ("file_append", "a file that grows has no end here; give `offset` and `size`"),
    ("fill_device", "there is no file system to be filled; give `size`"),
    ("include", "one file is read; put its lines here"),
    ("percentage_sequential", "give `percentage_random`, which is the rest up to 100"),
    ("profile", "a profile brings options of its own; write them into the job"),
    ("read_iolog", "the log has all requests: replay it itself, `flashkeep compare LOG`"),
    ("sprandom", "drives are preconditioned by the experiment: `precondition.*` of `flashkeep settings`"),
    ("zonemode", "zones of fio are not drawn here; `random_distribution=zoned:..` gives parts of a range their shares"),
];

/// Options without a counterpart.
const NOTHING: &str = "allow_file_create allow_mounted_write allrandrepeat atomic block_error_percentiles \
    buffer_compress_chunk buffer_compress_percentage buffer_pattern buffered bwavgtime cgroup cgroup_nodelete cgroup_weight \
    clat_percentiles clocksource comm continue_on_error cpumask cpus_allowed cpus_allowed_policy create_fsync create_on_open \
    create_only create_serialize data_placement dataplacement dedupe_global dedupe_mode dedupe_percentage \
    dedupe_working_set_percentage direct directory disable_bw disable_bw_measurement disable_clat disable_lat disable_slat \
    disk_util do_verify dp_scheme end_fsync end_syncfs error_dump exec_postrun exec_prerun exit_what exitall exitall_on_error \
    experimental_verify fadvise_hint fallocate fdp fdp_pli fdp_pli_select file_service_type filename_format filetype fill_fs \
    fixedbufs flow flow_id flow_sleep flow_watermark force_async fsync_on_close gid gpu_dev_id group_reporting gtod_cpu \
    gtod_reduce hipri hugepage-size ignore_error ignore_zone_limits invalidate io_submit_mode iodepth_batch \
    iodepth_batch_complete iodepth_batch_complete_max iodepth_batch_complete_min iodepth_batch_submit iodepth_low iomem \
    iomem_align iopsavgtime ioscheduler job_max_open_zones job_start_clock_id lat_percentiles latency_percentile latency_run \
    latency_target latency_window libaio_vectored lockfile lockmem log_alternate_epoch log_alternate_epoch_clock_id log_avg_msec \
    log_compression log_compression_cpus log_entries log_hist_coarseness log_hist_msec log_issue_time log_max_value log_offset \
    log_prio log_store_compressed log_unix_epoch log_window_value max_latency max_open_zones mem mem_align merge_blktrace_file \
    merge_blktrace_iters merge_blktrace_scalars name new_group nice nonvectored num_range numa_cpu_nodes numa_mem_policy \
    offset_align opendir openfiles overwrite per_job_logs percentile_list plid_select plids pre_read prio prioclass priohint \
    ramp_size ramp_time random_generator random_sequence_stride randrepeat rate_cycle rate_ignore_thinktime rate_iops_min \
    rate_min ratecycle ratemin read_beyond_wp read_iolog_chunked recover_zbd_write_error refill_buffers registerfiles \
    replay_align replay_no_stall replay_redirect replay_scale replay_skip replay_time_scale rw_sequencer rwmixcycle \
    scramble_buffers serialize_overlap significant_figures slat_percentiles softrandommap spr_cs spr_num_regions spr_op \
    sqthread_poll sqthread_poll_cpu ss ss_dur ss_interval ss_ramp stats steadystate steadystate_check_interval \
    steadystate_duration steadystate_ramp_time sync_file_range thinkcycles thinktime_blocks_type thinktime_iotime \
    thinktime_spin thread trim_backlog trim_backlog_batch trim_percentage trim_verify_zero uid uncached unified_rw_reporting \
    unique_filename unit_base unlink unlink_each_loop userspace_reap verify verify_async verify_async_cpus verify_backlog \
    verify_backlog_batch verify_dump verify_fatal verify_header_seed verify_interval verify_offset verify_only verify_pattern \
    verify_pattern_interval verify_policy verify_state_load verify_state_save verify_write_sequence verifysort verifysort_nr \
    wait_for write_barrier write_bw_log write_hint write_hist_log write_iolog write_iops_log write_lat_log \
    write_zone_remainder zero_buffers zone_reset_frequency zone_reset_threshold zonecapacity zonerange zonesize zoneskip";

/// The name an option goes by here, and what it is; `None` where it is not known.
pub(super) fn known(name: &str) -> Option<(&'static str, Use)> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    if let Some(read) = READ.iter().find(|known| **known == name) {
        return Some((read, Use::Read));
    }
    if let Some((known, why)) = REFUSED.iter().find(|(known, _)| *known == name) {
        return Some((known, Use::Refused(why)));
    }
    NOTHING.split_whitespace().find(|known| *known == name).map(|known| (known, Use::Nothing))
}

/// All names, for a guess.
pub(super) fn names() -> Vec<&'static str> {
    let aliases = ALIASES.iter().map(|(alias, _)| *alias);
    let refused = REFUSED.iter().map(|(name, _)| *name);
    READ.iter().copied().chain(aliases).chain(refused).chain(NOTHING.split_whitespace()).collect()
}
