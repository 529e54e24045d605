//! Studies against the tables of the theory, and against bad input.

use super::*;

fn run(name: &str, options: &[(&str, &str)]) -> Result<Study, Problem> {
    let given: Vec<(String, String)> = options.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    study(name, &given)
}

/// The cells of one column, where the others have these texts.
fn cells(study: &Study, table: usize, key: &str, of: &[(&str, &str)]) -> Vec<Cell> {
    let table = &study.tables[table];
    let index = |key: &str| table.columns.iter().position(|column| column.key == key).unwrap_or_else(|| panic!("no {key}"));
    let fits = |row: &&Vec<Cell>| of.iter().all(|(key, text)| row[index(key)].text() == *text);
    table.rows.iter().filter(fits).map(|row| row[index(key)].clone()).collect()
}

fn rate(cell: &Cell) -> f64 {
    match cell {
        Cell::Rate(value) | Cell::Hours(value) => *value,
        Cell::Odds(ln) => ln.exp(),
        Cell::Count(n) => *n as f64,
        other => panic!("{other:?} is no number"),
    }
}

fn near(found: f64, expected: f64, relative: f64) {
    assert!((found / expected - 1.0).abs() <= relative, "{found:e}, expected {expected:e}");
}

#[test]
fn every_study_has_tables_plots_and_notes_and_repeats_itself() {
    for entry in STUDIES {
        let study = run(entry.name, &[]).unwrap();
        assert_eq!(study.name, entry.name);
        assert!(!study.tables.is_empty() && !study.plots.is_empty() && !study.notes.is_empty());
        for table in &study.tables {
            assert!(!table.layouts.is_empty() && table.rows.iter().all(|row| row.len() == table.columns.len()));
        }
        for plot in &study.plots {
            for series in &plot.series {
                assert!(!series.points.is_empty(), "{}: {} is empty", plot.id, series.name);
                let logs = plot.axes.map(|axis| axis.log);
                assert!(series.points.iter().all(|(x, y)| (*x > 0.0 || !logs[0]) && (*y > 0.0 || !logs[1])), "{}", plot.id);
            }
        }
        let again: Vec<(&str, &str)> = study.settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(run(entry.name, &again).unwrap(), study);
    }
}

#[test]
fn flares_table_of_capabilities() {
    let study = run("required-t", &[]).unwrap();
    // Theory of the FLARES table: 4 KiB over GF(2^16), 0, day, week, month, quarter, year.
    for (pe, expected) in [
        ("0", [3, 3, 3, 3, 3, 3]),
        ("1 000", [3, 3, 4, 6, 7, 9]),
        ("3 000", [3, 5, 7, 9, 12, 19]),
        ("5 000", [3, 6, 8, 12, 17, 28]),
        ("10 000", [3, 8, 13, 20, 29, 50]),
    ] {
        assert_eq!(cells(&study, 0, "t", &[("pe_cycles", pe)]), expected.map(Cell::Count), "{pe} cycles");
    }
    let small = run("required-t", &[("code", "512B"), ("pe", "10000")]).unwrap();
    assert_eq!(cells(&small, 0, "t", &[]), [2, 4, 6, 8, 11, 16].map(Cell::Count));
    // 16 errors of 13 bits.
    assert_eq!(cells(&small, 0, "parity_bytes", &[("t", "16")]), [Cell::Count(26)]);
    let as_printed = run("required-t", &[("code", "4KiB-data"), ("pe", "10000"), ("retention", "1y")]).unwrap();
    assert_eq!(cells(&as_printed, 0, "t", &[]), [Cell::Count(49)]);
}

#[test]
fn retention_is_the_inverse_of_capability() {
    let retention = run("retention", &[("t", "8,50"), ("pe", "3000,10000")]).unwrap();
    for (t, pe) in [("8", "3 000"), ("8", "10 000"), ("50", "10 000")] {
        let hours = rate(&cells(&retention, 0, "retention_max_h", &[("t", t), ("pe_cycles", pe)])[0]);
        for (factor, more) in [(0.999, 0), (1.001, 1)] {
            let options = [("pe", &pe.replace(' ', "")), ("retention", &format!("{}h", hours * factor))];
            let needed = run("required-t", &options.map(|(name, value)| (name, value.as_str()))).unwrap();
            let expected = t.parse::<u64>().unwrap() + more;
            assert_eq!(cells(&needed, 0, "t", &[]), [Cell::Count(expected)], "t {t}, {pe} cycles, {hours} h x {factor}");
        }
    }
}

