//! A drive with a client's own data.

use crate::errors::bad_input;
use crate::experiment::experiment_of;
use experiment::Own;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ssd::disk::{Disk as Engine, DiskAnswer, DiskError, DiskRequest, Happened, Part, Planned, SECTOR, Snapshot as Kept};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use vocab::{DieId, Fua, Geometry, Nanos};

/// A drive. One thread at a time works on it; others wait.
#[pyclass(frozen, module = "flashkeep._native")]
pub struct Disk {
    disk: Mutex<Engine>,
    settings: String,
    geometry: Geometry,
}

/// A drive as it was.
#[pyclass(frozen, module = "flashkeep._native")]
pub struct Snapshot(Kept);

/// The answer to a request: its number, its bytes or why it failed, and its latency in seconds of virtual time.
type Told = (u64, Option<Py<PyBytes>>, Option<String>, f64);

fn failure(error: &DiskError) -> PyErr {
    Python::attach(|py| {
        let class = py.import("flashkeep.errors").and_then(|errors| errors.getattr("DiskFailed"));
        class.and_then(|class| class.call1((error.to_string(),))).map_or_else(|error| error, PyErr::from_value)
    })
}

/// Sectors of a range of bytes.
fn sectors(offset: u64, size: u64) -> PyResult<(u64, u32)> {
    let sector = SECTOR as u64;
    let count = u32::try_from(size / sector).ok().filter(|_| offset.is_multiple_of(sector) && size.is_multiple_of(sector));
    let refused = || PyValueError::new_err(format!("{size} bytes at {offset}: requests are of whole sectors of {SECTOR} bytes"));
    count.map(|count| (offset / sector, count)).ok_or_else(refused)
}

fn time_of(text: &str) -> PyResult<Nanos> {
    text.parse().map_err(|error: vocab::QuantityError| PyValueError::new_err(error.to_string()))
}

impl Disk {
    fn lock(&self) -> MutexGuard<'_, Engine> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T: Send>(&self, py: Python<'_>, of: impl FnOnce(&mut Engine) -> Result<T, DiskError> + Send) -> PyResult<T> {
        py.detach(|| of(&mut self.lock())).map_err(|error| failure(&error))
    }

    fn told(py: Python<'_>, answers: Vec<DiskAnswer>) -> Vec<Told> {
        let tell = |answer: DiskAnswer| {
            let seconds = answer.latency.as_secs_f64();
            match answer.result {
                Ok(data) => (answer.request, Some(PyBytes::new(py, &data).unbind()), None, seconds),
                Err(failed) => (answer.request, None, Some(failed.in_words().to_owned()), seconds),
            }
        };
        answers.into_iter().map(tell).collect()
    }
}

#[pymethods]
impl Disk {
    /// A drive of the experiment of a TOML text, or of a file where `text` is nothing: in memory, or in the files `path` and
    /// `path.memory`, which are made where they are missing.
    #[new]
    #[pyo3(signature = (name, text, path=None, filled=false))]
    fn new(py: Python<'_>, name: String, text: Option<String>, path: Option<PathBuf>, filled: bool) -> PyResult<Self> {
        py.detach(|| {
            let experiment = experiment_of(&name, text.as_deref(), Own::default())?;
            let one = experiment::one_drive(&experiment, filled).map_err(|problem| bad_input(&problem))?;
            let setup = experiment::disk_setup(&one).map_err(|problem| bad_input(&problem))?;
            let disk = match &path {
                None => Engine::in_memory(&setup),
                Some(path) if path.exists() => Engine::open(&setup, path),
                Some(path) => Engine::create(&setup, path),
            };
            let disk = Mutex::new(disk.map_err(|error| failure(&error))?);
            Ok(Self { disk, settings: one.to_toml(), geometry: setup.drive.geometry })
        })
    }

    /// All settings, as an experiment.
    #[getter]
    fn settings(&self) -> String {
        self.settings.clone()
    }

    #[getter]
    fn size(&self) -> u64 {
        self.lock().sectors() * SECTOR as u64
    }

    #[getter]
    fn page_size(&self) -> u32 {
        self.lock().sectors_per_page() * SECTOR as u32
    }

    /// Virtual time, in seconds.
    #[getter]
    fn time(&self) -> f64 {
        self.lock().now().0 as f64 * 1e-9
    }

    #[getter]
    fn first_mismatch(&self) -> Option<String> {
        self.lock().first_mismatch().map(str::to_owned)
    }

    fn read(&self, py: Python<'_>, offset: u64, size: u64) -> PyResult<Py<PyBytes>> {
        let (sector, count) = sectors(offset, size)?;
        let data = self.with(py, |disk| disk.read(sector, count))?;
        Ok(PyBytes::new(py, &data).unbind())
    }

