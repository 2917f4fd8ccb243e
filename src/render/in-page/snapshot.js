// Runs in an isolated world, where the page cannot change functions. Changes the document.
const JAVASCRIPT =
  /^(?:(?:text|application)\/(?:x-)?(?:java|ecma|live)script(?:[\d.]*)|text\/jscript|module|importmap|speculationrules)?$/i

// Comments that only the scripts of frameworks read.
const MARKER =
  /^(?:\s*|\[[!?-]?|\]|\/?\$[?!s~]?|\/?&|[#/]|v-if|v-for|teleport (?:start|end)|(?:ng-)?container|ngetn|ngtns|bindings=.*|\?lit\$.*|\/?lit-part.*|\/?q[vs](?: .*)?)$/s

// Forms and images can hide properties of the document by their names, in every world.
const doc = {
  root: own('documentElement'),
  head: own('head'),
  body: own('body'),
  doctype: own('doctype'),
  createElement: own('createElement'),
  createTreeWalker: own('createTreeWalker'),
  evaluate: own('evaluate'),
  contentType: own('contentType'),
}
const { removeAttribute, checkVisibility } = Element.prototype

const { root } = doc

/** A document or shadow root. @typedef {Pick<Document, 'querySelector' | 'querySelectorAll' | 'children' | 'adoptedStyleSheets'>} Scope */
/** @type {Scope} */
const page = {
  querySelector: own('querySelector'),
  querySelectorAll: own('querySelectorAll'),
  children: own('children'),
  adoptedStyleSheets: own('adoptedStyleSheets'),
}
/** @param {number} maxChars @param {number} maxElements */
// biome-ignore lint/correctness/noUnusedVariables: src/render/visit/snapshot.ts calls it
function takeSnapshot(maxChars, maxElements) {
  // Chromium shows images and texts in a generated document.
  const isHtml = doc.contentType === 'text/html' || doc.contentType === 'application/xhtml+xml'
  if (!isHtml || !(root instanceof HTMLHtmlElement)) return { kind: 'not-html' }

  /** @type {(Scope | ShadowRoot)[]} */
  const scopes = [page]
  let elements = 0
  for (const scope of scopes) {
    const found = scope.querySelectorAll('*')
    elements += found.length
    if (elements > maxElements) return { kind: 'too-large', what: 'elements' }
    for (const element of found) {
      const { shadowRoot } = element
      if (shadowRoot instanceof ShadowRoot) scopes.push(shadowRoot)
    }
  }
  const shadowRoots = scopes.filter((scope) => scope instanceof ShadowRoot)

  const blank = isBlank(scopes)
  const metas = takeMetas()
  for (const scope of scopes) {
    writeForms(scope)
    writeStyles(scope)
    removeScripts(scope)
    removeMarkers(scope instanceof ShadowRoot ? scope : root)
  }
  declareUtf8()

  const inner = root.getHTML({ shadowRoots })
  if (inner.length > maxChars) return { kind: 'too-large', what: 'snapshot-bytes' }
  const emptyRoot = /** @type {Element} */ (root.cloneNode(false)).outerHTML
  const openTag = emptyRoot.slice(0, emptyRoot.lastIndexOf('</'))
  const html = `${doctype()}${openTag}${inner}</html>`
  return { kind: 'html', html: asAscii(html), blank, ...metas }
}

/** @template {keyof Document} Name @param {Name} name @returns {Document[Name]} */
function own(name) {
  const { get, value } =
    Object.getOwnPropertyDescriptor(Document.prototype, name) ??
    Object.getOwnPropertyDescriptor(Node.prototype, name) ??
    {}
  return get === undefined ? value.bind(document) : get.call(document)
}

function doctype() {
  const type = doc.doctype
  if (type === null) return ''
  const { name, publicId, systemId } = type
  const identifiers = publicId !== '' ? ` PUBLIC "${publicId}"` : systemId !== '' ? ' SYSTEM' : ''
  return `<!DOCTYPE ${name}${identifiers}${systemId === '' ? '' : ` "${systemId}"`}>\n`
}

/** Whether there is neither text nor anything visible. @param {(Scope | ShadowRoot)[]} scopes */
function isBlank(scopes) {
  if (doc.body === null) return true
  const shown =
    'img,picture,video,audio,canvas,svg,iframe,frame,object,embed,input,select,textarea,button,hr,math'
  const silent = new Set(['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'TITLE'])
  for (const scope of scopes) {
    const part = scope instanceof ShadowRoot ? scope : doc.body
    if (part.querySelector(shown) !== null) return false
    const texts = doc.createTreeWalker(part, NodeFilter.SHOW_TEXT)
    for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
      if ((text.nodeValue ?? '').trim() === '') continue
      const parent = text.parentElement
      if (parent === null) return false
      if (!silent.has(parent.tagName) && checkVisibility.call(parent)) return false
    }
  }
  return true
}

/** Reads the status and headers that the page sets, in the spellings of prerender and rendertron. */
function takeMetas() {
  /** @type {string | null} */
  let statusCode = null
  /** @type {string[]} */
  const headers = []
  for (const meta of page.querySelectorAll('meta[name], meta[property]')) {
    const name = (meta.getAttribute('name') ?? meta.getAttribute('property') ?? '').toLowerCase()
    const content = (meta.getAttribute('content') ?? '').slice(0, 2_500)
    if (name === 'prerender-status-code' || name === 'render:status_code') statusCode = content
    else if (name === 'prerender-header' || name === 'render:header') headers.push(content)
    else continue
    meta.remove()
  }
  return { statusCode, headers: headers.slice(0, 50) }
}

/** Form state lives in properties, not in the markup. @param {Scope | ShadowRoot} scope */
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

/** Rules that exist only in the CSSOM: inserted by script, or in adopted sheets. @param {Scope | ShadowRoot} scope */
function writeStyles(scope) {
  for (const style of scope.querySelectorAll('style')) {
    const { sheet } = style
    if (!(style instanceof HTMLStyleElement) || sheet === null) continue
    const rules = rulesOf(sheet)
    if (rules !== null && rules !== rulesOf(parsed(style.textContent)))
      style.textContent = asStyleText(`${importsOf(sheet)}${rules}`)
    if (sheet.disabled) style.media = 'not all'
  }
  for (const sheet of scope.adoptedStyleSheets) {
    const rules = rulesOf(sheet)
    if (!rules || sheet.disabled) continue
    const style = doc.createElement('style')
    style.textContent = asStyleText(rules)
    if (sheet.media.mediaText !== '') style.media = sheet.media.mediaText
    // Adopted sheets come after all others of their scope.
    const end = scope instanceof ShadowRoot ? scope : (doc.head ?? root)
    end.append(style)
  }
}

/** @param {string} text */
function parsed(text) {
  const sheet = new CSSStyleSheet()
  if (text.trim() !== '') sheet.replaceSync(text)
  return sheet
}

/** null if the rules may not be read. @param {CSSStyleSheet} sheet */
function rulesOf(sheet) {
  try {
    // Scripts cannot add imports to a sheet.
    const rules = [...sheet.cssRules].filter((rule) => !(rule instanceof CSSImportRule))
    return rules.map((rule) => rule.cssText).join('\n')
  } catch {
    return null
  }
}

/** @param {CSSStyleSheet} sheet */
function importsOf(sheet) {
  const imports = [...sheet.cssRules].filter((rule) => rule instanceof CSSImportRule)
  return imports.map((rule) => `${rule.cssText}\n`).join('')
}

/** A string in a rule may contain the end tag. @param {string} rules */
function asStyleText(rules) {
  return rules.replace(/<\/(style)/gi, '<\\2f $1')
}

/** @param {Scope | ShadowRoot} scope */
function removeScripts(scope) {
  for (const script of scope.querySelectorAll('script')) {
    if (JAVASCRIPT.test(script.getAttribute('type')?.trim() ?? script.getAttribute('language') ?? ''))
      script.remove()
  }
  const preloads =
    'link[rel~="modulepreload" i], link[rel~="preload" i][as="script" i], link[rel~="prefetch" i][as="script" i]'
  for (const link of scope.querySelectorAll(preloads)) link.remove()
  for (const child of scope.children) {
    const query = 'descendant-or-self::*/@*[starts-with(name(), "on")]'
    const found = doc.evaluate(query, child, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE)
    for (let at = 0; at < found.snapshotLength; at++) {
      const { name, ownerElement } = /** @type {Attr} */ (found.snapshotItem(at))
      // Not every name with these letters is an event's: `one`, `on-tap`.
      if (ownerElement !== null && name in ownerElement) removeAttribute.call(ownerElement, name)
    }
  }
}

/** @param {Node} part */
function removeMarkers(part) {
  const comments = doc.createTreeWalker(part, NodeFilter.SHOW_COMMENT)
  /** @type {Comment[]} */
  const markers = []
  while (comments.nextNode() !== null) {
    const comment = /** @type {Comment} */ (comments.currentNode)
    if (MARKER.test(comment.data)) markers.push(comment)
  }
  for (const marker of markers) marker.remove()
}

/** The text leaves as UTF-8, whatever the page's encoding. */
function declareUtf8() {
  for (const meta of page.querySelectorAll('meta[charset], meta[http-equiv="content-type" i]')) meta.remove()
  const meta = doc.createElement('meta')
  meta.setAttribute('charset', 'utf-8')
  ;(doc.head ?? root).prepend(meta)
}
