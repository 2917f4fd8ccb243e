// What the owner's rule changes after the snapshot, in the same world and scope, and what it waits for before.

const { remove, replaceWith } = Element.prototype

/**
 * @typedef {{ name?: string, property?: string, content: string }} Meta
 * @typedef {{ mark: string, remove: string[], consent: string[] | null, head: { title?: string, robots?: string, canonical?: string, meta?: Meta[] } }} Change
 */

/** Classes of `html` and `body` that keep a page from scrolling under a dialog. */
const LOCKS =
  /^(?:modal-open|no-?scroll|scroll-?lock(?:ed)?|overflow-hidden|didomi-popup-open|sp-message-open|cmplz-.*|.*(?:cookie|consent).*)$/i

/**
 * One serialisation holds the page before and after: what changed stands between two comments with `mark`, and `before`
 * has what stood there.
 * @param {Change} change @param {Part[]} scopes @param {ShadowRoot[]} shadowRoots
 */
// biome-ignore lint/correctness/noUnusedVariables: src/render/visit/snapshot.ts calls it
function changePage(change, scopes, shadowRoots) {
  const edits = createEdits(change.mark, shadowRoots)
  const removed = change.remove.map((selector) => ({ selector, elements: edits.remove([selector], scopes) }))
  let consent = 0
  if (change.consent !== null) {
    consent = edits.remove(change.consent, scopes)
    for (const element of [root, doc.body]) if (element instanceof HTMLElement) edits.unlock(element)
  }
  const { before, rootTag } = edits
  return { changes: { removed, consent, head: changeHead(change.head, edits) }, before, rootTag: rootTag() }
}

/** @param {string} mark @param {ShadowRoot[]} shadowRoots */
function createEdits(mark, shadowRoots) {
  /** @type {string[]} */
  const before = []
  /** @type {Set<Element>} */
  const changed = new Set()
  const box = doc.createElement('div')
  /** @type {string | null} */
  let rootTag = null
  /** @param {string} text */
  const marks = (text) => ({
    start: new Comment(`${mark}${before.push(text) - 1}`),
    end: new Comment(mark),
  })
  /** @param {Element} element */
  const removeOne = (element) => {
    if (changed.has(element)) return remove.call(element)
    const { start, end } = marks('')
    replaceWith.call(element, start, end)
    box.replaceChildren(element)
    before[before.length - 1] = box.getHTML({ shadowRoots })
  }
  return {
    before,
    removeOne,
    rootTag: () => rootTag,
    /** @param {string[]} selectors @param {Part[]} scopes */
    remove(selectors, scopes) {
      let count = 0
      for (const scope of scopes) {
        for (const element of matching(scope, selectors)) {
          if (element === root || element === doc.head || element === doc.body) continue
          removeOne(element)
          count++
        }
      }
      return count
    },
    /** @param {Element} element @param {() => void} change */
    change(element, change) {
      if (changed.has(element)) return change()
      const { start, end } = marks(element.outerHTML)
      changed.add(element)
      element.before(start)
      element.after(end)
      change()
    },
    /** @param {string} tag */
    add(tag) {
      const { start, end } = marks('')
      const element = doc.createElement(tag)
      changed.add(element)
      const style = doc.head?.querySelector('style')
      if (style) style.before(start, element, end)
      else (doc.head ?? root).append(start, element, end)
      return element
    },
    /** @param {HTMLElement} element */
    unlock(element) {
      const tag = openTag(element)
      unlock(element)
      if (openTag(element) === tag) return
      const { start, end } = marks(tag)
      if (element === root) rootTag = `<!--${start.data}-->${openTag(root)}<!--${mark}-->`
      else {
        element.before(start)
        element.prepend(end)
      }
    },
  }
}

/**
 * Chromium finds ids and classes by themselves ten times as fast as in a list, and may not know a selector.
 * @param {Part} scope @param {string[]} selectors @returns {Element[]}
 */
function matching(scope, selectors) {
  const isSmall = scope.querySelectorAll('*').length < selectors.length
  const found = (isSmall ? [selectors.join(',')] : selectors).flatMap((selector) => {
    try {
      return [...scope.querySelectorAll(selector)]
    } catch {
      return []
    }
  })
  return [...new Set(found)]
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

/** @param {Change['head']} head @param {ReturnType<typeof createEdits>} edits */
function changeHead({ title, robots, canonical, meta = [] }, edits) {
  /** @param {Element[]} found @param {string} tag @param {Record<string, string>} attributes @param {string} [text] */
  const put = (found, tag, attributes, text) => {
    const [first, ...others] = found
    for (const element of others) edits.removeOne(element)
    const element = first ?? edits.add(tag)
    edits.change(element, () => {
      for (const [name, value] of Object.entries(attributes)) setAttribute.call(element, name, value)
      if (text !== undefined) element.textContent = text
    })
  }
  /** @type {string[]} */
  const changed = []
  if (title !== undefined) {
    put(elements('head > title'), 'title', {}, title)
    changed.push('title')
  }
  if (robots !== undefined) {
    put(metas('name', 'robots'), 'meta', { name: 'robots', content: robots })
    changed.push('robots')
  }
  if (canonical !== undefined) {
    put(elements('link[rel~="canonical" i]'), 'link', { rel: 'canonical', href: canonical })
    changed.push('canonical')
  }
  for (const key of new Set(
    meta.map(({ name, property }) => (name === undefined ? `p${property}` : `n${name}`)),
  )) {
    const [attribute, value] = [key.startsWith('p') ? 'property' : 'name', key.slice(1)]
    const wanted = meta.filter((one) => one[/** @type {'name' | 'property'} */ (attribute)] === value)
    const found = metas(attribute, value)
    wanted.forEach(({ content }, at) => {
      const own = at === wanted.length - 1 ? found.slice(at) : found.slice(at, at + 1)
      put(own, 'meta', { [attribute]: value, content })
    })
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

/**
 * Whether an element matches: in the document, its shadow roots, and its frames of the same origin.
 * @param {string} selector
 */
// biome-ignore lint/correctness/noUnusedVariables: src/render/visit/rule.ts calls it
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
