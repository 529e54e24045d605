//! Tests of the codes alone: erasure codes, fields, codes of graphs, and the odds that tables and formulas give.

mod erasure;
mod field;
mod gf2;
mod graph;
mod odds;
