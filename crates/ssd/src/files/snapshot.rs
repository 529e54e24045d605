//! Copies of a drive's files beside them, each with a name, to which the drive can be put back.

use super::memory::Memory;
use super::{DriveFiles, ImageSession, ImageSessionError, begin_log};
use crate::config::{Setup, SetupError};
use nand::Store;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Ending of the names of copies.
const SUFFIX: &str = ".snapshot";
/// Bytes that are copied at once.
const AT_ONCE: usize = 1 << 20;

/// The copy of this name: of the image, and of PLP memory.
fn copy_of(image: &Path, name: &str) -> [PathBuf; 2] {
    let of_image = beside(image, &format!(".{name}{SUFFIX}"));
    let of_memory = Memory::path_beside(&of_image);
    [of_image, of_memory]
}

/// A file beside the image: its name with something behind it.
fn beside(image: &Path, what: &str) -> PathBuf {
    let mut name = image.as_os_str().to_owned();
    name.push(what);
    name.into()
}

/// It is there while a drive is being put back, and has the name of the copy.
fn marker(image: &Path) -> PathBuf {
    beside(image, ".restoring")
}

fn wrap<T>(path: &Path, doing: &str, result: io::Result<T>) -> Result<T, ImageSessionError> {
    result.map_err(|error| SetupError::new(format!("{}: cannot {doing}: {error}", path.display())).into())
}

/// Names of the copies beside an image, in order.
pub(crate) fn names(image: &Path) -> Vec<String> {
    let (folder, file) = (image.parent(), image.file_name().map(|name| format!("{}.", name.to_string_lossy())));
    let entries = folder.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let name = |entry: fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        Some(name.strip_prefix(file.as_deref()?)?.strip_suffix(SUFFIX)?.to_owned())
    };
    let mut names: Vec<String> = entries.filter_map(name).collect();
    names.sort_unstable();
    names
}

/// Removes the copy of this name: first of the image, without which there is none.
pub(crate) fn delete(image: &Path, name: &str) -> Result<(), ImageSessionError> {
    check_name(name)?;
    for path in copy_of(image, name).iter().filter(|path| path.exists()) {
        wrap(path, "remove", fs::remove_file(path))?;
    }
    Ok(())
}

/// Copies all bytes; what is zero stays a hole of a new file.
fn copy(from: &dyn Store, to: &dyn Store) -> io::Result<()> {
    let size = from.size()?;
    to.set_size(0)?;
    to.set_size(size)?;
    let mut bytes = vec![0; AT_ONCE];
    let mut at = 0;
    while at < size {
        let part = &mut bytes[..(size - at).min(AT_ONCE as u64) as usize];
        from.read_at(part, at)?;
        if part.iter().any(|&byte| byte != 0) {
            to.write_at(part, at)?;
        }
        at += part.len() as u64;
    }
    to.sync()
}

/// A drive that was being put back when its process died is put back now.
pub(super) fn finish_restore(image: &Path, files: &DriveFiles) -> Result<(), ImageSessionError> {
    let marker = marker(image);
    match fs::read_to_string(&marker) {
        Ok(name) => put_back(image, &name, files),
        Err(_) => Ok(()),
    }
}

/// Puts the bytes of a copy into the drive's files.
fn put_back(image: &Path, name: &str, files: &DriveFiles) -> Result<(), ImageSessionError> {
    for (path, to) in copy_of(image, name).iter().zip([&files.image, &files.memory]) {
        let from = wrap(path, "open", File::open(path))?;
        wrap(path, "copy", copy(&from, to))?;
    }
    let marker = marker(image);
    wrap(&marker, "remove", fs::remove_file(&marker))
}

/// Names are parts of file names.
fn check_name(name: &str) -> Result<(), ImageSessionError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if (1..=64).contains(&name.len()) && name.bytes().all(is_plain) {
        return Ok(());
    }
    Err(SetupError::new(format!("snapshot `{name}`: valid are 1 to 64 of letters, digits, - and _")).into())
}

impl ImageSession {
    /// Copies the files, which nothing is under way in.
    ///
    /// # Errors
    /// If they cannot be written, the name is none, or the files were opened by someone else.
    pub(crate) fn snapshot(&mut self, name: &str) -> Result<(), ImageSessionError> {
        check_name(name)?;
        self.refuse_foreign()?;
        self.save_to_the_last_read()?;
        let path = self.path.clone();
        let Self { drive, memory: Some(memory), saved, .. } = self else { return Err(super::not_saved()) };
        // The image has all, and the log is empty.
        begin_log(drive, memory, saved)?;
        let copies = copy_of(&path, name);
        let unfinished = copies.clone().map(|copy| beside(&copy, ".new"));
        let stores: [&dyn Store; 2] = [super::image_of(drive).under(), memory.file()];
        for (from, path) in stores.into_iter().zip(&unfinished) {
            let to = OpenOptions::new().write(true).create(true).truncate(true).open(path);
            wrap(path, "write", copy(from, &wrap(path, "create", to)?))?;
        }
        // With the image the copy is there.
        for (from, to) in unfinished.iter().zip(&copies).rev() {
            wrap(to, "write", fs::rename(from, to))?;
        }
        Ok(())
    }

    /// The drive is what the copy of this name is. It is mounted, and has not recovered yet.
    ///
    /// # Errors
    /// If there is no such copy, or the files cannot be written.
    pub(crate) fn restore(&mut self, setup: &Setup, name: &str) -> Result<(), ImageSessionError> {
        check_name(name)?;
        self.refuse_foreign()?;
        let path = self.path.clone();
        let [image, _] = copy_of(&path, name);
        wrap(&image, "open", File::open(&image))?;
        let (marker, withstands) = (marker(&path), self.withstands_machine_failures());
        let said = fs::write(&marker, name).and_then(|()| File::open(&marker)?.sync_all());
        wrap(&marker, "write", said)?;
        let Some(files) = self.let_go() else { return Err(super::not_saved()) };
        put_back(&path, name, &files)?;
        *self = Self { is_foreign: false, ..Self::mounted_in(setup, &path, files)? };
        self.withstand_machine_failures(withstands);
        Ok(())
    }

    fn refuse_foreign(&self) -> Result<(), ImageSessionError> {
        if self.is_foreign {
            return Err(SetupError::new("snapshots: not supported of files that someone else opened".to_owned()).into());
        }
        Ok(())
    }
}
