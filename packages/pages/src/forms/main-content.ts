import type { Element, ElementContent, Root, RootContent } from 'hast'
import { attribute, find, lineOf, type PageTree } from './page-tree.ts'

const LEFT_OUT = /^(?:navigation|banner|contentinfo|complementary|search|dialog|alertdialog)$/

/** Inside of these a `header` or `footer` is not the page's (HTML, "the header element"). */
const SECTIONS = new Set(['article', 'aside', 'main', 'nav', 'section'])

/**
 * Returns what the page marks as its content, or all but what it marks as something else. The first `h1` is there in any case.
 */
export function mainContent({ body, firstH1, drawn }: PageTree): Root {
  const all = body.children as ElementContent[]
  const choices = [outermostMains(all), withoutSurroundings(all), all]
  // Never blank, where the page is not.
  const children = choices.find((nodes) => nodes.some(saysSomething)) ?? [...all, ...drawn()]
  const content: Root = { type: 'root', children }
  const isKept = firstH1 === null || find(content, ({ position }) => position === firstH1.position) !== null
  return isKept ? content : { type: 'root', children: [firstH1, ...children] }
}

function saysSomething(node: ElementContent): boolean {
  return lineOf(node) !== '' || find(node, (one) => attribute(one, 'alt') !== null) !== null
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

/** `inside` names the sections around the nodes. */
function withoutSurroundings(
  nodes: readonly RootContent[],
  inside: readonly string[] = [],
): ElementContent[] {
  return nodes.flatMap((node): ElementContent[] => {
    if (node.type === 'text') return [node]
    if (node.type !== 'element' || isSurrounding(node, inside)) return []
    const within = SECTIONS.has(node.tagName) ? [...inside, node.tagName] : inside
    return [{ ...node, children: withoutSurroundings(node.children, within) }]
  })
}

function isSurrounding(element: Element, inside: readonly string[]): boolean {
  switch (element.tagName) {
    case 'nav':
    case 'dialog':
      return true
    case 'header':
    case 'footer':
      return inside.length === 0
    case 'aside':
      return !inside.includes('article')
    default:
      return LEFT_OUT.test(roleOf(element))
  }
}
