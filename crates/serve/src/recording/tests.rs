use super::*;
use std::path::PathBuf;

/// A path where nothing is, and nothing stays.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let place = Self(std::env::temp_dir().join(format!("flashkeep-{name}-{}", std::process::id())));
        place.clear();
        place
    }

    fn clear(&self) {
        for file in [self.0.clone(), data_of(&self.0)] {
            let _ = fs::remove_file(file);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.clear();
    }
}

fn write(sector: u64, byte: u8, fua: Fua) -> Step {
    Step::Request(DiskRequest::Write { sector, data: vec![byte; 512].into(), fua })
}

fn flush() -> Step {
    Step::Request(DiskRequest::Flush)
}

fn everything() -> Vec<Step> {
    let held: Held = vec![(8, vec![1; 1024].into()), (40, vec![3; 512].into())];
    vec![
        Step::Request(DiskRequest::Write { sector: 8, data: vec![1; 1024].into(), fua: Fua::No }),
        flush(),
        Step::Mark("committed 17".into()),
        write(0, 2, Fua::Yes),
        Step::Control { words: "kill die 3".into(), held: None },
        Step::Request(DiskRequest::Read { sector: 3, sectors: 2 }),
        Step::Control { words: "cut-power".into(), held: Some(held.into()) },
        Step::Control { words: "restore empty".into(), held: Some(Arc::default()) },
        Step::Request(DiskRequest::Discard { sector: 8, sectors: 8 }),
    ]
}

#[test]
fn what_was_recorded_reads_back() {
    let place = Place::new("recording");
    let mut recorder = Recorder::new(&place.0, Some(1 << 20), true).expect("a file");
    for step in everything() {
        match &step {
            Step::Request(request) => recorder.record(request),
            other => recorder.note(other),
        }
    }
    assert_eq!(recorder.finish().expect("room"), 5);
    let read = Recording::read(&place.0).expect("it was written");
    assert_eq!(read.steps, everything());
    assert_eq!((read.size, read.held, read.is_cut_short, read.end()), (Some(1 << 20), true, false, 41 * 512));
}

/// The process is killed: whatever it had handed over by then is a recording, up to its last flush at least.
#[test]
fn a_recording_outlives_its_process_up_to_the_last_flush() {
    let place = Place::new("killed");
    let mut recorder = Recorder::new(&place.0, None, false).expect("a file");
    let steps = [write(0, 1, Fua::No), write(1, 2, Fua::No), flush(), write(2, 3, Fua::No)];
    for step in &steps {
        let Step::Request(request) = step else { panic!("a request") };
        recorder.record(request);
    }
    // The process's own memory is gone.
    std::mem::forget(recorder);
    let read = Recording::read(&place.0).expect("what is there is whole");
    assert!(read.is_cut_short);
    assert_eq!(read.steps, steps[..3]);
    // The machine may have got any part of what came after.
    let (log, data) = (fs::read(&place.0).expect("a file"), fs::read(data_of(&place.0)).expect("a file"));
    for (more, bytes, steps_read) in
        [("9 drive wri", 100, 3), ("9 drive write 1024 512\n", 100, 3), ("9 drive write 1024 512\n", 512, 4)]
    {
        fs::write(&place.0, [&log[..], more.as_bytes()].concat()).expect("room");
        fs::write(data_of(&place.0), [&data[..], &vec![3; bytes]].concat()).expect("room");
        assert_eq!(Recording::read(&place.0).expect("a recording").steps, steps[..steps_read], "{more:?}, {bytes} bytes");
    }
}

#[test]
fn a_state_of_which_a_part_is_missing_is_none() {
    let text = "fio version 3 iolog\n0 drive write 0 512\n1 drive note control cut-power\n1 drive note state 2\n1 drive note holds 0 512\n";
    let cut_short = Recording::parse(text, &[1; 1024]).expect("it was killed");
    assert_eq!(cut_short.steps.len(), 1);
    let closed = Recording::parse(&format!("{text}1 drive close\n"), &[1; 1024]).map(drop);
    assert_eq!(closed, Err("1 `note holds` are missing at the end".into()));
}

#[test]
fn damage_is_named_by_line() {
    let head = "fio version 3 iolog\n0 drive add\n";
    for (line, what) in [
        ("", "line 1: found ``"),
        ("x", "line 3: too few words"),
        ("0 drive write 0 513", "line 3: length: found `513`"),
        ("0 drive write 0 99999999999", "line 3: length: found"),
        ("0 drive write 0 512", "line 3: 512 bytes are written, the data have 0 more"),
        ("0 drive write 18446744073709551104 512", "line 3: offset: found"),
        ("0 drive datasync 0 0", "line 3: a datasync that follows no write"),
        ("0 drive erase 0 512", "line 3: unknown action `erase`"),
        ("0 drive read -1 512", "line 3: offset"),
        ("0 drive note size 5", "line 3: size: found `5`"),
        ("0 drive note mark", "line 3: note: found `mark`, known: size BYTES"),
        ("0 drive note state 0", "line 3: a state that follows no control"),
        ("0 drive note holds", "line 3: offset: found ``"),
        ("0 drive note", "line 3: note: found ``"),
    ] {
        let text = if line.is_empty() { String::new() } else { format!("{head}{line}\n1 drive close\n") };
        let error = Recording::parse(&text, &[]).map(drop).expect_err(line);
        assert!(error.starts_with(what), "{line}: {error}");
    }
    let closed = format!("{head}1 drive close\n");
    assert!(Recording::parse(&closed, &[0]).map(drop).expect_err("data").contains("1 bytes of data are of no write"));
}
