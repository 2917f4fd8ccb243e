import type { Element, ElementContent, Nodes, Properties, Root } from 'hast'
import { fromHtml } from 'hast-util-from-html'

export type Head = {
  title: string | null
  description: string | null
  /** Absolute. */
  canonical: string | null
  language: string | null
  robots: string | null
  /** Types of its JSON-LD. */
  types: string[]
  /** Base of relative URLs. */
  base: string
}

/** `tags`: its titles, metas and links, in order. */
export type PageTree = { head: Head; tags: Element[]; body: Root; firstH1: Element | null }

/** The page as people see it: shadow roots flattened, hidden elements left out. */
export function readPage(html: string, url: string): PageTree {
  const document = fromHtml(html)
  const head = readHead(document, url)
  const top = elementNamed(document, 'html')
  const body = top && elementNamed(top, 'body')
  const flat: Root = { type: 'root', children: body === null ? [] : flatten(body.children, null) }
  return { head, tags: tagsOf(document), body: flat, firstH1: find(flat, ({ tagName }) => tagName === 'h1') }
}

/** The first in document order. */
export function find(node: Nodes, test: (element: Element) => boolean): Element | null {
  if (node.type === 'element' && test(node)) return node
  if (!('children' in node)) return null
  for (const child of node.children) {
    const found = find(child, test)
    if (found !== null) return found
  }
  return null
}

export function textOf(node: Nodes): string {
  if (node.type === 'text') return node.value
  return 'children' in node ? node.children.map(textOf).join('') : ''
}

/** One line. null: absent or empty. */
export function attribute({ properties }: Element, name: keyof Properties): string | null {
  const value = properties[name]
  const text = Array.isArray(value) ? value.join(' ') : value === undefined ? '' : String(value)
  return text.replace(/\s+/g, ' ').trim() || null
}

/** Without what is not rendered. `display: none` counts inline only: style sheets are not read. */
function isHidden(element: Element): boolean {
  const { tagName, properties } = element
  if (NOT_RENDERED.has(tagName) || (properties['hidden'] !== undefined && properties['hidden'] !== false))
    return true
  if (tagName === 'dialog' && properties['open'] === undefined) return true
  // The second, visual copy of a formula.
  if (Array.isArray(properties['className']) && properties['className'].includes('katex-html')) return true
  return /(?:^|;)\s*display\s*:\s*none\s*(?:!\s*important\s*)?(?:;|$)/i.test(
    attribute(element, 'style') ?? '',
  )
}

const NOT_RENDERED = new Set(
  'script style template noscript canvas datalist link meta title noembed noframes param source track area'.split(
    ' ',
  ),
)

type Slots = ReadonlyMap<string, ElementContent[]>

/** `slots`: what fills the slots of the shadow tree that these nodes belong to. */
function flatten(nodes: readonly Nodes[], slots: Slots | null): ElementContent[] {
  return nodes.flatMap((node): ElementContent[] => {
    if (node.type === 'text') return [node]
    if (node.type !== 'element' || isHidden(node)) return []
    return [{ ...node, children: childrenOf(node, slots) }]
  })
}

function childrenOf(element: Element, slots: Slots | null): ElementContent[] {
  if (element.tagName === 'slot' && slots !== null) {
    const assigned = slots.get(attribute(element, 'name') ?? '')
    return assigned ?? flatten(element.children, slots)
  }
  const shadow = element.children.find(
    (child) =>
      child.type === 'element' && child.tagName === 'template' && attribute(child, 'shadowRootMode') !== null,
  )
  const light = flatten(element.children, slots)
  if (shadow?.type !== 'element') return light
  return flatten(shadow.content?.children ?? [], Map.groupBy(light, slotOf))
}

function slotOf(node: ElementContent): string {
  return node.type === 'element' ? (attribute(node, 'slot') ?? '') : ''
}

function elementNamed(parent: Root | Element, name: string): Element | null {
  for (const child of parent.children) if (child.type === 'element' && child.tagName === name) return child
  return null
}

// Also from outside of the head: browsers move misplaced elements.
function readHead(document: Root, url: string): Head {
  const head: Head = {
    ...{ title: null, description: null, canonical: null, language: null, robots: null },
    ...{ types: [], base: url },
  }
  const base = find(document, (one) => one.tagName === 'base' && attribute(one, 'href') !== null)
  if (base !== null) head.base = URL.parse(attribute(base, 'href') ?? '', url)?.href ?? url
  const robots: string[] = []
  eachElement(document, (element) => {
    const { tagName } = element
    if (tagName === 'html') head.language = attribute(element, 'lang')
    if (tagName === 'title') head.title ??= textOf(element).replace(/\s+/g, ' ').trim() || null
    if (tagName === 'link' && attribute(element, 'rel')?.toLowerCase().split(' ').includes('canonical')) {
      head.canonical ??= URL.parse(attribute(element, 'href') ?? '', head.base)?.href ?? null
    }
    const name = tagName === 'meta' ? attribute(element, 'name')?.toLowerCase() : undefined
    if (name === 'description') head.description ??= attribute(element, 'content')
    if (name === 'robots') robots.push(attribute(element, 'content') ?? '')
    if (tagName === 'script' && attribute(element, 'type')?.toLowerCase() === 'application/ld+json') {
      head.types.push(...typesOf(textOf(element)))
    }
  })
  head.types = [...new Set(head.types)]
  head.robots = robots.filter(Boolean).join(', ') || null
  return head
}

function tagsOf(document: Root): Element[] {
  const tags: Element[] = []
  eachElement(document, (one) => {
    if (one.tagName === 'title' || one.tagName === 'meta' || one.tagName === 'link') tags.push(one)
  })
  return tags
}

/** SVG has titles of its own. */
function eachElement(node: Nodes, visit: (element: Element) => void): void {
  if (node.type === 'element') {
    if (node.tagName === 'svg') return
    visit(node)
  }
  if ('children' in node) for (const child of node.children) eachElement(child, visit)
}

const TYPES = 50

function typesOf(json: string): string[] {
  const types: string[] = []
  const read = (value: unknown, depth: number): void => {
    if (typeof value !== 'object' || value === null || depth > 3 || types.length >= TYPES) return
    if (Array.isArray(value)) {
      for (const one of value) read(one, depth + 1)
      return
    }
    const { '@type': type, '@graph': graph } = value as Record<string, unknown>
    for (const one of Array.isArray(type) ? type : [type]) if (typeof one === 'string') types.push(one)
    read(graph, depth + 1)
  }
  try {
    read(JSON.parse(json), 0)
  } catch {
    // Broken structured data has no types.
  }
  return types.slice(0, TYPES)
}
