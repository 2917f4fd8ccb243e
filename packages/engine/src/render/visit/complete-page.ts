import { defaultTreeAdapter, html as names, parse, type DefaultTreeAdapterTypes as Tree } from 'parse5'
import { MARKER, type Snapshot } from './snapshot.ts'

type Element = Tree.Element

export type CompletePage = {
  /** As packages/engine/src/render/in-page/snapshot.js would take it. */
  snapshot: Extract<Snapshot, { kind: 'html' }>
  /** Absolute addresses that a browser would load while parsing. */
  styleSheets: string[]
}

/** Text of a document; null: its encoding is not declared, not known to be read alike, or broken. */
export function documentText(bytes: Buffer, contentType: string): string | null {
  const head = bytes.subarray(0, 1024).toString('latin1')
  const label = head.startsWith('\xef\xbb\xbf')
    ? 'utf-8'
    : (/;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(contentType)?.[1] ??
      /^(?:(?!<!--)[\s\S])*?<meta\s[^>]*?charset\s*=\s*["']?([\w.:-]+)/i.exec(head)?.[1])
  if (label === undefined) return null
  try {
    const decoder = new TextDecoder(label, { fatal: true })
    return /^(?:utf-8|windows-125\d|iso-8859-\d+)$/.test(decoder.encoding) ? decoder.decode(bytes) : null
  } catch {
    return null
  }
}

/** What a render would store of a document that nothing can change once it is parsed. null: there is any doubt. */
export function completePage(text: string, url: string): CompletePage | null {
  if (text.includes('\0')) return null
  const document = parse(text)
  const root = document.childNodes.find((node) => node.nodeName === 'html') as Element
  const [head, body] = ['head', 'body'].map((name) => childNamed(root, name))
  if (head === undefined || body === undefined) return null
  const page = new PageReader(url)
  if (!page.read(root, 1) || (page.hasStyle && document.mode !== 'no-quirks')) return null

  const status = page.metas.find(({ name }) => STATUS.has(name))?.content ?? null
  const headers = page.metas.filter(({ name }) => HEADERS.has(name)).map(({ content }) => content)
  const blank = !page.isShown && (page.mayHide || isHidden(root) || isHidden(body) || isBlank(body))
  const dropped = [...page.dropped, ...page.metas.map(({ element }) => element)]
  for (const node of new Set(dropped)) defaultTreeAdapter.detachNode(node)
  prepend(head, metaCharset())
  putTagsFirst(head)
  const doctype = document.childNodes.find((node) => node.nodeName === '#documentType')
  const html = `${doctypeText(doctype as Tree.DocumentType | undefined)}${serialise(root)}`
  const snapshot = { kind: 'html', html, blank, unscripted: true, statusCode: status } as const
  return { snapshot: { ...snapshot, headers: headers.slice(0, 50) }, styleSheets: page.styleSheets }
}

const STATUS = new Set(['prerender-status-code', 'render:status_code'])
const HEADERS = new Set(['prerender-header', 'render:header'])

/** Elements that run something, hold a document, look at the page from script, or are read in another way when they are parsed. */
const DOUBTFUL = new Set(
  'script template iframe frame frameset object embed applet portal fencedframe select plaintext xmp noembed noframes marquee isindex keygen listing menuitem animate set animatemotion animatetransform'.split(
    ' ',
  ),
)
const HARMLESS_HTTP_EQUIV = new Set(['content-type', 'x-ua-compatible', 'content-language'])
const LOADED_FOR_LATER = /(?:^|\s)(?:import|modulepreload|preload|prefetch|prerender)(?:\s|$)/i
const INPUT_KEEPS_VALUE = new Set([
  'text',
  'search',
  'hidden',
  'submit',
  'button',
  'reset',
  'checkbox',
  'tel',
])
/** Chromium flattens deeper trees. */
const DEPTH_LIMIT = 400

/** Reads the tree once. */
class PageReader {
  readonly metas: { element: Element; name: string; content: string }[] = []
  readonly dropped: Tree.ChildNode[] = []
  readonly styleSheets: string[] = []
  /** Has something that is visible without text. */
  isShown = false
  /** Its own styles decide. */
  mayHide = false
  hasStyle = false
  #base: string

  constructor(url: string) {
    this.#base = url
  }

  /** false: there is doubt. */
  read(element: Element, depth: number): boolean {
    if (depth > DEPTH_LIMIT || !this.#isSound(element)) return false
    for (const child of element.childNodes) {
      if (child.nodeName === '#comment') {
        if (MARKER.test((child as Tree.CommentNode).data)) this.dropped.push(child)
      } else if ('tagName' in child && !this.read(child, depth + 1)) return false
    }
    return true
  }

  #isSound(element: Element): boolean {
    const { tagName, attrs } = element
    const name = tagName.toLowerCase()
    if (name === 'script') return isData(element)
    if (DOUBTFUL.has(name) || (name.includes('-') && element.namespaceURI === names.NS.HTML)) return false
    if (SHOWN.has(name)) this.isShown = true
    for (const { name: attribute, value } of attrs) {
      if (/^on|^is$|^shadowroot/i.test(attribute)) return false
      if (/(?:java|vb)script:|data:text\/html/i.test(value.replace(/[\0-\x20]/g, ''))) return false
    }
    switch (name) {
      case 'base':
        this.#base = URL.parse(attributeOf(element, 'href') ?? '', this.#base)?.href ?? this.#base
        return true
      case 'meta':
        return this.#isSoundMeta(element)
      case 'link':
        return this.#isSoundLink(element)
      case 'style':
        return this.#isSoundStyle(element)
      case 'input':
        return isSoundInput(element)
      case 'textarea':
        return !textOf(element).includes('\r')
      case 'noscript':
        this.dropped.push(element)
        return true
      default:
        return true
    }
  }

  #isSoundStyle(element: Element): boolean {
    const css = textOf(element)
    this.hasStyle = true
    if (/display|visibility|\\/i.test(css)) this.mayHide = true
    // Imported sheets would count as the page's; titles choose among sheets.
    return attributeOf(element, 'title') === null && !/@import|\\/i.test(css)
  }

  #isSoundMeta(element: Element): boolean {
    const httpEquiv = attributeOf(element, 'http-equiv')?.trim().toLowerCase()
    if (httpEquiv !== undefined && !HARMLESS_HTTP_EQUIV.has(httpEquiv)) return false
    if (httpEquiv === 'content-type' || attributeOf(element, 'charset') !== null) this.dropped.push(element)
    const name = (attributeOf(element, 'name') ?? attributeOf(element, 'property') ?? '').toLowerCase()
    if (STATUS.has(name) || HEADERS.has(name))
      this.metas.push({ element, name, content: (attributeOf(element, 'content') ?? '').slice(0, 2_500) })
    return true
  }

  #isSoundLink(element: Element): boolean {
    const relations = attributeOf(element, 'rel') ?? ''
    if (LOADED_FOR_LATER.test(relations)) return false
    if (!/(?:^|\s)stylesheet(?:\s|$)/i.test(relations)) return true
    if (/(?:^|\s)alternate(?:\s|$)/i.test(relations)) return false
    const isUsual = ['title', 'disabled', 'type'].every(
      (name) => (attributeOf(element, name) ?? 'text/css') === 'text/css',
    )
    const url = URL.parse(attributeOf(element, 'href') ?? '', this.#base)
    if (!isUsual || url === null) return false
    url.hash = ''
    if (/^https?:$/.test(url.protocol)) this.styleSheets.push(url.href)
    return true
  }
}

