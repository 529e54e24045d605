//! Files that are read whole: regular files of bounded size.
//!
//! Settings cost many times their bytes in memory, because each remembers where it was written: a key 100 bytes, a
//! table 2.4 kB, and three characters are enough for one. So both have bounds, far above what any file needs, with
//! which no file takes more than 100 MB to read.

use std::fs::{File, Metadata};
use std::io::{Error, Read, Result};
use std::path::Path;
use toml_parser::Source;
use toml_parser::lexer::TokenKind;
use vocab::Bytes;

/// Experiments, drives, figures and grids.
pub const SETTINGS_MAX: Bytes = Bytes(512 << 10);

/// Tables and lists in one of them.
const TABLES_MAX: usize = 16_384;

/// Largest file of Flashkeep's own results: parts of sweeps, rows of figures.
pub const RESULTS_MAX: Bytes = Bytes(64 << 20);

/// The text of a file of settings.
///
/// # Errors
/// As [`read_text`], and more tables and lists than may be.
pub fn read_settings(path: &Path) -> Result<String> {
    let text = read_text(path, SETTINGS_MAX)?;
    match tables(&text) {
        found if found > TABLES_MAX => {
            Err(Error::other(format!("found {found} tables and lists, at most {TABLES_MAX} are valid")))
        }
        _ => Ok(text),
    }
}

/// Tables and lists of a TOML text, valid or not: every part of a dotted key but the last is one.
fn tables(text: &str) -> usize {
    let (mut tables, mut dots) = (0, 0);
    for token in Source::new(text).lex() {
        match token.kind() {
            TokenKind::Dot => dots += 1,
            TokenKind::Equals => tables += std::mem::take(&mut dots),
            TokenKind::RightSquareBracket => tables += std::mem::take(&mut dots) + 1,
            TokenKind::LeftCurlyBracket => tables += 1,
            TokenKind::Newline | TokenKind::Comma | TokenKind::LeftSquareBracket | TokenKind::RightCurlyBracket => dots = 0,
            _ => {}
        }
    }
    tables
}

/// The text of a regular file of at most `most` bytes.
///
/// # Errors
/// An error of the operating system, another kind of file, a larger one, or a file that is no text.
pub fn read_text(path: &Path, most: Bytes) -> Result<String> {
    // To open a pipe is to wait until someone writes to it.
    check(&std::fs::metadata(path)?, most)?;
    let file = File::open(path)?;
    check(&file.metadata()?, most)?;
    let mut bytes = Vec::new();
    // It may grow in the meantime, and files of the kernel say that they are empty.
    file.take(most.0 + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most.0 {
        return Err(too_large(bytes.len() as u64, most));
    }
    String::from_utf8(bytes).map_err(|error| Error::other(format!("byte {} begins no UTF-8", error.utf8_error().valid_up_to())))
}

/// Whether the file is a regular one.
///
/// # Errors
/// The other kind of file.
pub fn check_regular(metadata: &Metadata) -> Result<()> {
    match metadata {
        file if file.is_file() => Ok(()),
        file if file.is_dir() => Err(Error::other("found a directory, wanted a regular file")),
        _ => Err(Error::other("found a pipe, a socket or a device, wanted a regular file")),
    }
}

fn check(metadata: &Metadata, most: Bytes) -> Result<()> {
    check_regular(metadata)?;
    if metadata.len() > most.0 { Err(too_large(metadata.len(), most)) } else { Ok(()) }
}

fn too_large(found: u64, most: Bytes) -> Error {
    Error::other(format!("found {found} bytes or more, at most {most} are valid"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: impl AsRef<Path>, most: u64) -> std::result::Result<String, String> {
        read_text(path.as_ref(), Bytes(most)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_of_just_the_bound_is_read_and_one_byte_more_is_refused() {
        let path = std::env::temp_dir().join(format!("flashkeep-input-file-{}", std::process::id()));
        std::fs::write(&path, "0123456789").expect("written");
        let (fits, larger) = (read(&path, 10), read(&path, 9));
        std::fs::write(&path, b"\xff").expect("written");
        let no_text = read(&path, 9);
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(fits.as_deref(), Ok("0123456789"));
        assert!(larger.unwrap_err().contains("at most 9B"));
        assert!(no_text.unwrap_err().contains("no UTF-8"));
    }

    #[test]
    fn tables_are_counted_however_they_are_written() {
        for (text, expected) in [
            ("", 0),
            ("a = 1.5\nb = \"x.y.z\" # c.d.e = [", 0),
            ("a.b.c = 1\n[d.e]\nf = 2", 4),
            ("a = { b = { c = 0.1, d = 0.2 } }\n[[e]]", 4),
            ("a = [[\"4KiB\", 0.5], [1, 2]]", 4),
            ("a.b.c.d", 0),
        ] {
            assert_eq!(tables(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_regular_file_is_named_and_not_opened() {
        assert!(read("/", 9).unwrap_err().contains("a directory"));
        assert!(read("/dev/zero", 9).unwrap_err().contains("a device"));
        // It claims to be empty and is not.
        assert!(read("/proc/self/maps", 9).unwrap_err().contains("at most 9B"));
    }
}
