//! Whether the drive could lose a part now: proofs take the next one when the last one is rebuilt. This asks the
//! flash what no controller knows, whether pages that no one has read are still there.

use crate::core::flash::FlashPayload;
use crate::engine::Engine;
use crate::engine::flows::recovery::is_recovering;
use crate::session::{Session, inside};
use crate::write::RebuiltBy;
use ftl::{Place, UnitState};
use vocab::{DieId, Lpn, Ppn, SuperblockId};

impl Session {
    /// Whether nothing waits to be rebuilt, no superblock that is being written has a lost block, and each logical page can
    /// be read and would survive the loss of its die, because all that brings it back lies on others and can be read as
    /// well. False under schemes that bring nothing back. The drive must be at rest.
    #[must_use]
    pub fn is_whole(&mut self) -> bool {
        inside!(self.inner_mut(), prepared => {
            let engine = &mut prepared.engine;
            let is_at_rest = engine.core.device.is_idle() && !is_recovering(engine);
            is_at_rest && is_rebuilt(engine) && (0..engine.core.map.user_slots()).all(|lpn| survives_loss_of(engine, Lpn(lpn)))
        })
    }

    /// Stripe in which one loss would be two: a static stripe with two strips on one die that answers, in words.
    #[must_use]
    pub fn doubled_stripe(&self) -> Option<String> {
        inside!(self.inner(), prepared => doubled_stripe(&prepared.engine))
    }
}

/// Logical pages that [`Session::standing`] looks at, spread evenly, where there are more.
const LOOKED_AT: u32 = 1 << 16;

/// Losses that the drive would survive now, beside the promise of its scheme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Dies whose loss at a time loses no acknowledged data, as the scheme promises it in its present stage.
    pub promised_dies: u32,
    /// Dies that are dead.
    pub dead_dies: u32,
    /// Logical pages with contents that were looked at: all of them, or some tens of thousands spread evenly.
    pub looked_at: u32,
    /// Of these, pages that would be lost with their die.
    pub exposed: u32,
    /// Of the exposed, pages that cannot be read any more.
    pub lost: u32,
    /// Whether a power cut must leave the scheme's own memory intact: its parity cache or open sums.
    pub plp_memory: bool,
}

impl Session {
    /// Losses that the drive would survive now: each page is asked where it lies and what brings it back. Nothing
    /// changes.
    #[must_use]
    pub fn standing(&self) -> Standing {
        inside!(self.inner(), prepared => standing(&prepared.engine))
    }
}

fn standing<P: FlashPayload>(engine: &Engine<P>) -> Standing {
    let (writer, dies) = (&engine.writer, engine.core.device.grid.dies());
    let is_dead = |die: &DieId| engine.core.device.is_dead(*die);
    let mut standing =
        Standing { dead_dies: (0..dies).map(|die| DieId(die as u16)).filter(is_dead).count() as u32, ..Standing::default() };
    let promise = writer.in_use(&engine.core).promise();
    (standing.promised_dies, standing.plp_memory) = (promise.dies, promise.needs_safe_memory);
    let slots = engine.core.map.user_slots();
    // Odd, so that no stripe of a power of two gives the same strip each time.
    let step = slots.div_ceil(LOOKED_AT) | 1;
    for lpn in (0..slots).step_by(step as usize).map(Lpn) {
        let is_there = match engine.core.map.lookup(lpn) {
            Place::Unmapped => continue,
            Place::Missing => false,
            Place::At(slot) => !engine.core.device.array.is_lost(engine.core.device.grid.page_of(slot).0),
        };
        standing.looked_at += 1;
        if !survives_loss_of(engine, lpn) {
            standing.exposed += 1;
            standing.lost += u32::from(!is_there && !comes_back(engine, lpn));
        }
    }
    standing
}

/// Whether a page that is lost can be solved for.
fn comes_back<P: FlashPayload>(engine: &Engine<P>, lpn: Lpn) -> bool {
    sources_elsewhere(engine, lpn).is_some()
}

/// Whether nothing waits to be rebuilt, and all that is written from now on has redundancy.
fn is_rebuilt<P: FlashPayload>(engine: &Engine<P>) -> bool {
    let core = &engine.core;
    let has_redundancy = match engine.writer.facts.rebuilt_by {
        RebuiltBy::Nothing => false,
        RebuiltBy::Stripes => engine.writer.is_laid_out(core),
        RebuiltBy::Collection => !writes_to_lost_blocks(engine),
    };
    has_redundancy && engine.care.rebuild_left(core) == 0 && core.device.losses.lacking().is_empty()
}

/// Whether a superblock that is being written has a lost block: the next program that fails there takes a page from
/// the codewords that are begun, and no controller knows it before.
fn writes_to_lost_blocks<P: FlashPayload>(engine: &Engine<P>) -> bool {
    let core = &engine.core;
    let superblocks = (0..core.device.grid.blocks_per_die()).map(SuperblockId);
    let open = superblocks.filter(|superblock| core.map.unit(superblock.0).state == UnitState::Open);
    open.flat_map(|superblock| core.map.rows().members(superblock).iter().map(move |die| (superblock, die)))
        .map(|(superblock, die)| core.device.grid.ppn(core.device.grid.block(DieId(die as u16), superblock.0), 0))
        .any(|ppn| core.device.array.is_lost(ppn))
}

