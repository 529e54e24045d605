// Looks at a report as a reader does, and writes what is wrong into the page around it. All of it happens while the page
// loads: a browser without a screen gives away what a page holds once it has loaded.
"use strict";
(() => {
  const wrong = [];
  const must = (holds, what) => { if (!holds) wrong.push(what); };
  addEventListener("error", (event) => wrong.push("script: " + event.message));
  const files = [];
  const TrueBlob = Blob;
  window.Blob = function blob(parts, options) { return Object.assign(new TrueBlob(parts, options), { said: parts.join("") }); };
  window.Blob.prototype = TrueBlob.prototype;
  URL.createObjectURL = (blob) => { files.push(blob.said); return "data:,"; };
  HTMLAnchorElement.prototype.click = () => {};

  const charts = () => [...document.querySelectorAll("#plots .plot")].map((card) => ({
    card, title: card.querySelector("h3").textContent, chart: echarts.getInstanceByDom(card.lastElementChild),
  }));
  const press = (card, text) => [...card.querySelectorAll("button")].find((button) => button.textContent === text).click();

  /// Labels of a plot that leave it, or that run into each other on one line.
  function labels(name, card, title) {
    const svg = card.querySelector("svg");
    if (!svg) return;
    const inside = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].map((text) => [text, text.getBoundingClientRect()])
      // A legend that scrolls hides what does not fit, and turned labels have their own room.
      .filter(([text, box]) => box.width && text.textContent.trim() && !text.closest("[clip-path]") && !(text.getAttribute("transform") || "").includes("matrix"));
    for (const [text, box] of texts) {
      must(box.left >= inside.left - 1 && box.right <= inside.right + 1, `${name}: "${title}": label "${text.textContent}" does not fit`);
    }
    const level = [...texts].sort(([, one], [, other]) => one.left - other.left);
    level.forEach(([text, box], i) => level.slice(i + 1).forEach(([other, own]) => must(
      Math.abs(own.top - box.top) > 2 || own.left >= box.right - 1, `${name}: "${title}": labels "${text.textContent}" and "${other.textContent}" run together`)));
  }
  function layout(name) {
    const width = document.documentElement.clientWidth;
    must(document.documentElement.scrollWidth <= width, `${name}: the page is ${document.documentElement.scrollWidth} wide on a screen of ${width}`);
    if (width >= 1280) {
      document.querySelectorAll("table").forEach((table) => must(
        table.parentElement.scrollWidth <= table.parentElement.clientWidth + 1, `${name}: table ${table.dataset.table} scrolls sideways`));
    }
    charts().forEach(({ card, title, chart }) => {
      must(/\?( \(.*\))?$/.test(title), `${name}: "${title}" is no question`);
      const drawn = card.querySelector("svg, canvas").getBoundingClientRect();
      must(drawn.width > 200 && drawn.right <= width + 1 && drawn.height > 100, `${name}: "${title}" is ${drawn.width} x ${drawn.height}`);
      must(chart.getOption().series.length > 0, `${name}: "${title}" shows nothing`);
      labels(name, card, title);
    });
    // Every chart of runs some of which cannot be compared says which, and why.
    const apart = [...document.querySelectorAll("#tables th.apart")];
    charts().forEach(({ card, title }) => must(
      !apart.length || card.querySelector(".hint").textContent.includes("Not comparable: "), `${name}: "${title}" does not say what cannot be compared`));
    const first = document.querySelector(".bars figure").getBoundingClientRect();
    must(first.top + 100 < innerHeight, `${name}: the first chart begins at ${first.top}, below the first screen`);
    // A value and the ratio beside it.
    document.querySelectorAll("#tables td .ratio, .row .times").forEach((ratio) => {
      const cell = ratio.closest("td, .row");
      const text = document.createRange();
      text.selectNodeContents(cell.matches("td") ? cell.firstChild : cell.querySelector(".value"));
      const [value, own] = [text.getBoundingClientRect(), ratio.getBoundingClientRect()];
      const apart = value.right <= own.left + 1 || own.right <= value.left + 1 || value.bottom <= own.top + 1 || own.bottom <= value.top + 1;
      must(apart || !own.width || !value.width, `${name}: "${cell.textContent.trim()}" collides`);
    });
    // Nothing sticks out of its bar chart, and reasons make no towers of words.
    document.querySelectorAll(".bars .row").forEach((row) => {
      const inside = row.getBoundingClientRect();
      row.querySelectorAll("b, small, .value, .times").forEach((part) => {
        const text = document.createRange();
        text.selectNodeContents(part);
        must(text.getBoundingClientRect().right <= inside.right + 1, `${name}: "${part.textContent}" sticks out`);
      });
      must(inside.height <= 85, `${name}: "${row.textContent.trim()}" is ${inside.height} high`);
    });
    // A result that cannot be compared has no ratio, and is no measure of others.
    document.querySelectorAll("#tables thead").forEach((head) => head.querySelectorAll("th.apart").forEach((one) => {
      const cells = head.parentElement.querySelectorAll(`td[data-scheme="${one.dataset.scheme}"] .ratio`);
      cells.forEach((cell) => must(!cell.textContent || cell.textContent === "!", `${name}: ratio "${cell.textContent}" of what cannot be compared`));
    }));
  }
  function legend() {
    const chip = document.querySelector("#chips button");
    const cells = () => [...document.querySelectorAll('[data-scheme="0"]')];
    chip.click();
    must(chip.getAttribute("aria-pressed") === "false", "a scheme that is put out stays pressed");
    must(cells().length > 0 && cells().every((cell) => cell.classList.contains("off")), "a scheme that is put out stays in tables");
    const cdf = charts()[0].chart.getOption();
    must(Object.values(cdf.legend[0].selected)[0] === false, "a scheme that is put out stays in the plot");
    chip.click();
    must(cells().every((cell) => !cell.classList.contains("off")), "a scheme that is put in again is missing");
  }
  function steps() {
    const curves = charts()[0].chart.getOption().series.filter((curve) => curve.name && curve.data.length > 1 && !curve.silent);
    must(curves.length > 0 && curves.every((curve) => curve.step === "end"), "a curve claims answers at times at which there were none");
  }
  function tooltip() {
    const { card, title, chart } = charts().find(({ title }) => title.includes("Where does latency"));
    chart.dispatchAction({ type: "showTip", seriesIndex: 0, dataIndex: 0 });
    const tip = card.querySelector(".tip");
    must(tip && tip.textContent.includes("mean latency"), `no tooltip at "${title}"`);
  }
  function zoom() {
    const timed = charts().filter(({ title }) => title.startsWith("When") || title.includes("What did flash do") || title.includes("Which die"));
    must(timed.length >= 5, `${timed.length} plots over time`);
    const span = (chart) => { const z = chart.getOption().dataZoom.find((zoom) => zoom.id === "window"); return [z.startValue, z.endValue]; };
    const [from, to] = span(timed[0].chart);
    const part = [from + (to - from) / 4, from + (to - from) / 2];
    timed[0].chart.dispatchAction({ type: "dataZoom", dataZoomId: "window", startValue: part[0], endValue: part[1] });
    timed.forEach(({ title, chart }) => {
      const own = span(chart);
      must(Math.abs(own[0] - part[0]) + Math.abs(own[1] - part[1]) < (to - from) / 20, `"${title}" shows ${own} instead of ${part}`);
    });
  }
  function filesOf(schemes) {
    for (const { card, title } of charts()) {
      files.length = 0;
      press(card, "CSV");
      press(card, "SVG");
      must(files.length === 2, `"${title}" gives ${files.length} files`);
      const [csv, svg] = files;
      must(csv.split("\n").length > schemes && csv.includes(","), `"${title}": CSV of ${csv.length} characters`);
      must(svg.startsWith("<svg") && svg.includes("</svg>") && svg.length > 1000, `"${title}": SVG of ${svg.length} characters`);
    }
    files.length = 0;
    document.getElementById("save-json").click();
    const all = JSON.parse(files[0]);
    must(all.runs.length === schemes, `data of ${all.runs.length} schemes`);
  }
  function look() {
    const schemes = document.querySelectorAll("#chips button").length;
    const theme = document.getElementById("theme");
    for (const name of ["light", "dark"]) {
      theme.value = name;
      theme.dispatchEvent(new Event("change"));
      must(document.documentElement.dataset.theme === name, `theme ${name} is not taken`);
      layout(name);
    }
    const [light, dark] = ["light", "dark"].map((name) => {
      document.documentElement.dataset.theme = name;
      return getComputedStyle(document.body).backgroundColor;
    });
    must(light !== dark, "light is as dark");
    legend();
    steps();
    tooltip();
    zoom();
    filesOf(schemes);
  }
  addEventListener("load", () => {
    try { look(); } catch (error) { wrong.push("test: " + error.stack); }
    const said = parent.document.createElement("said");
    said.textContent = JSON.stringify({ plots: charts().length, wrong });
    parent.document.body.append(said);
  });
})();
