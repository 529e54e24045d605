//! What every component works on: jobs, the map, the device. It calls nobody.

pub(crate) mod jobs;
