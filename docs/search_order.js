// The order of what the search finds: what is read first comes first, guides and the functional API before torch's surface.
const WEIGHTS = [
  ["errors/", 1.6], ["tutorial/", 1.5], ["howto/", 1.5], ["reference/fxgrad/", 1.4], ["explanation/", 1.2],
  ["reference/compat/", 0.6], ["reference/extend", 0.6], ["tables/", 0.6], ["decisions", 0.5], ["contributing/", 0.4],
];
var Scorer = {
  score: ([page, , , , score]) => score * (WEIGHTS.find(([start]) => page.startsWith(start)) ?? ["", 1])[1],
  // The rest is Sphinx's own.
  objNameMatch: 11, objPartialMatch: 6, objPrio: {0: 15, 1: 5, 2: -5}, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
// What begins with a digit is of one call: messages are found by the words around their shapes and numbers.
var splitQuery = (query) => query.split(/[^\p{Letter}\p{Number}_]+/gu).filter((term) => /^[^\d]/.test(term));
