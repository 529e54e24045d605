// Code that all pages of Flashkeep share: numbers, themes, parts of plots, files. Data: the JSON island #data.
// Each plot is { id, title, hint, buttons, height(), option(still), csv() }; `still` means: for a file or paper. It
// may have: zooms (by dragging), renderer, onLegend(event), controls() (elements before the buttons), section (a heading
// before the plot).
"use strict";
const flashkeep = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const state = { patterns: false, paper: false };
  const plots = [];

  // ---- Numbers and text ----------------------------------------------------------------------
  const isNumber = (x) => typeof x === "number" && Number.isFinite(x);
  const grouped = (x) => Math.round(x).toString().replace(/\B(?=(\d{3})+$)/g, ",");
  const significant = (x, digits) => Number(x.toPrecision(digits)).toString();
  const escapeHtml = (s) => String(s).replace(/[&<>"']/g, (c) => "&#" + c.charCodeAt(0) + ";");

  function short(x) {
    if (!isNumber(x)) return "-";
    const size = Math.abs(x);
    for (const [unit, letter] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
      if (size >= unit) return significant(x / (letter === "k" ? 1e3 : unit), 3) + " " + letter;
    }
    return size >= 1e3 ? grouped(x) : significant(x, 3);
  }
  const percent = (share, digits) => significant(share * 100, digits || 4) + "%";

  // ---- Theme ---------------------------------------------------------------------------------
  const systemDark = window.matchMedia("(prefers-color-scheme: dark)");
  function applyTheme() {
    const choice = byId("theme").value;
    const dark = !state.paper && (choice === "dark" || (choice === "auto" && systemDark.matches));
    document.documentElement.dataset.theme = dark ? "dark" : "light";
  }
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const font = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
  const DASHES = ["solid", "dashed", "dotted", [10, 3, 2, 3], [2, 2], [14, 4]];

  // ---- Common parts of options ---------------------------------------------------------------
  function base(still) {
    return {
      animation: false,
      backgroundColor: still === "file" ? colour("card") : "transparent",
      textStyle: { fontFamily: font, fontSize: 13, color: colour("text") },
      aria: { enabled: true, decal: { show: state.patterns } },
      tooltip: {
        confine: true, backgroundColor: colour("card"), borderColor: colour("line"),
        textStyle: { color: colour("text"), fontSize: 13 }, className: "tip",
      },
    };
  }
  function axis(name, more) {
    const { axisLabel, ...rest } = more || {};
    return {
      name, nameLocation: "middle", nameGap: 30, nameTextStyle: { color: colour("muted"), fontSize: 13 },
      axisLine: { show: true, onZero: false, lineStyle: { color: colour("line") } }, axisTick: { lineStyle: { color: colour("line") } },
      splitLine: { lineStyle: { color: colour("grid") } }, minorSplitLine: { show: Boolean(rest.minorTick), lineStyle: { color: colour("grid"), opacity: .5 } },
      axisLabel: { color: colour("muted"), fontSize: 12, hideOverlap: true, ...axisLabel }, ...rest,
    };
  }
  function legend(names, top, hidden) {
    return {
      top, left: "center", type: "scroll", data: names, itemWidth: 22, itemHeight: 12,
      selected: Object.fromEntries(hidden.map((name) => [name, false])),
      textStyle: { color: colour("text"), fontSize: 13 }, inactiveColor: "#a0a6b0",
      pageIconColor: colour("text"), pageTextStyle: { color: colour("text") },
    };
  }
  const heading = (text, left, top) =>
    ({ text, left, top, textAlign: "center", textStyle: { color: colour("text"), fontSize: 14, fontWeight: 600 } });
  const marker = (c) => `<i class="dot" style="background:${c}"></i>`;
  const tip = (head, rows) => `<b>${head}</b><table>` +
    rows.map((cells) => "<tr>" + cells.map((c) => `<td>${c}</td>`).join("") + "</tr>").join("") + "</table>";
  // Zooming by dragging a box over a plot.
  const zoomBox = (still) => (still ? undefined : {
    itemSize: 0, showTitle: false,
    feature: { dataZoom: { filterMode: "none", brushStyle: { color: colour("accent"), opacity: .2 } } },
  });
  // A tooltip for all curves at one place, with a cross under the pointer.
  const crossTooltip = (still) => ({
    ...base(still).tooltip, trigger: "axis",
    axisPointer: { type: "cross", label: { show: false }, lineStyle: { color: colour("muted") }, crossStyle: { color: colour("muted") } },
  });
  // Error bars: each from `low` to `high` at `x`; `shift(api)` moves them aside, to the bar they belong to.
  const whiskers = (ends, more, shift) => ({
    type: "custom", name: "interval", silent: true, z: 5, tooltip: { trigger: "none" }, data: ends, encode: { x: 0, y: [1, 2] },
    renderItem(params, api) {
      const [low, high] = [1, 2].map((dimension) => api.coord([api.value(0), api.value(dimension)]));
      if (!isNumber(low[1]) || !isNumber(high[1]) || low[1] === high[1]) return null;
      const x = low[0] + (shift ? shift(api) : 0);
      const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: more.color || colour("text"), lineWidth: 1.5 } });
      return { type: "group", children: [line(x, low[1], x, high[1]), line(x - 5, low[1], x + 5, low[1]), line(x - 5, high[1], x + 5, high[1])] };
    },
    ...more,
  });
  const message = (text, left, top) =>
    ({ type: "text", left, top, style: { text, fill: colour("muted"), font: "14px " + font, textAlign: "center" } });

  // ---- Drawing -------------------------------------------------------------------------------
  function draw(plot) {
    const width = plot.element.parentElement.clientWidth - 2 * parseFloat(getComputedStyle(plot.element.parentElement).paddingLeft);
    const height = plot.height(width);
    plot.element.style.height = height + "px";
    plot.heading.textContent = plot.title();
    plot.chart.dispatchAction({ type: "hideTip" });
    plot.chart.resize({ width, height });
    plot.chart.setOption(plot.option(state.paper && "paper", width), { notMerge: true });
    if (plot.zooms && !state.paper) {
      plot.chart.dispatchAction({ type: "takeGlobalCursor", key: "dataZoomSelect", dataZoomSelectActive: true });
    }
  }
  const drawAll = () => plots.forEach(draw);

  function button(text, action, pressed) {
    const element = document.createElement("button");
    element.type = "button";
    element.textContent = text;
    if (pressed !== undefined) element.setAttribute("aria-pressed", pressed);
    element.addEventListener("click", () => action(element));
    return element;
  }
  function mount(plot) {
    const card = document.createElement("section");
    card.className = "card plot";
    if (plot.section) byId("plots").insertAdjacentHTML("beforeend", `<h2>${escapeHtml(plot.section)}</h2>`);
    card.innerHTML = '<header><h3></h3><span class="buttons"></span><p class="hint"></p></header><div></div>';
    byId("plots").append(card);
    plot.heading = card.querySelector("h3");
    plot.element = card.lastElementChild;
    plot.element.setAttribute("role", "img");
    card.querySelector(".hint").textContent = plot.hint;
    const buttons = card.querySelector(".buttons");
    if (plot.controls) buttons.append(...plot.controls());
    for (const [text, key] of plot.buttons) {
      buttons.append(button(text, (element) => {
        state[key] = !state[key];
        element.setAttribute("aria-pressed", state[key]);
        draw(plot);
      }, state[key]));
    }
    buttons.append(button("SVG", () => saveImage(plot, "svg")), button("PNG", () => saveImage(plot, "png")),
      button("CSV", () => save(plot.id + ".csv", "text/csv", csv(plot.csv()))));
    const renderer = plot.renderer || "svg";
    plot.chart = echarts.init(plot.element, null, { renderer, width: 600, height: 300, devicePixelRatio: Math.max(2, devicePixelRatio) });
    if (plot.onLegend) plot.chart.on("legendselectchanged", plot.onLegend);
    plot.chart.getZr().on("dblclick", () => draw(plot));
  }

  // ---- Files ---------------------------------------------------------------------------------
  const csv = (rows) => rows.map((row) => row.map((cell) => {
    const text = cell === null || cell === undefined ? "" : String(cell);
    return /[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  }).join(",")).join("\n") + "\n";

  function save(name, type, content) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    link.download = "flashkeep-" + name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
  /// The plot for a paper: light, 1100 px wide, with its title, whatever the screen shows.
  function svgOf(plot) {
    const width = 1100, height = plot.height(width) + 36;
    const stage = document.createElement("div");
    const chart = echarts.init(stage, null, { renderer: "svg", width, height });
    state.paper = true;
    applyTheme();
    const option = plot.option("file", width);
    const title = { text: plot.title(), left: 12, top: 10, textStyle: { color: colour("text"), fontSize: 17, fontWeight: 600 } };
    chart.setOption({ ...option, title: [title].concat(option.title || []) });
    const url = chart.getDataURL({ type: "svg" });
    chart.dispose();
    state.paper = false;
    applyTheme();
    return { text: decodeURIComponent(url.slice(url.indexOf(",") + 1)), width, height };
  }
  function saveImage(plot, type) {
    const { text, width, height } = svgOf(plot);
    if (type === "svg") return save(plot.id + ".svg", "image/svg+xml", text);
    const image = new Image();
    image.onload = () => {
      const canvas = Object.assign(document.createElement("canvas"), { width: 2 * width, height: 2 * height });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(plot.id + ".png", "image/png", blob));
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
    return undefined;
  }

  // ---- Controls ------------------------------------------------------------------------------
  function copy(element) {
    const source = byId(element.dataset.copy);
    const done = () => { element.textContent = "Copied"; setTimeout(() => { element.textContent = "Copy"; }, 1500); };
    const select = () => { getSelection().selectAllChildren(source); document.execCommand("copy"); done(); };
    if (navigator.clipboard) navigator.clipboard.writeText(source.textContent).then(done, select); else select();
  }
  function paper(on) {
    state.paper = on;
    document.querySelectorAll("main details").forEach((d) => { if (on) { d.dataset.was = d.open; d.open = true; } else { d.open = d.dataset.was === "true"; } });
    document.body.style.width = on ? "748px" : "";
    applyTheme();
    drawAll();
  }
  const themed = () => { applyTheme(); drawAll(); };
  /// Puts the plots on the page and makes the controls work that all pages have; `tables` gives the rows of the CSV.
  function start(mounted, tables) {
    plots.push(...mounted);
    byId("patterns").addEventListener("change", (event) => { state.patterns = event.target.checked; drawAll(); });
    byId("theme").addEventListener("change", themed);
    systemDark.addEventListener("change", themed);
    byId("save-csv").addEventListener("click", () => save("tables.csv", "text/csv", csv(tables())));
    byId("save-json").addEventListener("click", () => save("data.json", "application/json", JSON.stringify(data, null, 1)));
    document.querySelectorAll("[data-copy]").forEach((element) => element.addEventListener("click", () => copy(element)));
    addEventListener("beforeprint", () => paper(true));
    addEventListener("afterprint", () => paper(false));
    plots.forEach(mount);
    byId("plots").className = "plots";
    drawAll();
    let width = document.body.clientWidth;
    addEventListener("resize", () => {
      if (state.paper || document.body.clientWidth === width) return;
      width = document.body.clientWidth;
      drawAll();
    });
  }

  applyTheme();
  return {
    data, byId, state, isNumber, significant, grouped, escapeHtml, short, percent, colour, font, DASHES,
    base, axis, legend, heading, marker, tip, zoomBox, crossTooltip, whiskers, message, draw, button, start,
  };
})();
