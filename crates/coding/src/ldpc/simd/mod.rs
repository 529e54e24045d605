//! The vector kernels. `lanes` has the loops over LLRs and `rows` those over bits, once for all; `x86`, `arm` and `portable`
//! have the registers they run on.
//!
//! This module and its children are the only place of the codes with `unsafe`: registers are loaded through pointers, and
//! a function with vector instructions may only run where they exist. All pointers stay within [`Buffers`] that were made
//! for the code, because every place in a [`Layout`] follows from its base matrix.

#![allow(unsafe_code, reason = "vector registers are loaded and stored through pointers")]
#![allow(unsafe_op_in_unsafe_fn, reason = "every line of these functions is an intrinsic or a pointer step")]

#[cfg(target_arch = "aarch64")]
mod arm;
mod lanes;
mod portable;
mod rows;
mod workspace;
#[cfg(target_arch = "x86_64")]
mod x86;

use super::layout::Layout;
use super::{Limits, Outcome};
use crate::dispatch::loops;
pub(super) use workspace::{Buffers, Levels};

#[cfg(target_arch = "aarch64")]
use arm::available;
#[cfg(target_arch = "x86_64")]
use x86::available;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn available() -> Vec<&'static Kernel> {
    Vec::new()
}

/// The loops of the codes for one instruction set.
pub type Kernel = crate::dispatch::Kernel<Loops>;

/// The loops of a [`Kernel`].
pub struct Loops {
    /// The parity of data as long as the code's, into the buffers.
    encode: unsafe fn(&Layout, &[u8], &mut Buffers),
    /// Whether all checks of the word in the buffers hold.
    syndrome: unsafe fn(&Layout, &mut Buffers) -> bool,
    /// Corrects the word in the buffers.
    decode: unsafe fn(&Layout, &mut Buffers, &Levels, &Limits) -> Option<Outcome>,
}

loops!(Loops, available, portable::KERNEL);

impl Kernel {
    /// Parity blocks, from the start of [`Buffers::read`] on.
    pub(super) fn encode(&self, layout: &Layout, data: &[u8], buffers: &mut Buffers) {
        assert_eq!(data.len(), super::base::DATA * layout.z / 8, "data are as long as the code's");
        buffers.fit(layout);
        // SAFETY: this machine has the kernel's instructions, or the kernel could not be had; the buffers fit the code.
        unsafe { (self.loops.encode)(layout, data, buffers) }
    }

    /// Whether all checks of the word in [`Buffers::read`] hold.
    pub(super) fn syndrome(&self, layout: &Layout, buffers: &mut Buffers) -> bool {
        buffers.fit(layout);
        // SAFETY: as above.
        unsafe { (self.loops.syndrome)(layout, buffers) }
    }

    /// Corrects the word in [`Buffers::read`]; if it cannot be, it stays as it is.
    pub(super) fn decode(&self, layout: &Layout, buffers: &mut Buffers, levels: &Levels, limits: &Limits) -> Option<Outcome> {
        assert!(levels.planes.len() <= 2 && levels.planes.iter().all(|plane| plane.len() == layout.columns * layout.z / 8));
        buffers.fit(layout);
        // SAFETY: as above, and planes are as long as the word.
        unsafe { (self.loops.decode)(layout, buffers, levels, limits) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ldpc::Code;

    /// `holds` of a code asks the fastest kernel alone. Catches another one that finds other words to be codewords.
    #[test]
    fn every_kernel_tells_codewords_from_other_words() {
        for name in Code::names() {
            let code = Code::find(name).expect("its name is known");
            for kernel in Kernel::available() {
                let mut buffers = Buffers::default();
                buffers.fit(&code.layout);
                assert!(kernel.syndrome(&code.layout, &mut buffers), "{name}, {kernel:?}: zeros are a codeword");
                for bit in [0, 1000, code.bits() - 1] {
                    buffers.read.as_mut_slice()[bit / 8] ^= 1 << (bit % 8);
                    assert!(!kernel.syndrome(&code.layout, &mut buffers), "{name}, {kernel:?}: bit {bit} alone");
                    buffers.read.as_mut_slice()[bit / 8] ^= 1 << (bit % 8);
                }
            }
        }
    }
}
