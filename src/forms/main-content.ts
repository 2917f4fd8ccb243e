import type { Element, ElementContent, Root, RootContent } from 'hast'
import { attribute, find, type PageTree, textOf } from './page-tree.ts'

const LEFT_OUT = new Set([
  'navigation',
  'banner',
  'contentinfo',
  'complementary',
  'search',
  'dialog',
  'alertdialog',
])

/** Inside of these a `header` or `footer` is not the page's (HTML, "the header element"). */
const SECTIONS = new Set(['article', 'aside', 'main', 'nav', 'section'])

/** What the page marks as its content, or all but what it marks as something else. With the first `h1` in any case. */
export function mainContent({ body, firstH1 }: PageTree): Root {
  const mains = outermostMains(body.children)
  const hasContent = mains.some((main) => textOf(main).trim() !== '' || find(main, isImage) !== null)
  const children = hasContent
    ? mains
    : withoutSurroundings(body.children, { inArticle: false, inSection: false })
  const content: Root = { type: 'root', children }
  const isKept = firstH1 === null || find(content, ({ tagName }) => tagName === 'h1') !== null
  return isKept ? content : { type: 'root', children: [firstH1, ...children] }
}

function isImage({ tagName }: Element): boolean {
  return tagName === 'img'
}

function roleOf(element: Element): string {
  return (attribute(element, 'role') ?? '').toLowerCase().split(' ')[0]!
}

function outermostMains(nodes: readonly RootContent[]): Element[] {
  return nodes.flatMap((node) => {
    if (node.type !== 'element') return []
    return node.tagName === 'main' || roleOf(node) === 'main' ? [node] : outermostMains(node.children)
  })
}

type Place = { inArticle: boolean; inSection: boolean }

function withoutSurroundings(nodes: readonly RootContent[], place: Place): ElementContent[] {
  return nodes.flatMap((node): ElementContent[] => {
    if (node.type === 'text') return [node]
    if (node.type !== 'element' || isSurrounding(node, place)) return []
    const { tagName } = node
    const inside = {
      inArticle: place.inArticle || tagName === 'article',
      inSection: place.inSection || SECTIONS.has(tagName),
    }
    return [{ ...node, children: withoutSurroundings(node.children, inside) }]
  })
}

function isSurrounding(element: Element, { inArticle, inSection }: Place): boolean {
  switch (element.tagName) {
    case 'nav':
    case 'dialog':
      return true
    case 'header':
    case 'footer':
      return !inSection
    case 'aside':
      return !inArticle
    default:
      return LEFT_OUT.has(roleOf(element))
  }
}
