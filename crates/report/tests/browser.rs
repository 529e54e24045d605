//! The report in a browser: legend, tooltip, zoom, files, and that everything fits. Where no browser is installed the test
//! says so and passes; `FLASHKEEP_BROWSER` names one that is not in the path.

#[path = "../../lab/tests/small/mod.rs"]
mod small;

use experiment::Experiment;
use flashkeep_report::write_report;
use lab::{Bench, compare};
use small::SMALL;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

fn browser() -> Option<OsString> {
    let answers = |name: &OsString| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    std::env::var_os("FLASHKEEP_BROWSER").into_iter().chain(BROWSERS.map(OsString::from)).find(answers)
}

/// A report of these schemes on a drive with the script of the test in it.
fn report(name: &str, (drive, requests, schemes): (&str, u32, &str), more: &str) -> PathBuf {
    let settings = SMALL.replace(r#"["none", "raid5", "ds-raid"]"#, schemes).replace("mlc-2014", drive);
    let settings = settings.replace("requests = 3000", &format!("requests = {requests}"));
    let settings = format!("{settings}\n{more}");
    let experiment = Experiment::parse("test.toml", &settings).unwrap_or_else(|e| panic!("{e}"));
    let bench = Bench { threads: 2, clock: &|| 0.0, progress: &|_| {} };
    let comparison = compare(&experiment, &bench).unwrap_or_else(|e| panic!("{e}"));
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser").join(name);
    let index = write_report(&comparison, &directory).unwrap_or_else(|e| panic!("{e}"));
    let page = std::fs::read_to_string(&index).expect("it was written");
    let script = format!("<script>\n{}</script>\n</head>", include_str!("browser.js"));
    let tested = directory.join("tested.html");
    std::fs::write(&tested, page.replacen("</head>", &script, 1)).expect("the directory of tests can be written");
    tested
}

/// Findings of the test's script on a page on a screen of this width.
fn look(browser: &OsString, page: &Path, width: u32) -> serde_json::Value {
    // A window has a least width, a frame has not.
    let inside = std::fs::read_to_string(page).expect("it was written").replace('&', "&amp;").replace('"', "&quot;");
    let frame =
        format!("<body style=\"margin:0\"><iframe srcdoc=\"{inside}\" style=\"border:0;width:{width}px;height:900px\"></iframe>");
    let around = page.with_file_name(format!("frame-{width}.html"));
    std::fs::write(&around, frame).expect("the directory of tests can be written");
    let profile = page.with_file_name(format!("profile-{width}"));
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--dump-dom"])
        .arg(format!("--window-size={},900", width.max(600)))
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", around.display()))
        .output()
        .expect("the browser starts");
    let dom = String::from_utf8_lossy(&output.stdout).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let said = dom.rsplit_once("<said>").and_then(|(_, rest)| rest.split_once("</said>")).map(|(said, _)| said.to_owned());
    let said = said.unwrap_or_else(|| panic!("the page says nothing: {}", String::from_utf8_lossy(&output.stderr)));
    serde_json::from_str(&said).unwrap_or_else(|e| panic!("{e}: {said}"))
}

/// Catches plots that do not draw or do not fit, tables that scroll sideways on a wide screen, values that collide with
/// ratios, controls without effect, zoom that is not shared, files that are empty, and any error of a script.
#[test]
fn the_report_works_in_a_browser() {
    let Some(browser) = browser() else {
        eprintln!("skipped: no browser found ({}); FLASHKEEP_BROWSER names one", BROWSERS.join(", "));
        return;
    };
    let all = r#"["none", "raid5", "ppc", "da-raid5", "ds-raid", "mds-groups", "code-zones", "none+fixed"]"#;
    let dead = "[faults]\ndead_die = 3\n";
    let seeds = &format!("{all}\nseeds = 3");
    let widths = &[400, 1280, 1920][..];
    let pages = [
        // The tables of drives with a ladder of reads have the longest labels.
        ("ladder", ("tlc", 30_000, r#"["none", "raid5", "ds-raid"]"#), "", &widths[1..2]),
        ("two", ("mlc-2014", 3000, r#"["none", "ds-raid"]"#), "", widths),
        ("eight", ("mlc-2014", 3000, all), "", widths),
        ("apart", ("mlc-2014", 3000, all), dead, &widths[..2]),
        ("seeds", ("mlc-2014", 3000, seeds), "", &widths[..1]),
    ];
    for (name, on, more, widths) in pages {
        let page = report(name, on, more);
        for &width in widths {
            let found = look(&browser, &page, width);
            assert_eq!(found["wrong"], serde_json::json!([]), "{name} schemes at {width} pixels");
            assert!(found["plots"].as_u64() >= Some(9), "{name} schemes at {width} pixels: {found}");
        }
    }
}
