// What is shown in part only, though nothing there can be scrolled.
const width = document.documentElement.clientWidth;
const scrolled = (element) => element && (/auto|scroll/.test(getComputedStyle(element).overflowX) || scrolled(element.parentElement));
return [...document.querySelectorAll("body a, body button, body select, h1, h2, p, li, pre, table, img, svg")]
  .filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest("dialog, .bd-sidebar, .pst-sidebar-dialog"))
  .filter((e) => !scrolled(e.parentElement) && e.getBoundingClientRect().right > width + 1)
  .map((e) => `${e.tagName.toLowerCase()} ${(e.textContent.trim() || e.ariaLabel || e.className).toString().slice(0, 40)}`);
