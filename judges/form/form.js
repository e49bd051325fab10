"use strict";
(() => {
  const sheet = document.body.dataset.sheet;
  const articles = [...document.querySelectorAll("article")];
  const columns = ["sheet", "item", "label", "failed", "comment"];
  const store = "readback-sheet-" + sheet;
  const problem = document.getElementById("problem");
  let unsaved = false;

  const rowOf = (article) => ({
    sheet,
    item: article.dataset.item,
    label: article.querySelector("input[type=radio]:checked")?.value ?? "",
    failed: article.querySelector(".failed").value,
    comment: article.querySelector(".comment").value,
  });

  const fill = (article, row) => {
    for (const radio of article.querySelectorAll("input[type=radio]")) radio.checked = radio.value === row.label;
    article.querySelector(".failed").value = row.failed ?? "";
    article.querySelector(".comment").value = row.comment ?? "";
  };

  const show = () => {
    let done = 0;
    for (const article of articles) {
      const labelled = rowOf(article).label !== "";
      article.classList.toggle("labelled", labelled);
      done += labelled ? 1 : 0;
    }
    document.getElementById("progress").textContent = done + " of " + articles.length + " labelled";
  };

  // A cell that a spreadsheet might take for a formula begins with an apostrophe, here and in what is read back.
  const risky = /^[=+\-@\t\r]/;
  const cell = (text) => '"' + (risky.test(text) ? "'" + text : text).replaceAll('"', '""') + '"';
  const plain = (text) => (text.startsWith("'") && risky.test(text.slice(1)) ? text.slice(1) : text);

  const toCsv = () => {
    const lines = [columns.join(",")];
    for (const article of articles) {
      const row = rowOf(article);
      lines.push(columns.map((name) => cell(row[name])).join(","));
    }
    return "\ufeff" + lines.join("\r\n") + "\r\n";
  };

  const parsed = (text) => {
    const rows = [];
    let row = [], field = "", quoted = false;
    text = text.replace(/^\ufeff/, "");
    const head = text.split(/\r?\n/, 1)[0];
    const comma = [",", ";", "\t"].find((mark) => head.split(mark).length > 2) ?? ",";
    for (let at = 0; at < text.length; at++) {
      const sign = text[at];
      if (quoted) {
        if (sign === '"' && text[at + 1] === '"') { field += '"'; at++; }
        else if (sign === '"') quoted = false;
        else field += sign;
      } else if (sign === '"' && field === "") quoted = true;
      else if (sign === comma) { row.push(field); field = ""; }
      else if (sign === "\n" || sign === "\r") {
        if (sign === "\r" && text[at + 1] === "\n") at++;
        row.push(field); rows.push(row); row = []; field = "";
      } else field += sign;
    }
    if (field !== "" || row.length) { row.push(field); rows.push(row); }
    const names = (rows.shift() ?? []).map((name) => name.trim());
    return rows.filter((cells) => cells.some((text) => text !== ""))
      .map((cells) => Object.fromEntries(names.map((name, place) => [name, plain(cells[place] ?? "")])));
  };

  // All rows, or none: what is wrong is said, and nothing is half loaded.
  const fromCsv = (text) => {
    const rows = parsed(text);
    const known = new Map(articles.map((article) => [article.dataset.item, article]));
    const labels = new Set([...document.querySelectorAll("article:first-of-type input[type=radio]")].map((one) => one.value));
    for (const [place, row] of rows.entries()) {
      const where = "Row " + (place + 2) + ": ";
      if (row.sheet !== sheet) return where + "it is of sheet " + JSON.stringify(row.sheet ?? "") + ", and this is " + sheet + ".";
      if (!known.has(row.item)) return where + "there is no item " + JSON.stringify(row.item ?? "") + " on this sheet.";
      row.label = (row.label ?? "").trim().toLowerCase();
      if (row.label !== "" && !labels.has(row.label)) return where + JSON.stringify(row.label) + " is no label.";
    }
    if (!rows.length) return "The file has no rows.";
    for (const row of rows) fill(known.get(row.item), row);
    return "";
  };

  const keep = () => {
    try { localStorage.setItem(store, toCsv()); } catch { /* a browser may forbid it; the saved file counts */ }
  };

  const current = () => {
    const active = document.activeElement?.closest("article");
    return active ?? articles.find((article) => article.getBoundingClientRect().bottom > innerHeight / 3);
  };

  const go = (article) => {
    if (!article) return;
    article.focus({ preventScroll: true });
    article.scrollIntoView({ block: "start" });
  };

  document.addEventListener("input", () => { unsaved = true; show(); keep(); });
  document.addEventListener("click", (event) => {
    if (!event.target.classList.contains("clear")) return;
    fill(event.target.closest("article"), { label: "" });
    unsaved = true; show(); keep();
  });
  document.getElementById("save").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([toCsv()], { type: "text/csv" }));
    link.download = "labels-" + sheet + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    unsaved = false;
  });
  document.getElementById("load").addEventListener("change", async (event) => {
    const file = event.target.files[0];
    if (!file) return;
    problem.textContent = fromCsv(await file.text());
    event.target.value = "";
    show(); keep();
  });
  document.getElementById("next").addEventListener("click", () => go(articles.find((one) => rowOf(one).label === "")));
  document.addEventListener("keydown", (event) => {
    const tag = event.target.tagName;
    const typing = tag === "TEXTAREA" || (tag === "INPUT" && event.target.type !== "radio");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const here = current();
    const place = articles.indexOf(here);
    if (event.key === "j") go(document.activeElement?.closest("article") ? articles[place + 1] : here);
    else if (event.key === "k") go(articles[place - 1]);
    else if (here && event.key >= "1" && event.key <= "4") {
      const radio = here.querySelectorAll("input[type=radio]")[Number(event.key) - 1];
      radio.checked = true;
      radio.dispatchEvent(new Event("input", { bubbles: true }));
    } else return;
    event.preventDefault();
  });
  addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });

  try {
    const kept = localStorage.getItem(store);
    if (kept) fromCsv(kept);
  } catch { /* as above */ }
  show();
  window.readbackSheet = { toCsv, fromCsv, show };
})();
