//! Partial parities as bytes, and back: their part of `docs/spec/memory.md`.

use crate::core::bytes::{Read, Reader, Writer};
use crate::write::stripes::partial::{PartialParityRemains, StripeVersions, Sums};
use device::contents::PageBuf;
use vocab::StripeId;

/// Writes a partial parity of a parity cache.
pub(crate) fn put(to: &mut Writer, held: &PartialParityRemains<PageBuf>) {
    to.u32(held.stripe.0);
    put_sums(to, &held.sums);
    to.u8(match &held.before {
        None => 0,
        Some(None) => 1,
        Some(Some(_)) => 2,
    });
    held.before.iter().flatten().for_each(|sums| put_sums(to, sums));
}

/// Reads one back, on a drive of this many stripes of this many data strips.
pub(crate) fn get(from: &mut Reader<'_>, stripes: u32, data_strips: u32) -> Read<PartialParityRemains<PageBuf>> {
    let stripe = StripeId(from.below(stripes, "stripe")?);
    let mut sums = get_sums(from, data_strips)?;
    let mut before = match from.kind(3, "what was held before")? {
        0 => None,
        1 => Some(None),
        _ => Some(Some(get_sums(from, data_strips)?)),
    };
    sums.sum = from.payload("partial parity")?;
    for sums in before.iter_mut().flatten() {
        sums.sum = from.payload("partial parity before")?;
    }
    from.end()?;
    Ok(PartialParityRemains { stripe, sums, before })
}

fn put_sums(to: &mut Writer, sums: &Sums<PageBuf>) {
    let Sums { covers, sum, stripe, old } = sums;
    to.set(*covers);
    to.behind.push(sum.clone());
    to.list(stripe.strips.iter(), |to, &rank| to.u64(rank));
    to.u64(stripe.parity);
    to.u64(stripe.rank);
    to.list(old.iter(), |to, (strip, place)| {
        to.u32(*strip);
        to.place(*place);
    });
}

/// All but the sum itself, which stands behind all else.
fn get_sums(from: &mut Reader<'_>, data_strips: u32) -> Read<Sums<PageBuf>> {
    let covers = from.set("strips that a partial parity sums")?;
    let field = "ranks of strips";
    let strips = from.list(field, |from| from.u64(field))?;
    let (parity, rank) = (from.u64("rank of the stored parity")?, from.u64("rank of the update")?);
    let old = from.list("old versions", |from| {
        let strip = from.below(data_strips + 1, "strip of an old version")?;
        Ok((strip, from.place_in_flash("place of an old version")?))
    })?;
    Ok(Sums { covers, sum: PageBuf::default(), stripe: StripeVersions { strips, parity, rank }, old })
}
