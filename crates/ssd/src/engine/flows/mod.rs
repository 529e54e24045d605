//! What spans components: each flow asks one component after the other, in the order in which things happen.

pub(crate) mod collect;
pub(crate) mod displaced;
pub(crate) mod host;
pub(crate) mod limits;
pub(crate) mod pages;
pub(crate) mod rebuild;
