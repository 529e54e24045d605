//! Shared by all programs: problems of input, numbers and tables of text, rows and columns of results, work in parts and on
//! several threads.

mod columns;
pub mod input_file;
pub mod parts;
mod paths;
mod problem;
pub mod quantity;
pub mod table;
mod threads;
mod version;

pub use columns::{Column, Columns, Row, Values};
pub use input_file::{SETTINGS_MAX, read_text};
pub use paths::{path_of, path_text};
pub use problem::{Place, Position, Problem, RecordPlace, Refused, Spot, printable, quoted, without_numbers};
pub use quantity::{Quantity, plural};
pub use threads::in_parallel;
pub use version::VERSION;
