// Filters the episodes, and opens what a link leads to. Reads codes and texts of the page; writes no markup.
"use strict";
(() => {
  const find = document.getElementById("find");
  const text = document.getElementById("find-text");
  const count = document.getElementById("find-count");
  const choices = [...find.querySelectorAll("select")];
  const groups = [...document.querySelectorAll(".group")];
  const members = groups.map((group) => [...group.querySelectorAll(".ep")]);
  const total = members.reduce((sum, episodes) => sum + episodes.length, 0);
  const wasOpen = new Map();
  const words = new Map();
  let filtering = false;

  const textOf = (episode) => {
    if (!words.has(episode)) words.set(episode, episode.textContent.toLowerCase());
    return words.get(episode);
  };

  const apply = () => {
    const sought = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = choices.filter((choice) => choice.value).map((choice) => [choice.dataset.letter, choice.value]);
    const active = sought.length > 0 || wanted.length > 0;
    if (active && !filtering) groups.forEach((group) => wasOpen.set(group, group.open));
    let shown = 0;
    groups.forEach((group, place) => {
      let here = 0;
      for (const episode of members[place]) {
        const fits =
          wanted.every(([letter, code]) => (episode.dataset[letter] || "").split(" ").includes(code)) &&
          (sought.length === 0 || sought.every((word) => textOf(episode).includes(word)));
        if (episode.hidden === fits) episode.hidden = !fits;
        here += fits ? 1 : 0;
      }
      shown += here;
      group.hidden = active && here === 0;
      if (active) group.open = here > 0;
      else if (filtering) group.open = wasOpen.get(group);
    });
    filtering = active;
    count.textContent = active ? `${shown} of ${total} episodes` : `${total} episodes`;
  };

  const clear = () => {
    text.value = "";
    choices.forEach((choice) => (choice.value = ""));
  };

  const open = () => {
    const target = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
    if (!target) return;
    const episode = target.closest(".ep");
    if (episode && (episode.hidden || episode.closest("[hidden]"))) {
      clear();
      apply();
    }
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    target.scrollIntoView();
  };

  let waiting = 0;
  text.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(apply, 150);
  });
  choices.forEach((choice) => choice.addEventListener("change", apply));
  document.getElementById("find-clear").addEventListener("click", () => {
    clear();
    apply();
    text.focus();
  });
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("[data-find]") : null;
    if (!link) return;
    const [letter, code] = link.dataset.find.split("=");
    const choice = choices.find((one) => one.dataset.letter === letter);
    if (!choice) return;
    clear();
    choice.value = code;
    apply();
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(input|select|textarea)$/i.test(event.target.tagName);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      text.focus();
    } else if (event.key === "Escape" && event.target === text) {
      clear();
      apply();
    }
  });
  addEventListener("hashchange", open);
  find.hidden = false;
  apply();
  open();
})();
