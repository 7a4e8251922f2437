// Opens files that are chosen or dropped.
"use strict";
const form = document.getElementById("open");
const chooser = document.getElementById("files");
const problem = document.getElementById("problem");

function send() {
  if (!chooser.files.length) return;
  const size = [...chooser.files].reduce((sum, file) => sum + file.size, 0);
  const maxBytes = Number(form.dataset.maxBytes) - 4096;
  if (size > maxBytes) {
    const names = [...chooser.files].map((file) => file.name).join(", ");
    problem.textContent = `${names}: ${Math.ceil(size / 1024)} KiB, more than ${Math.floor(maxBytes / 1024)} KiB; open fewer or smaller files at once`;
    return;
  }
  form.submit();
}
chooser.addEventListener("change", send);
addEventListener("dragover", (event) => {
  if (!event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  form.classList.add("target");
});
addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) form.classList.remove("target");
});
addEventListener("drop", (event) => {
  form.classList.remove("target");
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  chooser.files = event.dataTransfer.files;
  send();
});
