//! Transparent decompression by magic bytes: gzip, xz, zstd, or none.
//!
//! Streaming, and in memory bounded by [`WINDOW_LIMIT`]. The decoders are not ours and their
//! input is hostile, so a panic inside one becomes a read error here.

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use vocab::Bytes;

/// Largest dictionary or window a compressed file may ask for.
pub const WINDOW_LIMIT: Bytes = Bytes(256 << 20);

/// Beyond the dictionary an LZMA decoder keeps tables; this is room for them, in KiB.
const LZMA_OVERHEAD_KIB: u32 = 1024;

type Source = Box<dyn Read + Send>;

/// The plain bytes of `source`, whichever way they are compressed.
pub(crate) fn decompressed(mut source: Source) -> io::Result<Source> {
    let mut magic = Vec::with_capacity(6);
    source.by_ref().take(6).read_to_end(&mut magic)?;
    let is_gzip = magic.starts_with(&[0x1f, 0x8b]);
    let is_xz = magic.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]);
    let is_zstd = magic.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
        || (magic.len() >= 4 && magic[0] & 0xf0 == 0x50 && magic[1..4] == [0x2a, 0x4d, 0x18]);
    let whole = BufReader::with_capacity(1 << 16, Cursor::new(magic).chain(source));
    Ok(if is_gzip {
        guarded(flate2::bufread::MultiGzDecoder::new(whole))
    } else if is_xz {
        let limit_kib = (WINDOW_LIMIT.0 >> 10) as u32 + LZMA_OVERHEAD_KIB;
        guarded(lzma_rust2::XzReader::new_mem_limit(whole, true, limit_kib))
    } else if is_zstd {
        guarded(Zstd::new(whole))
    } else {
        Box::new(whole)
    })
}

/// Turns a panic of a decoder into an error, and never calls it again after either.
struct Guarded<R> {
    inner: Option<R>,
}

fn guarded<R: Read + Send + 'static>(inner: R) -> Source {
    Box::new(Guarded { inner: Some(inner) })
}

impl<R: Read> Read for Guarded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(inner) = &mut self.inner else {
            return Err(io::Error::other("the compressed data is damaged"));
        };
        let result = catch_unwind(AssertUnwindSafe(|| inner.read(buffer)))
            .unwrap_or_else(|_| Err(io::Error::other("the compressed data is damaged (the decoder failed on it)")));
        match result {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                self.inner = None;
                Err(error)
            }
            Ok(count) => Ok(count),
        }
    }
}

/// All frames of a zstd file, skippable ones skipped, checksums checked.
struct Zstd<R> {
    source: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> Zstd<R> {
    fn new(source: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW_LIMIT.0);
        Self { source, decoder, in_frame: false }
    }

    /// Starts the next frame; false at the end of the file.
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let length = u64::from(length);
                    if io::copy(&mut self.source.by_ref().take(length), &mut io::sink())? < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }

    fn end_frame(&self) -> io::Result<()> {
        match (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum()) {
            (Some(stored), Some(computed)) if stored != computed => Err(io::Error::other("zstd checksum mismatch")),
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.in_frame {
                if !self.next_frame()? {
                    return Ok(0);
                }
                self.in_frame = true;
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, one).map_err(io::Error::other)?;
            }
            let count = self.decoder.read(buffer)?;
            if count > 0 {
                return Ok(count);
            }
            self.end_frame()?;
            self.in_frame = false;
        }
    }
}