#[test]
fn a_strict_uber_lowers_what_fifty_errors_bear() {
    let study = run("uber-targets", &[]).unwrap();
    for (uber, limit) in [("1e-11", 6.859e-4), ("1e-15", 5.13e-4)] {
        near(rate(&cells(&study, 1, "rber_max", &[("t", "50"), ("uber", uber)])[0]), limit, 1e-3);
    }
    let worst = |uber| rate(&cells(&study, 0, "t", &[("uber", uber), ("pe_cycles", "10 000"), ("retention_h", "365 d")])[0]);
    assert_eq!(worst("1e-11"), 50.0);
    assert!(worst("1e-15") > 50.0 && worst("1e-16") > worst("1e-15"));
}

#[test]
fn da_raid5_limits_at_15_000_cycles() {
    let study = run("thresholds", &[("pe", "15000")]).unwrap();
    let of = |key| rate(&cells(&study, 0, key, &[])[0]);
    near(of("rber_max"), 5.842966e-4, 1e-6);
    near(of("t_retention_h"), 381.0 * 24.0, 1e-4);
    near(of("t_read"), 46_000.0, 1e-4);
    // Errors add: both limits in full are almost twice too much, and half of both is too much.
    assert!(of("rber_at_both") > 1.9 * of("rber_max") && of("joint_share") < 0.5 && of("joint_share") > 0.3);
    // Without the scale: 119 days, 30 600 reads at the slope that was measured there.
    let plain = run("thresholds", &[("pe", "15000"), ("model", "flares-disturb")]).unwrap();
    near(rate(&cells(&plain, 0, "t_retention_h", &[])[0]), 119.0 * 24.0, 0.01);
    // A real UBER takes a fraction of it.
    let strict = rate(&cells(&study, 0, "t_retention_h", &[])[2]);
    assert!(strict < 30.0 * 24.0, "{strict} h");
}

#[test]
fn uper_table_of_block_groups() {
    let study = run("uper", &[]).unwrap();
    // Table 1; the product code keeps 7 of 8 rows and 63 of 64 columns.
    for (protection, efficiency) in [("t 1", 1.0), ("7+1, t 1", 0.875), ("6+2, t 1", 0.75), ("8x64, t 1", 441.0 / 512.0)] {
        near(rate(&cells(&study, 0, "efficiency", &[("protection", protection)])[0]), efficiency, 1e-12);
    }
    for (protection, expected) in [
        ("t 1", [5.368e-10, 5.367e-8, 5.357e-6, 5.253e-4, 4.328e-2]),
        ("t 4", [3.147e-25, 3.146e-20, 3.139e-15, 3.063e-10, 2.398e-5]),
        ("7+1, t 1", [1.009e-18, 1.008e-14, 1.004e-10, 9.637e-7, 5.509e-3]),
        ("6+2, t 1", [1.083e-27, 1.082e-21, 1.076e-15, 1.012e-9, 4.816e-4]),
        ("8x64, t 1", [9.157e-36, 9.150e-28, 9.078e-20, 8.393e-12, 4.113e-4]),
    ] {
        let found = cells(&study, 0, "uper", &[("protection", protection)]);
        found.iter().zip(expected).for_each(|(cell, expected)| near(rate(cell), expected, 5e-4));
    }
    let crossing = &study.plots[1].marks;
    let two = crossing.iter().find(|mark| mark.label == "8x64 = 6+2, U 0.045");
    // An RBER of about 1e-5.
    assert!(two.is_some_and(|mark| (0.9e-5..1.2e-5).contains(&mark.x)), "{crossing:?}");
}

#[test]
fn a_stripe_without_parity_is_its_page_and_spread_makes_all_worse() {
    let options = [("t", "50"), ("pe", "10000"), ("retention", "1y")];
    let plain = run("stripe-loss", &options).unwrap();
    let page = rate(&cells(&plain, 0, "page_loss", &[])[0]);
    let losses: Vec<f64> = cells(&plain, 0, "stripe_loss", &[]).iter().map(rate).collect();
    near(losses[0], page, 1e-12);
    // Any two of eight pages, any three.
    near(losses[1], 28.0 * page * page, 1e-4);
    near(losses[2], 56.0 * page.powi(3), 1e-4);
    let spread = run("stripe-loss", &[options.as_slice(), &[("sigma", "0.4")]].concat()).unwrap();
    for (with, without) in cells(&spread, 0, "stripe_loss", &[]).iter().zip(losses) {
        assert!(rate(with) > 1e3 * without, "{with:?} against {without:e}");
    }
}

