//! Policies written in Python. What a drive asks of one, it asks with the lock of Python held.

use crate::errors::bad_input;
use common::Problem;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use ssd::ecc::{Advice, Decoded, EccPolicy, Profile};
use ssd::ftl::victim::VictimPolicy;
use ssd::ftl::{Unit, UnitState, victim};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use vocab::{Capability, PeCycles, Ppn, Streams};

/// Settings of policies.
const GC: &str = "gc.policy";
const ECC: &str = "ecc.policy";

/// First exception of a policy. The run goes on without it, and then ends with that.
#[derive(Clone, Debug, Default)]
pub struct Raised {
    error: Arc<Mutex<Option<PyErr>>>,
    /// A policy of garbage collection that chose nothing where something would have gained room.
    idle: Arc<OnceLock<String>>,
}

impl Raised {
    fn first(&self) -> std::sync::MutexGuard<'_, Option<PyErr>> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, error: PyErr) {
        self.first().get_or_insert(error);
    }

    fn is_there(&self) -> bool {
        self.first().is_some()
    }

    /// The error for a run that ended with a problem: the exception, if there is one, for which the problem may be due to it.
    pub fn explain(&self, problem: Problem) -> PyErr {
        if let Some(error) = self.first().take() {
            return error;
        }
        bad_input(&match self.idle.get() {
            Some(policy) => problem.and(&format!("{policy} chose none of its candidates, although some gain room")),
            None => problem,
        })
    }

    /// The exception, as an error.
    pub fn end(&self) -> PyResult<()> {
        self.first().take().map_or(Ok(()), Err)
    }
}

/// A policy of a setting, by the name of its function or class: `gc.policy: policy `oldest``.
fn named(setting: &str, policy: &Bound<'_, PyAny>) -> String {
    let of = |object: &Bound<'_, PyAny>| object.getattr("__qualname__").and_then(|name| name.extract::<String>()).ok();
    match of(policy).or_else(|| of(policy.get_type().as_any())) {
        Some(name) => format!("{setting}: policy `{name}`"),
        None => setting.to_owned(),
    }
}

/// An exception of the policy itself, with a note that names it; Python before 3.11 has no notes.
fn noted(py: Python<'_>, error: PyErr, setting: &str, policy: &Py<PyAny>) -> PyErr {
    let _ = error.value(py).call_method1("add_note", (format!("{} raised this", named(setting, policy.bind(py))),));
    error
}

/// The error for an answer of a policy that has the wrong type.
fn wrong_type(policy: &str, given: &Bound<'_, PyAny>, wanted: &str) -> PyErr {
    let found =
        given.repr().map_or_else(|_| "what cannot be shown".to_owned(), |text| text.to_string().chars().take(60).collect());
    PyTypeError::new_err(format!("{policy}: gave {found}, wanted {wanted}"))
}

/// The full blocks (or superblocks) of a log, which garbage collection chooses from: a list for each property.
#[pyclass(frozen, get_all, module = "flashkeep._native")]
pub struct Candidates {
    /// Pages of each that are still valid and would move.
    valid: Py<PyList>,
    /// Pages that each can hold.
    slots: Py<PyList>,
    /// How many blocks of the log were filled since each.
    age: Py<PyList>,
    /// P/E cycles of each.
    pe: Py<PyList>,
    /// Whether collecting it gains room.
    gains: Py<PyList>,
}

#[pymethods]
impl Candidates {
    fn __len__(&self, py: Python<'_>) -> usize {
        self.valid.bind(py).len()
    }
}

impl Candidates {
    fn new(py: Python<'_>, of: &victim::Candidates<'_>, closed: &[usize]) -> PyResult<Self> {
        let units: Vec<&Unit> = closed.iter().map(|&index| &of.units[index]).collect();
        let list = |property: &dyn Fn(&Unit) -> u64| PyList::new(py, units.iter().map(|unit| property(unit))).map(Bound::unbind);
        Ok(Self {
            valid: list(&|unit| unit.valid.into())?,
            slots: list(&|unit| of.slots(unit).into())?,
            age: list(&|unit| of.clock - unit.closed_at)?,
            pe: list(&|unit| unit.pe.into())?,
            gains: PyList::new(py, units.iter().map(|unit| of.gains(unit)))?.unbind(),
        })
    }
}

/// A policy of garbage collection: a callable of candidates that gives the place of one, or nothing.
pub struct Collection {
    policy: Arc<Py<PyAny>>,
    raised: Raised,
    /// Takes over where the policy raised something.
    instead: Box<dyn VictimPolicy>,
}

impl Collection {
    /// The policy of a callable.
    pub fn new(policy: Py<PyAny>, raised: Raised) -> Self {
        let instead = victim::build("greedy", 1, Streams::new(0).stream("py")).expect("it is in the registry");
        Self { policy: Arc::new(policy), raised, instead }
    }

