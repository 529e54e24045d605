//! Power-loss protection (PLP): which memory of a design must outlive a power cut, beside flash.
//!
//! Three parts of a drive lean on it: a PLP write buffer, which answers writes before flash has them; pages that are gathered for program
//! units (decision 13); and parity that a scheme holds in its parity cache, as `ppc` and `da-raid5` do with partial parity and block
//! groups with the sums of groups that are not whole. Whatever else survives a cut (counts of reads, summaries of blocks) saves time alone.

use super::needs::Needs;
use experiment::Experiment;
use ssd::BufferKind;
use ssd::protect::Protection;

/// Memory of a design that must outlive a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlpUse {
    /// Its write buffer, or the write cache of its scheme.
    pub buffer: bool,
    /// Pages that are gathered until their program unit is whole.
    pub units: bool,
    /// Partial parities, or sums of block groups.
    pub parity: bool,
}

impl PlpUse {
    /// None of it.
    pub const NOTHING: Self = Self { buffer: false, units: false, parity: false };
    /// All of it.
    pub const ALL: Self = Self { buffer: true, units: true, parity: true };

    /// That of a design, at any age.
    #[must_use]
    pub fn of(experiment: &Experiment, protection: &Protection) -> Self {
        let stripes = protection.stripes();
        // A write cache of a scheme stands in for a buffer that is off (decision 5).
        let own_cache = experiment.buffer.kind == BufferKind::Off && stripes.is_some_and(|scheme| scheme.has_write_cache());
        let holds_parity = match protection {
            Protection::Groups(_) => true,
            _ => stripes.is_some_and(|scheme| scheme.parity_cache() > 0),
        };
        Self {
            buffer: experiment.buffer.kind == BufferKind::Plp || own_cache,
            units: experiment.drive.timing.unit.as_ref().is_some_and(|unit| unit.pages() > 1),
            parity: holds_parity,
        }
    }

    /// As a figure: more of it is more; a bit for each part.
    #[must_use]
    pub fn value(self) -> f64 {
        f64::from(u32::from(self.buffer) + 2 * u32::from(self.units) + 4 * u32::from(self.parity))
    }

    /// That of a figure.
    #[must_use]
    pub fn of_value(value: f64) -> Self {
        let bits = value as u32;
        Self { buffer: bits & 1 > 0, units: bits & 2 > 0, parity: bits & 4 > 0 }
    }

    /// The parts by name; `none`: it needs no PLP.
    #[must_use]
    pub fn words(self) -> String {
        let parts = [(self.buffer, "write buffer"), (self.units, "program units"), (self.parity, "parity cache")];
        let parts: Vec<&str> = parts.into_iter().filter(|(is, _)| *is).map(|(_, part)| part).collect();
        if parts.is_empty() { "none".into() } else { parts.join(", ") }
    }

    /// Parts of the drive that a cut would take without PLP.
    #[must_use]
    pub fn lost(self) -> String {
        let parts = [
            (self.buffer, "acknowledged writes in the write buffer"),
            (self.units, "acknowledged pages gathered for program units"),
            (self.parity, "parity that is in the parity cache alone"),
        ];
        let parts: Vec<&str> = parts.into_iter().filter(|(is, _)| *is).map(|(_, part)| part).collect();
        format!("a power cut would take {}", parts.join(" and "))
    }
}

/// The setting of the kind of write buffer.
const BUFFER: &str = "buffer.kind";

/// Axes of a question. Where the drive has no PLP a PLP buffer would lose what it acknowledged: the buffer is off then, unless the axes
/// have buffers of their own.
pub(super) fn axes(vary: &[(String, String)], needs: &Needs, base: &Experiment) -> Vec<(String, String)> {
    let mut axes = vary.to_vec();
    let is_plp = base.buffer.kind == BufferKind::Plp;
    if needs.is_without_plp() && is_plp && vary.iter().all(|(key, _)| key.trim() != BUFFER) {
        axes.push((BUFFER.into(), "off".into()));
    }
    axes
}

