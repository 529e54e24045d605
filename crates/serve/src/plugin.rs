//! Where the plugin of nbdkit is.
//!
//! cargo builds it with the program, and `cargo install` copies the program alone. An installed program is known by the one that was built:
//! the two are equal byte for byte, and then the plugin beside that one is of the same build.

use crate::directory::ServeError;
use std::fs;
use std::path::{Path, PathBuf};

/// File name of the plugin.
pub const PLUGIN: &str = "libflashkeep_nbd.so";

/// The workspace that this was built in; it need not be there any more.
const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Where cargo put what it built, if it was told.
const TARGET: Option<&str> = option_env!("CARGO_TARGET_DIR");

/// The plugin of this program.
///
/// # Errors
/// If there is none: with the commands that bring it.
pub(crate) fn find() -> Result<PathBuf, ServeError> {
    let program = std::env::current_exe().unwrap_or_default();
    let built = Path::new(WORKSPACE).join(TARGET.unwrap_or("target")).join("release");
    find_for(&program, &built)
}

/// The plugin of a program, which may be a copy of what was built in a folder.
fn find_for(program: &Path, built: &Path) -> Result<PathBuf, ServeError> {
    let folder = program.parent().unwrap_or(Path::new(""));
    // `deps` is where cargo builds it with the program; what lies beside the program may be of an earlier build.
    let places = [folder.join("deps"), folder.to_owned(), folder.join("../lib/flashkeep"), folder.join("..")];
    let beside = places.into_iter().map(|place| place.join(PLUGIN)).find(|plugin| plugin.exists());
    let of_the_build = || {
        let original = built.join(program.file_name()?);
        let plugin = built.join("deps").join(PLUGIN);
        (plugin.exists() && are_equal(program, &original)).then_some(plugin)
    };
    beside.or_else(of_the_build).ok_or_else(|| {
        let kept = folder.parent().unwrap_or(folder).join("lib/flashkeep").join(PLUGIN);
        ServeError::Other(format!(
            "the plugin {PLUGIN} is not beside the program in {}, nor where the program was built. In the checkout: cargo build --release && \
             install -D target/release/deps/{PLUGIN} {}. Or say where it is with --plugin",
            folder.display(),
            kept.display()
        ))
    })
}

fn are_equal(one: &Path, other: &Path) -> bool {
    let size = |path: &Path| fs::metadata(path).map(|file| file.len()).ok();
    size(one).is_some() && size(one) == size(other) && fs::read(one).ok() == fs::read(other).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A copy of the program that was built has the plugin of that build; a program of another build has not, and is told what to do.
    /// The command that it is told brings the plugin.
    #[test]
    fn an_installed_program_has_the_plugin_of_its_build() {
        let here = std::env::temp_dir().join(format!("flashkeep-plugin-{}", std::process::id()));
        let (built, bin) = (here.join("target/release"), here.join("home/bin"));
        fs::create_dir_all(built.join("deps")).expect("room");
        fs::create_dir_all(&bin).expect("room");
        let write = |path: PathBuf, text: &str| fs::write(path, text).expect("room");
        write(built.join("flashkeep"), "program 1");
        write(built.join("deps").join(PLUGIN), "plugin 1");
        write(bin.join("flashkeep"), "program 1");
        let find = || find_for(&bin.join("flashkeep"), &built).map_err(|error| error.to_string());
        assert_eq!(find(), Ok(built.join("deps").join(PLUGIN)));
        write(built.join("flashkeep"), "program 2");
        let said = find().expect_err("another build");
        let kept = here.join("home/lib/flashkeep").join(PLUGIN);
        assert!(said.contains(&format!("install -D target/release/deps/{PLUGIN} {}", kept.display())), "{said}");
        fs::create_dir_all(kept.parent().expect("a folder")).expect("room");
        write(kept.clone(), "plugin 2");
        let found = find().expect("it is where it was put");
        assert_eq!(fs::read(found).ok(), fs::read(kept).ok());
        fs::remove_dir_all(&here).expect("it was made");
    }
}
