//! Pages on their way to flash, as bytes of a file.

use super::*;
use crate::core::bytes::{Limits, Reader, Writer};
use crate::write::groups::Redo;
use crate::write::groups::saved::{Layouts, put_redo};
use vocab::{Ppn, SuperblockId};

/// The group has blocks of the first four dies. Catches a file that names a page in another row than that of its sums, or on a die that the group
/// does not have: what is taken out of the sums for it would be another page.
#[test]
fn a_page_on_its_way_is_refused_where_its_codeword_has_no_page() {
    let mut alone = Alone::<PageBuf>::mountable(&[("m", "1")]);
    alone.write(&[(0, 1)]);
    let mut info = alone.groups.info.clone();
    info[0].as_mut().expect("the group was opened").members = StripSet::first(4);
    let (core, row) = (&alone.core, 0);
    assert_eq!(core.map.rows().superblock_of(row), SuperblockId(0));
    let layouts = Layouts { groups: &alone.groups, core, info: &info };
    let read = |ppn: Ppn| {
        let mut to = Writer::new(4096);
        put_redo(&mut to, &Redo { ppn, key: (row, 0), payload: vec![PageBuf::default()] });
        let behind = std::mem::take(&mut to.behind);
        behind.iter().for_each(|payload| to.payload(payload));
        let limits = Limits { slot: 4096, dies: 5, slots: 160, pages: 64 };
        layouts.redo(&mut Reader::at(&to.bytes, 0, limits)).map(|redo| (redo.ppn, redo.key)).map_err(|error| error.field)
    };
    let page = |row, die| core.map.rows().page(row, DieId(die));
    for die in 0..4 {
        assert_eq!(read(page(row, die)), Ok((page(row, die), (row, 0))), "die {die}");
        assert_eq!(read(page(row + 1, die)), Err("row of sums"), "die {die}, the next row");
    }
    assert_eq!(read(page(row, 4)), Err("row of sums"), "the group has no block there");
}