#[test]
fn graphs_of_four_blocks_are_those_of_the_theory() {
    let study = run("graph", &[("n", "4")]).unwrap();
    for (decoder, counts, latency, reads) in [
        ("elimination", [16, 45, 56, 17], 115.0 / 168.0, 4.0 + 14.0 / 70.0),
        ("peeling", [16, 45, 43, 17], 317.0 / 420.0, 4.0 + 27.0 / 70.0 + 4.0 / 56.0),
    ] {
        assert_eq!(cells(&study, 0, "decodable", &[("decoder", decoder)]), counts.map(Cell::Count));
        let of = |key, m| rate(&cells(&study, 0, key, &[("decoder", decoder), ("m", m)])[0]);
        near(of("latency", "2"), 157.0 / 210.0, 1e-12);
        near(of("reads", "2"), 31.0 / 7.0, 1e-12);
        near(of("latency", "3"), latency, 1e-12);
        near(of("reads", "3"), reads, 1e-12);
    }
    assert_eq!(cells(&study, 1, "decodable", &[("m", "2"), ("size", "8"), ("decoder", "peeling")]), [Cell::Count(1)]);
    assert_eq!(cells(&study, 1, "decodable", &[("m", "2"), ("size", "4"), ("decoder", "peeling")]), [Cell::Count(45)]);
    let searched = run("graph", &[("n", "4,6"), ("m", "2"), ("search", "30000")]).unwrap();
    let found = cells(&searched, 1, "decodable", &[("decoder", "elimination")]);
    assert!(found[0] == Cell::Count(56) && rate(&found[1]) > 512.0, "{found:?}");
}

#[test]
fn bad_input_is_refused_with_what_would_do() {
    for (name, options, parts) in [
        ("requird-t", [("pe", "1")], ["unknown study `requird-t`", "did you mean `required-t`"]),
        ("required-t", [("schemes", "7+1")], ["reliability required-t: unknown option `--schemes`", "--model, --uber"]),
        ("required-t", [("model", "flare")], ["--model: unknown error model `flare`", "did you mean `flares`"]),
        ("required-t", [("uber", "2")], ["--uber: found `2`", "1e-100 to 0.01"]),
        ("required-t", [("uber", "1e-11,1e-15")], ["--uber: found `1e-11,1e-15`", "one rate"]),
        ("required-t", [("pe", "1,,2")], ["--pe: found ``", "whole cycles up to 10000000"]),
        ("required-t", [("pe", "-3")], ["--pe: found `-3`", "whole cycles"]),
        ("required-t", [("retention", "1x")], ["--retention: found `1x`", "1mo"]),
        ("required-t", [("code", "8KiB")], ["--code: unknown code `8KiB`", "4KiB, 2KiB"]),
        ("required-t", [("per", "bit")], ["--per: unknown base `bit`", "codeword, data"]),
        ("retention", [("t", "2048")], ["--t: found `2048`", "0 to 2047"]),
        ("uper", [("schemes", "8x9999")], ["--schemes: found `8x9999`", "up to 16x128, at most 1024 pages"]),
        ("uper", [("schemes", "0+1")], ["--schemes: found `0+1`", "DATA+PARITY"]),
        ("uper", [("schemes", "4294967295+4294967295")], ["--schemes", "256 pages"]),
        ("uper", [("rber", "nan")], ["--rber: found `nan`", "up to 0.5"]),
        ("stripe-loss", [("sigma", "inf")], ["--sigma: found `inf`", "0 to 3"]),
        ("graph", [("n", "11")], ["--n: found `11`", "1 to 10"]),
        ("graph", [("m", "9")], ["--m", "no code of so few data blocks"]),
        ("graph", [("decoder", "guess")], ["--decoder: found `guess`", "elimination or peeling"]),
        ("graph", [("search", "-1")], ["--search: found `-1`", "up to 1000000"]),
        ("thresholds", [("yield", "1")], ["--yield: found `1`", "0.999999999"]),
    ] {
        let said = run(name, &options).unwrap_err().to_string();
        parts.iter().for_each(|part| assert!(said.contains(part), "{options:?} lacks {part}: {said}"));
    }
    let many = vec!["1"; 65].join(",");
    assert!(run("uper", &[("rber", &many)]).unwrap_err().to_string().contains("more than 64"));
    let said = run("required-t", &[("pe", &many), ("retention", &many)]).unwrap_err().to_string();
    assert!(said.contains("4225 combinations, at most 4096"), "{said}");
}

#[test]
fn every_model_and_code_gives_every_study() {
    for model in ssd::nand::rber::RBER_MODELS {
        for entry in STUDIES.iter().filter(|entry| entry.takes("model")) {
            let study = run(entry.name, &[("model", model.name)]).unwrap();
            assert!(study.to_text().contains(model.name), "{} {}", entry.name, model.name);
        }
    }
    for code in settings::CODES {
        for entry in STUDIES.iter().filter(|entry| entry.takes("code")) {
            let options: &[(&str, &str)] =
                if entry.takes("t") { &[("code", code.name), ("t", "2")] } else { &[("code", code.name)] };
            run(entry.name, options).unwrap();
        }
    }
}

