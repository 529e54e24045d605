//! Memory while reading is bounded. A test binary of its own, since it looks at the process.
#![cfg(target_os = "linux")]

use flashkeep_trace::{Footprint, TraceSource};
use std::io::Write;
use vocab::Bytes;

/// Most memory this process has had so far, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_trace_that_expands_to_100_mb_is_read_in_a_few() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let lines = "1,100,4096,w,0.5\n1,200,4096,r,0.5\n".repeat(1000);
    (0..3000).for_each(|_| encoder.write_all(lines.as_bytes()).unwrap());
    let source = TraceSource::bytes("big", encoder.finish().unwrap());
    let before = peak_kib();
    let footprint = Footprint::scan(source.open().unwrap(), Bytes(4096)).unwrap();
    assert_eq!(footprint.counts().requests, 6_000_000);
    let grown = peak_kib() - before;
    assert!(grown < 8 << 10, "{grown} KiB");
}
