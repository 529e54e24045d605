//! Files that are no text trace, told by their first bytes, so that an error says what was found and what to do.

/// First bytes of a kind of file, what it is, and what to do about it.
const MAGIC: [(&[u8], &str); 14] = [
    (b"BZh", "a file compressed by bzip2; unpack it first: `bunzip2`"),
    (b"PK\x03\x04", "a zip archive; unpack it first: `unzip`"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it first: `7z x`"),
    (b"\x04\x22\x4d\x18", "a file compressed by lz4; unpack it first: `unlz4`"),
    (b"\x1f\x9d", "a file compressed by compress; unpack it first: `uncompress`"),
    (b"Rar!", "a rar archive; unpack it first"),
    (b"PAR1", "a Parquet file; write it as CSV first"),
    (b"\x89HDF", "an HDF5 file; write it as text first"),
    (b"SQLite format 3\0", "an SQLite database; write it as CSV first"),
    (b"\x7fELF", "a program"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a picture"),
    (b"<!DOCTYPE", "an HTML page: a download may have given a page of the site instead of the file"),
    (b"<html", "an HTML page: a download may have given a page of the site instead of the file"),
];

/// Where the magic of a tar archive stands.
const TAR_MAGIC: std::ops::Range<usize> = 257..262;

/// The kind of file that the first bytes, unpacked, belong to instead of the text of a trace; `None`: they may be text.
pub(crate) fn foreign(prefix: &[u8]) -> Option<&'static str> {
    if prefix.is_empty() {
        return Some("an empty file");
    }
    if prefix.get(TAR_MAGIC) == Some(b"ustar") {
        return Some("a tar archive; unpack it first: `tar xf`");
    }
    if let Some((_, what)) = MAGIC.iter().find(|(magic, _)| prefix.starts_with(magic)) {
        return Some(what);
    }
    if prefix.starts_with(b"\xff\xfe") || prefix.starts_with(b"\xfe\xff") {
        return Some("text in UTF-16; write it as UTF-8 first: `iconv -f UTF-16 -t UTF-8`");
    }
    let first = &prefix[..prefix.len().min(4096)];
    if first.contains(&0) {
        return Some(
            "binary data of no recording that is told by its first bytes; libCacheSim's oracleGeneral needs `--format oracle-general`",
        );
    }
    if first.iter().all(u8::is_ascii_whitespace) && prefix.iter().all(u8::is_ascii_whitespace) {
        return Some("nothing but blank lines");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::foreign;

    #[test]
    fn kinds_of_files_are_told_apart_and_text_is_none_of_them() {
        let mut tar = vec![b'x'; 512];
        tar[257..262].copy_from_slice(b"ustar");
        let cases: [(&[u8], &str); 7] = [
            (b"", "empty"),
            (b"BZh91AY&SY", "bzip2"),
            (b"PK\x03\x04", "zip"),
            (b"\x7fELF\x02", "program"),
            (b"8,0 1\0 2", "binary"),
            (b"\n \n", "blank"),
            (&tar, "tar"),
        ];
        for (bytes, part) in cases {
            assert!(foreign(bytes).is_some_and(|what| what.contains(part)), "{part}: {:?}", foreign(bytes));
        }
        assert_eq!(foreign(b"8,16 1 1 5.000000001 7 D WS 8 + 16 [a b]\n"), None);
    }
}
