//! Records of a run, with which it continues after it was stopped. A line that was half written is as if it were not
//! there.

use super::checks::Verdict;
use super::image::Digest;
use super::instant::Instant;
use crate::directory::ServeError;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The images at the instants of one request.
pub(super) type Images = Vec<(Instant, Digest)>;

/// Known parts of a run: verdicts, and requests whose instants all have images.
#[derive(Default)]
pub(super) struct Known {
    pub verdicts: BTreeMap<Digest, Verdict>,
    pub requests: BTreeMap<usize, Images>,
}

/// The file that it is written to.
pub(super) struct Kept {
    path: PathBuf,
    file: Mutex<(File, Option<io::Error>)>,
}

impl Kept {
    /// Opens the file of a run, which `run` tells from others; what it holds of that run.
    pub fn open(work: &Path, run: Digest, restart: bool) -> Result<(Self, Known), ServeError> {
        let path = work.join("progress");
        let first = format!("flashkeep crash 2 {:016x}", run.0);
        let text = if restart { String::new() } else { fs::read_to_string(&path).unwrap_or_default() };
        let known = Known::parse(&text, &first);
        // Until all that is known was written again, the old file stays.
        let new = work.join("progress.new");
        let make = || {
            let mut file = File::create(&new)?;
            writeln!(file, "{first}")?;
            Ok(file)
        };
        let file = make().map_err(|error| ServeError::File(path.clone(), "write", error))?;
        let kept = Self { path, file: Mutex::new((file, None)) };
        known.verdicts.iter().for_each(|(digest, verdict)| kept.verdict(*digest, verdict));
        known.requests.iter().for_each(|(request, images)| kept.request(*request, images));
        fs::rename(&new, &kept.path).map_err(|error| ServeError::File(new, "rename", error))?;
        Ok((kept, known))
    }

    fn line(&self, line: &str) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.1.is_none() {
            file.1 = file.0.write_all(format!("{line}\n").as_bytes()).err();
        }
    }

    pub fn verdict(&self, Digest(digest): Digest, verdict: &Verdict) {
        match verdict {
            None => self.line(&format!("passes {digest:016x}")),
            Some(said) => self.line(&format!("fails {digest:016x} {}", serde_json::json!(said))),
        }
    }

    pub fn request(&self, request: usize, images: &Images) {
        let words: Vec<String> = images.iter().map(|(instant, digest)| format!(" {instant}={:016x}", digest.0)).collect();
        self.line(&format!("request {request}{}", words.concat()));
    }

    /// The run has come to its end: nothing is to go on.
    pub fn finish(self) -> Result<(), ServeError> {
        let (file, error) = self.file.into_inner().unwrap_or_else(PoisonError::into_inner);
        drop(file);
        match error {
            Some(error) => Err(ServeError::File(self.path, "write", error)),
            None => fs::remove_file(&self.path).map_err(|error| ServeError::File(self.path, "remove", error)),
        }
    }
}

impl Known {
    fn parse(text: &str, first: &str) -> Self {
        let mut known = Self::default();
        let mut lines = text.split_inclusive('\n').map_while(|line| line.strip_suffix('\n'));
        if lines.next() == Some(first) {
            // Lines after damage are not believed.
            let _ = lines.try_for_each(|line| known.take(line));
        }
        known
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let digest = |text: &str| u64::from_str_radix(text, 16).ok().map(Digest);
        let (kind, rest) = line.split_once(' ')?;
        match kind {
            "passes" => drop(self.verdicts.insert(digest(rest)?, None)),
            "fails" => {
                let (image, said) = rest.split_once(' ')?;
                self.verdicts.insert(digest(image)?, Some(serde_json::from_str(said).ok()?));
            }
            "request" => {
                let mut words = rest.split(' ');
                let request = words.next()?.parse().ok()?;
                let image = |word: &str| word.rsplit_once('=').and_then(|(at, image)| Some((at.parse().ok()?, digest(image)?)));
                let images: Images = words.map(image).collect::<Option<_>>()?;
                // Without its verdicts it is of no use.
                if images.iter().all(|(_, image)| self.verdicts.contains_key(image)) {
                    self.requests.insert(request, images);
                }
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_known_again_but_for_half_a_line() {
        let work = std::env::temp_dir().join(format!("flashkeep-kept-{}", std::process::id()));
        fs::create_dir_all(&work).expect("room");
        let (kept, known) = Kept::open(&work, Digest(7), false).expect("a file");
        assert!(known.verdicts.is_empty() && known.requests.is_empty());
        let said = Some("line one\nline two".to_owned());
        let instant = Instant { step: 3, cut: super::super::Cut::Drive { events: 1, fate: 0 } };
        kept.verdict(Digest(1), &None);
        kept.verdict(Digest(2), &said);
        kept.request(3, &vec![(instant, Digest(2))]);
        kept.line("request 4 4:0:0=9");
        drop(kept);
        let half = fs::read_to_string(work.join("progress")).expect("it was written") + "passes 00000000000";
        fs::write(work.join("progress"), half).expect("room");
        let (kept, known) = Kept::open(&work, Digest(7), false).expect("a file");
        assert_eq!(known.verdicts, BTreeMap::from([(Digest(1), None), (Digest(2), said)]));
        assert_eq!(known.requests, BTreeMap::from([(3, vec![(instant, Digest(2))])]), "of request 4 a verdict is missing");
        drop(kept);
        let (kept, of_another) = Kept::open(&work, Digest(8), false).expect("a file");
        assert!(of_another.verdicts.is_empty() && of_another.requests.is_empty());
        kept.finish().expect("it can be removed");
        fs::remove_dir(&work).expect("nothing is left");
    }
}
