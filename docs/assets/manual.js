// What scrolls takes the focus, so that the arrow keys scroll it, and parts of a page that
// the theme adds have names of their own.
const improve = () => {
  for (const one of document.querySelectorAll("pre > code, .md-typeset__scrollwrap, .equation")) {
    if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
    else one.removeAttribute("tabindex");
  }
  document.querySelectorAll("nav.md-code__nav").forEach((one, place) => {
    one.setAttribute("aria-label", `Code ${place + 1}`);
  });
  const named = new Set();
  for (const one of document.querySelectorAll("nav[aria-labelledby]")) {
    const name = one.getAttribute("aria-labelledby");
    if (named.has(name)) one.setAttribute("role", "presentation");
    named.add(name);
  }
};
new MutationObserver(improve).observe(document, { childList: true, subtree: true });
addEventListener("load", improve);
addEventListener("resize", improve);
