//! Comparisons and studies as people read them: tables for the terminal, the first screen, pages of HTML, pictures, and files of a
//! report, Parquet among them.

mod flow_picture;
mod flow_table;
pub mod html;
mod parquet_file;
mod publish;
mod screen;
pub mod study;
mod table;
mod waits;

pub use flow_picture::picture as flow_picture;
pub use parquet_file::parquet_bytes;
pub use publish::{
    check_ending, check_room, replaces_another, report_directory, write_headline, write_report, write_series, write_study,
    write_to,
};
pub use screen::{ScreenCell, ScreenRow, to_screen};
pub use table::to_table;
