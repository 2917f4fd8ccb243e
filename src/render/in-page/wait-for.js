/**
 * Whether an element matches: in the document, its shadow roots, and its frames of the same origin.
 * @param {string} selector
 */
// biome-ignore lint/correctness/noUnusedVariables: src/render/visit/wait-for.ts calls it
function isThere(selector) {
  /** @type {(Document | DocumentFragment)[]} */
  const scopes = [document]
  for (const scope of scopes) {
    // A form named `querySelector` hides that of its document.
    const { querySelector, querySelectorAll } =
      scope.nodeType === Node.DOCUMENT_NODE ? Document.prototype : DocumentFragment.prototype
    if (querySelector.call(scope, selector) !== null) return true
    for (const element of querySelectorAll.call(scope, '*')) {
      const { shadowRoot } = element
      if (shadowRoot?.nodeType === Node.DOCUMENT_FRAGMENT_NODE) scopes.push(shadowRoot)
      if (element.localName !== 'iframe') continue
      const inner = /** @type {HTMLIFrameElement} */ (element).contentDocument
      if (inner?.nodeType === Node.DOCUMENT_NODE) scopes.push(inner)
    }
  }
  return false
}