    fn ask(&self, candidates: &victim::Candidates<'_>) -> PyResult<Option<usize>> {
        let units = candidates.units.iter().enumerate();
        let closed: Vec<usize> = units.filter(|(_, unit)| unit.state == UnitState::Closed).map(|(index, _)| index).collect();
        Python::attach(|py| {
            let given = self.policy.call1(py, (Candidates::new(py, candidates, &closed)?,));
            let given = given.map_err(|error| noted(py, error, GC, &self.policy))?;
            let name = || named(GC, self.policy.bind(py));
            let wrong = |_| wrong_type(&name(), given.bind(py), "the place of a candidate, from 0, or None");
            let Some(place) = given.extract::<Option<usize>>(py).map_err(wrong)? else {
                if closed.iter().any(|&index| candidates.gains(&candidates.units[index])) {
                    self.raised.idle.get_or_init(name);
                }
                return Ok(None);
            };
            let refused =
                || PyValueError::new_err(format!("{}: gave {place}, and there are {} candidates", name(), closed.len()));
            closed.get(place).copied().map(Some).ok_or_else(refused)
        })
    }
}

impl VictimPolicy for Collection {
    fn pick(&mut self, candidates: &victim::Candidates<'_>) -> Option<usize> {
        if !self.raised.is_there() {
            match self.ask(candidates) {
                Ok(place) => return place,
                Err(error) => self.raised.keep(error),
            }
        }
        self.instead.pick(candidates)
    }

    fn boxed_clone(&self) -> Box<dyn VictimPolicy> {
        let (policy, raised, instead) = (self.policy.clone(), self.raised.clone(), self.instead.boxed_clone());
        Box::new(Self { policy, raised, instead })
    }
}

/// A page that was read and decoded.
#[pyclass(frozen, get_all, module = "flashkeep._native")]
pub struct PageRead {
    /// Number of the page.
    page: u32,
    /// Bits that each of its codewords corrects.
    t: u32,
    /// P/E cycles of its block.
    pe: u32,
    /// Hours since it was programmed.
    hours: f64,
    /// Codewords that were decoded.
    codewords: u32,
    /// Errors that were corrected in them.
    errors: u32,
    /// Codewords that could not be decoded.
    failed: u32,
}

/// A policy of page ECC: callables of what is programmed and of what was read.
#[derive(Clone)]
pub struct PageEcc {
    program: Arc<Py<PyAny>>,
    read: Option<Arc<Py<PyAny>>>,
    strongest: Capability,
    raised: Raised,
}

impl std::fmt::Debug for PageEcc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PageEcc").field("strongest", &self.strongest).finish_non_exhaustive()
    }
}

impl PageEcc {
    /// The policy of callables; no code of it corrects more than `strongest` bits.
    pub fn new(program: Py<PyAny>, read: Option<Py<PyAny>>, strongest: u8, raised: Raised) -> Self {
        Self { program: Arc::new(program), read: read.map(Arc::new), strongest: Capability(strongest), raised }
    }

    fn asked(&self, page: Ppn, pe: PeCycles) -> PyResult<Capability> {
        Python::attach(|py| {
            let given = self.program.call1(py, (page.0, pe.0)).map_err(|error| noted(py, error, ECC, &self.program))?;
            let name = || named(ECC, self.program.bind(py));
            let t: u32 = given.extract(py).map_err(|_| wrong_type(&name(), given.bind(py), "a number of bits t, from 0"))?;
            let most = self.strongest.0;
            let refused = || PyValueError::new_err(format!("{}: gave t = {t}, valid are 0 to {most}, its strongest", name()));
            u8::try_from(t).ok().filter(|t| *t <= most).map(Capability).ok_or_else(refused)
        })
    }

    fn advice(&self, heard: &Py<PyAny>, read: PageRead) -> PyResult<bool> {
        Python::attach(|py| {
            let given = heard.call1(py, (read,)).and_then(|given| given.bind(py).is_truthy());
            given.map_err(|error| noted(py, error, ECC, heard))
        })
    }
}

impl EccPolicy for PageEcc {
    fn program(&mut self, page: Ppn, pe: PeCycles) -> Capability {
        if self.raised.is_there() {
            return self.strongest;
        }
        self.asked(page, pe).unwrap_or_else(|error| {
            self.raised.keep(error);
            self.strongest
        })
    }

    fn read(&mut self, page: Ppn, profile: &Profile, decoded: Decoded) -> Advice {
        let Some(heard) = self.read.as_ref().filter(|_| !self.raised.is_there()) else { return Advice::Keep };
        let Decoded { codewords, errors, failed } = decoded;
        let (t, pe, hours) = (profile.capability.0.into(), profile.pe.0, profile.hours);
        match self.advice(heard, PageRead { page: page.0, t, pe, hours, codewords, errors, failed }) {
            Ok(true) => Advice::Rewrite,
            Ok(false) => Advice::Keep,
            Err(error) => {
                self.raised.keep(error);
                Advice::Keep
            }
        }
    }

    fn max_retention_hours(&mut self, _: Capability, _: PeCycles) -> f64 {
        f64::INFINITY
    }

    fn strongest(&self) -> Capability {
        self.strongest
    }

    fn boxed_clone(&self) -> Box<dyn EccPolicy> {
        Box::new(self.clone())
    }
}
