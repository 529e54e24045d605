// Plots and controls of a comparison. Data: one entry of `runs` a scheme.
"use strict";
(() => {
  const {
    data, byId, state, isNumber, significant, grouped, escapeHtml, short, percent, colour, font, DASHES,
    base, axis, legend, heading, marker, tip, zoomBox, crossTooltip, whiskers, message, draw, button, start,
  } = flashkeep;
  const runs = data.runs;
  Object.assign(state, {
    baseline: Math.max(0, runs.findIndex((run) => run.label === data.baseline)), hidden: new Set(), hiddenCauses: new Set(), tail: false, perPage: false, histogram: false,
  });

  // ---- Numbers and text ----------------------------------------------------------------------
  const sum = (counts) => Object.values(counts || {}).reduce((a, b) => a + (b || 0), 0);
  const ratio = (value, base) => (isNumber(value) && isNumber(base) && base !== 0 ? value / base : null);
  function time(us) {
    if (!isNumber(us)) return "-";
    if (us >= 1e6) return significant(us / 1e6, 3) + " s";
    return us >= 999.5 ? significant(us / 1e3, 3) + " ms" : short(us) + " \u00b5s";
  }
  function times(r) {
    if (r === null) return "n/a";
    const digits = r >= 100 || r === 0 ? grouped(r) : r >= 10 ? r.toFixed(1) : r >= 0.1 ? r.toFixed(2) : r.toPrecision(2);
    return digits + "\u00d7";
  }
  const tickTime = (us) => (us >= 1e6 ? us / 1e6 + " s" : us >= 1e3 ? us / 1e3 + " ms" : significant(us, 3) + " \u00b5s");

  // Causes: Tol's muted hues, apart from those of the schemes; host work is the neutral one.
  const CAUSE_COLOURS = {
    host: "#8a94a3", "host-rmw": "#c9b458", parity: "#cc6677", gc: "#44aa99", refresh: "#aa4499", "wear-level": "#88ccee", rebuild: "#6f7fd1", encode: "#882255", meta: "#999933", padding: "#d8d2c4", fold: "#117733",
  };
  const causeColour = (cause) => CAUSE_COLOURS[cause] || "#b07d62";
  const shown = () => runs.map((run, i) => i).filter((i) => !state.hidden.has(i));

  const schemeLegend = (top) => ({ ...legend(runs.map((r) => r.label), top, [...state.hidden].map((i) => runs[i].label)), formatter: mark });
  const schemeCell = (i) => marker(runs[i].colour) + escapeHtml(mark(runs[i].label));

  /// The greatest value worth a place on an axis: what is more than four times the next one is cut, up to half of all.
  function cutAt(values) {
    const falling = [...values].sort((a, b) => b - a);
    const next = falling.findLastIndex((value, i) => i > 0 && i <= values.length / 2 && value > 0 && falling[i - 1] > 4 * value);
    return next > 0 ? 1.3 * falling[next] : falling[0];
  }

  // ---- Several seeds --------------------------------------------------------------------------
  /// The counts of a run, under each seed.
  const samples = (run) => run.by_seed || [run];
  const mean = (values) => (values === null ? null : values.reduce((a, b) => a + b, 0) / values.length);
  /// Half of the width of the 95 % confidence interval of the mean.
  function halfWidth(values) {
    if (!data.seeds || values === null || values.length < 2) return 0;
    const middle = mean(values);
    const variance = values.reduce((all, value) => all + (value - middle) ** 2, 0) / (values.length - 1);
    return data.seeds.t * Math.sqrt(variance / values.length);
  }
  const ofFirst = data.seeds ? ` Of seed ${data.seeds.seeds[0]}, the first.` : "";
  const ofSeeds = data.seeds ? ` Means of ${data.seeds.seeds.length} seeds.` : "";
  const ofMean = data.seeds ? ` Means of ${data.seeds.seeds.length} seeds; lines over bars are 95 % confidence intervals of the totals.` : "";

  // ---- What cannot be compared -----------------------------------------------------------------
  const apart = runs.filter((run) => run.not_comparable);
  const mark = (label) => (apart.some((run) => run.label === label) ? label + " !" : label);
  const notComparable = apart.length ? " ! Not comparable: " + apart.map((run) => `${run.label} (${run.not_comparable})`).join(", ") + "." : "";

  // ---- Response-time distribution ------------------------------------------------------------
  const KINDS = [["Reads", "read_cdf"], ["Writes", "write_cdf"]];
  /// Share answered within `us`. From one point to the next there is nothing but the jump at the next: a line between them
  /// would claim answers at times at which there were none.
  function shareAt(cdf, us) {
    if (!cdf.length || us < cdf[0][0]) return 0;
    const next = cdf.findIndex((point) => point[0] > us);
    return next < 0 ? 1 : cdf[next - 1][1];
  }
  const drawable = (run, key) => (run[key] || []).filter(([x, y]) => x > 0 && isNumber(y));
  const nice = (x, round) => {
    const unit = 10 ** Math.floor(Math.log10(x));
    const steps = [1, 2, 5, 10];
    return unit * (round === "up" ? steps.find((s) => s >= x / unit - 1e-9) : steps.reverse().find((s) => s <= x / unit + 1e-9));
  };
  const cdf = {
    id: "latency-cdf", title: () => (state.tail ? "What share of requests takes longer than a time?" : "What share of requests completes within a time?"),
    hint: "Drag to zoom, double-click to zoom out. The tail view has a log scale, so that p99.9 can be read." + ofFirst + notComparable,
    buttons: [["Tail (log)", "tail"]],
    height: (width) => (width < 600 ? 800 : 450),
    option(still, width) {
      const head = still === "file" ? 36 : 0;
      const stacked = width < 600;
      const all = runs.flatMap((r) => KINDS.flatMap(([, key]) => drawable(r, key)));
      const rests = all.map(([, y]) => 1 - y).filter((rest) => rest > 1e-12);
      const floor = Math.max(1e-7, 10 ** Math.floor(Math.log10(Math.min(0.01, ...rests)) + 1e-9));
      const [low, high] = all.length
        ? [nice(Math.min(...all.map((p) => p[0])), "down"), nice(Math.max(...all.map((p) => p[0])), "up")] : [1, 1000];
      // Where there is little room, every other power of ten.
      const isEven = (us) => Math.round(Math.log10(us)) % 2 === 0;
      const tick = (us) => (stacked && high / low > 1e4 && !isEven(us) ? "" : tickTime(us));
      const place = (i) => (stacked
        ? { left: 76, right: 20, top: head + 70 + i * 380, height: 270 }
        : { left: i ? "55.5%" : 76, right: i ? 20 : "53%", top: head + 66, bottom: 52 });
      const middle = (i) => (stacked ? "50%" : i ? "77%" : "27%");
      const isEmpty = ([, key]) => !runs.some((r) => drawable(r, key).length);
      // ECharts rounds the ends of a log axis to the digits of its data: an unseen line has the ends themselves.
      const anchors = KINDS.map((kind, k) => ({
        type: "line", xAxisIndex: k, yAxisIndex: k, silent: true, symbol: "none", lineStyle: { opacity: 0 }, data: [[low, floor], [high, 1]],
      }));
      const empty = KINDS.map((kind, i) => (isEmpty(kind)
        ? message("no " + kind[0].toLowerCase() + " in this trace", stacked ? "45%" : i ? "70%" : "20%", head + 200 + (stacked ? i * 380 : 0)) : null));
      return {
        ...base(still),
        legend: schemeLegend(head),
        title: KINDS.map(([kind], i) => heading(kind, middle(i), head + (stacked ? 40 + i * 380 : 36))),
        graphic: empty.filter(Boolean),
        grid: KINDS.map((k, i) => place(i)),
        xAxis: KINDS.map((k, i) => axis("latency (log scale)", {
          gridIndex: i, type: "log", min: low, max: high, axisLabel: { formatter: tick, showMaxLabel: Number.isInteger(Math.log10(high)) }, minorTick: { show: true },
        })),
        yAxis: KINDS.map((k, i) => axis(i && !stacked ? "" : state.tail ? "slower (log scale)" : "completed", {
          gridIndex: i, nameGap: 54, ...(state.tail
            ? { type: "log", min: floor, max: 1, axisLabel: { formatter: (y) => percent(y, 2) } }
            : { type: "value", min: 0, max: 1, axisLabel: { formatter: (y) => percent(y, 4) } }),
        })),
        toolbox: zoomBox(still),
        tooltip: {
          ...crossTooltip(still),
          formatter: (points) => {
            const [kind, key] = KINDS[points[0].axisIndex];
            const us = points[0].axisValue;
            const rows = shown().map((i) => [i, drawable(runs[i], key)]).filter(([, curve]) => curve.length);
            return rows.length && tip(kind + " within " + time(us), rows.map(([i, curve]) => {
              const share = shareAt(curve, us);
              return [schemeCell(i), percent(share, 5), percent(Math.max(0, 1 - share), 3) + " slower"];
            }));
          },
        },
        series: KINDS.flatMap(([, key], k) => runs.map((run, i) => ({
          type: "line", name: run.label, color: run.colour, xAxisIndex: k, yAxisIndex: k, symbol: "circle", symbolSize: 5, showSymbol: false, step: "end",
          lineStyle: { width: 2, type: DASHES[i % DASHES.length] },
          data: this.curve(run, key, floor),
        }))).concat(anchors),
      };
    },
    curve(run, key, floor) {
      const points = drawable(run, key);
      if (!points.length) return [];
      const full = [[points[0][0], 0], ...points];
      return state.tail ? full.map(([x, y]) => [x, Math.max(1 - y, floor)]) : full;
    },
    csv: () => [["scheme", "kind", "latency_us", "share_answered_within"]].concat(
      runs.flatMap((run) => KINDS.flatMap(([kind, key]) => (run[key] || []).map(([x, y]) => [run.label, kind.toLowerCase(), x, y])))),
  };

  // ---- Traffic by cause ----------------------------------------------------------------------
  const OPERATIONS = [
    ["Page reads", "flash_reads", "read_pages", 1, "per host page read", "pages"],
    ["Page programs", "flash_programs", "write_pages", 1, "per host page written", "pages"],
    ["Block erases", "flash_erases", "write_pages", 1000, "per 1,000 host pages written", "blocks"],
  ];
  const traffic = {
    id: "traffic", title: () => "What is flash busy with?",
    hint: "Flash operations by cause. Click a cause in the legend to leave it out." + ofMean + notComparable,
    buttons: [["Per host page", "perPage"]],
    /// From one panel to the next where they stand below each other: room for turned labels.
    step: () => 300 + 4.4 * Math.max(...runs.map((run) => mark(run.label).length)),
    height(width) { return width < 600 ? 80 + 3 * this.step() : 420; },
    /// Sum of some causes: a value for each seed, or null where there is nothing to relate it to.
    values(i, [, key, per, scale], causes) {
      const values = samples(runs[i]).map((run) => {
        const n = causes.reduce((all, cause) => all + (run[key][cause] || 0), 0);
        return state.perPage ? (run[per] ? n / run[per] * scale : null) : n;
      });
      return values.includes(null) ? null : values;
    },
    value(i, operation, cause) { return mean(this.values(i, operation, [cause])); },
    shownCauses: () => data.causes.filter((c) => !state.hiddenCauses.has(c)),
    total(i, operation) { return mean(this.values(i, operation, this.shownCauses())); },
    half(i, operation) { return halfWidth(this.values(i, operation, this.shownCauses())); },
    /// Where the axis of an operation ends: an outlier is cut, so that it does not flatten the rest.
    end(operation) {
      const totals = shown().map((i) => (this.total(i, operation) || 0) + this.half(i, operation));
      const end = cutAt(totals);
      return totals.some((total) => total > end) ? end : undefined;
    },
    option(still, width) {
      const head = still === "file" ? 36 : 0;
      const stacked = width < 600;
      const visible = shown();
      const ends = OPERATIONS.map((operation) => this.end(operation));
      const part = (100 - 1) / 3;
      const dots = Object.fromEntries(runs.map((r, i) => ["d" + i, { color: r.colour, fontSize: 15 }]));
      const slot = (stacked ? width - 100 : width / 3 - 80) / Math.max(1, visible.length);
      const isCut = (i) => OPERATIONS.some((operation, k) => this.total(i, operation) > ends[k]);
      const longest = Math.max(...visible.map((i) => mark(runs[i].label).length + (isCut(i) ? 13 : 0)));
      const turned = 7.5 * longest + 22 > slot;
      const place = (i) => (stacked
        ? { left: 74, right: 14, top: head + 90 + i * this.step(), height: 196 }
        : { left: i * part + 5.2 + "%", width: part - 6.6 + "%", top: head + 92, bottom: turned ? 28 + 4.4 * longest : 30 });
      const bars = OPERATIONS.flatMap((operation, k) => data.causes.map((cause) => ({
        type: "bar", name: cause, stack: operation[0], xAxisIndex: k, yAxisIndex: k, barMaxWidth: 70, barCategoryGap: "30%",
        color: causeColour(cause), data: visible.map((i) => this.value(i, operation, cause)),
      })));
      const totals = OPERATIONS.map((operation, k) => ({
        type: "bar", name: "total", stack: operation[0], xAxisIndex: k, yAxisIndex: k, silent: true, itemStyle: { color: "transparent" },
        // As high as the interval, so that the number stands above it.
        data: visible.map((i) => this.half(i, operation)),
        label: {
          show: true, position: "top", color: colour("text"), fontSize: slot < 46 ? 10 : 12,
          formatter: ({ dataIndex }) => { const t = this.total(visible[dataIndex], operation); return t === null ? "n/a" : short(t); },
        },
      }));
      return {
        ...base(still),
        legend: legend(data.causes, head, [...state.hiddenCauses]),
        title: OPERATIONS.map(([name, , , , per, unit], i) =>
          ({
          ...heading(name, stacked ? "50%" : i * part + part / 2 + 1 + "%", head + 30 + (stacked ? i * this.step() : 0)),
          subtext: state.perPage ? per : unit, itemGap: 8, subtextStyle: { color: colour("muted"), fontSize: 13 },
        })),
        grid: OPERATIONS.map((o, i) => place(i)),
        xAxis: OPERATIONS.map((o, k) => axis("", {
          gridIndex: k, type: "category", data: visible, axisTick: { show: false }, splitLine: { show: false },
          axisLabel: {
            color: colour("text"), interval: 0, hideOverlap: false, rotate: turned ? 35 : 0, rich: dots,
            formatter: (i) => {
              const total = this.total(i, o);
              return `{d${i}|\u25cf} ${mark(runs[i].label)}` + (total > ends[k] ? `, cut: ${short(total)}` : "");
            },
          },
        })),
        yAxis: OPERATIONS.map((o, k) => axis("", { gridIndex: k, type: "value", max: ends[k], axisLabel: { formatter: short } })),
        tooltip: {
          ...base(still).tooltip, trigger: "axis", axisPointer: { type: "shadow" },
          formatter: (points) => {
            const operation = OPERATIONS[points[0].axisIndex];
            const i = visible[points[0].dataIndex];
            const total = this.total(i, operation);
            const causes = data.causes.filter((c) => !state.hiddenCauses.has(c) && this.value(i, operation, c) > 0);
            const number = (x) => (x === null ? "n/a" : state.perPage ? significant(x, 4) : grouped(x));
            return tip(`${escapeHtml(runs[i].label)}: ${operation[0].toLowerCase()}${state.perPage ? " " + operation[4] : ""}`,
              causes.map((c) => {
                const value = this.value(i, operation, c);
                return [marker(causeColour(c)) + escapeHtml(c), number(value), percent(value / total, 3)];
              }).concat([["total", number(total), data.seeds ? "\u00b1 " + short(this.half(i, operation)) : ""]]));
          },
        },
        series: bars.concat(totals, data.seeds ? OPERATIONS.map((operation, k) => whiskers(visible.flatMap((i, at) => {
          const [total, half] = [this.total(i, operation), this.half(i, operation)];
          return total === null || total > ends[k] ? [] : [[at, Math.max(0, total - half), total + half]];
        }), { xAxisIndex: k, yAxisIndex: k })) : []),
      };
    },
    csv: () => [["scheme", "seed", "operation", "cause", "count", "host_pages_read", "host_pages_written"]].concat(
      runs.flatMap((run) => samples(run).flatMap((one, k) => OPERATIONS.flatMap(([name, key]) => Object.entries(one[key]).map(([cause, n]) =>
        [run.label, data.seeds ? data.seeds.seeds[k] : "", name.toLowerCase(), cause, n, one.read_pages, one.write_pages]))))),
  };

  // ---- Wear over blocks ----------------------------------------------------------------------
  const sorted = runs.map((run) => Uint32Array.from(run.pe_added || []).sort());
  const mostWorn = Math.max(1, ...sorted.map((cycles) => cycles[cycles.length - 1] || 0));
  function quantiles(cycles) {
    const steps = Math.min(400, cycles.length - 1);
    return cycles.length < 2 ? [] : Array.from({ length: steps + 1 }, (_, k) =>
      [k / steps, cycles[Math.round(k / steps * (cycles.length - 1))]]);
  }
  function histogram(cycles) {
    const width = Math.max(1, Math.ceil((mostWorn + 1) / 40));
    const bins = new Array(Math.ceil((mostWorn + 1) / width) + 1).fill(0);
    cycles.forEach((n) => { bins[Math.floor(n / width)] += 1; });
    return bins.map((n, k) => [k * width, n / Math.max(1, cycles.length)]);
  }
  const wear = {
    id: "wear", title: () => "How evenly do blocks wear?",
    hint: "P/E cycles added. Even wear gives a flat curve and a narrow histogram; the right end is the most worn block." + ofFirst + notComparable,
    buttons: [["Histogram", "histogram"]],
    height: () => 380,
    option(still) {
      const head = still === "file" ? 36 : 0;
      const most = shown().map((i) => sorted[i][sorted[i].length - 1] || 0);
      const end = cutAt(most);
      const cut = shown().filter((i, k) => most[k] > end);
      const name = cut.length ? `P/E cycles added; cut: ${runs[cut[0]].label} has up to ${grouped(Math.max(...most))}` : "P/E cycles added by the workload";
      const cyclesAxis = (more) => axis(name, { type: "value", minInterval: 1, min: 0, max: cut.length ? Math.ceil(end) : undefined, ...more });
      return {
        ...base(still),
        legend: schemeLegend(head),
        grid: { left: 66, right: 24, top: head + 40, bottom: 52 },
        xAxis: state.histogram ? cyclesAxis({}) : axis("share of blocks, least worn first", { type: "value", min: 0, max: 1, axisLabel: { formatter: (x) => percent(x, 3) } }),
        yAxis: state.histogram ? axis("share of blocks", { type: "value", nameGap: 46, axisLabel: { formatter: (y) => percent(y, 3) } }) : cyclesAxis({ nameGap: 46 }),
        tooltip: {
          ...base(still).tooltip, trigger: "axis", axisPointer: { lineStyle: { color: colour("muted") } },
          formatter: (points) => {
            const x = points[0].value[0];
            const rows = points.map((p) => [marker(p.color) + escapeHtml(p.seriesName), state.histogram ? percent(p.value[1], 3) : grouped(p.value[1])]);
            return tip(state.histogram ? "from " + grouped(x) + " P/E cycles" : percent(x, 3) + " of blocks have at most", rows);
          },
        },
        series: runs.map((run, i) => ({
          type: "line", name: run.label, color: run.colour, symbol: "circle", showSymbol: false, step: state.histogram ? "end" : false,
          lineStyle: { width: 2, type: DASHES[i % DASHES.length] },
          data: state.histogram ? histogram(sorted[i]) : quantiles(sorted[i]),
        })),
      };
    },
    csv: () => [["scheme", "die", "block", "pe_added"]].concat(
      runs.flatMap((run) => (run.pe_added || []).map((n, block) => {
        const perDie = run.pe_added.length / Math.max(1, data.dies);
        return [run.label, Math.floor(block / perDie), block % perDie, n];
      }))),
  };

  const map = {
    id: "wear-map", title: () => "Where does flash wear?",
    hint: "P/E cycles added, one row per die (neighbouring blocks are averaged where there are many): shows hot dies, hot zones and unused blocks." + ofFirst + notComparable,
    buttons: [],
    rows: Math.max(1, Math.min(data.dies, 64)),
    rowHeight() { return Math.max(6, Math.min(18, 150 / this.rows)); },
    panel() { return this.rows * this.rowHeight() + 52; },
    height() { return 84 + this.panel() * Math.max(1, shown().length); },
    /// Cells of one scheme; schemes with fewer blocks a die than `widest` fill part of the width.
    cells(i, columns, widest) {
      const cycles = runs[i].pe_added || [];
      const perDie = cycles.length / Math.max(1, data.dies);
      const sums = new Map();
      cycles.forEach((n, block) => {
        const row = Math.floor(Math.floor(block / perDie) * this.rows / data.dies);
        const column = Math.floor((block % perDie) * columns / widest);
        const cell = sums.get(row * columns + column) || { row, column, total: 0, count: 0, most: 0 };
        cell.total += n; cell.count += 1; cell.most = Math.max(cell.most, n);
        sums.set(row * columns + column, cell);
      });
      return [...sums.values()].map((c) => [c.column, c.row, c.total / c.count, c.most]);
    },
    option(still) {
      const head = still === "file" ? 36 : 0;
      const visible = shown();
      const perDie = Math.ceil(Math.max(1, ...runs.map((r) => (r.pe_added || []).length)) / Math.max(1, data.dies));
      const columns = Math.min(perDie, Math.max(32, Math.floor(12000 / this.rows / runs.length)), 160);
      const drawn = visible.map((i) => this.cells(i, columns, perDie));
      const top = Math.max(1, ...drawn.flat().map((cell) => cell[2]));
      const first = (column) => Math.ceil(column * perDie / columns);
      const die = (row) => Math.floor(row * data.dies / this.rows);
      return {
        ...base(still),
        title: visible.map((i, k) => ({
          text: mark(runs[i].label), left: 58, top: head + 6 + k * this.panel(), textStyle: { color: colour("text"), fontSize: 13, fontWeight: 600 },
        })),
        grid: visible.map((i, k) => ({ left: 58, right: 24, top: head + 28 + k * this.panel(), height: this.rows * this.rowHeight() })),
        xAxis: visible.map((i, k) => axis(k === visible.length - 1 ? "block of the die" : "", {
          gridIndex: k, type: "category", data: Array.from({ length: columns }, (_, c) => first(c)), splitLine: { show: false }, nameGap: 26,
          axisLabel: { interval: Math.ceil(columns / 8) - 1, hideOverlap: false }, axisTick: { show: false },
        })),
        yAxis: visible.map((i, k) => axis("die", {
          gridIndex: k, type: "category", inverse: true, data: Array.from({ length: this.rows }, (_, r) => die(r)), splitLine: { show: false }, nameGap: 32,
          axisLabel: { interval: Math.ceil(14 / this.rowHeight()) - 1, hideOverlap: false }, axisTick: { show: false },
        })),
        visualMap: {
          type: "continuous", min: 0, max: top, calculable: !still, orient: "horizontal", left: "center", bottom: 2, itemWidth: 12, itemHeight: 220, dimension: 2,
          inRange: { color: ["#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838"] }, precision: top < 20 ? 1 : 0,
          text: still ? [short(top), "P/E cycles added: 0"] : ["P/E cycles added", ""], textStyle: { color: colour("muted"), fontSize: 12 },
        },
        tooltip: {
          ...base(still).tooltip, trigger: "item",
          formatter: ({ seriesIndex, value: [column, row, mean, most] }) => {
            const last = first(column + 1) - 1;
            const blocks = last > first(column) ? `blocks ${first(column)} to ${last}` : "block " + first(column);
            return tip(`${escapeHtml(runs[visible[seriesIndex]].label)}: die ${die(row)}, ${blocks}`,
              [["mean P/E cycles added", short(mean)], ["most", grouped(most)]]);
          },
        },
        series: visible.map((i, k) => ({ type: "heatmap", xAxisIndex: k, yAxisIndex: k, data: drawn[k], progressive: 0, itemStyle: { decal: { symbol: "none" } } })),
      };
    },
    csv: wear.csv,
  };

  // ---- Drawing -------------------------------------------------------------------------------
  const waits = flashkeep.waitsPlot({ runs, shown, mark, time, cutAt, ofSeeds, notComparable });
  const when = flashkeep.when({ runs, shown, schemeLegend, schemeCell, mark, time, tickTime, causeColour, notComparable });
  const plots = [cdf, waits, traffic, wear, map, ...when.plots].filter(Boolean);
  cdf.zooms = true;
  // Thousands of cells print slowly as vectors, so that one plot is pixels; saved as SVG it has vectors.
  map.renderer = "canvas";
  plots.forEach((plot) => { plot.onLegend = plot.onLegend || onLegend; });
  function hide(i, hidden) {
    if (hidden) state.hidden.add(i); else state.hidden.delete(i);
    refresh([waits, traffic, wear, map, ...when.plots].filter(Boolean));
    // Not redrawn, so that its zoom stays.
    cdf.chart.dispatchAction({ type: hidden ? "legendUnSelect" : "legendSelect", name: runs[i].label }, { silent: true });
  }
  function onLegend(event) {
    const scheme = runs.findIndex((run) => run.label === event.name);
    const visible = event.selected[event.name];
    if (this === traffic.chart) {
      if (visible) state.hiddenCauses.delete(event.name); else state.hiddenCauses.add(event.name);
      draw(traffic);
    } else if (scheme >= 0) {
      hide(scheme, !visible);
    }
  }
  function tableRows() {
    const halves = data.seeds ? runs.map((run) => run.label + ", half-width of the interval") : [];
    const rows = [["table", "group", "metric", "unit", ...runs.map((run) => run.label), ...halves]];
    for (const row of document.querySelectorAll("#tables tr[data-metric]")) {
      const cells = [...row.querySelectorAll("td")].map((td) => td.dataset.value || td.firstChild.textContent.replace(/^-$/, ""));
      const widths = data.seeds ? [...row.querySelectorAll("td")].map((td) => td.dataset.halfWidth || "") : [];
      rows.push([row.closest("table").dataset.table, row.closest("tbody").dataset.group, row.dataset.metric, row.dataset.unit, ...cells, ...widths]);
    }
    return rows;
  }

  // ---- Controls ------------------------------------------------------------------------------
  function showRatios() {
    byId("tables").classList.toggle("no-ratios", !byId("ratios").checked || runs.length < 2);
    for (const row of document.querySelectorAll("#tables thead tr, #tables tr[data-metric]")) {
      const cells = [...row.querySelectorAll("[data-scheme]")];
      const compared = row.hasAttribute("data-compare");
      const value = (td) => (td.dataset.value === undefined ? null : Number(td.dataset.value));
      cells.forEach((td, i) => {
        const span = td.querySelector(".ratio") || td.appendChild(Object.assign(document.createElement("span"), { className: "ratio" }));
        const r = ratio(value(td), value(cells[state.baseline]));
        const isApart = runs[i].not_comparable || runs[state.baseline].not_comparable;
        span.textContent = i === state.baseline || !compared || r === null ? "" : isApart ? "!" : times(r);
        span.hidden = i === state.baseline || !row.closest("table").querySelector("[data-compare]");
      });
    }
  }
  function refresh(redrawn) {
    document.querySelectorAll("[data-scheme]").forEach((cell) => cell.classList.toggle("off", state.hidden.has(Number(cell.dataset.scheme))));
    [...byId("chips").children].forEach((chip, i) => chip.setAttribute("aria-pressed", !state.hidden.has(i)));
    showRatios();
    redrawn.forEach(draw);
  }
  function controls() {
    runs.forEach((run, i) => {
      const chip = button("", () => hide(i, !state.hidden.has(i)), true);
      chip.innerHTML = schemeCell(i);
      chip.title = "Show or hide in all tables and plots";
      byId("chips").append(chip);
      byId("baseline").append(new Option(mark(run.label), i));
    });
    byId("baseline").addEventListener("change", (event) => { state.baseline = Number(event.target.value); refresh([]); });
    byId("baseline").value = state.baseline;
    byId("ratios").addEventListener("change", showRatios);
  }

  if (!runs.length) return;
  controls();
  start(plots, tableRows);
  when.link();
  showRatios();
})();
