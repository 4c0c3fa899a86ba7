// Reads the page's data: base64 of zlib of a JSON text and the arrays that it refers to.

const ARRAY_TYPES = {
  u1: Uint8Array, i1: Int8Array, i2: Int16Array, i4: Int32Array, f4: Float32Array, f8: Float64Array,
};

async function readData() {
  const buffer = await inflated(document.getElementById("data").textContent);
  const length = new DataView(buffer).getUint32(0, true);
  const json = new TextDecoder().decode(new Uint8Array(buffer, 4, length));
  return revived(JSON.parse(json), buffer, 4 + length, new Map());
}

async function inflated(base64) {
  const text = atob(base64);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

function revived(node, buffer, start, known) {
  if (node === null || typeof node !== "object") return node;
  if (Array.isArray(node)) return node.map((each) => revived(each, buffer, start, known));
  if (node.$) return array(node.$, buffer, start, known);
  const entries = Object.entries(node);
  return Object.fromEntries(
    entries.map(([key, each]) => [key, revived(each, buffer, start, known)]),
  );
}

// Each array is created once: pictures with the same samples share their hover texts.
function array([type, offset, shape], buffer, start, known) {
  const key = [type, offset, shape].join();
  if (!known.has(key)) {
    const size = shape.reduce((product, n) => product * n, 1);
    const values = new ARRAY_TYPES[type](buffer, start + offset, size);
    values.shape = shape;
    known.set(key, values);
  }
  return known.get(key);
}

function rows(values) {
  const [height, width] = values.shape;
  return Array.from({ length: height }, (_, i) => values.subarray(i * width, (i + 1) * width));
}
