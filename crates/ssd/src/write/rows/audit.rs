//! The audit of rows: every parity is computed again from flash. For tests.

use crate::core::Core;
use crate::core::audit::Audit;
use crate::core::flash::FlashPayload;
use crate::write::rows::Rows;
use nand::{FlashArray, OobTag};
use vocab::{DieId, Lpn, Ppn, StripeId};

impl<P: FlashPayload> Rows<P> {
    /// Computes the newest parity of every row again and compares it with what is stored.
    ///
    /// # Errors
    /// A parity that is wrong, in words.
    pub fn audit(&self, core: &Core<P>) -> Result<Audit, String> {
        let (rows, mut found) = (core.map.rows(), Audit::default());
        for row in 0..rows.count() {
            let Some((covered, parity)) = rows.coverage(row) else { continue };
            let pages: Vec<Ppn> = covered.iter().map(|die| rows.page(row, DieId(die as u16))).collect();
            let parity = rows.page(row, parity);
            match core.is_sum(&pages, parity) {
                None => found.broken += 1,
                Some(false) => return Err(format!("the parity of row {row} at {parity} is not the sum of {pages:?}")),
                Some(true) => {
                    let page = core.device.array.page(parity);
                    if page.oob.coverage != covered || page.tags[0] != OobTag::parity(StripeId(row)) {
                        return Err(format!("{parity} covers {covered:?} of row {row} and says {:?}", page.oob));
                    }
                    found.sound += 1;
                }
            }
        }
        for lpn in (0..core.map.user_slots()).map(Lpn) {
            let Some(ppn) = core.page_of(core.map.lookup(lpn)) else { continue };
            let (row, die) = rows.row_of(ppn);
            let covered = rows.coverage(row).is_some_and(|(covered, _)| covered.contains(u32::from(die.0)));
            found.uncovered += u32::from(!covered);
        }
        Ok(found)
    }
}
