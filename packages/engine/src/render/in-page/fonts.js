// Fonts are not downloaded. The page sees each font of the network as loaded.
if (window.FontFace && document.fonts) {
  const { FontFace } = window
  const { fonts } = document
  // Older browsers have no global of this name.
  const fontFaceSet = /** @type {FontFaceSet} */ (Object.getPrototypeOf(fonts))
  const { forEach } = fontFaceSet
  const nativeStatus = Object.getOwnPropertyDescriptor(FontFace.prototype, 'status')?.get

  /** Faces that no browser could load: of the page's own bytes, or written wrongly. @type {WeakSet<FontFace>} */
  const ownFaults = new WeakSet()
  /** What scripts said of where a face is. @type {WeakMap<FontFace, string>} */
  const sources = new WeakMap()
  /** @param {FontFace} face */
  const isRefused = (face) => nativeStatus?.call(face) === 'error' && !ownFaults.has(face)
  window.FontFace = new Proxy(FontFace, {
    construct(target, given, newTarget) {
      const face = Reflect.construct(target, given, newTarget)
      if (typeof given[1] !== 'string' || nativeStatus?.call(face) === 'error') ownFaults.add(face)
      else sources.set(face, given[1])
      return face
    },
  })
  Object.defineProperty(window, 'FontFace', { enumerable: false })
  Object.defineProperty(FontFace.prototype, 'constructor', { value: window.FontFace })

  intercept(FontFace.prototype, 'status', (_native, face) =>
    isRefused(face) ? 'loaded' : nativeStatus?.call(face),
  )
  /** @type {WeakMap<FontFace, Promise<FontFace>>} */
  const loads = new WeakMap()
  for (const name of ['load', 'loaded']) {
    intercept(FontFace.prototype, name, (native, face, given) => {
      const result = apply(native, face, given)
      if (ownFaults.has(face)) return result
      const known = loads.get(face)
      if (known !== undefined) return known
      const load = /** @type {Promise<FontFace>} */ (then.call(result, undefined, () => face))
      loads.set(face, load)
      return load
    })
  }

  /** The set's faces of the families that a font names. @param {string} font */
  const facesOf = (font) => {
    const named = font.toLowerCase()
    /** @type {FontFace[]} */
    const found = []
    forEach.call(fonts, (face) => {
      const family = face.family.replace(/^["']|["']$/g, '').toLowerCase()
      if (named.includes(family)) found[found.length] = face
    })
    return found
  }
  intercept(fontFaceSet, 'load', (native, self, given) =>
    then.call(apply(native, self, given), undefined, (/** @type {DOMException} */ error) => {
      if (error.name === 'SyntaxError') throw error
      return facesOf(`${given[0]}`).filter(isRefused)
    }),
  )
  intercept(
    fontFaceSet,
    'check',
    (native, self, given) => apply(native, self, given) || facesOf(`${given[0]}`).some(isRefused),
  )
  /** @type {WeakSet<FontFace>} */
  const told = new WeakSet()
  const hide = (/** @type {Event} */ event) => {
    if (event.isTrusted) event.stopImmediatePropagation()
  }
  nativeListen.call(fonts, 'loadingerror', hide)
  nativeListen.call(fonts, 'loadingdone', (event) => {
    if (!event.isTrusted) return
    /** @type {FontFace[]} */
    const faces = []
    forEach.call(fonts, (face) => {
      if (!isRefused(face) || told.has(face)) return
      told.add(face)
      faces[faces.length] = face
    })
    const { fontfaces } = /** @type {FontFaceSetLoadEvent} */ (event)
    Object.defineProperty(event, 'fontfaces', { value: Object.freeze([...fontfaces, ...faces]) })
  })

  const DESCRIPTORS = /** @type {const} */ ([
    ['style', 'font-style', 'normal'],
    ['weight', 'font-weight', 'normal'],
    ['stretch', 'font-stretch', 'normal'],
    ['display', 'font-display', 'auto'],
    ['unicodeRange', 'unicode-range', 'U+0-10FFFF'],
    ['featureSettings', 'font-feature-settings', 'normal'],
  ])
  /** @param {FontFace} face @param {string} source */
  const faceRule = (face, source) => {
    const family = face.family.replace(/^["']|["']$/g, '').replace(/["\\]/g, '\\$&')
    let rule = `@font-face { font-family: "${family}"; src: ${source};`
    for (let at = 0; at < DESCRIPTORS.length; at++) {
      const [name, descriptor, usual] = /** @type {(typeof DESCRIPTORS)[number]} */ (DESCRIPTORS[at])
      if (face[name] !== usual) rule += ` ${descriptor}: ${face[name]};`
    }
    return `${rule} }\n`
  }
  beforeCapture[beforeCapture.length] = () => {
    let rules = ''
    forEach.call(fonts, (face) => {
      const source = sources.get(face)
      if (source !== undefined) rules += faceRule(face, source)
    })
    writeRules(rules)
  }
}
