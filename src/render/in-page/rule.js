// What the owner's rule changes after the snapshot, in the same world and scope, and what it waits for before.

/**
 * @typedef {{ name?: string, property?: string, content: string }} Meta
 * @typedef {{ remove: string[], consent: string[] | null, head: { title?: string, robots?: string, canonical?: string, meta?: Meta[] } }} Change
 */

/** Classes of `html` and `body` that keep a page from scrolling under a dialog. */
const LOCKS =
  /^(?:modal-open|no-?scroll|scroll-?lock(?:ed)?|overflow-hidden|didomi-popup-open|sp-message-open|cmplz-.*|.*(?:cookie|consent).*)$/i

/** @param {Change} change @param {Part[]} scopes */
// biome-ignore lint/correctness/noUnusedVariables: src/render/visit/snapshot.ts calls it
function changePage(change, scopes) {
  const removed = change.remove.map((selector) => ({ selector, elements: removeAll([selector], scopes) }))
  let consent = 0
  if (change.consent !== null) {
    consent = removeBanners(change.consent, scopes)
    for (const element of [root, doc.body]) if (element instanceof HTMLElement) unlock(element)
  }
  return { removed, consent, head: changeHead(change.head) }
}

/** Ids and classes are looked up: matching each element with 200 selectors takes twenty times as long. @param {string[]} selectors @param {Part[]} scopes */
function removeBanners(selectors, scopes) {
  const names = new Set(selectors.filter((selector) => /^[#.][\w-]+$/.test(selector)))
  let count = removeAll([selectors.filter((selector) => !names.has(selector)).join(',')], scopes)
  for (const scope of scopes) {
    for (const element of matching(scope, '[id], [class]')) {
      const isNamed =
        names.has(`#${element.id}`) || [...element.classList].some((name) => names.has(`.${name}`))
      if (!isNamed || isFixed(element)) continue
      element.remove()
      count++
    }
  }
  return count
}

/** @param {Element} element */
function isFixed(element) {
  return element === root || element === doc.head || element === doc.body
}

/** @param {string[]} selectors @param {Part[]} scopes */
function removeAll(selectors, scopes) {
  let count = 0
  for (const scope of scopes) {
    for (const element of matching(scope, selectors.join(','))) {
      if (isFixed(element)) continue
      element.remove()
      count++
    }
  }
  return count
}

/** Chromium may not know a selector. @param {Part} scope @param {string} selector */
function matching(scope, selector) {
  try {
    return scope.querySelectorAll(selector)
  } catch {
    return []
  }
}

/** @param {HTMLElement} element */
function unlock(element) {
  for (const name of [...element.classList]) if (LOCKS.test(name)) element.classList.remove(name)
  if (element.getAttribute('class') === '') element.removeAttribute('class')
  const { style } = element
  if (!/hidden|clip/.test(`${style.overflow} ${style.overflowY}`) && style.position !== 'fixed') return
  for (const name of ['overflow', 'overflow-x', 'overflow-y', 'position', 'top', 'width', 'height']) {
    style.removeProperty(name)
  }
  if (element.getAttribute('style') === '') element.removeAttribute('style')
}

/** @param {Change['head']} head */
function changeHead({ title, robots, canonical, meta = [] }) {
  /** @type {string[]} */
  const changed = []
  if (title !== undefined) {
    const found = elements('head > title')
    const element = replaced(found, 'title')
    element.textContent = title
    changed.push('title')
  }
  if (robots !== undefined) {
    const element = replaced(metas('name', 'robots'), 'meta')
    setAttribute.call(element, 'name', 'robots')
    setAttribute.call(element, 'content', robots)
    changed.push('robots')
  }
  if (canonical !== undefined) {
    const element = replaced(elements('link[rel~="canonical" i]'), 'link')
    setAttribute.call(element, 'rel', 'canonical')
    setAttribute.call(element, 'href', canonical)
    changed.push('canonical')
  }
  for (const key of new Set(
    meta.map(({ name, property }) => (name === undefined ? `p${property}` : `n${name}`)),
  )) {
    const [attribute, value] = [key.startsWith('p') ? 'property' : 'name', key.slice(1)]
    const wanted = meta.filter((one) => one[/** @type {'name' | 'property'} */ (attribute)] === value)
    const found = metas(attribute, value)
    for (const { content } of wanted) {
      const element = found.shift() ?? (doc.head ?? root).appendChild(doc.createElement('meta'))
      setAttribute.call(element, attribute, value)
      setAttribute.call(element, 'content', content)
    }
    for (const element of found) element.remove()
    changed.push(value)
  }
  return changed
}

/** @param {string} selector @returns {Element[]} */
function elements(selector) {
  return [...page.querySelectorAll(selector)]
}

/** @param {string} attribute @param {string} value */
function metas(attribute, value) {
  return elements(`meta[${attribute}]`).filter(
    (meta) => getAttribute.call(meta, attribute)?.toLowerCase() === value.toLowerCase(),
  )
}

/** The first stays, the others go. @param {Element[]} found @param {string} tag @returns {Element} */
function replaced([first, ...others], tag) {
  for (const element of others) element.remove()
  return first ?? (doc.head ?? root).appendChild(doc.createElement(tag))
}

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