    fn write(&self, py: Python<'_>, offset: u64, data: Vec<u8>, fua: bool) -> PyResult<()> {
        let (sector, _) = sectors(offset, data.len() as u64)?;
        self.with(py, |disk| disk.write(sector, data, if fua { Fua::Yes } else { Fua::No }))
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, Engine::flush)
    }

    fn discard(&self, py: Python<'_>, offset: u64, size: u64) -> PyResult<()> {
        let (sector, count) = sectors(offset, size)?;
        self.with(py, |disk| disk.discard(sector, count))
    }

    fn submit_read(&self, offset: u64, size: u64) -> PyResult<u64> {
        let (sector, sectors) = sectors(offset, size)?;
        Ok(self.lock().submit(DiskRequest::Read { sector, sectors }))
    }

    fn submit_write(&self, offset: u64, data: Vec<u8>, fua: bool) -> PyResult<u64> {
        let (sector, _) = sectors(offset, data.len() as u64)?;
        Ok(self.lock().submit(DiskRequest::Write { sector, data: data.into(), fua: if fua { Fua::Yes } else { Fua::No } }))
    }

    fn submit_flush(&self) -> u64 {
        self.lock().submit(DiskRequest::Flush)
    }

    fn run(&self, py: Python<'_>, all: bool) -> PyResult<Vec<Told>> {
        let answers = self.with(py, |disk| if all { disk.run_all() } else { disk.run() })?;
        Ok(Self::told(py, answers))
    }

    fn kill(&self, py: Python<'_>, what: &str, number: u32) -> PyResult<()> {
        let die = || u16::try_from(number).map_err(|_| PyValueError::new_err(format!("die {number}: there is none")));
        let part = match what {
            "die" => Part::Die(die()?),
            "block" => Part::Block(number),
            "channel" => Part::Channel(number),
            "page" => Part::Page(number),
            "worn-out" => Part::WornOut(number),
            _ => return Err(PyValueError::new_err(format!("found {what}; valid are die, block, page, channel, worn-out"))),
        };
        self.with(py, |disk| disk.fail(part))
    }

    fn replace(&self, py: Python<'_>, die: u16) -> PyResult<()> {
        self.with(py, |disk| disk.replace_die(DieId(die)))
    }

    fn cut_power(&self, py: Python<'_>) -> PyResult<Vec<Told>> {
        let (_, answers) = self.with(py, Engine::cut_power)?;
        Ok(Self::told(py, answers))
    }

    fn age(&self, py: Python<'_>, time: &str) -> PyResult<()> {
        let time = time_of(time)?;
        self.with(py, |disk| disk.age(time))
    }

    fn idle(&self, py: Python<'_>, time: &str) -> PyResult<()> {
        let time = time_of(time)?;
        self.with(py, |disk| disk.idle(time))
    }

    fn wear(&self, py: Python<'_>, cycles: u32) -> PyResult<()> {
        self.with(py, |disk| disk.wear(cycles))
    }

    fn silent(&self, py: Python<'_>, chance: f64) -> PyResult<()> {
        self.with(py, |disk| disk.silent(chance))
    }

    fn temperature(&self, py: Python<'_>, celsius: f64) -> PyResult<()> {
        self.with(py, |disk| disk.temperature(celsius))
    }

    fn slow(&self, py: Python<'_>, die: u16, factor: f64) -> PyResult<()> {
        self.with(py, |disk| disk.slow(DieId(die), factor))
    }

    fn pause(&self, py: Python<'_>, time: &str) -> PyResult<()> {
        let time = time_of(time)?;
        self.with(py, |disk| disk.pause(time))
    }

    /// Plans what a schedule of this name and text says.
    fn schedule(&self, name: &str, text: &str) -> PyResult<()> {
        let planned = experiment::schedule(name, text, &self.geometry).map_err(|problem| bad_input(&problem))?;
        if let Some(Planned { control, .. }) = planned.iter().find(|planned| planned.control.is_of_the_server()) {
            return Err(PyValueError::new_err(format!("{name}: {control}: that is only for drives that are served")));
        }
        self.lock().plan(&planned);
        Ok(())
    }

    /// Planned events that happened since the last call: time in seconds of virtual time, requests before it, the event, and its
    /// error, if it has one.
    fn happened(&self) -> Vec<(f64, u64, String, Option<String>)> {
        let told = |happened: Happened| {
            let Happened { at, requests, control, refused } = happened;
            (at.0 as f64 * 1e-9, requests, control.to_string(), refused)
        };
        self.lock().happened().into_iter().map(told).collect()
    }

    fn snapshot(&self, py: Python<'_>, name: &str) -> PyResult<Snapshot> {
        self.with(py, |disk| disk.snapshot(name)).map(Snapshot)
    }

    fn restore(&self, py: Python<'_>, snapshot: &Snapshot) -> PyResult<()> {
        self.with(py, |disk| disk.restore(&snapshot.0).map(drop))
    }

    /// How the drive is, as JSON.
    fn status(&self) -> String {
        serde_json::to_string(&self.lock().status()).expect("numbers and texts")
    }
}
