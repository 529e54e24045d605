use super::*;
use std::collections::BTreeSet;
use vocab::Streams;

const SECTORS: u64 = 24;

/// A step, for an oracle of bytes that knows nothing of images.
#[derive(Clone, Copy, Debug)]
enum Op {
    Write { at: u64, sectors: u64, byte: u8, forced: bool },
    Discard { at: u64, sectors: u64 },
    Flush,
}

fn ops(draws: &mut Stream, count: usize) -> Vec<Op> {
    let one = |n: usize, draws: &mut Stream| {
        let (at, sectors) = (draws.below(SECTORS - 4), 1 + draws.below(4));
        match draws.below(10) {
            0 => Op::Flush,
            1 => Op::Discard { at, sectors },
            2 => Op::Write { at, sectors, byte: n as u8 + 1, forced: true },
            _ => Op::Write { at, sectors, byte: n as u8 + 1, forced: false },
        }
    };
    (0..count).map(|n| one(n, draws)).collect()
}

fn step(op: Op) -> Step {
    Step::Request(match op {
        Op::Flush => DiskRequest::Flush,
        Op::Discard { at, sectors } => DiskRequest::Discard { sector: at, sectors: sectors as u32 },
        Op::Write { at, sectors, byte, forced } => DiskRequest::Write {
            sector: at,
            data: vec![byte; sectors as usize * SECTOR].into(),
            fua: if forced { Fua::Yes } else { Fua::No },
        },
    })
}

/// A byte for each sector, after those steps of which `keeps` says so; `keeps` is asked for a step and an atom.
fn naive(ops: &[Op], atom: u64, keeps: &dyn Fn(usize, u64) -> bool) -> Vec<u8> {
    let mut sectors = vec![0; SECTORS as usize];
    for (n, op) in ops.iter().enumerate() {
        let (range, byte) = match *op {
            Op::Flush => continue,
            Op::Discard { at, sectors } => (at..at + sectors, 0),
            Op::Write { at, sectors, byte, .. } => (at..at + sectors, byte),
        };
        for sector in range {
            if keeps(n, sector / atom) {
                sectors[sector as usize] = byte;
            }
        }
    }
    sectors
}

fn seen(image: &Image) -> Vec<u8> {
    (0..SECTORS)
        .map(|sector| {
            let bytes = image.sector(sector);
            assert!(bytes.iter().all(|byte| *byte == bytes[0]), "sector {sector} is whole");
            bytes[0]
        })
        .collect()
}

/// Every image is the one that the words of its name say, by an oracle that replays bytes; and its digest is known beforehand.
#[test]
fn each_loss_leaves_what_its_name_says() {
    for seed in 0..60 {
        let (mut draws, atom) = (Streams::new(seed).stream("test"), [1, 8][seed as usize % 2]);
        let ops = ops(&mut draws, 14);
        let mut block = Block::new(Image::zeros(SECTORS * SECTOR as u64), atom);
        for (n, op) in ops.iter().enumerate() {
            block.take(&step(*op), n).expect("it fits");
            let last_flush = ops[..=n].iter().rposition(|op| matches!(op, Op::Flush)).map_or(0, |at| at + 1);
            let forced = |m: usize| m < last_flush || matches!(ops[m], Op::Write { forced: true, .. });
            let (losses, left_out) = block.losses(true, 3, &mut draws.clone());
            assert_eq!(left_out, 0);
            for loss in losses {
                let mut drawn = |draw| Streams::new(seed).stream_of("draws", u64::from(draw));
                let image = block.cut(loss, &mut drawn);
                assert_eq!(image.digest(), block.digest(loss, &mut drawn), "{loss} after {ops:?}");
                let found = seen(&image);
                let is = |keeps: &dyn Fn(usize, u64) -> bool| {
                    assert_eq!(found, naive(&ops[..=n], atom, keeps), "{loss}, atom {atom}, after {:?}", &ops[..=n]);
                };
                let torn = |write: usize, atoms: i32, at: u64| {
                    let Op::Write { at: from, sectors, .. } = ops[write] else { panic!("{loss}: a write") };
                    let (first, end) = (from / atom, (from + sectors - 1) / atom + 1);
                    if atoms > 0 { at < first + atoms as u64 } else { at >= end - u64::from(atoms.unsigned_abs()) }
                };
                match loss {
                    Loss::All => is(&|_, _| true),
                    Loss::None => is(&|m, _| forced(m)),
                    Loss::Lost(write) => is(&|m, _| m != write),
                    Loss::Kept(write) => is(&|m, _| m == write || forced(m)),
                    Loss::Torn { write, atoms, alone: false } => is(&|m, at| m != write || torn(write, atoms, at)),
                    Loss::Torn { write, atoms, alone: true } => {
                        is(&|m, at| if m == write { torn(write, atoms, at) } else { forced(m) });
                    }
                    // Each sector is of a write that may be there, and none older than what is durable.
                    Loss::Drawn(_) => {
                        let durable = naive(&ops[..=n], atom, &|m, _| forced(m));
                        for (sector, byte) in found.iter().enumerate() {
                            let of_some = naive_values(&ops[..=n], sector as u64).contains(byte);
                            assert!(of_some || *byte == durable[sector], "{loss}: sector {sector}");
                        }
                    }
                }
            }
        }
    }
}