/// The parts of a design that need power-loss protection, in a sentence.
pub(super) fn said(used: PlpUse, buffer: BufferKind) -> String {
    let needed = if used == PlpUse::NOTHING { "it needs no PLP".into() } else { format!("it needs PLP for: {}", used.words()) };
    let buffered = match buffer {
        BufferKind::Off if !used.buffer => "; without a write buffer, a write is answered when flash has it",
        BufferKind::Volatile => "; its volatile write buffer loses what was not flushed",
        BufferKind::Off | BufferKind::Plp => "",
    };
    format!("Power cuts: {needed}{buffered}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::{disk_setup, one_drive};
    use ssd::ftl::Place;
    use ssd::{Failure, MemoryLoss, Outage, Pace, PayloadKind, Session, Setup, shape};
    use vocab::{DieId, Fua, HostCommand, HostOp, Lba, Ppn, SimTime, Stream, StreamId, Streams};

    /// Schemes of a space by default, narrow enough to rebuild on 8 dies, and others that hold parity in other ways.
    const SCHEMES: [&str; 11] = [
        "none",
        "raid5:data_strips=5",
        "ppc:data_strips=5",
        "ppc:data_strips=5:on_flush=commit",
        "da-raid5:data_strips=5:stage=3",
        "ds-raid",
        "ds-raid:sub_stripe=defer",
        "mds-groups:k=3",
        "mds-groups:k=2:m=2",
        "code-zones:spare_blocks=3",
        "ds-raid+code-zones",
    ];
    /// Seeds of a design: each has other writes and another die that dies.
    const SEEDS: std::ops::Range<u64> = 1..9;
    const PACE: Pace = Pace::Closed { depth: 4 };

    /// A small drive that advice would look at.
    struct Small {
        setup: Setup,
        /// The parts of it that are said to need PLP.
        used: PlpUse,
        survives: u32,
        draws: Stream,
        /// The logical page that was written last.
        last: usize,
    }

    fn small(scheme: &str, buffer: &str, seed: u64) -> Small {
        let text = format!(
            "seed = {seed}\nschemes = [\"{scheme}\"]\nbuffer.kind = \"{buffer}\"\nbuffer.size = \"64KiB\"\nerrors.model = \"none\"\n\
             [capacity]\nsize = \"4MiB\"\nover_provisioning = \"200%\"\n[drive]\npreset = \"mlc-2014\"\ngeometry.pages_per_block = 16\n"
        );
        let experiment = Experiment::parse("advise.toml", &text).unwrap_or_else(|e| panic!("{e}"));
        let setup = disk_setup(&one_drive(&experiment, false).expect("one scheme")).unwrap_or_else(|e| panic!("{scheme}: {e}"));
        let protection = ssd::protect::registry::build(&setup.scheme, shape(&setup.drive)).unwrap_or_else(|e| panic!("{e}"));
        let (used, survives) = (PlpUse::of(&experiment, &protection), protection.survives_dies());
        let setup = Setup { payload: PayloadKind::Tag, ..setup };
        Small { setup, used, survives, draws: Streams::new(seed).stream("test/plp"), last: 0 }
    }

    fn command(op: HostOp, lpn: u32, sectors: u32) -> HostCommand {
        HostCommand { at: SimTime::ZERO, op, lba: Lba(u64::from(lpn) * 8), sectors, stream: StreamId::default() }
    }

    impl Small {
        /// A drive in which every logical page was written, and 300 or more of them again; how often each was.
        fn written(&mut self) -> (Session, Vec<u32>) {
            let pages = self.setup.user_slots;
            let mut lpns: Vec<u32> = (0..pages).collect();
            let more = 300 + self.draws.below(20);
            lpns.extend((0..more).map(|_| self.draws.below(pages.into()) as u32));
            self.last = lpns[lpns.len() - 1] as usize;
            let mut versions = vec![0; pages as usize];
            lpns.iter().for_each(|&lpn| versions[lpn as usize] += 1);
            let mut session = Session::new(&self.setup).unwrap_or_else(|e| panic!("{}: {e}", self.setup.scheme));
            let mut commands = lpns.into_iter().map(|lpn| command(HostOp::Write(Fua::No), lpn, 8));
            session.run(&mut commands, PACE, &mut |_| {});
            (session, versions)
        }

        /// A die dies, of which nothing is rebuilt yet: one that has a page of a sum in the parity cache, else the page that was written last.
        fn lose_a_die(&self, session: &mut Session) {
            let (inventory, geometry) = (session.inventory(), &self.setup.drive.geometry);
            let Place::At(slot) = inventory.places[self.last] else { panic!("{} was written", self.last) };
            let ppn = inventory.sums.first().map_or(Ppn(slot.0), |sum| sum.members[0]);
            session.fail(Failure::Die(DieId((ppn.0 / (geometry.pages() / geometry.dies())) as u16)));
            session.stop_rebuild();
        }

        /// The power goes, and all that PLP memory had is gone. The drive comes to rest.
        fn cut(&mut self, session: &mut Session) {
            let fates: Vec<_> = session.begun().into_iter().map(|begun| begun.draw(&mut self.draws)).collect();
            let memory = MemoryLoss::ALL;
            assert_eq!(session.cut_power_with(&fates, Outage { memory, ..Outage::default() }).lost, memory);
            session.drain();
        }
    }

    /// Logical pages of which flash has no version or an older one, as someone finds who takes it apart: the engine's own record of what it
    /// answered is not asked.
    fn missing(session: &Session, versions: &[u32]) -> usize {
        let (flash, places) = (session.raw_flash(), session.inventory().places);
        let is_there = |(lpn, version): (usize, u32)| {
            let Place::At(slot) = places[lpn] else { return false };
            let found = flash.pages.get(&Ppn(slot.0)).map(|page| &page.slots[0].1[..]);
            found == Some(&((lpn as u64 + 1) << 32 | u64::from(version)).to_le_bytes()[..])
        };
        versions.iter().copied().enumerate().filter(|one| !is_there(*one)).count()
    }

    /// A cut that takes PLP memory loses acknowledged writes of the designs that are said to need PLP for their write buffer, and of no other.
    #[test]
    fn acknowledged_writes_are_lost_where_the_buffer_needs_plp_and_nowhere_else() {
        for (scheme, buffer) in SCHEMES.into_iter().flat_map(|scheme| ["off", "volatile", "plp"].map(|buffer| (scheme, buffer))) {
            let mut lost = 0;
            for seed in SEEDS {
                let mut drive = small(scheme, buffer, seed);
                let (mut session, versions) = drive.written();
                // A volatile buffer promises only what was flushed.
                let flush = (buffer == "volatile").then(|| command(HostOp::Flush, 0, 0));
                session.run(&mut flush.into_iter(), PACE, &mut |_| {});
                drive.cut(&mut session);
                let missing = missing(&session, &versions);
                assert!(missing == 0 || drive.used.buffer, "{scheme}, buffer {buffer}, seed {seed}: {missing} writes are lost");
                lost += missing;
            }
            assert_eq!(lost > 0, small(scheme, buffer, 1).used.buffer, "{scheme}, buffer {buffer}: {lost} writes are lost");
        }
    }

    /// With a dead die the same cut loses what the parity cache alone would bring back, of the designs that are said to need PLP for it, and
    /// of no other.
    #[test]
    fn what_a_dead_die_had_is_lost_where_parity_needs_plp_and_nowhere_else() {
        for scheme in SCHEMES {
            // A write cache of the scheme's own would lose writes as well: a volatile buffer, flushed, stands in for it.
            let buffer = if small(scheme, "off", 1).used.buffer { "volatile" } else { "off" };
            let (mut lost, is_said) = (0, small(scheme, buffer, 1).used.parity);
            for seed in SEEDS {
                let mut drive = small(scheme, buffer, seed);
                if drive.survives == 0 {
                    continue;
                }
                let (mut session, versions) = drive.written();
                let flush = (buffer == "volatile").then(|| command(HostOp::Flush, 0, 0));
                session.run(&mut flush.into_iter(), PACE, &mut |_| {});
                drive.lose_a_die(&mut session);
                drive.cut(&mut session);
                let missing = missing(&session, &versions);
                assert!(missing == 0 || is_said, "{scheme}, seed {seed}: {missing} pages are lost");
                lost += missing;
            }
            assert_eq!(lost > 0, is_said, "{scheme}: {lost} pages are lost");
        }
    }

    /// Designs that are said to need no PLP keep everything with a dead die also where the cut comes amid work: all that was answered can be read.
    #[test]
    fn a_cut_amid_work_with_a_dead_die_loses_nothing_of_designs_that_need_no_plp() {
        let mut cuts = 0;
        for (scheme, seed) in SCHEMES.into_iter().flat_map(|scheme| SEEDS.map(move |seed| (scheme, seed))) {
            let mut drive = small(scheme, "off", seed);
            if drive.survives == 0 || drive.used != PlpUse::NOTHING {
                continue;
            }
            let (mut session, _) = drive.written();
            drive.lose_a_die(&mut session);
            let stop = drive.draws.below(1500);
            let pages = drive.setup.user_slots;
            let lpns: Vec<u32> = (0..200).map(|_| drive.draws.below(pages.into()) as u32).collect();
            let mut commands = lpns.into_iter().map(|lpn| command(HostOp::Write(Fua::No), lpn, 8));
            session.run_until(&mut commands, PACE, &mut |event| event < stop);
            drive.cut(&mut session);
            let found = session.read_back();
            assert_eq!((&found.lost[..], &found.wrong), (&[][..], &None), "{scheme}, seed {seed}, cut at {stop}");
            cuts += 1;
        }
        assert!(cuts >= 30, "{cuts} cuts");
    }

    /// Drives whose dies program several pages together gather them in memory that capacitors keep, whatever the scheme and buffer.
    #[test]
    fn drives_that_gather_program_units_need_plp() {
        for (preset, gathers) in
            [("tlc", true), ("qlc", true), ("970pro", true), ("tlc-ganged", false), ("mlc-2014", false), ("slc-gr", false)]
        {
            let text = format!("buffer.kind = \"off\"\n[drive]\npreset = \"{preset}\"\n");
            let experiment = Experiment::parse("advise.toml", &text).unwrap_or_else(|e| panic!("{e}"));
            let used = PlpUse::of(&experiment, &Protection::None);
            assert_eq!(used, PlpUse { units: gathers, ..PlpUse::NOTHING }, "{preset}");
            assert_eq!(PlpUse::of_value(used.value()), used);
        }
    }
}
