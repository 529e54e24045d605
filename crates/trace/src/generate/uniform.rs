//! Every slot is equally likely.

use super::{GeneratorKind, Shape, Starts};
use vocab::Stream;

pub(super) const KIND: GeneratorKind = GeneratorKind {
    name: "uniform",
    about: "uniformly random slots; request_size",
    build: |workload, _| Ok(Box::new(Uniform(workload.starts()?))),
};

struct Uniform(Starts);

impl Shape for Uniform {
    fn next(&mut self, stream: &mut Stream) -> (u64, u32) {
        self.0.at(stream.below(self.0.count))
    }
}
