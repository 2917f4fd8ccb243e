// Runs in an isolated world, where the page cannot change functions. Changes the document.

// HTML, "prepare the script element": JavaScript MIME types (MIME Sniffing, section 4.6), modules, and what Chromium loads.
const EXECUTABLE =
  /^(?:(?:application|text)\/(?:x-)?(?:ecma|java)script|text\/(?:javascript1\.[0-5]|jscript|livescript)|module|importmap|speculationrules|webbundle)?$/i
const LOADED_FOR_SCRIPTS =
  'link[rel~="import" i], link[rel~="modulepreload" i], link[rel~="preload" i][as="script" i], link[rel~="prefetch" i][as="script" i]'
// The URL Standard ignores leading controls and spaces, and tabs and line breaks anywhere.
const JAVASCRIPT_URL = new RegExp(`^[\\0-\\x20]*${[...'javascript:'].join('[\\t\\n\\r]*')}`, 'i')
const WITH_URLS =
  '[*|href], [src], [action], [formaction], [data], [to], [from], [values], [srcdoc], [xlink\\:href]'
const URL_ATTRIBUTES = ['href', 'xlink:href', 'src', 'action', 'formaction', 'data', 'to', 'from', 'values']
const FRAMES = new Set(['IFRAME', 'FRAME', 'OBJECT', 'EMBED'])
const DATA_DOCUMENT = /^[\0-\x20]*data:[^,]*(?:html|xml)/i
const FRAMES_DEPTH = 3
// Written raw: an end tag in the text would end the element (HTML, "serialising HTML fragments").
const RAW_TEXT = 'style, script, xmp, iframe, noembed, noframes, noscript, plaintext'
// Forms and images can hide properties of the document by their names, in every world.
const doc = {
  root: own('documentElement'),
  head: own('head'),
  body: own('body'),
  doctype: own('doctype'),
  createElement: own('createElement'),
  createTreeWalker: own('createTreeWalker'),
  getAnimations: own('getAnimations'),
  contentType: own('contentType'),
}
const {
  getAttribute,
  getAttributeNames,
  setAttribute,
  removeAttribute,
  removeAttributeNode,
  checkVisibility,
} = Element.prototype
const { dispatchEvent: dispatch } = EventTarget.prototype
/** @type {(this: Element) => Document | null} */
const contentDocumentOf = /** @type {never} */ (
  Object.getOwnPropertyDescriptor(HTMLIFrameElement.prototype, 'contentDocument')?.get
)
/** @type {(this: Element) => NamedNodeMap} */
const attributesOf = /** @type {never} */ (
  Object.getOwnPropertyDescriptor(Element.prototype, 'attributes')?.get
)

const { root } = doc

/** A document. @typedef {Pick<Document, 'querySelector' | 'querySelectorAll' | 'children' | 'adoptedStyleSheets'>} Scope */
/** A document, a shadow root, or one that is yet to be. @typedef {Scope | DocumentFragment} Part */
/** @type {Scope} */
const page = {
  querySelector: own('querySelector'),
  querySelectorAll: own('querySelectorAll'),
  children: own('children'),
  adoptedStyleSheets: own('adoptedStyleSheets'),
}

/**
 * `marker`: comments to remove; `change`: of the owner's rule, null: none.
 * @param {number} maxChars @param {number} maxElements @param {RegExp} marker @param {Change | null} change
 */