/// A static stripe with two strips on one die that answers, in words. Where a die has no room left because its
/// blocks are gone, or no die is left for a strip, any die is better than none, and nothing is said.
fn doubled_stripe<P: FlashPayload>(engine: &Engine<P>) -> Option<String> {
    let (core, stripes) = (&engine.core, engine.writer.stripes_if_any()?);
    if core.grown_bad > 0 {
        return None;
    }
    let doubled = stripes.two_strips_on_a_die(core, |stripe| stripes.has_homes(core, stripe));
    doubled.map(|(stripe, die)| format!("two strips of {stripe} lie on {die}"))
}

fn survives_loss_of<P: FlashPayload>(engine: &Engine<P>, lpn: Lpn) -> bool {
    let core = &engine.core;
    match core.map.lookup(lpn) {
        Place::Unmapped => true,
        Place::Missing => false,
        Place::At(slot) => {
            let ppn = core.device.grid.page_of(slot).0;
            lasts(engine, ppn) && sources_elsewhere(engine, lpn).is_some()
        }
    }
}

/// Whether the page is there and stays. What a cut may have met is read for a while: a mount writes it again, but for pages
/// without room.
fn lasts<P: FlashPayload>(engine: &Engine<P>, ppn: Ppn) -> bool {
    let device = &engine.core.device;
    device.is_stored(ppn) && !device.array.is_lost(ppn) && !device.losses.remembered.contains(&ppn)
}

/// The pages that bring a page back, if all of them can be read and lie on other dies than it.
fn sources_elsewhere<P: FlashPayload>(engine: &Engine<P>, lpn: Lpn) -> Option<Vec<Ppn>> {
    let (core, writer) = (&engine.core, &engine.writer);
    let place = match core.map.lookup(lpn) {
        Place::Unmapped => return None,
        Place::Missing => None,
        Place::At(slot) => Some(core.device.grid.page_of(slot)),
    };
    let sources = writer.in_use(core).pages_that_bring_back(core, lpn, place);
    let own = place.map(|(ppn, _)| core.device.grid.die_of(ppn));
    let is_elsewhere = |&page: &Ppn| Some(core.device.grid.die_of(page)) != own;
    sources.filter(|sources| sources.iter().all(|page| lasts(engine, *page) && is_elsewhere(page)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BufferKind, Pace};
    use crate::core::owner::Owner;
    use crate::core::testing::tiny_setup;
    use device::image::Contents;
    use nand::{FlashArray, OobTag};
    use vocab::{Cause, Fua, HostCommand, HostOp, Lba, SimTime, StripeId};

    /// Of two strips on one die a partial parity brings back one and the stored parity the other. Catches a drive that is taken
    /// for whole then: the next commit makes one parity of both, and a loss of that die is one too many (torture, seed 20261121,
    /// 192236).
    #[test]
    fn a_drive_with_two_strips_of_a_stripe_on_one_die_is_not_whole() {
        let setup = crate::config::Setup { user_slots: 40, ..tiny_setup("ppc", BufferKind::Off) };
        let mut session = Session::new(&setup).expect("a tiny drive");
        let stream = vocab::StreamId::default();
        let write = |sectors| HostCommand { at: SimTime::ZERO, op: HostOp::Write(Fua::No), lba: Lba(0), sectors, stream };
        session.run(&mut [write(32), write(8)].into_iter(), Pace::Closed { depth: 1 }, &mut |_| {});
        assert!(session.is_whole());
        let crate::session::Inner::Tag(prepared) = session.inner_mut() else { panic!("its payload is tags") };
        let engine = &mut prepared.engine;
        assert!(
            engine
                .writer
                .stripes_if_any()
                .expect("static stripes")
                .held
                .get(StripeId(0))
                .is_some_and(|partial| partial.covers.contains(0))
        );
        let of = |engine: &Engine<_>, lpn| match engine.core.map.lookup(Lpn(lpn)) {
            Place::At(slot) => engine.core.device.grid.page_of(slot).0,
            place => panic!("{place:?}"),
        };
        let (covered, other) = (of(engine, 0), of(engine, 1));
        let log = engine.core.device.grid.die_of(other).index();
        let ppn = engine.core.map.take_page(log, ftl::Stream::Host).expect("there is room");
        let image = engine.core.device.images.open(ppn, nand::Oob::default());
        let payload = engine.core.device.array.payload(covered)[0];
        engine.core.device.images.fill(image, Contents { tag: OobTag::data(Lpn(0)), payload, update: 1 }, None, None);
        engine.core.map.publish(Lpn(0), engine.core.device.grid.slot(ppn, 0));
        engine.core.submit_program(image, Owner::NoOne, Cause::Rebuild);
        session.drain();
        assert!(session.read_back().lost.is_empty() && !session.is_whole());
    }
}
