//! Drives that have lived before their first round, as `flashkeep life` lets them: stretches of which every program is simulated and no
//! time, under a calendar; blocks that wear out at thresholds of their own; refresh by age; leaps over P/E cycles. What this adds to the
//! scenarios of [`Draws::Together`](crate::Draws::Together) is drawn from streams of its own.

use crate::Scope;
use crate::shape::pick;
use crate::workload::workload;
use ssd::{PayloadKind, Session, Setup};
use vocab::{BlockAddr, Nanos, Stream, Streams};

/// The life of a drive before its first round.
#[derive(Clone, Debug, PartialEq)]
pub struct Lived {
    /// Seed of requests, and of the blocks that wear out.
    pub seed: u64,
    /// Time of the calendar for each page that the host writes.
    pub page_time: Nanos,
    /// Age at which data are refreshed; `None`: never.
    pub refresh: Option<Nanos>,
    /// Stretches in order.
    pub stretches: Vec<Stretch>,
}

/// A stretch of the life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Pages that the host writes.
    pub pages: u64,
    /// Blocks that wear out at its end.
    pub worn: u32,
    /// P/E cycles of the leap after it; 0: none.
    pub leap: u32,
}

/// Requests that are drawn at a time.
const AT_A_TIME: u64 = 64;

/// The life of a drive before a scenario. `None`: it begins as it was built, as drives do that are aged.
pub(super) fn before(setup: &Setup, scope: &Scope, number: u64) -> Option<Lived> {
    let mut draws = Streams::new(scope.seed).stream_of("torture/lived", number);
    let is_aged = setup.age.pe_cycles.0 > 0 || setup.age.retention.0 > 0;
    (!is_aged && setup.user_slots > 0).then(|| draw(setup, &mut draws))
}

fn draw(setup: &Setup, draws: &mut Stream) -> Lived {
    let page_time = Nanos(*pick(&[1_000_000, 1_000_000_000, 600_000_000_000], draws));
    let user = u64::from(setup.user_slots);
    let refresh = draws.chance(0.4).then(|| Nanos(page_time.0 * (user / 2 + draws.below(2 * user))));
    // Pages with bytes do not leap.
    let leaps = setup.payload == PayloadKind::Tag && draws.chance(0.6);
    let stretch = |draws: &mut Stream| Stretch {
        pages: 1 + draws.below(user),
        worn: draws.below(3) as u32,
        leap: if leaps { *pick(&[0, 1, 3, 100, 2000], draws) } else { 0 },
    };
    let count = 1 + draws.below(3);
    let stretches = (0..count).map(|_| stretch(draws)).collect();
    Lived { seed: draws.bits(), page_time, refresh, stretches }
}

impl Lived {
    /// Whether blocks wear out in it.
    #[must_use]
    pub fn wears_out(&self) -> bool {
        self.stretches.iter().any(|stretch| stretch.worn > 0)
    }

    /// Lets the drive live, which is at rest before and after.
    pub(super) fn live(&self, setup: &Setup, session: &mut Session) {
        let streams = Streams::new(self.seed);
        let (mut draws, mut worn) = (streams.stream("torture/lived/requests"), streams.stream("torture/lived/worn"));
        let geometry = &setup.drive.geometry;
        for stretch in &self.stretches {
            let since = session.now();
            let mut next = || workload(setup.user_slots, geometry.sectors_per_slot(), AT_A_TIME, 0.1, &mut draws);
            let mut requests = std::iter::repeat_with(&mut next).flatten();
            session.live(&mut requests, stretch.pages, self.page_time, self.refresh);
            for _ in 0..stretch.worn {
                let block = BlockAddr(worn.below(u64::from(geometry.blocks())) as u32);
                // Bad blocks have no life.
                if !session.bad_blocks().contains(&block) {
                    session.wear_out(block);
                }
            }
            if stretch.leap > 0 {
                session.leap(since, stretch.leap, Nanos(self.page_time.0 * u64::from(stretch.leap) * 10));
            }
        }
    }

    /// In a line.
    #[must_use]
    pub fn text(&self) -> String {
        let stretch = |of: &Stretch| format!("{} pages, {} blocks wear out, leap of {} cycles", of.pages, of.worn, of.leap);
        let refresh = self.refresh.map_or_else(|| "no refresh".into(), |age| format!("refresh after {} ms", age.0 / 1_000_000));
        let stretches: Vec<String> = self.stretches.iter().map(stretch).collect();
        format!("has lived: {}; {} ms a page, {refresh}", stretches.join("; "), self.page_time.0 / 1_000_000)
    }
}
