// What the pages do beyond plain forms. Every page works without this file.
"use strict";

for (const box of document.querySelectorAll("[data-drop]")) {
  const input = box.querySelector("input[type=file]");
  const words = box.querySelector(".drop-words");
  words.hidden = false;
  let depth = 0; // dragenter and dragleave also come from the children

  const carriesFiles = (event) => event.dataTransfer && event.dataTransfer.types.includes("Files");
  const mark = (by) => {
    depth = Math.max(0, depth + by);
    box.classList.toggle("over", depth > 0);
  };

  box.addEventListener("dragenter", (event) => carriesFiles(event) && mark(1));
  box.addEventListener("dragleave", (event) => carriesFiles(event) && mark(-1));
  box.addEventListener("dragover", (event) => {
    if (carriesFiles(event)) event.preventDefault();
  });
  box.addEventListener("drop", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    depth = 0;
    mark(0);
    if (event.dataTransfer.files.length !== 1) {
      words.textContent = "One file at a time, please: put several into a zip.";
      return;
    }
    input.files = event.dataTransfer.files;
    input.dispatchEvent(new Event("change"));
    box.querySelector("button").focus();
  });
  input.addEventListener("change", () => {
    const file = input.files[0];
    box.classList.toggle("chosen", Boolean(file));
    words.textContent = file ? `${file.name} is chosen.` : "or drop it anywhere in this box";
  });
}

// A second press must not hand in twice.
for (const form of document.querySelectorAll("form")) {
  form.addEventListener("submit", (event) => {
    const button = form.querySelector("button[data-busy]");
    if (!button) return;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "yes";
    button.dataset.words = button.textContent;
    button.textContent = button.dataset.busy;
    button.setAttribute("aria-disabled", "true");
  });
}

// The browser's back button may bring a page back as it was left: with a form that has been sent.
window.addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  for (const form of document.querySelectorAll("form[data-sent]")) {
    delete form.dataset.sent;
    const button = form.querySelector("button[data-busy]");
    button.textContent = button.dataset.words;
    button.removeAttribute("aria-disabled");
  }
});

for (const input of document.querySelectorAll("[data-select]")) {
  input.addEventListener("focus", () => input.select());
}

const lost = (hidden) => {
  for (const word of document.querySelectorAll("[data-lost]")) word.hidden = hidden;
};
document.body.addEventListener("htmx:sendError", () => lost(false));
document.body.addEventListener("htmx:responseError", () => lost(false));
document.body.addEventListener("htmx:beforeOnLoad", () => lost(true));