#[test]
fn text_csv_and_json_tell_the_same() {
    let study = run("retention", &[("t", "3,50"), ("pe", "10000")]).unwrap();
    let csv = study.to_csv();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "t,rber_max,pe_cycles,retention_max_h");
    let json = study.to_json();
    let rows = json["tables"]["retention"].as_array().unwrap();
    assert_eq!((lines.len(), rows.len()), (3, 2));
    let hours = rows[1]["retention_max_h"].as_f64().unwrap();
    assert_eq!(lines[2].rsplit(',').next().unwrap(), hours.to_string());
    assert!(study.to_text().contains(&report::study::span(hours)), "{}", study.to_text());
    assert_eq!(json["command"], study.command());
}

/// FLARES, Fig. 5: what the text says of it. The model alone is right at every point; small
/// windows overestimate more than large ones; nothing strays far.
#[test]
fn the_papers_figure_5() {
    let found = study("adaptation", &[("pe".into(), "10,100,1000,10000".into())]).unwrap();
    let number = |cell: &Cell| cell.exact().parse::<f64>().unwrap();
    let rows: Vec<Vec<f64>> = found.tables[0].rows.iter().map(|row| row[1..].iter().map(number).collect()).collect();
    assert_eq!(rows.len(), 3 * 2 * 4);
    let over = |mix: f64, wsize: f64| {
        let own = rows.iter().filter(|row| row[0] == mix && row[1] == wsize);
        own.map(|row| row[4] - row[3]).sum::<f64>()
    };
    assert!(over(0.5, 10.0) > over(0.5, 100.0) && over(1.0, 10.0) > over(1.0, 100.0));
    for row in &rows {
        assert_eq!(row[3], [3.0, 4.0, 9.0, 50.0][row[2].log10() as usize - 1]);
        assert!(row[0] > 0.0 || row[7] == 0.0, "the model alone falls below: {row:?}");
        assert!(row[6] <= 1.12 * row[3] + 3.0, "{row:?}");
    }
}

/// The delay of Fig. 5: as printed, a page that ages by a leap keeps the code of its youth until its window ends. Half of
/// the operations are reads, so that takes twice WSIZE operations.
#[test]
fn as_printed_the_code_follows_a_leap_of_wear_a_window_later() {
    let set = [("pe", "1000,10000"), ("policy", "flares,flares-as-printed"), ("mix", "0,0.5"), ("retention", "1d")];
    let found = study("adaptation", &set.map(|(name, value)| (name.into(), value.into()))).unwrap();
    let at_the_end = |row: &&Vec<Cell>| row[3].exact() == "10000";
    let under = |printed: &str, wsize: &str| -> Vec<f64> {
        let is_it = |row: &&Vec<Cell>| row[0].exact() == printed && row[2].exact() == wsize;
        let rows = found.tables[0].rows.iter().filter(at_the_end).filter(is_it);
        rows.map(|row| row[8].exact().parse().unwrap()).collect()
    };
    for (wsize, operations) in [("10", 20.0), ("100", 200.0)] {
        assert!(under("flares", wsize).iter().all(|&share| share < 0.001), "{:?}", under("flares", wsize));
        let late = under("as printed", wsize);
        // The window before the leap may be partly filled, and reads come at random: deviation sqrt(wsize / 4) * 2.
        let most = (operations + 6.0 * f64::sqrt(operations)) / 1000.0;
        assert!(late.len() == 2 && late.iter().all(|&share| share > 0.0 && share < most), "WSIZE {wsize}: {late:?}");
    }
}

#[test]
fn every_study_is_one_page_with_its_numbers_and_curves() {
    for entry in STUDIES {
        let found = study(entry.name, &[]).unwrap();
        let html = report::html::study(&found);
        assert!(html.starts_with("<!") && !html.contains("{{t"), "{}", entry.name);
        assert!(html.contains("default-src 'none'"), "{} loads nothing", entry.name);
        let island = html.split_once("id=\"data\">").expect("island").1;
        let data: serde_json::Value = serde_json::from_str(island.split_once("</script>").expect("island ends").0).expect("JSON");
        assert_eq!(data["plots"].as_array().map(Vec::len), Some(found.plots.len()));
        assert_eq!(data["plots"][0]["series"].as_array().map(Vec::len), Some(found.plots[0].series.len()));
        for (table, layout) in found.tables.iter().flat_map(|table| table.layouts.iter().map(move |l| (table, l))) {
            for part in layout.parts(table) {
                let last = part.rows.last().and_then(|row| row.last()).expect("a part has rows");
                let [exact, text] = [last.exact(), last.text()].map(|text| report::html::escape(&text));
                assert!(html.contains(&format!("<td title=\"{exact}\">{text}</td>")), "{}: {last:?}", entry.name);
            }
        }
    }
}
