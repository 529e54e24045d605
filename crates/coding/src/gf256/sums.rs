//! Several sums over the same strips at once: a matrix over the field, ready to be applied.

use super::kernel::{GROUP, Kernel, Part};

/// Bytes of the inputs that a first-level data cache holds while several groups of outputs pass over them.
const CACHED: usize = 32 << 10;

/// A matrix over GF(2^8): each output is a sum of inputs with fixed coefficients. Encoding and
/// rebuilding are both of this form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sums {
    inputs: usize,
    outputs: usize,
    /// The coefficients as a kernel reads them: groups of up to [`GROUP`] outputs, in each group
    /// input by input.
    factors: Vec<u8>,
    /// One output, all coefficients 1: no multiplication at all.
    plain: bool,
}

impl Sums {
    /// The matrix with these coefficients, row by row; a row is an output and has `inputs` entries.
    ///
    /// # Panics
    /// If there are no inputs, or `coefficients` does not consist of whole rows.
    #[must_use]
    pub fn new(inputs: usize, coefficients: &[u8]) -> Self {
        assert!(inputs > 0, "a sum of nothing");
        let outputs = coefficients.len() / inputs;
        assert_eq!(inputs * outputs, coefficients.len(), "whole rows");
        let mut factors = Vec::with_capacity(coefficients.len());
        for group in (0..outputs).step_by(GROUP) {
            let rows = group..outputs.min(group + GROUP);
            for input in 0..inputs {
                factors.extend(rows.clone().map(|row| coefficients[row * inputs + input]));
            }
        }
        Sums { inputs, outputs, factors, plain: outputs == 1 && coefficients.iter().all(|c| *c == 1) }
    }

    /// Strips that are read.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Strips that are written.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The coefficient of an input in an output.
    ///
    /// # Panics
    /// If there is no such output or input.
    #[must_use]
    pub fn coefficient(&self, output: usize, input: usize) -> u8 {
        assert!(output < self.outputs && input < self.inputs, "no such coefficient");
        let group = output / GROUP * GROUP;
        let width = GROUP.min(self.outputs - group);
        self.factors[group * self.inputs + input * width + output - group]
    }

    /// Writes all outputs; what they held does not matter.
    ///
    /// # Panics
    /// If the number of strips is not that of the matrix, or their lengths differ.
    pub fn apply(&self, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) {
        self.apply_with(Kernel::fastest(), inputs, outputs);
    }

    /// As [`Sums::apply`], with a kernel of choice.
    ///
    /// # Panics
    /// As [`Sums::apply`].
    pub fn apply_with(&self, kernel: &Kernel, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) {
        assert_eq!((inputs.len(), outputs.len()), (self.inputs, self.outputs), "inputs and outputs of the matrix");
        let len = inputs[0].len();
        let equal = inputs.iter().all(|input| input.len() == len) && outputs.iter().all(|output| output.len() == len);
        assert!(equal, "strips of one stripe have one length");
        if self.plain {
            return kernel.total(inputs, outputs[0]);
        }
        // With one group everything is read once and need not stay cached.
        let step = if self.outputs <= GROUP { len } else { (CACHED / self.inputs).next_multiple_of(512) };
        let mut start = 0;
        while start < len {
            let part = Part { start, end: len.min(start + step) };
            let groups = self.factors.chunks(GROUP * self.inputs);
            for (factors, outputs) in groups.zip(outputs.chunks_mut(GROUP)) {
                kernel.sums(inputs, factors, outputs, part);
            }
            start = part.end;
        }
    }
}
