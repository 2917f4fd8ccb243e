// What the owner's rule changes after the snapshot, in the same world and scope, and what it waits for before.

const { before, after, contains } = Element.prototype

/**
 * @typedef {{ name?: string, property?: string, content: string }} Meta
 * @typedef {{ mark: string, remove: string[], consent: string[] | null, head: { title?: string, robots?: string, canonical?: string, meta?: Meta[] } }} Change
 */

/** Classes of `html` and `body` that keep a page from scrolling under a dialog. */
const LOCKS =
  /^(?:modal-open|no-?scroll|scroll-?lock(?:ed)?|overflow-hidden|didomi-popup-open|sp-message-open|cmplz-.*|.*(?:cookie|consent).*)$/i

/** Has elements of the page as it is, and as the rule wants it; both stand in one document. @type {Set<Element>} */
const old = new Set()
/** @type {Set<Element>} */
const added = new Set()

/**
 * Marks what only the page before or after the change has, for one serialisation of both: `-` before, `+` after.
 * `markTags` does so for the start tags of `html` and `body`.
 * @param {Change} change @param {Part[]} scopes
 */
// biome-ignore lint/correctness/noUnusedVariables: packages/engine/src/render/visit/snapshot.ts calls it
function changePage({ mark, remove, consent, head }, scopes) {
  const removed = remove.map((selector) => ({ selector, elements: removeAll([selector], scopes) }))
  const changes = {
    removed,
    consent: consent === null ? 0 : removeAll(consent, scopes),
    head: changeHead(head),
  }
  for (const element of [...old, ...added]) {
    before.call(element, new Comment(`${old.has(element) ? '-' : '+'}${mark}`))
    after.call(element, new Comment(`/${mark}`))
  }
  // Without a banner, what keeps the page from scrolling is the page's own.
  const locked =
    changes.consent === 0 ? [] : [root, doc.body].filter((element) => element instanceof HTMLElement)
  /** @param {string} html */
  const markTags = (html) =>
    locked.reduce((text, element) => {
      const unlocked = `<!--+${mark}-->${unlockedTag(element)}<!--/${mark}-->`
      return text.replace(openTag(element), (tag) => `<!---${mark}-->${tag}<!--/${mark}-->${unlocked}`)
    }, html)
  return { changes, markTags }
}

/** Returns how many. @param {string[]} selectors @param {Part[]} scopes */
function removeAll(selectors, scopes) {
  const kept = [root, doc.head, doc.body]
  const found = scopes.flatMap((scope) => matching(scope, selectors))
  const removable = found.filter(
    (element) => !old.has(element) && !kept.includes(/** @type {never} */ (element)),
  )
  for (const element of removable) old.add(element)
  return removable.length
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
function unlockedTag(element) {
  const copy = /** @type {HTMLElement} */ (element.cloneNode(false))
  for (const name of [...copy.classList]) if (LOCKS.test(name)) copy.classList.remove(name)
  if (copy.getAttribute('class') === '') copy.removeAttribute('class')
  const { style } = copy
  if (/hidden|clip/.test(`${style.overflow} ${style.overflowY}`) || style.position === 'fixed') {
    for (const name of ['overflow', 'overflow-x', 'overflow-y', 'position', 'top', 'width', 'height']) {
      style.removeProperty(name)
    }
    if (copy.getAttribute('style') === '') copy.removeAttribute('style')
  }
  return openTag(copy)
}

/** Returns the names of what it changed. @param {Change['head']} head */
function changeHead(head) {
  const { title, robots, canonical, meta = [] } = head
  /** @param {Element[]} found @param {string} tag @param {Record<string, string>} attributes @param {string} [text] */
  const put = ([first, ...others], tag, attributes, text) => {
    for (const element of others) old.add(element)
    const element = changeable(first, tag)
    for (const [name, value] of Object.entries(attributes)) setAttribute.call(element, name, value)
    if (text !== undefined) element.textContent = text
  }
  if (title !== undefined) put(elements('head > title'), 'title', {}, title)
  if (robots !== undefined) put(metas('name', 'robots'), 'meta', { name: 'robots', content: robots })
  if (canonical !== undefined)
    put(elements('link[rel~="canonical" i]'), 'link', { rel: 'canonical', href: canonical })
  for (const attribute of /** @type {const} */ (['name', 'property'])) {
    for (const value of new Set(meta.flatMap((one) => one[attribute] ?? []))) {
      const wanted = meta.filter((one) => one[attribute] === value)
      const found = metas(attribute, value)
      wanted.forEach(({ content }, at) => {
        const own = at === wanted.length - 1 ? found.slice(at) : found.slice(at, at + 1)
        put(own, 'meta', { [attribute]: value, content })
      })
    }
  }
  const names = Object.keys(head).filter((name) => name !== 'meta')
  return [...new Set([...names, ...meta.map(({ name, property }) => name ?? property)])]
}

/** A copy in the place of an element, or a new one. @param {Element | undefined} present @param {string} tag */
function changeable(present, tag) {
  if (present !== undefined && added.has(present)) return present
  const element = /** @type {Element} */ (present?.cloneNode(true) ?? doc.createElement(tag))
  const style = doc.head?.querySelector('style')
  if (present !== undefined) {
    after.call(present, element)
    old.add(present)
  } else if (style) style.before(element)
  else (doc.head ?? root).append(element)
  added.add(element)
  return element
}

/** @param {string} selector @returns {Element[]} */
function elements(selector) {
  const isOld = (/** @type {Element} */ element) => [...old].some((one) => contains.call(one, element))
  return [...page.querySelectorAll(selector)].filter((element) => !isOld(element))
}

/** @param {string} attribute @param {string} value */
function metas(attribute, value) {
  return elements(`meta[${attribute}="${CSS.escape(value)}" i]`)
}

/**
 * Whether an element matches: in the document, its shadow roots, and its frames of the same origin.
 * @param {string} selector
 */
// biome-ignore lint/correctness/noUnusedVariables: packages/engine/src/render/visit/rule.ts calls it
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
