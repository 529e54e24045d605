//! Numbers and text as the report shows them.

/// A count with thousands separators: `1,234,567`.
pub(super) fn count(n: u64) -> String {
    common::table::grouped_by(n, ',')
}

/// A measurement with four significant digits; `-` where there is none.
pub(super) fn real(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        "-".into()
    } else if size == 0.0 {
        "0".into()
    } else if (999.95..1e15).contains(&size) {
        let sign = if value < 0.0 { "-" } else { "" };
        format!("{sign}{}", count(size.round() as u64))
    } else if (1e-3..1e15).contains(&size) {
        let decimals = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
        format!("{value:.decimals$}")
    } else {
        format!("{value:.3e}")
    }
}

/// A share of 1 as percent with one decimal.
pub(super) fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.1}%", share * 100.0) } else { "-".into() }
}

/// A span of seconds in the unit that suits it.
pub(super) fn seconds(s: f64) -> String {
    match s {
        _ if !s.is_finite() => "-".into(),
        _ if s >= 2.0 * 86_400.0 => format!("{} d", real(s / 86_400.0)),
        _ if s >= 2.0 * 3_600.0 => format!("{} h", real(s / 3_600.0)),
        _ if s >= 2.0 * 60.0 => format!("{} min", real(s / 60.0)),
        _ => format!("{} s", real(s)),
    }
}

/// Text of the terminal with the signs that it lacks there: micro, plus-minus, times.
pub(super) fn signs(text: &str) -> String {
    let is_digit = |word: Option<&str>| word.and_then(|word| word.chars().next_back()).is_some_and(|last| last.is_ascii_digit());
    let mut out: Vec<String> = Vec::new();
    for word in text.split(' ') {
        // Characters behind the unit stay: a bracket, a full stop.
        let unit: String = word.chars().take_while(char::is_ascii_alphanumeric).collect();
        let after = &word[unit.len()..];
        match (unit.as_str(), is_digit(out.last().map(String::as_str))) {
            ("us", true) => out.push(format!("\u{b5}s{after}")),
            ("uJ", true) => out.push(format!("\u{b5}J{after}")),
            ("x", true) => out.last_mut().expect("a number before it").push_str(&format!("\u{d7}{after}")),
            _ if word == "+-" => out.push("\u{b1}".into()),
            _ => out.push(word.into()),
        }
    }
    out.join(" ")
}

/// `text` made safe between tags and inside quoted attributes.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

/// JSON text made safe inside a script element: whatever could end the element or open a comment
/// there becomes an escape, which JSON allows because these characters occur only in its strings.
pub(super) fn script_safe(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            _ => out.push(c),
        }
    }
    out
}

/// Replaces each `{{name}}` of `template` by its value, in one pass: values are not searched.
///
/// Panics on a placeholder without a value: template and code belong together.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len() + values.iter().map(|(_, v)| v.len()).sum::<usize>());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").expect("placeholder is closed");
        let (_, value) = values.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no value for {name}"));
        out.push_str(before);
        out.push_str(value);
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_ratios_have_their_signs_and_words_stay_words() {
        let told =
            signs("mean latency 302.2 +- 7.7 us, energy 12.0 uJ (2.18 to 2.20 x, or 4 x the mean); let us go, x is no ratio");
        let wanted = "mean latency 302.2 \u{b1} 7.7 \u{b5}s, energy 12.0 \u{b5}J (2.18 to 2.20\u{d7}, or 4\u{d7} the mean); let us go, x is no ratio";
        assert_eq!(told, wanted);
        assert_eq!(signs("5.67 ms"), "5.67 ms");
    }
}
