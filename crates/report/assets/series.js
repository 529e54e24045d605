// Events over time: charts under each other with one zoom. Data: `data.series`, bins of equal width from when the
// run began. `flashkeep.when(tools)` gives the plots; `link` makes them share the zoom once they are on the page.
"use strict";
flashkeep.when = ({ runs, shown, schemeLegend, schemeCell, mark, time, tickTime, causeColour, notComparable }) => {
  const { data, state, isNumber, significant, escapeHtml, short, percent, colour, DASHES, base, axis, legend, marker, tip, message, draw } = flashkeep;
  const when = data.series;
  if (!when) return { plots: [], link() {} };
  Object.assign(state, { window: null, scheme: 0, // of the charts that show one scheme
    answer: "latency_p99_us", operation: "programs", most: false, bytes: false, hiddenParts: new Set() });

  // ---- Time ------------------------------------------------------------------------------------
  const UNITS = [[86400, 3, "days", "d"], [3600, 5, "hours", "h"], [60, 10, "minutes", "min"], [1, 1, "seconds", "s"], [1e-3, 0, "milliseconds", "ms"]];
  const bins = Math.max(...when.runs.map((run) => run.bins));
  const [unit, , units, letters] = UNITS.find(([size, least]) => bins * when.bin_s >= least * size);
  const width = when.bin_s / unit;
  const end = bins * width;
  const at = (x) => significant(x, 4) + " " + letters;
  const point = time(when.bin_s * 1e6);
  const binOf = (x) => Math.max(0, Math.min(bins - 1, Math.floor(x / width + 1e-9)));
  const span = (bin) => `from ${at(bin * width)} to ${at((bin + 1) * width)}`;
  const values = (i, name) => when.runs[i].columns[name] || [];
  const common = when.arrived.length === 1;
  const arrived = (i) => when.arrived[common ? 0 : i];
  const most = (i) => values(i, "outstanding_max").reduce((a, b) => Math.max(a, b || 0), 0);
  // The largest backlog comes first.
  runs.forEach((run, i) => { if (most(i) > most(state.scheme)) state.scheme = i; });
  const isAny = (name) => runs.some((run, i) => values(i, name).some((value) => value !== null && value > 0));
  /// A point in the middle of each bin.
  const points = (list, floor) => list.map((value, bin) => [(bin + .5) * width, isNumber(value) ? Math.max(value, floor) : null]);
  /// Of points without neighbours there is no line: they are dots.
  const dots = (list) => (value, { dataIndex: bin }) => (isNumber(list[bin]) && !isNumber(list[bin - 1]) && !isNumber(list[bin + 1]) ? 4 : 0);
  /// Level from the beginning of a bin to its end; broken where there is nothing.
  const steps = (list, floor) => list.flatMap((value, bin) => (isNumber(value)
    ? [[bin * width, Math.max(value, floor)], [(bin + 1) * width, Math.max(value, floor)]] : [[bin * width, null]]));

  // ---- Parts of options --------------------------------------------------------------------------
  const head = (still) => (still === "file" ? 36 : 0);
  const timeAxis = (more) => axis(`${units} since the run began`, {
    type: "value", min: 0, max: end, nameGap: 26, splitLine: { show: false }, ...more,
    // The end of a window is at no round time.
    axisLabel: { showMaxLabel: false, formatter: (x) => (Math.abs(x * 1e3 - Math.round(x * 1e3)) < 1e-6 ? significant(x, 6) : "") },
  });
  function zoom(still, slider) {
    const [startValue, endValue] = state.window || [0, end];
    if (still) return [{ id: "window", type: "inside", disabled: true, filterMode: "none", startValue, endValue }];
    const shared = { id: "window", filterMode: "none", startValue, endValue, minValueSpan: 2 * width };
    return [slider ? {
      ...shared, type: "slider", height: 20, bottom: 6, showDataShadow: false, brushSelect: false, labelFormatter: at, textStyle: { color: colour("muted"), fontSize: 12 },
      borderColor: colour("line"), fillerColor: colour("accent") + "22", handleStyle: { color: colour("card"), borderColor: colour("accent") }, moveHandleStyle: { color: colour("line") },
    } : { ...shared, type: "inside", zoomOnMouseWheel: false, moveOnMouseMove: false, moveOnMouseWheel: false, preventDefaultMouseMove: false }];
  }
  const zoomAcross = (still) => (still ? undefined : {
    itemSize: 0, showTitle: false,
    feature: { dataZoom: { yAxisIndex: "none", filterMode: "none", brushStyle: { color: colour("accent"), opacity: .2 } } },
  });
  /// A log scale where a linear one would flatten most of the values; its lowest place stands for zero, too.
  function scale(lists) {
    const positive = lists.flat().filter((value) => value > 0).sort((a, b) => a - b);
    const most = positive[positive.length - 1] || 1;
    if (positive.length < 2 || most < 30 * positive[positive.length >> 1]) return { floor: 0, log: "", axis: { type: "value", min: 0 } };
    const low = 10 ** Math.floor(Math.log10(positive[Math.floor(positive.length / 100)]) + 1e-9);
    const high = 10 ** Math.ceil(Math.log10(most) - 1e-9);
    return { floor: low, log: " (log scale)", axis: { type: "log", min: low, max: high } };
  }
  function choice(entries, key, plots) {
    const select = document.createElement("select");
    select.className = "choice-" + key;
    entries.forEach(([value, text]) => select.append(new Option(text, value)));
    select.value = state[key];
    select.addEventListener("change", () => {
      state[key] = typeof state[key] === "number" ? Number(select.value) : select.value;
      document.querySelectorAll(".choice-" + key).forEach((other) => { other.value = select.value; });
      plots().forEach(draw);
    });
    return select;
  }

  /// A chart with a line for each scheme: `column()` is drawn; `show` and `tick` say what values are.
  function lines({ id, title, hint, buttons, controls, name, column, show, tick, slider, behind, top }) {
    const below = slider ? 34 : 0;
    return {
      id, title, hint: hint + notComparable, buttons: buttons || [], controls, zooms: true, isWhen: true,
      height: (w) => (w < 600 ? 260 : 236) + below,
      lists: () => runs.map((run, i) => column(i)),
      option(still) {
        const lists = this.lists();
        const back = behind ? behind() : [];
        const drawn = shown().map((i) => lists[i]);
        const { floor, log, axis: y } = scale(drawn.concat(back.map(([, , list]) => list)));
        return {
          ...base(still),
          legend: schemeLegend(head(still)),
          grid: { left: 78, right: 18, top: head(still) + 38, bottom: 46 + (still ? 0 : below) },
          xAxis: timeAxis(),
          yAxis: axis(name() + log, { nameGap: 58, ...y, ...(top && !log ? { max: top } : {}), axisLabel: { formatter: tick || short } }),
          dataZoom: zoom(still, slider), toolbox: zoomAcross(still),
          tooltip: {
            ...base(still).tooltip, trigger: "axis", axisPointer: { type: "line", lineStyle: { color: colour("muted") } },
            formatter: ([{ axisValue }]) => {
              const bin = binOf(axisValue);
              const rows = back.map(([text, c, list]) => [marker(c) + text, show(list[bin])]);
              return tip(span(bin), rows.concat(shown().map((i) => [schemeCell(i), isNumber(lists[i][bin]) ? show(lists[i][bin]) : "-"])));
            },
          },
          series: back.map(([text, c, list]) => ({
            type: "line", name: text, color: c, symbol: "none", silent: true, z: 1, lineStyle: { width: 1, opacity: .6 }, areaStyle: { opacity: .25, origin: "start" }, data: points(list, floor),
          })).concat(runs.map((run, i) => ({
            type: "line", name: run.label, color: run.colour, symbol: "circle", showAllSymbol: true, symbolSize: dots(lists[i]), z: 2,
            lineStyle: { width: 1.6, type: DASHES[i % DASHES.length], join: "round" }, data: points(lists[i], floor),
          }))),
        };
      },
      csv() {
        const lists = this.lists();
        return [["time_s", ...runs.map((run) => run.label)]].concat(
          Array.from({ length: bins }, (_, bin) => [significant(bin * when.bin_s, 9), ...lists.map((list) => list[bin])]));
      },
    };
  }

  // ---- Charts ------------------------------------------------------------------------------------
  const added = (one, other) => one.map((value, bin) => value + other[bin]);
  const everything = (i) => ["read", "write", "flush", "discard"].map((kind) => arrived(i)[kind + "_requests_per_s"]).filter(Boolean).reduce(added);
  const asked = lines({
    id: "when-requests", slider: true, buttons: [["MB/s", "bytes"]],
    title: () => (common && !state.bytes ? "When did requests arrive, and when did they complete?" : "When did requests arrive?"),
    hint: `A point is ${point}. Drag across any chart, or move the ends of the bar below, to zoom all of them; double-click to zoom out. The run ends within the last point.`,
    name: () => (state.bytes ? "MB/s" : common ? "requests/s" : "requests completed/s"),
    column: (i) => (state.bytes ? added(arrived(i).read_mb_per_s, arrived(i).write_mb_per_s) : values(i, "answers_per_s")),
    behind: () => (common && !state.bytes ? [["asked", colour("muted"), everything(0)]] : []),
    show: (x) => short(x) + (state.bytes ? " MB/s" : "/s"),
  });
  const waiting = lines({
    id: "when-outstanding", buttons: [["Most", "most"]],
    title: () => "When did requests pile up?",
    hint: "Outstanding requests: the mean of each point, or the maximum.",
    name: () => "requests waiting",
    column: (i) => values(i, state.most ? "outstanding_max" : "outstanding_mean"), show: short,
  });
  const ANSWERS = [["latency_p99_us", "99 % within"], ["latency_p50_us", "half within"], ["latency_max_us", "longest"], ["read_latency_p99_us", "99 % of reads within"], ["write_latency_p99_us", "99 % of writes within"]]
    .filter(([name]) => isAny(name));
  const slow = lines({
    id: "when-latency", controls: () => (ANSWERS.length ? [choice(ANSWERS, "answer", () => [slow])] : []),
    title: () => "When was the drive slow?",
    hint: "Latencies of the requests that completed in each point.",
    name: () => "latency", column: (i) => values(i, state.answer), show: time, tick: tickTime,
  });
  function whereWritten(i) {
    const written = arrived(i).write_mb_per_s;
    const least = written.reduce((sum, rate) => sum + rate, 0) / written.length / 10;
    return values(i, "waf").map((waf, bin) => (written[bin] >= least ? waf : null));
  }
  const amplification = lines({
    id: "when-waf", title: () => "When did a write cost most?",
    hint: "Write amplification: slots programmed in each point over pages that the host wrote in it. What is written later, from a buffer or by garbage collection, counts when flash does it; points in which the host wrote less than a tenth of the mean are left out.",
    name: () => "write amplification", column: whereWritten, show: (x) => significant(x, 3),
  });
  const room = lines({
    id: "when-free", title: () => "When was room short?",
    hint: "Erased blocks that wait to be written, at the end of each point. Garbage collection keeps them from running out.",
    name: () => "free blocks", column: (i) => values(i, "free_blocks"), show: short,
  });
  const buffer = lines({
    id: "when-buffer", title: () => "When was the write buffer full?",
    hint: "The most it held in each point. A full buffer lets writes wait for flash.",
    name: () => "of the buffer, at most", column: (i) => values(i, "buffer_fill_max"), show: (x) => percent(x, 3), tick: (x) => percent(x, 3), top: 1,
  });

  const schemes = () => [choice(runs.map((run, i) => [i, mark(run.label)]), "scheme", () => [causes, dies])];
  const OPERATIONS = { programs: ["Programs", "pages programmed/s"], reads: ["Reads", "pages read/s"], erases: ["Erases", "blocks erased/s"] };
  const ofScheme = (question) => () => (runs.length > 1 ? `${question} (${mark(runs[state.scheme].label)})` : question);
  const causes = {
    id: "when-flash", title: ofScheme("What did flash do?"), zooms: true, isWhen: true, buttons: [],
    hint: "By cause, of one scheme. Click a cause in the legend to leave it out." + notComparable,
    controls: () => [choice(Object.entries(OPERATIONS).map(([key, [text]]) => [key, text]), "operation", () => [causes]), ...(runs.length > 1 ? schemes() : [])],
    height: (w) => (w < 600 ? 280 : 250),
    parts: () => data.causes.map((cause) => [cause, values(state.scheme, state.operation + " " + cause)]).filter(([, list]) => list.length),
    onLegend(event) {
      if (event.selected[event.name]) state.hiddenParts.delete(event.name); else state.hiddenParts.add(event.name);
      draw(causes);
    },
    option(still) {
      const parts = this.parts();
      const visible = parts.filter(([cause]) => !state.hiddenParts.has(cause));
      // Stacked here: ECharts stacks by category, and time is none. What is below is drawn last.
      let below = Array.from({ length: bins }, () => 0);
      const stacked = parts.map(([cause, list]) => {
        if (!state.hiddenParts.has(cause)) below = below.map((value, bin) => value + (list[bin] || 0));
        return [cause, below];
      }).reverse();
      return {
        ...base(still),
        legend: legend(parts.map(([cause]) => cause), head(still), [...state.hiddenParts]),
        graphic: parts.length ? [] : [message("nothing of this kind", "center", head(still) + 100)],
        grid: { left: 78, right: 18, top: head(still) + 38, bottom: 46 },
        xAxis: timeAxis(), yAxis: axis(OPERATIONS[state.operation][1], { nameGap: 58, type: "value", axisLabel: { formatter: short } }),
        dataZoom: zoom(still), toolbox: zoomAcross(still),
        tooltip: {
          ...base(still).tooltip, trigger: "axis", axisPointer: { type: "line", lineStyle: { color: colour("muted") } },
          formatter: ([{ axisValue }]) => {
            const bin = binOf(axisValue);
            const all = visible.map(([, list]) => list[bin] || 0).reduce((a, b) => a + b, 0);
            return tip(span(bin), visible.map(([cause, list]) => [marker(causeColour(cause)) + escapeHtml(cause), short(list[bin] || 0) + "/s"]).concat([["total", short(all) + "/s"]]));
          },
        },
        series: stacked.map(([cause, list]) => ({
          type: "line", name: cause, color: causeColour(cause), symbol: "none", lineStyle: { width: 0 }, areaStyle: { opacity: 1 }, data: steps(list, 0),
        })),
      };
    },
    csv: () => [["time_s", "scheme", "operation", "cause", "per_s"]].concat(runs.flatMap((run, i) => Object.keys(OPERATIONS).flatMap((operation) =>
      data.causes.flatMap((cause) => values(i, operation + " " + cause).map((value, bin) => [significant(bin * when.bin_s, 9), run.label, operation, cause, value]))))),
  };

  const rowName = (row) => {
    const first = Math.ceil(row * data.dies / when.rows), last = Math.ceil((row + 1) * data.dies / when.rows) - 1;
    return last > first ? `dies ${first} to ${last}` : "die " + first;
  };
  const dies = {
    id: "when-dies", title: ofScheme("Which die was busy?"), zooms: true, isWhen: true, buttons: [], renderer: "canvas",
    hint: "Share of each point of time in which a die was busy, of one scheme" + (when.rows < data.dies ? "; neighbouring dies averaged." : ".") + notComparable,
    controls: () => (runs.length > 1 ? schemes() : []),
    rowHeight: () => Math.max(7, Math.min(22, 200 / when.rows)),
    height() { return 100 + when.rows * this.rowHeight(); },
    option(still) {
      const cells = when.runs[state.scheme].busy.flatMap((list, row) => list.map((share, bin) => [bin * width, row, share]));
      return {
        ...base(still),
        grid: { left: 78, right: 18, top: head(still) + 8, height: when.rows * this.rowHeight() },
        xAxis: timeAxis(),
        yAxis: axis("die", {
          type: "category", inverse: true, data: Array.from({ length: when.rows }, (_, row) => Math.ceil(row * data.dies / when.rows)), splitLine: { show: false }, nameGap: 40,
          axisLabel: { interval: Math.ceil(14 / this.rowHeight()) - 1, hideOverlap: false }, axisTick: { show: false },
        }),
        dataZoom: zoom(still), toolbox: zoomAcross(still),
        visualMap: {
          type: "continuous", min: 0, max: 100, calculable: !still, orient: "horizontal", left: "center", bottom: 2, itemWidth: 12, itemHeight: 160, dimension: 2,
          inRange: { color: ["#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838"] }, precision: 0, formatter: (x) => Math.round(x) + "%",
          text: still ? ["100%", "busy: 0%"] : ["busy", ""], textStyle: { color: colour("muted"), fontSize: 12 },
        },
        tooltip: { ...base(still).tooltip, trigger: "item", formatter: ({ value: [x, row, share] }) => tip(`${rowName(row)}, ${span(binOf(x))}`, [["busy", share + "%"]]) },
        series: [{
          type: "custom", data: cells, progressive: 0, encode: { x: 0, y: 1 }, itemStyle: { decal: { symbol: "none" } },
          renderItem(params, api) {
            const [left, middle] = api.coord([api.value(0), api.value(1)]);
            const [right] = api.coord([api.value(0) + width, api.value(1)]);
            const [from, to] = [Math.max(left, params.coordSys.x), Math.min(right, params.coordSys.x + params.coordSys.width)];
            const high = api.size([0, 1])[1];
            // A little wider than it is: no seams between neighbours.
            return to > from && { type: "rect", shape: { x: from, y: middle - high / 2 + .5, width: Math.min(to - from + .5, params.coordSys.x + params.coordSys.width - from), height: high - 1 }, style: { fill: api.visual("color") } };
          },
        }],
      };
    },
    csv: () => [["time_s", "scheme", "die", "busy_percent"]].concat(runs.flatMap((run, i) => when.runs[i].busy.flatMap((list, row) =>
      list.map((share, bin) => [significant(bin * when.bin_s, 9), run.label, Math.ceil(row * data.dies / when.rows), share])))),
  };

  const plots = [asked, waiting, slow, causes, dies].concat(
    isAny("waf") ? [amplification] : [], [room], isAny("buffer_fill_max") ? [buffer] : []);
  plots[0].section = "What happened when";

  /// One zoom for all: what one chart shows, all show.
  function link() {
    let isFollowing = false;
    const follow = (leader) => {
      if (isFollowing) return;
      isFollowing = true;
      const { startValue, endValue } = leader.chart.getOption().dataZoom.find((z) => z.id === "window");
      state.window = endValue - startValue >= end * .999 ? null : [startValue, endValue];
      plots.filter((plot) => plot !== leader).forEach((plot) => plot.chart.dispatchAction({ type: "dataZoom", dataZoomId: "window", startValue, endValue }));
      isFollowing = false;
    };
    for (const plot of plots) {
      plot.chart.on("datazoom", () => follow(plot));
      plot.chart.getZr().on("dblclick", () => { state.window = null; plots.forEach(draw); });
    }
  }
  return { plots, link };
};
