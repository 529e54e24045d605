//! The write buffer of an experiment.

use crate::textual::BufferSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::{Buffer, BufferKind, Drive};
use vocab::{Bytes, Nanos};

/// Largest write buffer.
const SIZE_MAX: Bytes = Bytes(1 << 40);

/// The write buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BufferSpec {
    /// Kind of the write buffer.
    pub kind: BufferKind,
    /// Data it holds; `auto`: two program units for each die, 1MiB at least.
    #[schemars(extend("formatMaximum" = SIZE_MAX))]
    pub size: BufferSize,
    /// Time to answer a request from it.
    #[schemars(extend("formatMaximum" = Nanos::OPERATION_MAX))]
    pub latency: Nanos,
}

impl Default for BufferSpec {
    fn default() -> Self {
        let Buffer { kind, latency, .. } = Buffer::default();
        Self { kind, size: BufferSize::Auto, latency }
    }
}

impl BufferSpec {
    /// The buffer of this drive.
    #[must_use]
    pub fn on(&self, drive: &Drive) -> Buffer {
        let size = match self.size {
            BufferSize::Auto => Buffer::usual_size(drive),
            BufferSize::Of(size) => size,
        };
        Buffer { kind: self.kind, size, latency: self.latency }
    }
}