// biome-ignore lint/correctness/noUnusedVariables: packages/engine/src/render/visit/snapshot.ts calls it
function takeSnapshot(maxChars, maxElements, marker, change) {
  // Chromium shows images and texts in a generated document.
  const isHtml = doc.contentType === 'text/html' || doc.contentType === 'application/xhtml+xml'
  if (!isHtml || !(root instanceof HTMLHtmlElement)) return { kind: 'not-html' }
  dispatch.call(document, new Event('prepaint-capture'))

  /** @type {Part[]} */
  const scopes = [page]
  /** @type {Element[]} */
  const scripts = []
  let elements = 0
  let unscripted = true
  for (const scope of scopes) {
    const found = scope.querySelectorAll('*')
    elements += found.length
    if (elements > maxElements) return { kind: 'too-large', what: 'elements' }
    for (const element of found) {
      const { shadowRoot, localName } = element
      if (removeHandlers(element)) unscripted = false
      if (shadowRoot instanceof ShadowRoot) scopes.push(shadowRoot)
      if (localName === 'script' || isScriptInCapitals(localName)) scripts.push(element)
      // Once parsed again, it is a shadow root.
      else if (element instanceof HTMLTemplateElement && element.hasAttribute('shadowrootmode'))
        scopes.push(element.content)
    }
  }
  const shadowRoots = scopes.filter((scope) => scope instanceof ShadowRoot)
  writeAnimations(doc.getAnimations())
  for (const shadowRoot of shadowRoots) writeAnimations(shadowRoot.getAnimations())

  const blank = isBlank(scopes)
  const metas = takeMetas()
  if (scopes.length > 1) unscripted = false
  for (const script of scripts) {
    if (!isExecutable(script)) continue
    script.remove()
    unscripted = false
  }
  for (const scope of scopes) {
    for (const fallback of scope.querySelectorAll('noscript')) fallback.remove()
    writeForms(scope)
    writeStyles(scope)
    if (removeUrls(scope)) unscripted = false
    removeMarkers(scope instanceof DocumentFragment ? scope : root, marker)
    escapeRawText(scope)
    keepLineFeeds(scope)
  }
  declareUtf8()

  putTagsFirst()
  const { changes = null, markTags } = change === null ? {} : changePage(change, scopes)
  const written = () => `${doctype()}${openTag(root)}${root.getHTML({ shadowRoots })}</html>`
  let unmarked = written()
  if (unmarked.includes('blob:')) {
    for (const scope of scopes) removeBlobs(scope)
    unmarked = written()
  }
  const html = markTags?.(unmarked) ?? unmarked
  if (html.length > maxChars) return { kind: 'too-large', what: 'snapshot-bytes' }
  return { kind: 'html', html: asAscii(html), blank, unscripted, ...metas, changes }
}

