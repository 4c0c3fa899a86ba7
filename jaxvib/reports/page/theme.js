// Colours and sizes of the page, which follow the reader's settings.

const darkScheme = matchMedia("(prefers-color-scheme: dark)");
const narrow = matchMedia("(max-width: 600px)");
const scheme = () => (darkScheme.matches ? "dark" : "light");
const token = (name) => styled(name, () => getComputedStyle(document.documentElement).getPropertyValue(name).trim());
const size = () => styled("size", () => parseFloat(getComputedStyle(document.body).fontSize) / 15); // of letters
const face = () => styled("face", () => getComputedStyle(document.body).fontFamily);

// Styles that were read: reading one lays the page out, if anything on it has changed.
const styles = new Map();

function styled(name, read) {
  if (!styles.has(name)) styles.set(name, read());
  return styles.get(name);
}

for (const query of [darkScheme, matchMedia("print")]) query.addEventListener("change", () => styles.clear());
addEventListener("resize", () => styles.clear());
