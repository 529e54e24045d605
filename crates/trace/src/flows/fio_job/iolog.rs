//! `read_iolog`: a job whose requests are those of a log, of fio or of blktrace, beside the job file.

use super::section::Values;
use super::{Around, Asked};
use crate::flows::Requests;
use crate::{DEVICES_LIMIT, ReadOptions, TraceError};
use vocab::SECTOR_BYTES;

/// Formats that fio replays.
const FORMATS: &[&str] = &["fio-iolog", "blktrace"];

/// Options that change the requests of a log, with the values at which they do not.
const CHANGES: &[(&str, &[&str])] = &[
    ("replay_align", &["0", "1", "512"]),
    ("replay_scale", &["0", "1"]),
    ("replay_skip", &["0", "none"]),
    ("replay_time_scale", &["100"]),
];

/// Refuses options that would make other requests of a log.
fn check_replay(values: Values<'_>) -> Result<(), TraceError> {
    for (option, usual) in CHANGES {
        let is_usual = |value: &str| value.is_empty() || usual.contains(&value);
        let set = values.get(option).filter(|setting| !is_usual(setting.value.as_deref().unwrap_or_default()));
        if let Some(setting) = set {
            return Err(values.file.bad(setting, "nothing: the requests of a log are replayed as they are"));
        }
    }
    Ok(())
}

/// The log of a clone; `None` where the job has none.
pub(super) fn read(values: Values<'_>, clone: u64, around: &Around<'_>) -> Result<Option<Asked>, TraceError> {
    let Some(given) = values.text("read_iolog", "the path of a log")? else { return Ok(None) };
    let setting = values.get("read_iolog").expect("it has a text");
    check_replay(values)?;
    // Clones take the logs of a list in turn.
    let given = given.replace("\\:", "\0");
    let paths: Vec<String> = given.split(':').map(|path| path.replace('\0', ":")).collect();
    let path = &paths[(clone % paths.len() as u64) as usize];
    let source = (around.log)(path).with_options(ReadOptions::default());
    let mut reader = source.open()?;
    let format = reader.format().name;
    if !FORMATS.contains(&format) {
        return Err(values.file.bad(setting, &format!("a log of fio or of blktrace: this one is {format}")));
    }
    let mut notes =
        vec!["read_iolog: the requests are those of the log; sizes, kinds and places of the job do not count".to_owned()];
    let (mut ends, mut requests, mut last) = (Vec::<u64>::new(), 0u64, 0);
    for record in reader.by_ref() {
        let record = record?;
        let device = record.device as usize;
        if device >= ends.len() {
            ends.resize((device + 1).min(DEVICES_LIMIT), 0);
        }
        ends[device] = ends[device].max((record.lba.0 + u64::from(record.sectors)) * SECTOR_BYTES);
        requests += 1;
        last = record.at.0;
    }
    let is_stalled = !values.flag("replay_no_stall")? && last > 0;
    let depth = values.number("iodepth", 1, 65_536)?.unwrap_or(1) as u32;
    if !is_stalled {
        notes.push("read_iolog: times do not count: as many requests at a time as `iodepth`".to_owned());
    }
    let files = match values.text("replay_redirect", "a device")? {
        Some(device) => vec![(device.to_owned(), ends.iter().copied().max().unwrap_or(0))],
        None => ends.into_iter().enumerate().map(|(file, end)| (format!("{path}, file {file}"), end)).collect(),
    };
    let most = values.number("number_ios", 1, 1 << 40)?.unwrap_or(u64::MAX);
    let times = values.number("loops", 1, u64::from(u32::MAX))?.unwrap_or(1);
    let depth = (!is_stalled).then_some(depth);
    let requests = Requests::Recorded { source, requests: requests.min(most), times, depth };
    Ok(Some(Asked { flows: vec![(values.section.name.clone(), requests)], files, notes }))
}
