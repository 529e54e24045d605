//! Bad settings are refused, and the refusal names the scheme, the setting, what was found and
//! what would be valid.

use flashkeep_protect::registry::{SCHEMES, build};
use flashkeep_protect::{Protection, SchemeChoice, Shape};
use vocab::{Bytes, PeCycles};

/// A drive of this many dies and logical pages in a physical page.
fn shape(dies: u32, slots_per_page: u32) -> Shape {
    let (page_size, endurance) = (Bytes(4096), PeCycles(3000));
    Shape { dies, blocks_per_die: 64, pages_per_block: 16, page_size, slots_per_page, unit_pages: 1, endurance }
}

/// Dies, logical pages in a physical page; scheme, options; what the text must say.
type Case = ((u32, u32), &'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

const CASES: &[Case] = &[
    // Stripes wider than the drive, or than a stripe can be.
    ((5, 1), "raid5", &[("data_strips", "5")], &["data_strips", "`5`", "1 to 4"]),
    ((5, 1), "raid5", &[("data_strips", "0")], &["data_strips", "`0`", "1 to 4"]),
    ((5, 1), "raid5", &[("parity_rule", "stripe")], &["parity_rule", "`stripe`", "request", "page-unless-full"]),
    ((5, 1), "ppc", &[("data_strips", "8")], &["data_strips", "`8`", "1 to 4"]),
    ((5, 1), "da-raid5", &[("data_strips", "8")], &["data_strips", "`8`", "1 to 4"]),
    ((1, 1), "ppc", &[], &["dies", "has 1", "2 to 128"]),
    ((129, 1), "da-raid5", &[], &["dies", "has 129", "2 to 128"]),
    ((129, 1), "ds-raid", &[], &["dies", "has 129", "2 to 128"]),
    ((64, 1), "ds-raid", &[("row_dies", "12")], &["row_dies", "found 12", "64 dies", "2, 4, 8, 16, 32, 64"]),
    ((64, 1), "ds-raid", &[("row_dies", "1")], &["row_dies", "`1`", "2 to 64"]),
    ((64, 1), "raid5", &[("data_strips", "64")], &["data_strips", "`64`", "1 to 63"]),
    // Several logical pages in a page.
    ((5, 4), "raid5", &[], &["slots per page", "stores 4", "need 1"]),
    ((5, 4), "ppc", &[], &["slots per page", "stores 4", "need 1"]),
    ((5, 4), "da-raid5", &[], &["slots per page", "stores 4", "need 1"]),
    // Caches.
    ((5, 1), "ppc", &[("parity_cache", "0KiB")], &["parity_cache", "found 0", "4KiB", "256KiB"]),
    ((5, 1), "ppc", &[("parity_cache", "1MiB")], &["parity_cache", "found 1MiB", "4KiB", "256KiB"]),
    ((5, 1), "ppc", &[("parity_cache", "many")], &["parity_cache", "`many`", "512KiB"]),
    ((5, 1), "da-raid5", &[("parity_cache", "0KiB")], &["parity_cache", "found 0", "4KiB", "256KiB"]),
    ((5, 1), "da-raid5", &[("write_cache", "12KiB")], &["write_cache", "found 12KiB", "at least 16KiB", "4 pages of a stripe"]),
    ((5, 1), "da-raid5", &[("grouping", "12KiB")], &["grouping", "found 12KiB", "at least 16KiB"]),
    ((6, 1), "mds-groups", &[("parity_cache", "0")], &["parity_cache", "`0`", "1 to"]),
    // Limits.
    ((5, 1), "da-raid5", &[("t_p", "3001")], &["t_p", "`3001`", "0 to 3000"]),
    ((5, 1), "da-raid5", &[("t_read", "3")], &["t_read", "`3`", "16 to"]),
    ((5, 1), "da-raid5", &[("t_retention", "0s")], &["t_retention", "found 0", "at least 1ns"]),
    ((5, 1), "da-raid5", &[("margin", "91")], &["margin", "`91`", "1 to 90"]),
    ((5, 1), "raid5+limits+limits", &[], &["additions", "`limits` is named twice"]),
    ((5, 1), "raid5", &[("limits.t_read", "400")], &["additions", "limits.t_read", "`raid5` does not have"]),
    (
        (5, 1),
        "da-raid5+limits",
        &[],
        &["additions", "limits", "has these limits itself", "t_read, t_retention, yield and margin"],
    ),
    ((5, 1), "da-raid5", &[("n_update", "5")], &["n_update", "`5`", "1 to 4"]),
    ((5, 1), "da-raid5", &[("bypass_over", "0")], &["bypass_over", "`0`", "1 to"]),
    ((5, 1), "da-raid5", &[("l", "-1")], &["l", "`-1`", "0 to"]),
    // Code zones over another scheme.
    ((6, 1), "raid5+code-zones", &[], &["additions", "static stripe", "ds-raid and mds-groups"]),
    ((6, 1), "da-raid5+code-zones", &[], &["additions", "static stripe"]),
    ((6, 1), "none+code-zones", &[], &["additions", "the scheme `code-zones` alone is that"]),
    ((6, 1), "code-zones+code-zones", &[], &["additions", "is that itself"]),
    ((6, 1), "ds-raid+code-zones", &[("read_around", "0")], &["additions", "one set of alternatives", "read_around = off"]),
    // Words.
    ((5, 1), "ppc", &[("on_flush", "maybe")], &["on_flush", "`maybe`", "keep, commit"]),
    ((5, 1), "da-raid5", &[("stage", "4")], &["stage", "`4`", "auto, 1, 2, 3"]),
    ((5, 1), "ds-raid", &[("sub_stripe", "never")], &["sub_stripe", "`never`", "defer"]),
    ((6, 1), "mds-groups", &[("block_parity", "1")], &["block_parity", "`1`", "no, yes, word-line"]),
    ((5, 1), "ppc", &[("cache", "4KiB")], &["cache", "unknown option", "data_strips, parity_cache, on_flush, write_back"]),
    ((5, 1), "none", &[("k", "4")], &["k", "unknown option", "no options"]),
    // Codewords that do not fill a page stripe.
    ((6, 1), "mds-groups", &[("k", "3")], &["k", "found k = 3, m = 1", "valid k are 1, 2, 5"]),
    ((6, 1), "mds-groups", &[("k", "4"), ("m", "3")], &["k", "`4`", "1 to 3"]),
    ((6, 1), "mds-groups", &[("m", "6")], &["m", "`6`", "1 to 5"]),
    ((6, 1), "mds-groups", &[("then", "6+2")], &["then", "found k = 6, m = 2", "valid k are 1, 4"]),
    ((6, 1), "mds-groups", &[("then", "five")], &["then", "`five`", "`k+m`"]),
];

#[test]
fn bad_settings_are_refused_with_the_scheme_the_setting_what_was_found_and_what_is_valid() {
    for ((dies, slots_per_page), scheme, options, says) in CASES {
        let options = options.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let choice = SchemeChoice { name: (*scheme).into(), options };
        let Err(error) = build(&choice, shape(*dies, *slots_per_page)) else { panic!("{choice} on {dies} dies: taken") };
        let text = error.to_string();
        assert_eq!(
            (error.scheme.as_str(), error.setting.as_str() == says[0] || says[0].parse::<u32>().is_ok()),
            (*scheme, true),
            "{text}"
        );
        assert!(text.starts_with(&format!("scheme {scheme}, {}: ", error.setting)), "{text}");
        for part in *says {
            assert!(text.contains(part), "{choice} on {dies} dies: {part:?} is not in {text:?}");
        }
    }
}

/// Of more than 32 dies the stripe of a scheme is the largest part of the drive from 8 to 32 dies, so that redundancy is no
/// thinner than on a drive of 32; where no such part divides the drive, rows and codewords span it.
#[test]
fn stripes_of_wide_drives_are_narrower_than_the_drive() {
    let build = |scheme, dies| build(&SchemeChoice::named(scheme), shape(dies, 1)).unwrap_or_else(|error| panic!("{error}"));
    for (dies, row, strips) in
        [(32, 32, 32), (33, 11, 32), (40, 20, 32), (37, 37, 32), (64, 32, 32), (100, 25, 32), (128, 32, 32)]
    {
        let Protection::Rows(rows) = build("ds-raid", dies) else { panic!("rows") };
        assert_eq!(dies / rows.side_by_side(), row, "{dies}");
        let Protection::Groups(groups) = build("mds-groups", dies) else { panic!("groups") };
        let code = groups.codes()[0];
        assert_eq!((code.data + code.parity, code.codewords), (row, dies / row), "{dies}");
        let Protection::Stripes(stripes) = build("raid5", dies) else { panic!("stripes") };
        assert_eq!(stripes.data_strips() + 1, strips.min(dies), "{dies}");
    }
}

/// Catches an addition whose options are taken for the scheme's, and one that is not looked at.
#[test]
fn settings_of_an_addition_are_refused_under_its_own_name() {
    let refused = |name: &str, options: &[(&str, &str)]| {
        let options = options.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        build(&SchemeChoice { name: name.into(), options }, shape(5, 1)).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(
        refused("ds-raid+limits", &[("limits.t_read", "3")]),
        "scheme limits, t_read: found `3`, valid are 16 to 4294967295"
    );
    let said = refused("ds-raid+limits", &[("limits.t_reads", "400")]);
    assert_eq!(said, "scheme limits, t_reads: unknown option; known are t_read, t_retention, yield, margin");
    assert!(refused("ds-raid+parity", &[]).starts_with("scheme parity, name: unknown addition to a scheme; known are limits"));
    let said = refused("ds-raid+code-zones", &[("code-zones.spare_blocks", "3")]);
    assert!(said.starts_with("scheme code-zones, spare_blocks: found `3`, valid is 2: this is of segments"), "{said}");
    let said = refused("mds-groups+code-zones", &[("code-zones.group", "6")]);
    assert_eq!(said, "scheme code-zones, group: found `6`, valid are 2 to 5");
    assert_eq!(refused("ds-raid+limits", &[("limits.t_read", "400"), ("sub_stripe", "defer")]), "");
    for scheme in ["ds-raid+code-zones", "mds-groups+code-zones"] {
        let said = refused(scheme, &[("read_around", "0")]);
        assert!(said.contains("a read has one set of alternatives"), "{said}");
    }
}

#[test]
fn an_unknown_scheme_is_refused_with_the_list_of_all() {
    let Err(error) = build(&SchemeChoice::named("raid6"), shape(5, 1)) else { panic!("taken") };
    assert!(error.to_string().starts_with("scheme raid6, name: unknown scheme; known are "));
    assert!(SCHEMES.iter().all(|entry| error.to_string().contains(entry.name)));
}
