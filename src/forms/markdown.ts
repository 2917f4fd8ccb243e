import type { Element } from 'hast'
import { defaultHandlers, type Handle, type State, toMdast } from 'hast-util-to-mdast'
import { toText } from 'hast-util-to-text'
import type { Nodes, Paragraph, PhrasingContent, RootContent } from 'mdast'
import { gfmTableToMarkdown } from 'mdast-util-gfm-table'
import { type Options, toMarkdown } from 'mdast-util-to-markdown'
import { mainContent } from './main-content.ts'
import { attribute, find, findAll, type Head, lineOf, readPage, textOf } from './page-tree.ts'

/** Front matter and the main content of a page as serialized by a browser. No raw HTML. `modified`: ISO 8601. */
export function pageMarkdown(html: string, url: string, modified: string): { text: string; head: Head } {
  const page = readPage(html, url)
  const { base } = page.head
  const tree = toMdast(mainContent(page), { handlers: handlersFor(base), newlines: false }) as Nodes
  const content = toMarkdown(writable(tree), WRITING)
  return { text: `${frontMatter(page.head, modified)}\n${content}`, head: page.head }
}

function frontMatter({ title, description, canonical, language, types }: Head, modified: string): string {
  const lines = Object.entries({ title, description, canonical, language, modified })
    .filter((entry): entry is [string, string] => entry[1] !== null)
    .map(([name, value]) => `${name}: ${quoted(value)}\n`)
  if (types.length > 0) lines.push(`types: [${types.map(quoted).join(', ')}]\n`)
  return `---\n${lines.join('')}---\n`
}

