// Where the time of latencies goes: a stacked bar for each scheme, for all requests and for the slowest 1 %.
"use strict";
// Value of a bar, from `waits` of a run.
flashkeep.waitsPlot = ({ runs, shown, mark, time, cutAt, ofSeeds, notComparable }) => {
  const { state, escapeHtml, percent, colour, base, axis, legend, heading, marker, tip } = flashkeep;
  const KINDS = [["writes", "All writes"], ["slowest_writes", "Slowest 1% of writes"], ["reads", "All reads"], ["slowest_reads", "Slowest 1% of reads"]];
  // Queues have the hues of the causes of traffic, a request's own work is blue, waiting for the drive's state is warm.
  const WAITS = {
    "queue-host-reads": ["queued behind host reads", "#b9c0cc"], "queue-host-programs": ["queued behind host programs", "#7d8797"],
    "queue-parity": ["queued behind work for parity", "#cc6677"], "queue-gc": ["queued behind garbage collection", "#44aa99"],
    "queue-erases": ["queued behind erases", "#117733"], "queue-rebuild": ["queued behind rebuild", "#6f7fd1"],
    "queue-upkeep": ["queued behind refresh and upkeep", "#aa4499"], channel: ["waiting for the channel", "#999933"],
    transfer: ["transfer", "#9ecae9"], sensing: ["sensing", "#5b9bd5"], programming: ["programming", "#2f6db3"],
    parity: ["parity", "#e8a0ad"], solving: ["solving for lost pages", "#b3b9ee"], ecc: ["encoding and decoding", "#88ccee"],
    order: ["behind an earlier update of the stripe", "#b07d62"], space: ["waiting for free pages", "#dd7733"],
    buffer: ["waiting for room in the buffer", "#e3b04b"], assembly: ["waiting for a page to fill", "#f0d48a"],
    controller: ["controller", "#d0d4da"], "off-line": ["drive off line", "#4c5260"],
  };
  const ELSE = ["all else", "#cfc8bd"];
  const hidden = new Set();
  const of = (i, kind) => runs[i].waits && runs[i].waits[kind];
  const kinds = KINDS.filter(([kind]) => runs.some((run, i) => of(i, kind) && of(i, kind).requests > 0));
  if (!kinds.length) return null;
  const total = (i, kind) => Object.values((of(i, kind) || { mean_us: {} }).mean_us).reduce((a, b) => a + b, 0);
  const share = (i, kind, wait) => (total(i, kind) > 0 ? (of(i, kind).mean_us[wait] || 0) / total(i, kind) : 0);
  const names = Object.keys(WAITS).filter((wait) => kinds.some(([kind]) => runs.some((run, i) => share(i, kind, wait) >= 0.02)));
  const words = (wait) => (wait === "else" ? ELSE : WAITS[wait])[0];
  const rows = [...names, "else"];
  function value(i, kind, wait) {
    const part = wait === "else" ? 1 - names.reduce((sum, name) => sum + share(i, kind, name), 0) : share(i, kind, wait);
    return Math.max(0, part) * (state.waitTime ? total(i, kind) : total(i, kind) > 0 ? 1 : 0);
  }
  /// Lines of the legend, roughly: it scrolls where the page is narrow.
  const lines = (width) => (width < 600 ? 1 : Math.ceil(rows.reduce((sum, wait) => sum + 48 + 7.1 * words(wait).length, 0) / (width - 40)));
  const columns = (width) => (width < 900 || kinds.length < 2 ? 1 : 2);
  const panel = () => 26 * Math.max(1, shown().length) + 74;
  return {
    id: "waits", title: () => "Where does latency come from?",
    hint: "Each latency is the sum of named waits. Where work runs in parallel, the part that ends last counts. The mean latency is at the right of each bar." + ofSeeds + notComparable,
    buttons: [["Time instead of share", "waitTime"]],
    height(width) { return 24 + 24 * lines(width) + Math.ceil(kinds.length / columns(width)) * panel(); },
    onLegend(event) {
      const wait = rows.find((name) => words(name) === event.name);
      if (event.selected[event.name]) hidden.delete(wait); else hidden.add(wait);
    },
    option(still, width) {
      const top = still === "file" ? 36 : 0;
      const head = top + 24 * lines(width) - 58;
      const visible = shown();
      const across = columns(width);
      const longest = Math.max(...visible.map((i) => mark(runs[i].label).length));
      const left = Math.min(150, 20 + 7.4 * longest);
      const wide = width / across;
      const end = (kind) => (state.waitTime ? cutAt(visible.map((i) => total(i, kind))) || 1 : 1);
      const place = (k) => ({
        left: (k % across) * wide + left, width: wide - left - 84, top: head + 98 + Math.floor(k / across) * panel(), height: panel() - 66,
      });
      const bars = kinds.flatMap(([kind], k) => rows.map((wait) => ({
        type: "bar", name: words(wait), stack: kind, xAxisIndex: k, yAxisIndex: k, barMaxWidth: 20, barCategoryGap: "25%",
        color: (wait === "else" ? ELSE : WAITS[wait])[1], data: visible.map((i) => value(i, kind, wait)),
      })));
      const ends = kinds.map(([kind], k) => ({
        type: "bar", name: "mean", stack: kind, xAxisIndex: k, yAxisIndex: k, silent: true, clip: false, data: visible.map(() => 0),
        label: {
          show: true, position: "right", color: colour("text"), fontSize: 12,
          formatter: ({ dataIndex }) => { const t = total(visible[dataIndex], kind); return t > 0 ? time(t) + (state.waitTime && t > end(kind) ? ", cut" : "") : "none"; },
        },
      }));
      return {
        ...base(still),
        legend: { ...legend(rows.map(words), top, [...hidden].map(words)), type: lines(width) > 1 ? "plain" : "scroll" },
        title: kinds.map(([, name], k) => heading(name, (k % across) * wide + wide / 2, head + 66 + Math.floor(k / across) * panel())),
        grid: kinds.map((kind, k) => place(k)),
        xAxis: kinds.map(([kind], k) => axis("", {
          gridIndex: k, type: "value", min: 0, max: end(kind), splitNumber: wide < 500 ? 2 : 5, axisLabel: { formatter: (x) => (state.waitTime ? time(x) : percent(x, 3)) },
        })),
        yAxis: kinds.map((kind, k) => axis("", {
          gridIndex: k, type: "category", inverse: true, data: visible.map((i) => mark(runs[i].label)), axisTick: { show: false }, splitLine: { show: false },
          axisLabel: { color: colour("text"), interval: 0, hideOverlap: false, width: left - 10, overflow: "truncate" },
        })),
        tooltip: {
          ...base(still).tooltip, trigger: "axis", axisPointer: { type: "shadow" },
          formatter: (points) => {
            const [kind, name] = kinds[points[0].axisIndex];
            const i = visible[points[0].dataIndex];
            if (!(total(i, kind) > 0)) return "";
            const parts = Object.keys(WAITS).filter((wait) => share(i, kind, wait) > 0).sort((a, b) => share(i, kind, b) - share(i, kind, a));
            return tip(`${escapeHtml(runs[i].label)}: ${name.toLowerCase()}`, parts.map((wait) =>
              [marker(WAITS[wait][1]) + escapeHtml(WAITS[wait][0]), time(share(i, kind, wait) * total(i, kind)), percent(share(i, kind, wait), 3)],
            ).concat([["mean latency", time(total(i, kind)), ""]]));
          },
        },
        series: bars.concat(ends),
      };
    },
    csv: () => [["scheme", "requests", "wait", "mean_us", "share"]].concat(
      kinds.flatMap(([kind]) => runs.flatMap((run, i) => Object.keys(WAITS).map((wait) =>
        [run.label, kind.replace("_", " "), wait, (of(i, kind) || { mean_us: {} }).mean_us[wait] || 0, share(i, kind, wait)])))),
  };
};
