//! Requests of several flows: how many of each are unanswered.

/// Counts of one flow.
#[derive(Clone, Copy, Debug, Default)]
struct HostFlow {
    unanswered: u32,
    answered: u64,
}

/// Counts of each flow of a run.
#[derive(Clone, Debug)]
pub(crate) struct HostFlows {
    each: Vec<HostFlow>,
    /// True if a request was answered since this was last asked: then another may come.
    stirred: bool,
}

impl HostFlows {
    /// A run of `count` flows begins.
    pub fn new(count: usize) -> Self {
        Self { each: vec![HostFlow::default(); count], stirred: true }
    }

    /// True if a request was answered since this was last asked.
    pub fn take_stirred(&mut self) -> bool {
        std::mem::take(&mut self.stirred)
    }

    /// Requests of a flow that have arrived and are not answered.
    pub fn unanswered(&self, flow: usize) -> u32 {
        self.each[flow].unanswered
    }

    /// Requests of a flow that were answered.
    pub fn answered(&self, flow: usize) -> u64 {
        self.each[flow].answered
    }

    /// A request of a flow arrives.
    pub fn arrives(&mut self, flow: u16) {
        self.each[flow as usize].unanswered += 1;
    }

    /// A request of a flow is answered. One that came before this run is of no flow of it.
    pub fn answers(&mut self, flow: u16) {
        self.stirred = true;
        if let Some(flow) = self.each.get_mut(flow as usize).filter(|flow| flow.unanswered > 0) {
            flow.unanswered -= 1;
            flow.answered += 1;
        }
    }
}