/** A JSON string on one line for readers of YAML too. */
function quoted(text: string): string {
  return JSON.stringify(text.toWellFormed()).replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

const UNSAFE_LINK = /^(?:javascript|vbscript|data|blob|about):/i

/** null: not a link. */
function absolute(raw: unknown, base: string): string | null {
  const url = typeof raw === 'string' ? URL.parse(raw, base) : null
  return url === null || UNSAFE_LINK.test(url.protocol) ? null : url.href
}

function text(value: string): PhrasingContent {
  return { type: 'text', value }
}

const SPAN_LIMIT = 100

function handlersFor(base: string): Record<string, Handle> {
  const all: Handle = (state, node) => state.all(node)
  const flow: Handle = (state, node) => state.toFlow(state.all(node))
  const link = (state: State, node: Element, name: 'href' | 'src') => {
    const url = absolute(node.properties[name], base)
    const label = attribute(node, 'ariaLabel') ?? attribute(node, 'title')
    const inner = name === 'href' ? (state.all(node) as PhrasingContent[]) : []
    const isEmpty = !inner.some((one) => one.type !== 'text' || one.value.trim() !== '')
    const children = isEmpty && label !== null ? [text(label)] : inner
    return url === null || children.length === 0
      ? children
      : { type: 'link' as const, url, title: null, children }
  }
  const source: Handle = (state, node) => link(state, node, 'src')
  return {
    a: (state, node) => link(state, node, 'href'),
    iframe: source,
    audio: source,
    video: source,
    img: (_state, node) => image(node, base),
    image: ignored,
    svg: ignored,
    math: (_state, node) => formula(node),
    dialog: flow,
    menu: defaultHandlers.ul!,
    search: flow,
    optgroup: all,
    // Emphasis for machines only.
    u: all,
    mark: all,
    var: all,
    input: (_state, node) => field(node),
    select: (_state, node) => choices(node),
    summary: (_state, node) => {
      const words = toText(node).replace(/\s+/g, ' ').trim()
      return words === '' ? undefined : paragraph([{ type: 'strong', children: [text(words)] }])
    },
    dl: definitions,
    pre: code,
    table: (state, node) => table(state, node),
    td: cell,
    th: cell,
  }
}

const ignored: Handle = () => undefined

function paragraph(children: PhrasingContent[]): Paragraph {
  return { type: 'paragraph', children }
}

/** Pictures without a text say nothing to readers of text. */
function image(node: Element, base: string): PhrasingContent | undefined {
  const alt = attribute(node, 'alt')
  if (alt === null) return undefined
  const url = absolute(node.properties['src'], base)
  return url === null ? text(alt) : { type: 'image', url, title: null, alt }
}

function formula(node: Element): PhrasingContent | undefined {
  const tex = find(
    node,
    (one) => one.tagName === 'annotation' && /tex/i.test(attribute(one, 'encoding') ?? ''),
  )
  const value = (attribute(node, 'alttext') ?? (tex && textOf(tex)) ?? textOf(node)).trim()
  return value === '' ? undefined : { type: 'inlineCode', value }
}

function field(node: Element): PhrasingContent | undefined {
  const type = (attribute(node, 'type') ?? 'text').toLowerCase()
  if (type === 'hidden' || type === 'password' || type === 'file') return undefined
  if (type === 'checkbox' || type === 'radio') return text(node.properties['checked'] ? ' [x] ' : ' [ ] ')
  const value = type === 'image' ? attribute(node, 'alt') : attribute(node, 'value')
  const shown = value ?? attribute(node, 'placeholder')
  return shown === null ? undefined : text(` ${shown} `)
}

/** More choices than a reader wants: the chosen ones only. */
const CHOICES = 100

function choices(node: Element): PhrasingContent | undefined {
  const options = findAll(node, ({ tagName }) => tagName === 'option')
  const chosen = options.filter(({ properties }) => properties['selected'])
  const shown = options.length > CHOICES ? (chosen.length > 0 ? chosen : options.slice(0, 1)) : options
  const labels = shown.map((one) => attribute(one, 'label') ?? lineOf(one))
  return labels.length === 0 ? undefined : text(` ${labels.join(', ')} `)
}

/** `**term**` and `: text`, with what is no text below. */
const definitions: Handle = (state, node) => {
  const blocks: RootContent[] = []
  const read = (parent: Element) => {
    for (const child of parent.children) {
      if (child.type !== 'element') continue
      if (child.tagName === 'dt') {
        const term = toText(child).replace(/\s+/g, ' ').trim()
        if (term !== '') blocks.push(paragraph([{ type: 'strong', children: [text(term)] }]))
      } else if (child.tagName === 'dd') {
        const [first, ...others] = state.toFlow(state.all(child))
        const last = blocks.at(-1)
        if (first?.type === 'paragraph') first.children.unshift(text(': '))
        if (first?.type === 'paragraph' && last?.type === 'paragraph') {
          last.children.push(text('\n'), ...first.children)
        } else if (first !== undefined) blocks.push(first)
        blocks.push(...others)
      } else read(child)
    }
  }
  read(node)
  return blocks as ReturnType<Handle>
}

const code: Handle = (_state, node, parent) => {
  const named = [find(node, ({ tagName }) => tagName === 'code'), node, parent]
  const classes = named.flatMap((one) => (one?.type === 'element' ? (one.properties['className'] ?? []) : []))
  const found = classes.map(
    (one) => /^(?:language|lang|highlight-source)-([\w+#.-]+)$/.exec(String(one))?.[1],
  )
  const value = toText(node).replace(/^\n|\s+$/g, '')
  return value === '' ? undefined : { type: 'code', lang: found.find(Boolean) ?? null, meta: null, value }
}

const BLOCKS_IN_CELLS = new Set('h1 h2 h3 h4 h5 h6 table'.split(' '))

/** Tables that only arrange blocks become blocks. */
function table(state: State, node: Element): ReturnType<Handle> {
  const role = attribute(node, 'role')
  const isLayout =
    role === 'presentation' ||
    role === 'none' ||
    find(node, (one) => one !== node && BLOCKS_IN_CELLS.has(one.tagName)) !== null
  if (isLayout) return state.toFlow(state.all(asBlocks(node)))
  const captions = findAll(node, ({ tagName }) => tagName === 'caption')
  const above = captions.flatMap((one) => state.toFlow(state.all(one)))
  return [...above, defaultHandlers.table!(state, node)].flat() as ReturnType<Handle>
}

function asBlocks(node: Element): Element {
  const isPart = /^(?:table|caption|tbody|thead|tfoot|tr|td|th)$/.test(node.tagName)
  const children = node.children.map((child) => (child.type === 'element' ? asBlocks(child) : child))
  return { ...node, tagName: isPart ? 'div' : node.tagName, children }
}

const cell: Handle = (state, node) => {
  const clamped = (name: 'colSpan' | 'rowSpan') =>
    Math.min(Number(node.properties[name] ?? 1) || 1, SPAN_LIMIT)
  const children = inline(state.all(node) as RootContent[])
  const isInk = (one: PhrasingContent) => one.type !== 'text' || one.value.trim() !== ''
  const shown = children.slice(children.findIndex(isInk), children.findLastIndex(isInk) + 1)
  const [first, last] = [shown[0], shown.at(-1)]
  if (first?.type === 'text') first.value = first.value.trimStart()
  if (last?.type === 'text') last.value = last.value.trimEnd()
  const data = {
    hastUtilToMdastTemporaryColSpan: clamped('colSpan'),
    hastUtilToMdastTemporaryRowSpan: clamped('rowSpan'),
  }
  return { type: 'tableCell', children: shown, data } as ReturnType<Handle>
}

/** Blocks of a cell in one line. */
function inline(nodes: readonly RootContent[]): PhrasingContent[] {
  return nodes.flatMap((node): PhrasingContent[] => {
    switch (node.type) {
      case 'paragraph':
      case 'heading':
      case 'blockquote':
      case 'list':
      case 'listItem':
        return [text(' '), ...inline(node.children), text(' ')]
      case 'code':
        return [text(' '), { type: 'inlineCode', value: node.value.replace(/\s+/g, ' ') }, text(' ')]
      case 'break':
      case 'thematicBreak':
        return [text(' ')]
      case 'link':
      case 'strong':
      case 'emphasis':
      case 'delete':
        return [{ ...node, children: inline(node.children) }]
      default:
        return [node as PhrasingContent]
    }
  })
}

/**
 * Emphasis that ends inside of a word or at a space cannot be written without character references, which would break
 * the words: it becomes plain text. Neither can code without a text, nor two next to each other.
 */
function writable<Node extends Nodes>(node: Node): Node {
  if (!('children' in node)) return node
  const children = (node.children as RootContent[]).map((child) => writable(child))
  const kept: RootContent[] = []
  for (const [at, child] of children.entries()) {
    const last = kept.at(-1)
    if (child.type === 'inlineCode') {
      if (last?.type === 'inlineCode') last.value += child.value
      else if (child.value.trim() !== '') kept.push(child)
    } else if (child.type === 'emphasis' || child.type === 'strong' || child.type === 'delete') {
      const words = wordsOf(child)
      const [before, after] = [wordsOf(children[at - 1]).at(-1) ?? ' ', wordsOf(children[at + 1])[0] ?? ' ']
      const isWord = /^[\p{L}\p{N}]/u.test(words) && /[\p{L}\p{N}]$/u.test(words)
      const isAlone = !/[\p{L}\p{N}]/u.test(before) && !/[\p{L}\p{N}]/u.test(after)
      kept.push(...(isWord || (isAlone && /^\S(?:.*\S)?$/s.test(words)) ? [child] : child.children))
    } else kept.push(child)
  }
  return { ...node, children: kept }
}

function wordsOf(node: Nodes | undefined): string {
  if (node === undefined) return ''
  if ('value' in node) return node.value
  return 'children' in node ? (node.children as Nodes[]).map(wordsOf).join('') : ' '
}

const WRITING: Options = {
  bullet: '-',
  rule: '-',
  resourceLink: true,
  extensions: [gfmTableToMarkdown({ tablePipeAlign: false })],
  unsafe: [{ character: '~', inConstruct: 'phrasing' }],
  handlers: {
    delete: (node, _parent, state, info) =>
      `~~${state.containerPhrasing(node, { ...info, before: '~', after: '~' })}~~`,
    text: (node, _parent, state, info) =>
      // Inside of words neither `_` nor `&` is markup.
      state
        .safe(node.value, info)
        .replace(/ {2,}/g, ' ')
        .replace(/(?<=[\p{L}\p{N}])\\_(?=[\p{L}\p{N}])/gu, '_')
        .replace(/\\&(?!#?\w{1,40};)/g, '&'),
  },
}