/** Structured data, which nothing on such a page reads. */
function isData(element: Element): boolean {
  const isHtml = element.namespaceURI === names.NS.HTML
  const isStructured = attributeOf(element, 'type')?.trim().toLowerCase() === 'application/ld+json'
  const isPlain = element.attrs.every(
    ({ name }) => name === 'type' || name === 'id' || name.startsWith('data-'),
  )
  return isHtml && isStructured && isPlain && !/<\//.test(textOf(element))
}

/** Its value is what its markup says. */
function isSoundInput(element: Element): boolean {
  const type = (attributeOf(element, 'type') ?? 'text').trim().toLowerCase()
  const value = attributeOf(element, 'value') ?? ''
  if (type === 'radio' || type === 'range' || type === 'color') return false
  return value === '' || (INPUT_KEEPS_VALUE.has(type) && !/[\r\n]/.test(value))
}

const SHOWN = new Set('img picture video audio canvas svg input textarea button hr math'.split(' '))
const NOT_SHOWN = new Set(
  'script style noscript title dialog datalist details area param rp link meta'.split(' '),
)

function isHidden(element: Element): boolean {
  return (
    attributeOf(element, 'hidden') !== null || /display|visibility/i.test(attributeOf(element, 'style') ?? '')
  )
}

/** Returns whether no text is certainly seen. */
function isBlank(element: Element): boolean {
  return element.childNodes.every((child) => {
    if (child.nodeName === '#text') return (child as Tree.TextNode).value.trim() === ''
    return !('tagName' in child) || NOT_SHOWN.has(child.tagName) || isHidden(child) || isBlank(child)
  })
}

