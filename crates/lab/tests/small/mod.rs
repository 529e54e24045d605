//! A comparison small enough for a test.

/// Three schemes on a small drive, under a made-up workload.
pub const SMALL: &str = r#"
drive.preset = "mlc-2014"
capacity.size = "16MiB"
warmup = "none"
schemes = ["none", "raid5", "ds-raid"]
[trace]
source = "zipf"
[generate]
requests = 3000
range = "16MiB"
read_fraction = 0.5
arrivals = { poisson = "2ms" }
"#;
