// A page with the live panel only.

let page;

async function start() {
  page = await readData();
  const missing = ["WebAssembly", "Worker", "DecompressionStream"].find((name) => !(name in globalThis));
  if (missing) throw new Error(`this browser has no ${missing}`);
  const live = livePanel(document.querySelector(".live"), page.live);
  document.querySelector(".live").live = live;
  await live.start();
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) live.play(true);
}

start().then(() => { document.documentElement.dataset.ready = "yes"; }, (error) => {
  const note = document.getElementById("trouble");
  note.textContent = `The motion cannot be computed here: ${error.message}.`;
  note.hidden = false;
});
