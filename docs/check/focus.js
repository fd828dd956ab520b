// What has the focus, and whether its look shows that. It is remembered for `missed`.
const element = document.activeElement;
if (element === document.body) return null;
window.reached = (window.reached ?? new Set()).add(element);
const look = () => [element, ...element.children].map((part) => {
  const style = getComputedStyle(part);
  return [style.outlineStyle, style.outlineWidth, style.boxShadow, style.backgroundColor, style.color, style.textDecorationLine];
}).join();
const focused = look();
element.blur();
const plain = look();
element.focus({ preventScroll: true });
return [`${element.tagName.toLowerCase()} ${(element.textContent.trim() || element.ariaLabel || element.className).slice(0, 40)}`, focused !== plain];
