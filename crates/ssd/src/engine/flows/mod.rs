//! What spans components: each flow asks one component after the other, in the order in which things happen.

pub(crate) mod pages;
