//! Which groups have code that says what their data are.

/// How a group's code stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It says something else than the data, or nothing.
    Stale,
    /// It is being written.
    Encoding,
    /// It is the code of the data.
    Valid,
}

/// State and generation in 8 bytes: large drives have millions of groups.
#[derive(Clone, Copy, Debug)]
struct Group(u64);

impl Group {
    fn new(state: State, generation: u64) -> Self {
        Self(generation << 2 | state as u64)
    }

    fn state(self) -> State {
        [State::Stale, State::Encoding, State::Valid][(self.0 & 3) as usize]
    }

    /// Counts the times that code, valid or on its way, was made stale. So what was looked up before is
    /// told from what is there now.
    fn generation(self) -> u64 {
        self.0 >> 2
    }
}

/// The groups of one code zone, by index within the zone.
#[derive(Clone, Debug)]
pub(super) struct Validity {
    groups: Vec<Group>,
    /// Bit i of word w: group 64 w + i is stale.
    stale: Vec<u64>,
    stale_count: u32,
    /// The group after the one that was taken last: a group that is written all the time does not keep
    /// others from their turn.
    next: u32,
}

impl Validity {
    /// All stale.
    pub(super) fn new(groups: u32) -> Self {
        let words = groups.div_ceil(64) as usize;
        let mut new =
            Self { groups: vec![Group::new(State::Valid, 0); groups as usize], stale: vec![0; words], stale_count: 0, next: 0 };
        (0..groups).for_each(|index| new.set(index, State::Stale, 0));
        new
    }

    fn set(&mut self, index: u32, state: State, generation: u64) {
        let (group, word) = (&mut self.groups[index as usize], &mut self.stale[index as usize / 64]);
        let bit = 1 << (index % 64);
        let (was, is) = (group.state() == State::Stale, state == State::Stale);
        match (was, is) {
            (false, true) => (*word, self.stale_count) = (*word | bit, self.stale_count + 1),
            (true, false) => (*word, self.stale_count) = (*word & !bit, self.stale_count - 1),
            _ => {}
        }
        *group = Group::new(state, generation);
    }

    /// The generation of the group's code, if it is valid.
    pub(super) fn valid(&self, index: u32) -> Option<u64> {
        let group = self.groups[index as usize];
        (group.state() == State::Valid).then(|| group.generation())
    }

    /// The data change. Whether there was valid code.
    pub(super) fn make_stale(&mut self, index: u32) -> bool {
        let group = self.groups[index as usize];
        if group.state() != State::Stale {
            self.set(index, State::Stale, group.generation() + 1);
        }
        group.state() == State::Valid
    }

    pub(super) fn make_all_stale(&mut self) {
        for index in 0..self.groups.len() as u32 {
            self.make_stale(index);
        }
    }

    /// Takes the next stale group in turn: its index and generation.
    pub(super) fn take(&mut self) -> Option<(u32, u64)> {
        let index = self.first_stale(self.next).or_else(|| self.first_stale(0))?;
        self.next = index + 1;
        let generation = self.groups[index as usize].generation();
        self.set(index, State::Encoding, generation);
        Some((index, generation))
    }

    /// The first stale group not before `from`.
    fn first_stale(&self, from: u32) -> Option<u32> {
        let (word, bit) = (from as usize / 64, from % 64);
        let head = self.stale.get(word)? & (u64::MAX << bit);
        let later = self.stale.iter().copied().enumerate().skip(word + 1);
        let (at, bits) = std::iter::once((word, head)).chain(later).find(|(_, bits)| *bits != 0)?;
        Some(at as u32 * 64 + bits.trailing_zeros())
    }

    pub(super) fn is_encoding(&self, index: u32, generation: u64) -> bool {
        let group = self.groups[index as usize];
        (group.state(), group.generation()) == (State::Encoding, generation)
    }

    /// The code that was begun at `generation` is in flash, or will never be. Whether it is valid now.
    pub(super) fn end(&mut self, index: u32, generation: u64, is_written: bool) -> bool {
        if !self.is_encoding(index, generation) {
            return false;
        }
        if is_written {
            self.set(index, State::Valid, generation);
        } else {
            self.make_stale(index);
        }
        is_written
    }

    pub(super) fn is_stale(&self, index: u32) -> bool {
        self.groups[index as usize].state() == State::Stale
    }

    pub(super) fn stale(&self) -> u32 {
        self.stale_count
    }

    pub(super) fn valid_groups(&self) -> u32 {
        self.groups.iter().filter(|group| group.state() == State::Valid).count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches code that counts as stale while it is on its way or valid, and stale code that does not.
    #[test]
    fn a_group_is_stale_unless_its_code_is_valid_or_on_its_way() {
        let mut validity = Validity::new(2);
        assert!(validity.is_stale(0) && validity.is_stale(1));
        let (index, generation) = validity.take().expect("all are stale");
        assert!(!validity.is_stale(index), "it is being written");
        assert!(validity.end(index, generation, true) && !validity.is_stale(index));
        validity.make_stale(index);
        assert!(validity.is_stale(index));
    }
}
