"use strict";
// Colours of the report, the first of which is grey.
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#c46a9f", "#2f9fdb", "#b58900", "#7a5cc4", "#7d838c"];
// Causes of flash traffic, from the bottom of a stack up.
const CAUSES = {
  host: "#0072b2", "host-rmw": "#2f9fdb", parity: "#009e73", gc: "#d55e00", refresh: "#c46a9f", rebuild: "#b58900",
  encode: "#7a5cc4", "wear-level": "#8c564b", meta: "#7d838c", padding: "#aab0b8", fold: "#117733",
};
const KEPT = 240;
const state = { samples: [], events: [], status: null, sample: 0, event: 0, at: null, dead: 0 };
const $ = (id) => document.getElementById(id);

function element(name, attributes, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

function svg(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Numbers as one reads them.
function short(value) {
  if (value === null || value === undefined) return "-";
  const size = Math.abs(value);
  for (const [from, unit] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    if (size >= from) return trimmed(value / (unit === "k" ? 1e3 : from)) + unit;
  }
  return trimmed(value);
}
function trimmed(value) {
  const size = Math.abs(value);
  return String(Number(value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3)));
}
const percent = (share) => (share === null || share === undefined ? "-" : trimmed(share * 100) + " %");
function micros(us) {
  if (us === null || us === undefined) return "-";
  if (us >= 1e6) return trimmed(us / 1e6) + " s";
  return us >= 1e3 ? trimmed(us / 1e3) + " ms" : trimmed(us) + " us";
}
function seconds(s) {
  const units = [[31536000, "y"], [86400, "d"], [3600, "h"], [60, "min"]];
  const unit = units.find(([from]) => s >= 2 * from);
  return unit ? trimmed(s / unit[0]) + " " + unit[1] : s >= 1 ? trimmed(s) + " s" : micros(s * 1e6);
}

// A step of 1, 2 or 5 that cuts a span into about this many parts.
function step(span, parts) {
  const raw = span / parts, power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
}

function scaleOf(most, options) {
  if (options.log) {
    const [from, to] = options.log(most);
    const low = Math.floor(Math.log10(from)), high = Math.max(Math.ceil(Math.log10(to)), low + 1);
    const ticks = [];
    for (let at = low; at <= high; at++) ticks.push(10 ** at);
    return { ticks, of: (value) => (Math.log10(Math.max(value, 10 ** low)) - low) / (high - low) };
  }
  const top = Math.max(most, options.least || 0) || 1, by = step(top, 4), end = Math.ceil(top / by - 1e-9) * by;
  const ticks = [];
  for (let at = 0; at <= end + by / 2; at += by) ticks.push(at);
  return { ticks, of: (value) => value / end };
}

// Draws series over the last samples; stacked ones on top of each other.
function chart(id, series, options) {
  const place = $(id), samples = state.samples;
  if (samples.length < 2 || !series.length) {
    place.replaceChildren(element("p", { class: "none" }, "Nothing yet."));
    return;
  }
  const width = Math.max(place.clientWidth, 200), height = 180, left = 52, bottom = 18, top = 8;
  const end = samples[samples.length - 1].wall_s, begin = samples[0].wall_s, span = Math.max(end - begin, 1);
  const x = (at) => left + ((at - begin) / span) * (width - left - 4);
  const sums = samples.map(() => 0);
  const lines = series.map((one) => samples.map((sample, n) => {
    const value = one.of(sample);
    if (value === null || value === undefined) return null;
    return options.stacked ? [sums[n], (sums[n] += value)] : [0, value];
  }));
  const tops = lines.flat().filter(Boolean).map((pair) => pair[1]);
  const scale = scaleOf(Math.max(...tops, 0), { ...options, log: options.log && (() => ends(tops)) });
  const y = (value) => top + (1 - scale.of(value)) * (height - top - bottom);
  const drawn = svg("svg", { role: "img", "aria-label": options.label, viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none" });
  for (const tick of scale.ticks) {
    drawn.append(svg("line", { class: "rule", x1: left, x2: width - 4, y1: y(tick), y2: y(tick) }));
    drawn.append(svg("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, (options.unit || short)(tick)));
  }
  for (let ago = 0, by = step(span, width < 450 ? 3 : 6); ago <= span; ago += by) {
    const words = ago === 0 ? "now" : `-${seconds(ago)}`;
    drawn.append(svg("text", { x: x(end - ago), y: height - 3, "text-anchor": ago === 0 ? "end" : "middle" }, words));
  }
  series.forEach((one, n) => draw(drawn, lines[n], one.colour, samples.map((sample) => x(sample.wall_s)), y, options));
  const legend = element("div", { class: "legend" });
  place.replaceChildren(drawn, legend);
  const tell = (n) => legendOf(legend, series, samples, n, options);
  tell(state.at && state.at.id === id ? nearest(samples, x, state.at.x) : null);
  drawn.addEventListener("pointermove", (event) => {
    const at = ((event.clientX - drawn.getBoundingClientRect().left) / drawn.clientWidth) * width;
    state.at = { id, x: at };
    tell(nearest(samples, x, at));
  });
  drawn.addEventListener("pointerleave", () => { state.at = null; tell(null); });
}

function ends(values) {
  const above = values.filter((value) => value > 0);
  return above.length ? [Math.min(...above), Math.max(...above)] : [1, 10];
}

function nearest(samples, x, at) {
  let best = 0;
  samples.forEach((sample, n) => { if (Math.abs(x(sample.wall_s) - at) < Math.abs(x(samples[best].wall_s) - at)) best = n; });
  return best;
}

function draw(into, line, colour, xs, y, options) {
  let path = "", back = "", open = false;
  const close = () => {
    if (options.stacked && back) path += back + "Z";
    [back, open] = ["", false];
  };
  line.forEach((pair, n) => {
    if (!pair) return close();
    path += `${open ? "L" : "M"}${xs[n].toFixed(1)} ${y(pair[1]).toFixed(1)}`;
    back = `L${xs[n].toFixed(1)} ${y(pair[0]).toFixed(1)}` + back;
    open = true;
  });
  close();
  const paint = options.stacked ? { fill: colour, "fill-opacity": 0.75 } : { class: "line", stroke: colour };
  into.append(svg("path", { d: path, ...paint }));
}

function legendOf(legend, series, samples, n, options) {
  const sample = samples[n === null ? samples.length - 1 : n];
  const entries = series.map((one) => {
    const dot = element("i", { style: `background:${one.colour}` });
    return element("span", {}, dot, one.name + " ", element("b", {}, (options.unit || short)(one.of(sample))));
  });
  if (n !== null) {
    const ago = samples[samples.length - 1].wall_s - sample.wall_s;
    entries.push(element("span", { class: "when" }, ago ? seconds(ago) + " ago" : "now"));
  }
  legend.replaceChildren(...entries);
}

const perSecond = (of) => (sample) => (of(sample) || 0) / Math.max(sample.took_s, 1e-3);

function byCause(id, field, label) {
  const there = Object.keys(CAUSES).filter((cause) => state.samples.some((sample) => sample[field][cause]));
  const series = there.map((cause) => ({ name: cause, colour: CAUSES[cause], of: perSecond((sample) => sample[field][cause]) }));
  chart(id, series, { stacked: true, label, unit: (value) => short(value) + "/s" });
}

function charts() {
  const of = (name, colour, field) => ({ name, colour: COLOURS[colour], of: (sample) => sample[field] });
  const tails = [of("p50", 0, "p50_us"), of("p99", 1, "p99_us"), of("p99.9", 3, "p999_us"), of("longest", 7, "longest_us")];
  chart("latencies", tails, { log: true, unit: micros, label: "Percentiles of latencies in virtual time" });
  const kinds = ["reads", "writes", "flushes", "discards"];
  const requests = kinds.map((kind, n) => ({ name: kind, colour: COLOURS[n], of: perSecond((sample) => sample.requests[kind]) }));
  chart("requests", requests, { label: "Requests answered, by kind", unit: (value) => short(value) + "/s" });
  byCause("programs", "programs", "Flash pages programmed, by cause");
  byCause("reads", "flash_reads", "Flash pages read, by cause");
  chart("outstanding", [of("most requests at a time", 0, "outstanding")], { least: 4, label: "Requests under way" });
  const ecc = [
    { name: "bits corrected", colour: COLOURS[2], of: perSecond((sample) => sample.corrected_bits) },
    { name: "codewords failed", colour: COLOURS[1], of: perSecond((sample) => sample.failed_codewords) },
  ];
  chart("ecc", ecc, { label: "Bits corrected and codewords failed", unit: (value) => short(value) + "/s" });
  chart("space", [of("free", 2, "free_share"), of("wear", 1, "wear")], { least: 1, unit: percent, label: "Free blocks and wear" });
}

function tiles(status) {
  const last = state.samples[state.samples.length - 1];
  const rate = last ? perSecond((sample) => Object.values(sample.requests).reduce((a, b) => a + b, 0))(last) : null;
  const lost = status.dies.filter((die) => !die.alive).length;
  const shown = [
    [rate === null ? "-" : short(rate) + "/s", "requests"],
    [last ? micros(last.p99_us) : "-", "p99 latency"],
    [status.outstanding, "under way"],
    [status.write_amplification === null ? "-" : trimmed(status.write_amplification), "write amplification"],
    [percent(status.free_share), "free blocks"],
    [percent(status.wear), `wear of ${short(status.pe_rated)} P/E`],
    [percent(status.spare), "spare", status.spare < 0.1],
    [trimmed(status.temperature) + " C", "temperature"],
    [short(status.corrected_bits), "bits corrected"],
    [short(status.media_errors), "media errors", status.media_errors > 0],
    [lost, "dead dies", lost > 0],
    [status.power_cuts, "power cuts"],
  ];
  const tile = ([value, about, bad]) => element("div", { class: bad ? "tile bad" : "tile" }, element("b", {}, String(value)), element("span", {}, about));
  $("tiles").replaceChildren(...shown.map(tile));
}

function dies(status) {
  const shade = $("shade").value, last = state.samples[state.samples.length - 1];
  const most = Math.max(...status.dies.map((die) => die.queued), 1);
  const shares = {
    busy: (die, n) => (last && last.busy[n]) || 0,
    wear: (die) => die.pe_mean / Math.max(status.pe_rated, 1),
    queued: (die) => die.queued / most,
  };
  const channels = new Map();
  status.dies.forEach((die, n) => {
    const share = shares[shade](die, n);
    const words = !die.alive ? "dead" : shade === "queued" ? String(die.queued) : percent(share);
    const slow = die.slow > 1 ? ` x ${trimmed(die.slow)}` : "";
    const classes = ["die", die.alive ? "" : "dead", slow ? "slow" : ""].join(" ").trim();
    const about = `die ${n}, channel ${die.channel}: ${die.alive ? "alive" : "dead"}${slow && ", slow" + slow}, ${trimmed(die.pe_mean)} P/E`;
    const cell = element("button", { class: classes, title: about, "aria-label": about, type: "button", "data-die": n },
      element("b", {}, `${n}${slow}`), element("span", {}, words));
    cell.style.setProperty("--share", Math.min(share, 1).toFixed(3));
    channels.set(die.channel, [...(channels.get(die.channel) || []), cell]);
  });
  const place = $("dies");
  // A die that has the focus keeps it.
  const focus = document.activeElement && document.activeElement.dataset.die;
  place.className = `by-${shade}`;
  place.replaceChildren(...[...channels.values()].map((cells) => element("div", { class: "channel" }, ...cells)));
  if (focus) place.querySelector(`[data-die="${focus}"]`).focus();
}

function histogram(status) {
  const classes = status.ecc_histogram, place = $("histogram");
  if (!classes.length) {
    place.replaceChildren(element("p", { class: "none" }, "No page was decoded: the drive has no page ECC, or nothing was read."));
    return;
  }
  const most = Math.max(...classes.map(([, reads]) => reads));
  const words = (fewest) => (fewest < 2 ? String(fewest) : `${fewest} to ${2 * fewest - 1}`);
  place.replaceChildren(...classes.flatMap(([fewest, reads]) => {
    const bar = element("i", { style: `width:${(reads / most) * 100}%` });
    return [element("span", {}, words(fewest)), bar, element("span", {}, short(reads))];
  }));
}

function heads(status) {
  $("scheme").textContent = status.scheme + (status.stage ? `, stage ${status.stage}` : "");
  const size = status.size / 2 ** 30;
  $("summary").textContent = `${size >= 1 ? trimmed(size) + " GiB" : trimmed(size * 1024) + " MiB"}, virtual time ${seconds(status.time_s)}` +
    `, ${short(status.reads)} reads, ${short(status.writes)} writes, ${short(status.flushes)} flushes`;
  const cautions = [
    [status.broken, "error", `Broken: ${status.broken}`],
    [status.first_mismatch, "error", `A read was wrong: ${status.first_mismatch}`],
    [status.read_only, "error", "The drive is read-only."],
    [status.recovering, "warning", "The drive recovers from a power cut."],
    [status.recording !== null, "warning", `Requests are recorded: ${short(status.recording)} so far.`],
    [state.dead > 2, "warning", "The drive does not answer: what is shown is old."],
  ];
  const caution = ([, kind, words]) => element("p", { class: `caution ${kind}` }, words);
  $("cautions").replaceChildren(...cautions.filter(([holds]) => holds).map(caution));
}

function events() {
  if (!state.events.length) return;
  $("events").replaceChildren(...[...state.events].reverse().map((event) => {
    const words = event.refused ? element("span", { class: "what bad" }, `${event.what}: ${event.refused}`) : element("span", { class: "what" }, event.what);
    const by = element("small", {}, event.planned ? "schedule" : "");
    return element("li", {}, element("span", { class: "time" }, seconds(event.time_s)), words, by);
  }));
}

function show() {
  if (!state.status) return;
  heads(state.status);
  tiles(state.status);
  dies(state.status);
  histogram(state.status);
  charts();
  events();
}

function take(live) {
  if (live.last < state.sample) Object.assign(state, { samples: [], events: [], sample: 0, event: 0 });
  state.status = live.status;
  state.samples = [...state.samples, ...live.samples].slice(-KEPT);
  state.events = [...state.events, ...live.events].slice(-KEPT);
  for (const sample of live.samples) state.sample = sample.number;
  for (const event of live.events) state.event = event.number;
}

async function look() {
  try {
    const answer = await fetch(`/live?sample=${state.sample}&event=${state.event}`);
    take(await answer.json());
    state.dead = 0;
  } catch (error) {
    state.dead++;
  }
  show();
  setTimeout(look, 500);
}

async function press(command) {
  const said = $("said");
  [said.textContent, said.className] = [`${command} ...`, "said"];
  try {
    const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ command }) };
    const answer = await (await fetch("/control", options)).json();
    const { ok, error, ...told } = answer;
    const words = Object.entries(told).map(([key, value]) => `${key} ${value}`).join(", ");
    said.textContent = ok ? `${command}: done${words && ", " + words}` : `${command}: ${error}`;
    said.className = ok ? "said" : "said bad";
  } catch (error) {
    [said.textContent, said.className] = [`${command}: no answer`, "said bad"];
  }
}

$("faults").addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target, words = (event.submitter && event.submitter.dataset.do) || form.dataset.do;
  press(words.replace(/\{(\w+)\}/g, (_, name) => form.elements[name].value.trim()));
});
$("dies").addEventListener("click", (event) => {
  const cell = event.target.closest("[data-die]");
  if (!cell) return;
  for (const field of document.querySelectorAll('#faults input[name="n"]')) field.value = cell.dataset.die;
  document.querySelector('#faults select[name="part"]').value = "die";
});
$("shade").addEventListener("change", show);
window.addEventListener("resize", show);
look();
