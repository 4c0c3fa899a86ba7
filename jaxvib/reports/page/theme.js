// Colours and sizes of the page, which follow the reader's settings.

const darkScheme = matchMedia("(prefers-color-scheme: dark)");
const narrow = matchMedia("(max-width: 600px)");
const size = () => parseFloat(getComputedStyle(document.body).fontSize) / 15; // of letters
const scheme = () => (darkScheme.matches ? "dark" : "light");
const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
