// Looks at the dashboard as a reader does, presses its buttons, and writes what is wrong into the page around it. What the drive
// says was taken from a drive; nothing is sent.
"use strict";
(() => {
  const wrong = [], sent = [];
  const must = (holds, what) => { if (!holds) wrong.push(what); };
  addEventListener("error", (event) => wrong.push("script: " + event.message));
  addEventListener("unhandledrejection", (event) => wrong.push("promise: " + event.reason));
  let asked = 0;
  window.fetch = (url, options) => {
    if (options && options.method === "POST") {
      sent.push(JSON.parse(options.body).command);
      const answer = sent.length === 1 ? { ok: false, error: "die 3 is dead already" } : { ok: true };
      return Promise.resolve({ json: () => Promise.resolve(answer) });
    }
    asked++;
    return Promise.resolve({ json: () => Promise.resolve(structuredClone(LIVE)) });
  };
  const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

  function layout() {
    const width = document.documentElement.clientWidth;
    must(document.documentElement.scrollWidth <= width, `the page is ${document.documentElement.scrollWidth} wide on a screen of ${width}`);
    const inside = (element, what) => {
      const box = element.getBoundingClientRect();
      must(box.width > 0 && box.left >= 0 && box.right <= width + 1, `${what} is from ${box.left} to ${box.right} of ${width}`);
    };
    document.querySelectorAll(".card, .tile, button, input, select").forEach((element) => inside(element, element.outerHTML.slice(0, 60)));
    document.querySelectorAll(".tile b").forEach((value) => must(value.scrollWidth <= value.clientWidth + 1, `${value.textContent} does not fit`));
    document.querySelectorAll(".die").forEach((die) => must(die.scrollWidth <= die.clientWidth + 2, `die ${die.textContent} does not fit`));
    const drawn = [...document.querySelectorAll(".chart")].map((chart) => chart.querySelectorAll("path").length);
    must(drawn.length === 7 && drawn.every((paths) => paths > 0), `charts have ${drawn} lines`);
    document.querySelectorAll(".chart text").forEach((text) => inside(text, `label ${text.textContent}`));
    document.querySelectorAll(".chart path").forEach((path) => must(!/NaN|undefined|Infinity/.test(path.getAttribute("d")), "a line has no number"));
  }

  function content() {
    const { dies, scheme } = LIVE.status;
    const cells = [...document.querySelectorAll(".die")];
    must(cells.length === dies.length, `${cells.length} dies`);
    must(document.querySelectorAll(".die.dead").length === dies.filter((die) => !die.alive).length, "dead dies");
    must(document.querySelectorAll(".die.slow").length === dies.filter((die) => die.slow > 1).length, "slow dies");
    must(document.getElementById("scheme").textContent.startsWith(scheme), "the scheme");
    must(!/undefined|NaN|\[object/.test(document.body.innerText), "a value is none");
    must(document.querySelectorAll("#events li").length === LIVE.events.length, "events");
    must(document.querySelectorAll("#events .bad").length === LIVE.events.filter((event) => event.refused).length, "refused events");
  }

  async function buttons() {
    document.querySelector('.die[data-die="3"]').click();
    for (const button of document.querySelectorAll("#faults button")) {
      const before = sent.length;
      button.click();
      await turn();
      must(sent.length === before + 1, `${button.textContent} sends nothing`);
      if (before === 0) must(document.getElementById("said").className === "said bad", "an error is not shown");
    }
    must(document.getElementById("said").textContent.endsWith("done"), "what was done is not said");
    const shade = document.getElementById("shade");
    for (const way of ["wear", "queued", "busy"]) {
      shade.value = way;
      shade.dispatchEvent(new Event("change"));
      must(document.getElementById("dies").className === `by-${way}`, `dies by ${way}`);
    }
    const chart = document.querySelector("#latencies svg"), box = chart.getBoundingClientRect();
    chart.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + 60, clientY: box.top + 20 }));
    must(document.querySelector("#latencies .when"), "a chart tells no value of the past");
    chart.dispatchEvent(new PointerEvent("pointerleave"));
  }

  addEventListener("load", async () => {
    try {
      await turn();
      must(asked === 1, `asked ${asked} times`);
      layout();
      content();
      await buttons();
    } catch (error) {
      wrong.push(`test: ${error.stack}`);
    }
    const said = parent.document.createElement("said");
    said.textContent = JSON.stringify({ wrong, sent });
    parent.document.body.append(said);
  });
})();
