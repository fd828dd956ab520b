// What can be operated, is shown, stands before the last element that had the focus, and has not had it.
const reached = window.reached ?? new Set();
const last = [...reached].at(-1) ?? document.body.lastElementChild;
// (The button "Back to top" comes with scrolling.)
const missed = [...document.querySelectorAll("a[href], button, input, select, summary, [onclick]")].filter((element) =>
  !reached.has(element) && element.tabIndex >= 0 && !element.closest("dialog, [inert], #pst-back-to-top") &&
  element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length &&
  element.compareDocumentPosition(last) & Node.DOCUMENT_POSITION_FOLLOWING);
const areas = [...document.querySelectorAll("pre, .picture, table")].filter((element) => {
  const box = element.closest("pre, .picture, .pst-scrollable-table-container");
  return box && box.scrollWidth > box.clientWidth + 1 && box.tabIndex < 0 && !box.querySelector("a[href], button");
});
return [...missed, ...areas].map((e) => `${e.tagName.toLowerCase()} ${(e.textContent.trim() || e.ariaLabel || e.className).slice(0, 40)}`);
