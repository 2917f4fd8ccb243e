import type { Element, ElementContent, Nodes, Properties, Root } from 'hast'
import { fromHtml } from 'hast-util-from-html'
import { toText } from 'hast-util-to-text'

/** `tags`: its titles, metas and links, in order. `drawn`: paragraphs of drawings. */
export type PageTree = {
  tags: Element[]
  body: Root
  firstH1: Element | null
  drawn(): Element[]
}

/**
 * The page as people see it, as a tree: shadow roots flattened, hidden elements left out. What its head says is in its
 * reading.
 */
export function readTree(html: string): PageTree {
  const document = fromHtml(html)
  const tags = findAll(document, ({ tagName }) => HEAD_TAGS.has(tagName))
  const top = find(document, ({ tagName }) => tagName === 'body')
  const body: Root = { type: 'root', children: flatten(top?.children ?? [], null) }
  const firstH1 = find(body, ({ tagName }) => tagName === 'h1')
  return { tags, body, firstH1, drawn: () => drawnText(top?.children ?? []) }
}

const HEAD_TAGS = new Set(['title', 'meta', 'link'])

/** Finds elements in document order, but not in SVG, which has titles of its own. */
export function findAll(node: Nodes, test: (element: Element) => boolean): Element[] {
  if (node.type === 'element' && node.tagName === 'svg') return []
  const below = 'children' in node ? node.children.flatMap((child) => findAll(child, test)) : []
  return node.type === 'element' && test(node) ? [node, ...below] : below
}

export function find(node: Nodes, test: (element: Element) => boolean): Element | null {
  return findAll(node, test)[0] ?? null
}

/** The text on one line. */
export function lineOf(node: Nodes): string {
  return toText(node).replace(/\s+/g, ' ').trim()
}

/** Returns the value on one line, or null if it is absent or empty. */
export function attribute({ properties }: Element, name: keyof Properties): string | null {
  const value = properties[name]
  if (value === undefined) return null
  const text = Array.isArray(value) ? value.join(' ') : String(value)
  return text.replace(/\s+/g, ' ').trim() || null
}

/** Whether an element is not rendered. `display: none` counts inline only: style sheets are not read. */
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
  'script style template noscript svg canvas datalist link meta title noembed noframes param source track area'.split(
    ' ',
  ),
)

/** The lines of text in SVG. */
function drawnText(nodes: readonly Nodes[]): Element[] {
  return nodes.flatMap((node): Element[] => {
    if (node.type !== 'element' || (node.tagName !== 'svg' && isHidden(node))) return []
    if (NOT_DRAWN.has(node.tagName) || node.properties['display'] === 'none') return []
    return node.tagName === 'text' ? [{ ...node, tagName: 'p' }] : drawnText(node.children)
  })
}

const NOT_DRAWN = new Set('defs symbol clipPath mask pattern marker'.split(' '))

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
