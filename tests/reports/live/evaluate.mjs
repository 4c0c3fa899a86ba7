// Evaluates an expression with the functions of a live page's worker and its `motions`:
// node evaluate.mjs PAGE EXPRESSION. Prints its value as JSON.
import { readFileSync } from "node:fs";
import vm from "node:vm";

const [file, expression] = process.argv.slice(2);
const html = readFileSync(file, "utf8");
const textOf = (id) => html.match(new RegExp(`id=.${id}.>(.*?)</script>`, "s"))[1];
const reading = readFileSync(new URL("../../../jaxvib/reports/page/data.js", import.meta.url), "utf8");
globalThis.document = { getElementById: (id) => ({ textContent: textOf(id) }) };
globalThis.performance = performance;
const script = `${reading}\n${textOf("worker")}
readData().then(async (page) => {
  const motions = await Motions.of({ ...page.live, bodies: page.live.system.freedoms.length });
  const first = Object.fromEntries(page.live.controls.map(({ path, value }) => [path, value]));
  motions.setValues(first);
  return ${expression};
})`;
console.log(JSON.stringify(await vm.runInThisContext(script)));