/** @param {Element} element */
function openTag(element) {
  const empty = /** @type {Element} */ (element.cloneNode(false)).outerHTML
  return empty.slice(0, empty.lastIndexOf('</'))
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
  if (/["<>]/.test(publicId + systemId)) return `<!DOCTYPE ${name}>\n`
  const identifiers = publicId !== '' ? ` PUBLIC "${publicId}"` : systemId !== '' ? ' SYSTEM' : ''
  return `<!DOCTYPE ${name}${identifiers}${systemId === '' ? '' : ` "${systemId}"`}>\n`
}

/** Whether there is neither text nor anything visible. @param {Part[]} scopes */
function isBlank(scopes) {
  if (doc.body === null) return true
  const shown =
    'img,picture,video,audio,canvas,svg,iframe,frame,object,embed,input,select,textarea,button,hr,math'
  const silent = new Set(['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'TITLE'])
  for (const scope of scopes) {
    const part = scope instanceof DocumentFragment ? scope : doc.body
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
    if (name === 'prerender-status-code' || name === 'render:status_code') statusCode ??= content
    else if (name === 'prerender-header' || name === 'render:header') headers.push(content)
    else continue
    meta.remove()
  }
  return { statusCode, headers: headers.slice(0, 50) }
}

/** Form state lives in properties, not in the markup. @param {Part} scope */
function writeForms(scope) {
  // By name: fields of frames have classes of their own realm.
  for (const field of scope.querySelectorAll('input, option, textarea')) {
    if (field.localName === 'textarea') writeValue(/** @type {HTMLTextAreaElement} */ (field))
    else if (field.localName === 'option') writeChoice(/** @type {HTMLOptionElement} */ (field))
    else writeInput(/** @type {HTMLInputElement} */ (field))
  }
}

/** @param {HTMLTextAreaElement | HTMLInputElement} field */
function writeValue(field) {
  if (field.value !== field.defaultValue) field.defaultValue = field.value
}

/** @param {HTMLOptionElement} option */
function writeChoice(option) {
  if (option.selected !== option.defaultSelected) option.defaultSelected = option.selected
}

/** @param {HTMLInputElement} input */
function writeInput(input) {
  const { type } = input
  if (type === 'checkbox' || type === 'radio') {
    if (input.checked !== input.defaultChecked) input.defaultChecked = input.checked
  } else if (type !== 'password' && type !== 'file') writeValue(input)
}

/**
 * Where a script's animations have ended and hold their last state, nothing else says it. CSS's own begin again.
 * @param {Animation[]} animations
 */
function writeAnimations(animations) {
  for (const animation of animations) {
    const { effect, playState, playbackRate } = animation
    if (animation instanceof CSSAnimation || animation instanceof CSSTransition) continue
    if (!(effect instanceof KeyframeEffect) || effect.target === null || effect.pseudoElement !== null)
      continue
    const { fill, endTime } = effect.getComputedTiming()
    if (fill !== 'both' && fill !== (playbackRate < 0 ? 'backwards' : 'forwards')) continue
    try {
      if (playState === 'running' && Number.isFinite(Number(endTime))) animation.finish()
      if (animation.playState !== 'finished') continue
      animation.commitStyles()
      writeLastFrame(effect)
    } catch {
      // Not rendered, or it holds no last state.
    }
  }
}

/** In the page's own words where it ends at one of its frames: `none`, not a transform that does nothing. @param {KeyframeEffect} effect */
function writeLastFrame(effect) {
  const { target, composite } = effect
  const { progress } = effect.getComputedTiming()
  if (composite !== 'replace' || !(target instanceof HTMLElement || target instanceof SVGElement)) return
  for (const { offset, computedOffset, easing, composite: own, ...values } of effect.getKeyframes()) {
    if (computedOffset !== progress || (own !== 'auto' && own !== 'replace')) continue
    for (const [name, value] of Object.entries(values)) {
      const property = name
        .replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
        .replace(/^css-/, '')
        .replace(/^webkit-/, '-webkit-')
      target.style.setProperty(name.startsWith('--') ? name : property, `${value}`)
    }
  }
}

/** Rules that exist only in the CSSOM: inserted by script, or in adopted sheets. @param {Part} scope */
function writeStyles(scope) {
  for (const style of scope.querySelectorAll('style')) {
    const { sheet } = style
    if (!(style instanceof HTMLStyleElement) || sheet === null) continue
    const rules = rulesOf(sheet)
    if (rules !== null && rules !== rulesOf(parsed(style.textContent)))
      style.textContent = asStyleText(`${importsOf(sheet)}${rules}`)
    if (sheet.disabled) style.media = 'not all'
  }
  for (const link of scope.querySelectorAll('link[rel~="stylesheet" i][href^="blob:" i]')) {
    const sheet = link instanceof HTMLLinkElement ? link.sheet : null
    const rules = sheet && rulesOf(sheet)
    if (!rules) continue
    const style = doc.createElement('style')
    style.textContent = asStyleText(rules)
    if (sheet.media.mediaText !== '') style.media = sheet.media.mediaText
    link.replaceWith(style)
  }
  for (const sheet of 'adoptedStyleSheets' in scope ? scope.adoptedStyleSheets : []) {
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

/** The parser makes a script of it, whatever made it here. @param {unknown} name */
function isScriptInCapitals(name) {
  return typeof name === 'string' && name.length === 6 && name.toLowerCase() === 'script'
}

/** @param {Element} script */
function isExecutable(script) {
  const isHtml = script instanceof HTMLScriptElement
  // An empty type is JavaScript, whatever the language; SVG has no language.
  const language = isHtml ? script.getAttribute('language') : null
  return EXECUTABLE.test((script.getAttribute('type') ?? (language ? `text/${language}` : '')).trim())
}

/** Returns whether anything was removed. @param {Part | Element} part @param {number} [depth] */
function removeUrls(part, depth = 0) {
  let removed = 0
  for (const link of part.querySelectorAll(LOADED_FOR_SCRIPTS)) {
    link.remove()
    removed++
  }
  if (depth < FRAMES_DEPTH)
    for (const frame of part.querySelectorAll('iframe')) if (cleanFrame(frame, depth)) removed++
  for (const element of part.querySelectorAll(WITH_URLS)) {
    const isFrame = FRAMES.has(element.tagName)
    for (const name of URL_ATTRIBUTES) {
      const url = getAttribute.call(element, name)
      if (url === null || !(JAVASCRIPT_URL.test(url) || (isFrame && DATA_DOCUMENT.test(url)))) continue
      removeAttribute.call(element, name)
      removed++
    }
  }
  return removed > 0
}

/**
 * Handlers, and names in capitals, which only scripts can set: the parser reads `ONERROR` and `HREF` in small letters.
 * SVG and MathML have capitals of their own (`viewBox`). Returns whether anything was removed. @param {Element} element
 */
function removeHandlers(element) {
  if (!getAttributeNames.call(element).some((name) => /^on|[A-Z]/.test(name))) return false
  const isForeign = element instanceof SVGElement || element instanceof MathMLElement
  const removed = [...attributesOf.call(element)].filter((attribute) => {
    const name = attribute.name.toLowerCase()
    const isMisread = name !== attribute.name && (!isForeign || URL_ATTRIBUTES.includes(name))
    return isMisread || (name.startsWith('on') && isHandler(name, element))
  })
  for (const attribute of removed) removeAttributeNode.call(element, attribute)
  return removed.length > 0
}

/** Not every name with these letters is an event's: `one`, `on-tap`. @param {string} name @param {Element} element */
function isHandler(name, element) {
  // The parser may make an HTML element of one that is none here.
  return (
    name in element ||
    name in HTMLElement.prototype ||
    name in HTMLBodyElement.prototype ||
    name in SVGAnimationElement.prototype
  )
}

/** Returns whether anything was removed. @param {Element} frame @param {number} depth */
function cleanFrame(frame, depth) {
  const final = finalText(frame, depth)
  const text = final ?? getAttribute.call(frame, 'srcdoc')
  if (text === null) return false
  const inner = new DOMParser().parseFromString(text, 'text/html')
  const top = /** @type {Element} */ (inner.documentElement)
  const handled = [top, ...top.querySelectorAll('*')].filter(removeHandlers)
  const scripts = [...top.querySelectorAll('script')].filter(isExecutable)
  for (const script of scripts) script.remove()
  const fallbacks = top.querySelectorAll('noscript')
  for (const fallback of fallbacks) fallback.remove()
  const isChanged = removeUrls(top, depth + 1) || scripts.length + handled.length + fallbacks.length > 0
  if (!isChanged && final === null) return false
  keepLineFeeds(top)
  const doctype = inner.compatMode === 'CSS1Compat' ? '<!DOCTYPE html>' : ''
  setAttribute.call(frame, 'srcdoc', doctype + top.outerHTML)
  if (final !== null) removeAttribute.call(frame, 'src')
  return true
}

const WITHOUT_ADDRESS = /^[\0-\x20]*(?:$|about:|blob:|javascript:)/i
const FRAME_LIMIT_CHARS = 1_000_000

/** The document of a frame that no client could load, as it is now. null: it has an address, or is as its markup says. @param {Element} frame @param {number} depth @returns {string | null} */
function finalText(frame, depth) {
  const srcdoc = getAttribute.call(frame, 'srcdoc')
  if (srcdoc === null && !WITHOUT_ADDRESS.test(getAttribute.call(frame, 'src') ?? '')) return null
  const inner = contentDocumentOf.call(frame)
  const top = inner?.documentElement
  // A frame of another realm: its classes are not ours.
  if (!inner || !top || top.localName !== 'html') return null
  if (depth + 1 < FRAMES_DEPTH) {
    for (const nested of inner.querySelectorAll('iframe')) {
      const text = finalText(nested, depth + 1)
      if (text !== null) setAttribute.call(nested, 'srcdoc', text)
    }
  }
  writeForms(inner)
  const text = htmlOf(top)
  if (text.length > FRAME_LIMIT_CHARS) return null
  if (srcdoc === null) {
    const shown = inner.body?.querySelector('*:not(script, style, noscript)') ?? null
    if (shown === null && (inner.body?.textContent ?? '').trim() === '') return null
  } else if (new DOMParser().parseFromString(srcdoc, 'text/html').documentElement.outerHTML === text)
    return null
  return (inner.compatMode === 'CSS1Compat' ? '<!DOCTYPE html>' : '') + text
}

/** With its shadow roots. @param {Element} top @returns {string} */
function htmlOf(top) {
  const hosts = [...top.querySelectorAll('*')]
  const shadowRoots = hosts.flatMap(({ shadowRoot }) => shadowRoot ?? [])
  return shadowRoots.length === 0 ? top.outerHTML : `${openTag(top)}${top.getHTML({ shadowRoots })}</html>`
}

/** No other client has the page's blobs. @param {Part} part */
function removeBlobs(part) {
  const IN_STYLE = /url\(\s*(["']?)blob:[^)]*\)/gi
  const attributes = [
    'src',
    'srcset',
    'href',
    'xlink:href',
    'poster',
    'data',
    'action',
    'formaction',
    'background',
  ]
  for (const element of part.querySelectorAll('*')) {
    for (const name of attributes) {
      const value = getAttribute.call(element, name)
      if (value?.includes('blob:') && /(?:^|,)[\0-\x20]*blob:/i.test(value))
        removeAttribute.call(element, name)
    }
    const style = getAttribute.call(element, 'style')
    if (style?.includes('blob:')) setAttribute.call(element, 'style', style.replace(IN_STYLE, 'none'))
    if (element.localName === 'style' && element.textContent?.includes('blob:'))
      element.textContent = element.textContent.replace(IN_STYLE, 'url("data:,")')
  }
}

/** A parser drops the first line feed of these (HTML, section 13.2.6.4.7). @param {Part | Element} part */
function keepLineFeeds(part) {
  for (const element of part.querySelectorAll('pre, textarea, listing')) {
    const first = element.firstChild
    if (first instanceof Text && first.data.startsWith('\n')) first.data = `\n${first.data}`
  }
}

/** @param {Part} part */
function escapeRawText(part) {
  for (const element of part.querySelectorAll(RAW_TEXT)) {
    const text = element.textContent ?? ''
    const endTag = new RegExp(`</(?=${element.localName})`, 'gi')
    // The same text in CSS, JavaScript and JSON.
    if (text.includes('</') && endTag.test(text)) element.textContent = text.replace(endTag, '<\\/')
    if (element.localName === 'script' && text.includes('<!--')) openScriptData(element)
  }
}

/**
 * Behind `<!--` and `<script` the parser ignores the element's own end tag (HTML, "script data double escaped state"),
 * and the rest of the page with it. @param {Element} script
 */
function openScriptData(script) {
  const text = script.textContent ?? ''
  if (!/<script[\s/>]/i.test(text)) return
  const isJson = /json|map|rules/i.test(getAttribute.call(script, 'type') ?? '')
  script.textContent = text.replace(/<(?=!--|script[\s/>])/gi, isJson ? '\\u003c' : '\\x3c')
}

/** @param {Node} part @param {RegExp} marker */
function removeMarkers(part, marker) {
  const comments = doc.createTreeWalker(
    part,
    NodeFilter.SHOW_COMMENT | NodeFilter.SHOW_PROCESSING_INSTRUCTION,
  )
  /** @type {CharacterData[]} */
  const markers = []
  while (comments.nextNode() !== null) {
    const comment = /** @type {CharacterData} */ (comments.currentNode)
    if (!(comment instanceof Comment) || marker.test(comment.data)) markers.push(comment)
  }
  for (const marker of markers) marker.remove()
}

const PREVIEW_TAGS =
  'title, meta[name="description" i], link[rel~="canonical" i], meta[property^="og:" i], meta[name^="og:" i], meta[property^="twitter:" i], meta[name^="twitter:" i]'

/** Crawlers of social networks read the first kilobytes only. In the page's order, before its first style. */
function putTagsFirst() {
  const style = doc.head?.querySelector('style') ?? null
  if (style === null) return
  for (const tag of doc.head.querySelectorAll(PREVIEW_TAGS)) {
    if (style.compareDocumentPosition(tag) & Node.DOCUMENT_POSITION_FOLLOWING) style.before(tag)
  }
}

/** The text leaves as UTF-8, whatever the page's encoding. */
function declareUtf8() {
  for (const meta of page.querySelectorAll('meta[charset], meta[http-equiv="content-type" i]')) meta.remove()
  const meta = doc.createElement('meta')
  meta.setAttribute('charset', 'utf-8')
  ;(doc.head ?? root).prepend(meta)
}
