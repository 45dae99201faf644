// Brings the page up to date in place. Without it the browser loads the page anew.
"use strict";
const script = document.currentScript;
let seconds = Number(script.dataset.seconds);

function keep(old, fresh) {
  const named = (main) => [...main.querySelectorAll("details")].map((part) => [part.querySelector("summary").textContent, part]);
  const open = new Map(named(old).map(([text, part]) => [text, part.open]));
  for (const [text, part] of named(fresh)) if (open.has(text)) part.open = open.get(text);
}

function scrolled(main) {
  return [...main.querySelectorAll(".scroll")];
}

async function refresh() {
  let answers = false;
  try {
    const answer = await fetch(location.href, { cache: "no-store" });
    answers = answer.ok;
    if (answers) show(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch { /* said below */ }
  document.getElementById("stale").hidden = answers;
  if (seconds) wait();
}

function show(page) {
  const old = document.querySelector("main"), fresh = page.querySelector("main");
  seconds = Number(fresh.dataset.refresh || 0);
  if (getSelection().type === "Range" || old.contains(document.activeElement) && document.activeElement.matches("input")) return;
  keep(old, fresh);
  const places = scrolled(old).map((box) => box.scrollLeft);
  old.replaceWith(document.adoptNode(fresh));
  scrolled(fresh).forEach((box, number) => { box.scrollLeft = places[number] || 0; });
  document.title = page.title;
}

function wait() {
  setTimeout(() => (document.hidden ? wait() : refresh()), 1000 * seconds);
}

wait();
