//! Events of a served drive beside requests, for later readers.

use serde_json::{Value, json};
use std::collections::VecDeque;

/// Something that happened.
#[derive(Clone, Debug)]
struct Event {
    number: u64,
    /// Virtual time, in seconds.
    time_s: f64,
    what: String,
    /// Whether a schedule or someone wanted it.
    planned: bool,
    refused: Option<String>,
}

/// The last events.
#[derive(Debug, Default)]
pub(crate) struct Events {
    last: VecDeque<Event>,
    /// How many there were.
    count: u64,
}

/// Events that are kept.
const KEPT: usize = 200;

/// Events that `status` tells.
const FEW: u64 = 20;

impl Events {
    pub fn note(&mut self, time_s: f64, what: String, planned: bool, refused: Option<String>) {
        self.count += 1;
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(Event { number: self.count, time_s, what, planned, refused });
    }

    /// The last few.
    pub fn last(&self) -> Vec<Value> {
        self.since(self.count.saturating_sub(FEW))
    }

    /// Those after the event of this number.
    pub fn since(&self, number: u64) -> Vec<Value> {
        let told = |event: &Event| {
            let Event { number, time_s, what, planned, refused } = event;
            json!({ "number": number, "time_s": time_s, "what": what, "planned": planned, "refused": refused })
        };
        self.last.iter().filter(|event| event.number > number).map(told).collect()
    }
}
