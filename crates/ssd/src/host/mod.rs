//! The host's side: requests, their order, the write buffer, and what reads must return.

pub(crate) mod buffer;
pub(crate) mod oracle;
pub(crate) mod read_only;
pub(crate) mod requests;

use crate::config::Setup;
use crate::core::jobs::PageLocks;
use crate::host::buffer::WriteBuffer;
use crate::host::oracle::{Oracle, Stock};
use crate::host::requests::Host;
use device::contents::HostPayload;
use device::slab::Id;
use protect::Protection;
use std::collections::VecDeque;

/// The host's side: requests and their order, the write buffer, and what reads must return.
#[derive(Clone)]
pub(crate) struct HostSide<P: HostPayload> {
    pub requests: Host,
    pub page_locks: PageLocks,
    pub buffer: WriteBuffer<P>,
    /// Jobs whose pages wait for space, in order.
    pub stalled: VecDeque<Id>,
    pub oracle: Oracle,
    pub stock: Stock<P>,
    /// The first wrong read, in words.
    pub first_mismatch: Option<String>,
}

impl<P: HostPayload> HostSide<P> {
    /// A host that has asked for nothing yet.
    pub fn new(setup: &Setup, protection: &Protection) -> Self {
        let geometry = &setup.drive.geometry;
        let stripe_scheme = if let Protection::Stripes(scheme) = protection { Some(&**scheme) } else { None };
        Self {
            requests: Host::new(setup.user_slots, geometry.sectors_per_slot(), setup.buffer.latency),
            page_locks: PageLocks::default(),
            buffer: WriteBuffer::new(&setup.buffer, geometry.slot_size, stripe_scheme),
            stalled: VecDeque::new(),
            oracle: Oracle::new::<P>(setup.user_slots, geometry.sectors_per_slot()),
            stock: Stock::default(),
            first_mismatch: None,
        }
    }
}
