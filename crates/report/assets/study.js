// Plots of studies and of figures. Data: one entry of `plots` a plot, with its curves and marks.
"use strict";
(() => {
  const { data, significant, grouped, escapeHtml, colour, DASHES, base, axis, legend, marker, tip, zoomBox, crossTooltip, whiskers, start } = flashkeep;

  function number(x) {
    const size = Math.abs(x);
    if (size === 0 || (size >= 0.01 && size < 1e3)) return significant(x, 4);
    return size >= 1e3 && size < 1e9 ? grouped(x) : x.toExponential(3);
  }
  function tick(x) {
    const size = Math.abs(x);
    if (size === 0 || (size >= 0.01 && size < 1e3)) return significant(x, 3);
    if (size >= 1e3 && size < 1e6) return grouped(x);
    return x.toExponential().replace("e+", "e");
  }
  // ECharts rounds the ticks of a log axis to 20 decimals: tiny rates are drawn by their powers of ten.
  const isTiny = ({ log }, values) => log && Math.min(...values) < 1e-9;
  const powerTick = (power) => (power === 0 ? "1" : "1e" + power);
  /// Type, ends and labels of an axis. `isTight` ends it with its values; else a log axis has whole decades.
  function scale(a, values, isTight) {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const type = { type: a.log ? "log" : "value", minorTick: { show: a.log }, axisLabel: { formatter: tick } };
    if (a.base && isTight) return { ...type, logBase: a.base, minorTick: { show: false }, min: low, max: high };
    if (!a.log) return isTight ? { ...type, min: low, max: high } : { ...type, min: 0 };
    const [first, end] = [Math.floor(Math.log10(low) + 1e-9), Math.ceil(Math.log10(high) - 1e-9)];
    const last = Math.max(end, first + 1);
    if (isTiny(a, values)) {
      const interval = Math.ceil((last - first) / 9);
      return { type: "value", min: last - interval * Math.ceil((last - first) / interval), max: last, interval, axisLabel: { formatter: powerTick } };
    }
    return isTight ? { ...type, min: low, max: high } : { ...type, min: 10 ** first, max: 10 ** last };
  }
  /// Bars beside each other by name; what the paper states of one is a diamond in it.
  function bars(plot, still) {
    const head = still === "file" ? 36 : 0;
    const [x, y] = plot.axes;
    const own = plot.series.filter((series) => !series.published);
    const paper = plot.series.filter((series) => series.published);
    const values = plot.series.flatMap((series) => series.points.concat(series.stated || [], (series.ends || []).map(([at, , high]) => [at, high])).map((p) => p[1]));
    const published = paper.length ? paper[0].colour : "";
    const levels = plot.levels || [];
    values.push(...levels.map((level) => level.y));
    // A bar has no foot at 0 on a log axis: there each value is a dot.
    const dotted = y.log;
    const longest = Math.max(...plot.categories.map((name) => name.length));
    const turned = longest * plot.categories.length > 110;
    const top = scale(y, values, false);
    const most = Math.max(...values);
    return {
      ...base(still),
      legend: legend(plot.series.map((series) => series.name), head, []),
      grid: { left: 84, right: 30, top: head + 44, bottom: turned ? 40 + 5 * longest : 56 },
      xAxis: axis(x.name, { type: "category", data: plot.categories, axisTick: { alignWithLabel: true }, splitLine: { show: false },
        nameGap: turned ? 26 + 5 * longest : 30, axisLabel: { color: colour("text"), interval: 0, hideOverlap: false, rotate: turned ? 30 : 0 } }),
      yAxis: axis(y.name + (y.log ? " (log scale)" : ""), { nameGap: 62, ...top, ...(y.log ? {} : { max: ({ max }) => Math.max(max, most) * 1.05, axisLabel: { formatter: tick, showMaxLabel: false } }) }),
      tooltip: {
        ...base(still).tooltip, trigger: "axis", axisPointer: { type: "shadow" },
        formatter: (found) => tip(escapeHtml(found[0].name), found.filter((p) => p.value !== null && p.value !== undefined)
          .map((p) => [marker(p.color) + escapeHtml(p.seriesName), number(Array.isArray(p.value) ? p.value[1] : p.value)])),
      },
      series: own.map((series, i) => ({
        type: dotted ? "scatter" : "bar", name: series.name, color: series.colour, barMaxWidth: 46, barGap: "8%", barCategoryGap: "24%",
        symbolSize: 11, data: plot.categories.map((name, i) => { const p = series.points.find(([at]) => at === i); return p ? p[1] : null; }),
        markPoint: {
          silent: true, symbol: "diamond", symbolSize: 14, label: { show: false },
          itemStyle: { color: published, borderColor: colour("card"), borderWidth: 1.5 },
          data: (series.stated || []).map(([at, value]) => ({ coord: [at, value] })),
        },
        ...(i === 0 && levels.length ? {
          markLine: {
            silent: true, symbol: "none", precision: 15, lineStyle: { color: colour("text"), type: "dashed", width: 1, opacity: .6 },
            data: levels.map((level) => ({ yAxis: level.y, label: { formatter: level.label, position: "insideEndTop", color: colour("text"), fontSize: 12 } })),
          },
        } : {}),
      })).concat(paper.map((series) => ({
        type: "scatter", name: series.name, color: series.colour, symbol: "diamond", symbolSize: 15, z: 3, data: series.points,
      })), own.filter((series) => (series.ends || []).length).map((series) => whiskers(series.ends, { name: series.name },
        dotted ? undefined : (api) => api.barLayout({ barMaxWidth: 46, barGap: "8%", barCategoryGap: "24%", count: own.length })[own.indexOf(series)].offsetCenter))),
    };
  }
  const plotOf = (plot) => ({
    id: plot.id, title: () => plot.title, zooms: true,
    hint: plot.hint + " Drag to zoom, double-click to zoom out.",
    buttons: [],
    height: (width) => (width < 600 ? 420 : 480),
    option(still) {
      if ((plot.categories || []).length) return bars(plot, still);
      const head = still === "file" ? 36 : 0;
      const points = plot.series.flatMap((series) => series.points);
      const [x, y] = plot.axes;
      const values = [0, 1].map((i) => points.map((p) => p[i]));
      const ends = plot.series.flatMap((series) => series.ends || []);
      values[1].push(...ends.flatMap(([, low, high]) => [low, high]).filter((end) => !plot.axes[1].log || end > 0));
      const levels = (plot.levels || []).filter((level) => !y.log || level.y > 0);
      values[1].push(...levels.map((level) => level.y));
      const places = plot.axes.map((a, i) => (isTiny(a, values[i]) ? Math.log10 : (value) => value));
      const suffix = (a) => a.name + (a.log ? " (log scale)" : "");
      const marks = plot.marks.map((mark) => ({
        xAxis: places[0](mark.x), label: { formatter: mark.label, position: "insideStartTop", color: colour("text"), fontSize: 12 },
      }));
      marks.push(...levels.map((level) => ({
        yAxis: places[1](level.y), label: { formatter: level.label, position: "insideEndTop", color: colour("text"), fontSize: 12 },
      })));
      return {
        ...base(still),
        legend: legend(plot.series.map((series) => series.name), head, []),
        grid: { left: 84, right: 30, top: head + 44, bottom: 56 },
        xAxis: axis(suffix(x), scale(x, values[0], true)),
        yAxis: axis(suffix(y), { nameGap: 62, ...scale(y, values[1], false) }),
        toolbox: zoomBox(still),
        tooltip: {
          ...crossTooltip(still),
          formatter: (found) => tip(`${escapeHtml(x.name)}: ${number(found[0].value[2])}`,
            found.map((p) => {
              const ends = (plot.series.find((series) => series.name === p.seriesName).ends || []).find(([at]) => at === p.value[2]);
              return [marker(p.color) + escapeHtml(p.seriesName), number(p.value[3]), ends ? `${number(ends[1])} to ${number(ends[2])}` : ""];
            })),
        },
        series: plot.series.map((series, i) => ({
          type: "line", name: series.name, color: series.colour, symbol: series.published ? "diamond" : "circle",
          symbolSize: series.published ? 15 : 6, showSymbol: Boolean(series.dots || series.published || series.points.length <= 12), z: series.published ? 3 : 2,
          lineStyle: { width: series.published ? 0 : 2, type: DASHES[i % DASHES.length] }, data: series.points.map(([a, b]) => [places[0](a), places[1](b), a, b]),
          ...(i === 0 && marks.length ? {
            markLine: { silent: true, symbol: "none", precision: 15, lineStyle: { color: colour("text"), type: "dashed", width: 1, opacity: .6 }, data: marks },
          } : {}),
        })).concat(plot.series.filter((series) => (series.ends || []).length).map((series) => whiskers(
          series.ends.map(([at, low, high]) => [places[0](at), places[1](low), places[1](high)]), { name: series.name, color: series.colour }))),
      };
    },
    csv: () => [["curve", ...plot.axes.map((a) => a.name), "low", "high"]].concat(plot.series.flatMap((series) => series.points.map(([a, b]) => {
      const end = (series.ends || []).find(([at]) => at === a);
      return [series.name, a, b, end ? end[1] : "", end ? end[2] : ""];
    }))),
  });

  // Of many figures the plots go first: people look at them rather than read their tables.
  if (data.plots.length > 3) {
    document.querySelector("main h2").before(document.querySelector(".plots-title"), document.getElementById("plots"));
  }
  start(data.plots.map(plotOf), () => data.csv);
})();
