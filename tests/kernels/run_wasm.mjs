// Runs a module in Node: `node run_wasm.mjs FOLDER START COUNT` puts the file `arguments`
// of the folder into the memory from START on, and writes the memory after `run(COUNT)`.
import fs from "node:fs";

const [folder, start, count] = process.argv.slice(2);
const bytes = fs.readFileSync(`${folder}/module.wasm`);
if (!WebAssembly.validate(bytes)) throw new Error("the module is not valid");
const { instance } = await WebAssembly.instantiate(bytes);
const memory = new Uint8Array(instance.exports.memory.buffer);
memory.set(fs.readFileSync(`${folder}/arguments`), Number(start));
instance.exports.run(Number(count));
fs.writeFileSync(`${folder}/memory`, memory);
