//! A command line of fio as the text of a job file.

/// Options of the program itself, which say nothing of jobs (`fio --help` of 3.33).
const OF_PROGRAM: &[&str] = &[
    "alloc-size",
    "append-terse",
    "aux-path",
    "bandwidth-log",
    "client",
    "daemonize",
    "debug",
    "eta",
    "eta-interval",
    "eta-newline",
    "idle-prof",
    "inflate-log",
    "latency-log",
    "max-jobs",
    "merge-blktrace-only",
    "minimal",
    "output",
    "output-format",
    "parse-only",
    "readonly",
    "remote-config",
    "section",
    "server",
    "status-interval",
    "terse-version",
    "trigger",
    "trigger-file",
    "trigger-remote",
    "trigger-timeout",
    "warnings-fatal",
];

/// Longest command line, in bytes.
const LENGTH_MAX: usize = 1 << 16;

/// The first word of a workload that is a command line.
pub const COMMAND: &str = "fio ";

/// Whether a workload is named by a command line of fio instead of a path.
#[must_use]
pub fn is_command(source: &str) -> bool {
    source.starts_with(COMMAND)
}

/// The words of a command line as one: blanks within a word have a backslash before them.
#[must_use]
pub fn command_of<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let escaped = |word: &str| word.replace('\\', "\\\\").replace(' ', "\\ ");
    let words: Vec<String> = words.into_iter().map(escaped).collect();
    format!("{COMMAND}{}", words.join(" "))
}

/// The words of a command line.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut letters) = (Vec::new(), String::new(), text.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => word.extend(letters.next()),
            _ if letter.is_whitespace() => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
            _ => word.push(letter),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// The job file that a command line stands for: each `--name` begins a job, what comes before the first is for all.
///
/// # Errors
/// Options that are none of a job.
pub fn job_text(command: &str) -> Result<String, String> {
    if command.len() > LENGTH_MAX {
        return Err(format!("found {} bytes, a command line has at most {LENGTH_MAX}", command.len()));
    }
    let words = words(command.strip_prefix(COMMAND).unwrap_or(command));
    let (mut text, mut has_job, mut words) = (String::from("[global]\n"), false, words.into_iter().peekable());
    let has_name = command.contains("--name");
    if !has_name {
        text = String::from("[fio]\n");
    }
    while let Some(word) = words.next() {
        let shown = crate::error::shown(word.as_bytes());
        let Some(option) = word.strip_prefix("--") else {
            return Err(format!("found `{shown}`, wanted options such as --rw=randwrite: a job file is a workload of its own"));
        };
        if option.contains(['\n', '[', '#', ';']) {
            return Err(format!("found `{shown}`, wanted an option without brackets, `#` and `;`"));
        }
        let name = option.split('=').next().unwrap_or_default();
        // `--bs 4k` is `--bs=4k`.
        let value = if option.contains('=') { None } else { words.next_if(|next| !next.starts_with("--")) };
        let line = value.map_or_else(|| option.to_owned(), |value| format!("{option}={value}"));
        if name == "name" {
            has_job = true;
            text += &format!("[{}]\n", line.split_once('=').map_or("fio", |(_, name)| name));
        } else if !OF_PROGRAM.contains(&name) {
            text += &format!("{line}\n");
        }
    }
    if has_name && !has_job {
        return Err("wanted a name behind `--name`".into());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_a_job_file() {
        let text = |command: &str| job_text(command).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(text("fio --rw=randwrite --bs 4k --direct --output=x"), "[fio]\nrw=randwrite\nbs=4k\ndirect\n");
        assert_eq!(text("fio --bs=4k --name=a --rw=read --name=b --rw=write"), "[global]\nbs=4k\n[a]\nrw=read\n[b]\nrw=write\n");
        let command = command_of(["--name=my job", "--description=a\\b"]);
        assert_eq!(text(&command), "[global]\n[my job]\ndescription=a\\b\n");
        for (command, said) in [("fio job.fio", "found `job.fio`"), ("fio --a=[x]", "without brackets")] {
            assert!(job_text(command).expect_err(said).contains(said));
        }
        assert!(is_command("fio --rw=read") && !is_command("fio") && !is_command("fio.log"));
    }
}