const VOID = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '))
const RAW = new Set(['style', 'script', 'noscript'])
/** A parser drops their first line feed. */
const LOSES_LINE_FEED = new Set(['pre', 'textarea', 'listing'])
const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '\xa0': '&nbsp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

/** Escapes as Chromium does: it escapes `<` and `>` in attributes too. */
function serialise(node: Tree.ChildNode, isRaw = false): string {
  if (node.nodeName === '#comment') return `<!--${(node as Tree.CommentNode).data}-->`
  if (node.nodeName === '#text') {
    const { value } = node as Tree.TextNode
    return isRaw ? value : value.replace(/[&\xa0<>]/g, (char) => ESCAPES[char]!)
  }
  const { tagName, attrs, namespaceURI, childNodes } = node as Element
  const isHtml = namespaceURI === names.NS.HTML
  let text = `<${tagName}`
  for (const { prefix, name, value } of attrs) {
    const escaped = value.replace(/[&\xa0<>"]/g, (char) => ESCAPES[char]!)
    text += ` ${prefix ? `${prefix}:` : ''}${name}="${escaped}"`
  }
  text += '>'
  if (isHtml && VOID.has(tagName)) return text
  const first = childNodes[0]
  const isRead = isHtml && LOSES_LINE_FEED.has(tagName) && first?.nodeName === '#text'
  if (isRead && (first as Tree.TextNode).value.startsWith('\n')) text += '\n'
  for (const child of childNodes) text += serialise(child, isHtml && RAW.has(tagName))
  return `${text}</${tagName}>`
}

const PREVIEW_NAMES = /^(?:og:|twitter:)/i

/** Places it as the snapshot of a render does: in the page's order, before its first style. */
function putTagsFirst(head: Element): void {
  const first = head.childNodes.findIndex(({ nodeName }) => nodeName === 'style')
  if (first === -1) return
  const style = head.childNodes[first]!
  for (const tag of head.childNodes.slice(first + 1)) {
    if (!('tagName' in tag) || !isPreview(tag)) continue
    defaultTreeAdapter.detachNode(tag)
    defaultTreeAdapter.insertBefore(head, tag, style)
  }
}

function isPreview(tag: Element): boolean {
  if (tag.tagName === 'title') return true
  if (tag.tagName === 'link') return /(?:^|\s)canonical(?:\s|$)/i.test(attributeOf(tag, 'rel') ?? '')
  if (tag.tagName !== 'meta') return false
  const [name, property] = [attributeOf(tag, 'name') ?? '', attributeOf(tag, 'property') ?? '']
  return name.toLowerCase() === 'description' || PREVIEW_NAMES.test(name) || PREVIEW_NAMES.test(property)
}

function metaCharset(): Element {
  return defaultTreeAdapter.createElement('meta', names.NS.HTML, [{ name: 'charset', value: 'utf-8' }])
}

function prepend(parent: Element, child: Element): void {
  const first = parent.childNodes[0]
  if (first === undefined) defaultTreeAdapter.appendChild(parent, child)
  else defaultTreeAdapter.insertBefore(parent, child, first)
}

function doctypeText(type: Tree.DocumentType | undefined): string {
  if (type === undefined) return ''
  const { name, publicId, systemId } = type
  if (/["<>]/.test(publicId + systemId)) return `<!DOCTYPE ${name}>\n`
  const identifiers = publicId !== '' ? ` PUBLIC "${publicId}"` : systemId !== '' ? ' SYSTEM' : ''
  return `<!DOCTYPE ${name}${identifiers}${systemId === '' ? '' : ` "${systemId}"`}>\n`
}

function childNamed(parent: Element, name: string): Element | undefined {
  return parent.childNodes.find((node) => node.nodeName === name) as Element | undefined
}

function attributeOf({ attrs }: Element, name: string): string | null {
  return attrs.find((attribute) => attribute.name === name)?.value ?? null
}

function textOf({ childNodes }: Element): string {
  return childNodes.map((node) => (node.nodeName === '#text' ? (node as Tree.TextNode).value : '')).join('')
}