/// Every byte that a sector ever had.
fn naive_values(ops: &[Op], sector: u64) -> BTreeSet<u8> {
    let value = |op: &Op| match *op {
        Op::Write { at, sectors, byte, .. } if (at..at + sectors).contains(&sector) => Some(byte),
        Op::Discard { at, sectors } if (at..at + sectors).contains(&sector) => Some(0),
        _ => None,
    };
    ops.iter().filter_map(value).collect()
}

/// Three writes since a flush: all, none, each lost, each kept; of the one that is larger than an atom its parts.
#[test]
fn all_ways_of_a_few_writes() {
    let mut block = Block::new(Image::zeros(SECTORS * SECTOR as u64), 1);
    let write = |at, sectors, byte| Op::Write { at, sectors, byte, forced: false };
    for (n, op) in [write(9, 1, 9), Op::Flush, write(0, 1, 1), write(1, 1, 2), write(2, 4, 3)].into_iter().enumerate() {
        block.take(&step(op), n).expect("it fits");
    }
    let (losses, _) = block.losses(true, 0, &mut Streams::new(1).stream("test"));
    let words: BTreeSet<String> = losses.iter().map(Loss::to_string).collect();
    let expected = "all none lost-2 lost-3 lost-4 kept-2 kept-3 kept-4 torn-4+1 torn-4+2 torn-4+3 torn-4-1 torn-4+2-alone";
    assert_eq!(words, expected.split(' ').map(str::to_owned).collect());
    // In atoms of 4 KiB the last one is whole.
    block.atom = 8;
    let (whole, _) = block.losses(true, 0, &mut Streams::new(1).stream("test"));
    assert!(!whole.iter().any(|loss| matches!(loss, Loss::Torn { .. })), "{whole:?}");
}

#[test]
fn what_a_cut_left_is_durable_from_then_on() {
    let mut block = Block::new(Image::zeros(SECTORS * SECTOR as u64), 1);
    block.take(&step(Op::Write { at: 0, sectors: 1, byte: 1, forced: false }), 0).expect("it fits");
    let held = Some(Arc::new(vec![(5, vec![7; SECTOR].into())]));
    block.take(&Step::Control { words: "cut-power".into(), held }, 1).expect("it fits");
    block.take(&step(Op::Write { at: 2, sectors: 1, byte: 3, forced: false }), 2).expect("it fits");
    let mut none = |_| Streams::new(1).stream("test");
    let (kept, lost) = (seen(&block.cut(Loss::All, &mut none)), seen(&block.cut(Loss::None, &mut none)));
    assert_eq!((kept[0], kept[2], kept[5]), (0, 3, 7));
    assert_eq!((lost[0], lost[2], lost[5]), (0, 0, 7));
}

/// Sector 0 was flushed before the copy was made, sector 1 was not, sector 2 was written and flushed since. Catches a missing flush that
/// `restore` hides.
#[test]
fn what_was_not_durable_in_a_copy_is_not_durable_when_it_is_restored() {
    let write = |at| step(Op::Write { at, sectors: 1, byte: at as u8 + 1, forced: false });
    let control = |words: &str, held| Step::Control { words: words.into(), held };
    let held = |sectors: &[u64]| Some(Arc::new(sectors.iter().map(|&at| (at, vec![at as u8 + 1; SECTOR].into())).collect()));
    let begin = [write(0), step(Op::Flush), write(1), control("snapshot a b", None), write(2), step(Op::Flush)];
    for (more, lost, losses) in [
        (vec![control("restore a b", held(&[0, 1]))], [1, 0, 0], "all lost-2 none"),
        // The drive came back with something else; a copy that is not known, or was deleted.
        (vec![control("restore a b", held(&[0]))], [1, 0, 0], "all"),
        (vec![control("restore a", held(&[0, 1]))], [1, 2, 0], "all"),
        (vec![control("delete-snapshot a b", None), control("restore a b", held(&[0, 1]))], [1, 2, 0], "all"),
        (vec![control("cut-power", held(&[0, 1]))], [1, 2, 0], "all"),
    ] {
        let mut block = Block::new(Image::zeros(SECTORS * SECTOR as u64), 1);
        let steps = begin.iter().chain(&more);
        steps.enumerate().for_each(|(index, step)| block.take(step, index).expect("it fits"));
        let none = seen(&block.cut(Loss::None, &mut |_| Streams::new(1).stream("test")));
        assert_eq!(none[..3], lost, "{more:?}");
        let (all, _) = block.losses(true, 0, &mut Streams::new(1).stream("test"));
        let words: BTreeSet<String> = all.iter().map(Loss::to_string).filter(|word| !word.starts_with("torn")).collect();
        assert_eq!(words.into_iter().collect::<Vec<_>>().join(" "), losses, "{more:?}");
    }
}

#[test]
fn a_step_past_the_end_is_refused() {
    let mut block = Block::new(Image::zeros(SECTORS * SECTOR as u64), 1);
    let past = step(Op::Write { at: SECTORS, sectors: 1, byte: 1, forced: false });
    let error = block.take(&past, 3).expect_err("it does not fit");
    assert_eq!(error.to_string(), "step 3 of the recording ends at byte 12800; the drive has 12288");
}
