//! Lives against brute force, formulas and what must not change them.
