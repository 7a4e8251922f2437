// A run: replaces the parts of the page that the server sends anew.
"use strict";
const events = new EventSource(document.getElementById("run").dataset.address);
events.onmessage = (event) => {
  for (const [name, content] of Object.entries(JSON.parse(event.data))) {
    const part = document.getElementById(name);
    part.innerHTML = content;
    prepare(part);
  }
};
