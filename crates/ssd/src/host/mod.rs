//! The host's side: requests, their order, the write buffer, and what reads must return.
//!
//! A write or discard goes through here in steps. It arrives (`requests`), waits for earlier ones of the same pages
//! (`order`), is completed where it writes pages in part (`partial`), and is then taken in by the write buffer
//! (`buffer`, `evict`) or handed to the way of writing: that one step spans components, so `engine::flows::host` takes
//! it. Where it waited for nothing on its way, [`Next`] says so and no effect is needed.

pub(crate) mod buffer;
pub(crate) mod client;
mod dirty_strips;
pub(crate) mod evict;
pub(crate) mod explain;
pub(crate) mod flows;
pub(crate) mod front;
pub(crate) mod oracle;
pub(crate) mod order;
pub(crate) mod page_locks;
pub(crate) mod partial;
pub(crate) mod read;
pub(crate) mod read_only;
pub(crate) mod requests;
pub(crate) mod shadow;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod versions;

use crate::config::{Buffer, BufferKind, PayloadKind, Setup};
use crate::core::flash::FlashPayload;
use crate::host::buffer::WriteBuffer;
use crate::host::client::Client;
use crate::host::explain::Explanations;
use crate::host::oracle::Oracle;
use crate::host::order::OrderedBy;
use crate::host::page_locks::PageLocks;
use crate::host::read::Observation;
use crate::host::requests::Requests;
use device::slab::JobId;
use protect::Protection;
use std::collections::VecDeque;

/// The host's side: requests and their order, the write buffer, and what reads must return.
#[derive(Clone)]
pub(crate) struct Host<P: FlashPayload> {
    pub requests: Requests,
    ordered_by: OrderedBy,
    page_locks: PageLocks,
    pub buffer: WriteBuffer<P>,
    /// Whether the drive reads ahead: then it has to forget pages that are written.
    pub reads_ahead: bool,
    /// Jobs whose pages wait for space, in order.
    pub stalled: VecDeque<JobId>,
    pub oracle: Oracle,
    /// Whether pages carry anything: then every read is checked.
    pub has_payload: bool,
    /// Who has data of its own; `None`: what is written is made up.
    pub client: Option<Box<Client>>,
    pub observation: Observation<P>,
    /// The first wrong read, in words.
    pub first_mismatch: Option<String>,
    /// Where the time of requests went, where someone asks.
    pub explanations: Option<Box<Explanations>>,
}

/// Next step of a job that has just been put in order, or completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Next {
    /// Its pages get places.
    Place,
    /// It waits, or an effect takes it on.
    Nothing,
}

impl<P: FlashPayload> Host<P> {
    /// A host that has asked for nothing yet.
    pub fn new(setup: &Setup, protection: &Protection) -> Self {
        let geometry = &setup.drive.geometry;
        let stripe_scheme = protection.stripes();
        let slot_size = geometry.slot_size;
        let at_work = (Buffer::usual_size(&setup.drive).0 / slot_size.0) as usize;
        let buffer = WriteBuffer::new(&setup.buffer, slot_size, at_work, stripe_scheme);
        let by_stripes = stripe_scheme.is_some() && buffer.kind() == BufferKind::Off;
        let (pages, sectors, has_payload) = (setup.user_slots, geometry.sectors_per_slot(), setup.payload != PayloadKind::None);
        Self {
            requests: Requests::new(pages, sectors, setup.buffer.latency, setup.drive.controller),
            ordered_by: if by_stripes { OrderedBy::StripeUpdates } else { OrderedBy::PageLocks },
            page_locks: PageLocks::default(),
            buffer,
            reads_ahead: protection.zones().is_some_and(|zones| zones.read_ahead().is_some()),
            stalled: VecDeque::new(),
            oracle: if has_payload { Oracle::new::<P>(pages, sectors) } else { Oracle::default() },
            has_payload,
            client: None,
            observation: Observation::default(),
            first_mismatch: None,
            explanations: None,
        }
    }
}
