//! Which instructions do the work of a code: chosen once, when the program runs.

use std::fmt;
use std::sync::OnceLock;

/// The loops of a code for one instruction set. All kernels of a code give the same results, at different speeds.
///
/// A kernel can only be had from [`Kernel::available`], and only if this machine has its instructions; that is what
/// makes calling its loops sound.
pub struct Kernel<L: 'static> {
    name: &'static str,
    pub(crate) loops: L,
}

/// The loops of one code, as functions of which each instruction set has its own.
pub trait Loops: Send + Sync + Sized + 'static {
    /// The kernels of vector instructions that this machine has, fastest first.
    fn vector() -> Vec<&'static Kernel<Self>>;
    /// The kernel of every machine.
    fn portable() -> &'static Kernel<Self>;
    /// Where the choice is kept.
    fn chosen() -> &'static OnceLock<&'static Kernel<Self>>;
}

impl<L> Kernel<L> {
    pub(crate) const fn new(name: &'static str, loops: L) -> Self {
        Self { name, loops }
    }

    /// The instruction set, for reports: `avx512+gfni`, `avx2`, `neon` or `portable`, for instance.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }
}

impl<L: Loops> Kernel<L> {
    /// The kernels of this machine, fastest first; the last one is portable.
    #[must_use]
    pub fn available() -> Vec<&'static Self> {
        let mut kernels = L::vector();
        kernels.push(L::portable());
        kernels
    }

    /// The fastest kernel of this machine.
    #[must_use]
    pub fn fastest() -> &'static Self {
        L::chosen().get_or_init(|| Self::available()[0])
    }
}

impl<L> fmt::Debug for Kernel<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({})", self.name)
    }
}

/// Loops of a type whose vector kernels are found by a function.
macro_rules! loops {
    ($loops:ty, $vector:path, $portable:expr) => {
        impl $crate::dispatch::Loops for $loops {
            fn vector() -> Vec<&'static $crate::dispatch::Kernel<Self>> {
                $vector()
            }

            fn portable() -> &'static $crate::dispatch::Kernel<Self> {
                &$portable
            }

            fn chosen() -> &'static std::sync::OnceLock<&'static $crate::dispatch::Kernel<Self>> {
                static CHOSEN: std::sync::OnceLock<&'static $crate::dispatch::Kernel<$loops>> = std::sync::OnceLock::new();
                &CHOSEN
            }
        }
    };
}

pub(crate) use loops;
