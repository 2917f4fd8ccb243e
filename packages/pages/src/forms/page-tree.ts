import { readJsonLd } from '@prepaint/contract/reading/facts.ts'
import type { Element, ElementContent, Nodes, Properties, Root } from 'hast'
import { fromHtml } from 'hast-util-from-html'
import { toText } from 'hast-util-to-text'

export type Head = {
  title: string | null
  description: string | null
  /** Absolute, of http or https. */
  canonical: string | null
  language: string | null
  robots: string | null
  /** Types of its JSON-LD. */
  types: string[]
  /** Base of relative URLs. */
  base: string
}

/** `tags`: its titles, metas, links and what else is read of the head, in order. `drawn`: paragraphs of drawings. */
export type PageTree = {
  head: Head
  tags: Element[]
  body: Root
  firstH1: Element | null
  drawn(): Element[]
}

/** The page as people see it: shadow roots flattened, hidden elements left out. */
export function readPage(html: string, url: string): PageTree {
  const document = fromHtml(html)
  const tags = findAll(
    document,
    (one) => HEAD_TAGS.has(one.tagName) || attribute(one, 'type')?.toLowerCase() === 'application/ld+json',
  )
  const top = find(document, ({ tagName }) => tagName === 'body')
  const body: Root = { type: 'root', children: flatten(top?.children ?? [], null) }
  const firstH1 = find(body, ({ tagName }) => tagName === 'h1')
  return { head: readHead(tags, url), tags, body, firstH1, drawn: () => drawnText(top?.children ?? []) }
}

const HEAD_TAGS = new Set(['html', 'title', 'base', 'meta', 'link'])

/** In document order. SVG has titles of its own. */
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

/** One line. null: absent or empty. */
export function attribute({ properties }: Element, name: keyof Properties): string | null {
  const value = properties[name]
  const text = Array.isArray(value) ? value.join(' ') : value === undefined ? '' : String(value)
  return text.replace(/\s+/g, ' ').trim() || null
}

export function isCanonical(link: Element): boolean {
  return /(?:^| )canonical(?: |$)/i.test(attribute(link, 'rel') ?? '')
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

// Also from outside of the head: browsers move misplaced elements.
function readHead(tags: readonly Element[], url: string): Head {
  const named = (tag: string) => tags.filter(({ tagName }) => tagName === tag)
  const contents = (name: string) =>
    named('meta')
      .filter((one) => attribute(one, 'name')?.toLowerCase() === name)
      .flatMap((one) => attribute(one, 'content') ?? [])
  const hrefs = (all: readonly Element[]) => all.flatMap((one) => attribute(one, 'href') ?? [])
  const base = URL.parse(hrefs(named('base'))[0] ?? '', url)?.href ?? url
  const canonicals = hrefs(named('link').filter(isCanonical))
  const absolute = canonicals.flatMap((href) => URL.parse(href, base) ?? [])
  return {
    title: named('title').map(lineOf).find(Boolean) ?? null,
    description: contents('description')[0] ?? null,
    canonical: absolute.find(({ protocol }) => /^https?:$/.test(protocol))?.href ?? null,
    language: named('html').map((one) => attribute(one, 'lang'))[0] ?? null,
    robots: contents('robots').join(', ') || null,
    types: [...new Set(named('script').flatMap((one) => readJsonLd(lineOf(one)).types))],
    base,
  }
}
