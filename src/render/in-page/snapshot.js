// Evaluated once, at the end of a render, in a world of its own: the page's
// scripts cannot have changed the functions used here. Writes what only the
// live document knows into the DOM, takes out what must not run again, and
// returns the whole as text. The document is thrown away afterwards.
/** @param {number} maxChars */
// biome-ignore lint/correctness/noUnusedVariables: src/render/snapshot.ts calls it
function takeSnapshot(maxChars) {
  const JAVASCRIPT =
    /^(?:(?:text|application)\/(?:x-)?(?:java|ecma|live)script(?:[\d.]*)|text\/jscript|module|importmap|speculationrules)?$/i

  const root = document.documentElement
  if (!(root instanceof HTMLHtmlElement)) return { kind: 'not-html' }

  /** The document and every shadow root below it. @type {(Document | ShadowRoot)[]} */
  const scopes = [document]
  for (const scope of scopes) {
    for (const element of scope.querySelectorAll('*')) {
      if (element.shadowRoot !== null) scopes.push(element.shadowRoot)
    }
  }
  const shadowRoots = scopes.filter((scope) => scope instanceof ShadowRoot)

  const blank = isBlank()
  const metas = takeMetas()
  for (const scope of scopes) {
    writeForms(scope)
    writeStyles(scope)
    removeScripts(scope)
  }
  declareUtf8()

  const inner = root.getHTML({ shadowRoots })
  if (inner.length > maxChars) return { kind: 'too-large', bytes: inner.length }
  const emptyRoot = /** @type {Element} */ (root.cloneNode(false)).outerHTML
  const openTag = emptyRoot.slice(0, emptyRoot.lastIndexOf('</'))
  return { kind: 'html', html: `${doctype()}${openTag}${inner}</html>`, blank, ...metas }

  function doctype() {
    const type = document.doctype
    if (type === null) return ''
    const { name, publicId, systemId } = type
    const identifiers = publicId !== '' ? ` PUBLIC "${publicId}"` : systemId !== '' ? ' SYSTEM' : ''
    return `<!DOCTYPE ${name}${identifiers}${systemId === '' ? '' : ` "${systemId}"`}>\n`
  }

  /** Nothing to read and nothing to look at. Stops at the first thing found. */
  function isBlank() {
    if (document.body === null) return true
    const shown =
      'img,picture,video,audio,canvas,svg,iframe,object,embed,input,select,textarea,button,hr,math'
    const silent = new Set(['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'TITLE'])
    for (const scope of scopes) {
      const top = scope === document ? document.body : scope
      if (top.querySelector(shown) !== null) return false
      const texts = document.createTreeWalker(top, NodeFilter.SHOW_TEXT)
      for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
        if ((text.nodeValue ?? '').trim() === '') continue
        const parent = text.parentElement
        if (parent === null) return false
        if (!silent.has(parent.tagName) && parent.checkVisibility()) return false
      }
    }
    return true
  }

  /** The status and headers that the page asks for, in the spellings of prerender and rendertron. */
  function takeMetas() {
    /** @type {string | null} */
    let statusCode = null
    /** @type {string[]} */
    const headers = []
    for (const meta of document.querySelectorAll('meta[name], meta[property]')) {
      const name = (meta.getAttribute('name') ?? meta.getAttribute('property') ?? '').toLowerCase()
      const content = meta.getAttribute('content') ?? ''
      if (name === 'prerender-status-code' || name === 'render:status_code') statusCode = content
      else if (name === 'prerender-header' || name === 'render:header') headers.push(content)
      else continue
      meta.remove()
    }
    return { statusCode, headers: headers.slice(0, 50) }
  }

  /** What was typed, ticked or chosen lives in properties, not in the markup. @param {Document | ShadowRoot} scope */
  function writeForms(scope) {
    for (const field of scope.querySelectorAll('input, option, textarea')) {
      if (field instanceof HTMLTextAreaElement) {
        if (field.value !== field.defaultValue) field.defaultValue = field.value
      } else if (field instanceof HTMLOptionElement) {
        if (field.selected !== field.defaultSelected) field.defaultSelected = field.selected
      } else if (field instanceof HTMLInputElement) {
        if (field.type === 'checkbox' || field.type === 'radio') {
          if (field.checked !== field.defaultChecked) field.defaultChecked = field.checked
        } else if (field.type !== 'password' && field.type !== 'file' && field.value !== field.defaultValue) {
          field.defaultValue = field.value
        }
      }
    }
  }

  /** Rules that exist only in the CSSOM: inserted by script, or in adopted sheets. @param {Document | ShadowRoot} scope */
  function writeStyles(scope) {
    for (const style of scope.querySelectorAll('style')) {
      const { sheet } = style
      if (!(style instanceof HTMLStyleElement) || sheet === null) continue
      const rules = rulesOf(sheet)
      if (rules !== null && rules !== rulesOf(parsed(style.textContent)))
        style.textContent = asStyleText(rules)
      if (sheet.disabled) style.media = 'not all'
    }
    for (const sheet of scope.adoptedStyleSheets) {
      const rules = rulesOf(sheet)
      if (!rules || sheet.disabled) continue
      const style = document.createElement('style')
      style.textContent = asStyleText(rules)
      if (sheet.media.mediaText !== '') style.media = sheet.media.mediaText
      // Adopted sheets come after all others of their scope.
      if (scope instanceof Document) (scope.head ?? root).append(style)
      else scope.append(style)
    }
  }

  /** @param {string} text */
  function parsed(text) {
    const sheet = new CSSStyleSheet()
    if (text.trim() !== '') sheet.replaceSync(text)
    return sheet
  }

  /** null when the rules may not be read. @param {CSSStyleSheet} sheet */
  function rulesOf(sheet) {
    try {
      // Imports cannot be in a sheet made by script; they stand in the text and stay there.
      const rules = [...sheet.cssRules].filter((rule) => !(rule instanceof CSSImportRule))
      return rules.map((rule) => rule.cssText).join('\n')
    } catch {
      return null
    }
  }

  /** A string in a rule may hold what would end the element. @param {string} rules */
  function asStyleText(rules) {
    return rules.replace(/<\/(style)/gi, '<\\2f $1')
  }

  /** @param {Document | ShadowRoot} scope */
  function removeScripts(scope) {
    for (const script of scope.querySelectorAll('script')) {
      if (JAVASCRIPT.test(script.getAttribute('type')?.trim() ?? script.getAttribute('language') ?? ''))
        script.remove()
    }
    // Preloads of what was removed.
    const preloads =
      'link[rel~="modulepreload" i], link[rel~="preload" i][as="script" i], link[rel~="prefetch" i][as="script" i]'
    for (const link of scope.querySelectorAll(preloads)) link.remove()
    // Inline handlers are scripts too, and what they call is gone.
    for (const top of scope.children) {
      const query = 'descendant-or-self::*/@*[starts-with(name(), "on")]'
      const found = document.evaluate(query, top, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE)
      for (let at = 0; at < found.snapshotLength; at++) {
        const { name, ownerElement } = /** @type {Attr} */ (found.snapshotItem(at))
        // Not every name with these letters is an event's: `one`, `on-tap`.
        if (ownerElement !== null && name in ownerElement) ownerElement.removeAttribute(name)
      }
    }
  }

  /** The text leaves here as UTF-8, whatever the page was sent in. */
  function declareUtf8() {
    for (const meta of document.querySelectorAll('meta[charset], meta[http-equiv="content-type" i]'))
      meta.remove()
    const meta = document.createElement('meta')
    meta.setAttribute('charset', 'utf-8')
    ;(document.head ?? root).prepend(meta)
  }
}
