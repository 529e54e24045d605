//! Paths as texts of settings: also those that are no UTF-8.
//!
//! A setting is a text, a path may be any bytes. Bytes that are no UTF-8 are written as `\xHH`, and such a text is read back where
//! no file has just that name.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A path as a text that [`path_of`] reads back.
#[cfg(unix)]
#[must_use]
pub fn path_text(path: impl AsRef<OsStr>) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut text = String::new();
    for chunk in path.as_ref().as_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}

/// The path of a text.
#[cfg(unix)]
#[must_use]
pub fn path_of(text: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let literal = Path::new(text);
    if !text.contains("\\x") || literal.exists() {
        return literal.to_owned();
    }
    let (mut bytes, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once("\\x") {
        bytes.extend_from_slice(before.as_bytes());
        match after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.extend_from_slice(b"\\x");
                rest = after;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    OsString::from_vec(bytes).into()
}

/// A path as a text.
#[cfg(not(unix))]
#[must_use]
pub fn path_text(path: impl AsRef<OsStr>) -> String {
    path.as_ref().to_string_lossy().into_owned()
}

/// The path of a text.
#[cfg(not(unix))]
#[must_use]
pub fn path_of(text: &str) -> PathBuf {
    OsString::from(text).into()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn any_bytes_come_back() {
        for bytes in [&b"plain.csv"[..], b"caf\xe9.csv", b"\xff\xfe/\x80", "gr\u{fc}n".as_bytes(), b"a\\y\xff"] {
            let path = OsStr::from_bytes(bytes);
            assert_eq!(path_of(&path_text(path)).as_os_str(), path, "{bytes:?}");
        }
        assert_eq!(path_text(OsStr::from_bytes(b"caf\xe9")), "caf\\xe9");
        assert_eq!(path_of("no digits \\xzz"), Path::new("no digits \\xzz"));
    }
}
