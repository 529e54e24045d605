//! The extension module behind the Python package `flashkeep`: settings come in as TOML text,
//! results go out as Arrow columns and JSON. What Python code sees is in `python/flashkeep`.

mod advise;
mod command;
mod disk;
mod errors;
mod experiment;
mod frame;
mod interrupt;
mod life;
mod policy;
mod run;
mod study;
mod sweep;
mod torture;

use pyo3::prelude::*;

/// The extension module.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::advise::{Advice, advise};
    #[pymodule_export]
    use crate::command::{colours, command, curve_colour, settings};
    #[pymodule_export]
    use crate::disk::{Disk, Snapshot};
    #[pymodule_export]
    use crate::frame::Frame;
    #[pymodule_export]
    use crate::life::{Life, life};
    #[pymodule_export]
    use crate::policy::{Candidates, PageRead};
    #[pymodule_export]
    use crate::run::{Run, interval, names, run};
    #[pymodule_export]
    use crate::study::study;
    #[pymodule_export]
    use crate::sweep::{Directory, Grid, Group, grid_text};
    #[pymodule_export]
    use crate::torture::{Campaign, CampaignDirectory, Tortured};

    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", common::VERSION)
    }
}
