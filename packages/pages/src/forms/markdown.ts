import type { Element } from 'hast'
import { defaultHandlers, type Handle, type State, toMdast } from 'hast-util-to-mdast'
import { toText } from 'hast-util-to-text'
import type { Nodes, PhrasingContent, RootContent, TableCell } from 'mdast'
import { gfmTableToMarkdown } from 'mdast-util-gfm-table'
import { phrasing } from 'mdast-util-phrasing'
import { type Options, toMarkdown } from 'mdast-util-to-markdown'
import { toString as toPlain } from 'mdast-util-to-string'
import type { StoredReading } from '../store/stored-reading.ts'
import { mainContent } from './main-content.ts'
import { attribute, find, findAll, lineOf, readTree } from './page-tree.ts'

/**
 * Front matter and the main content of a page as serialized by a browser. No raw HTML. `url`: the page's public address,
 * `modified`: ISO 8601.
 */
export function pageMarkdown(
  html: string,
  reading: StoredReading,
  { url, modified }: { url: string; modified: string },
): string {
  const handlers = handlersFor(reading.base ?? url)
  const tree = toMdast(mainContent(readTree(html)), { handlers, newlines: false }) as Nodes
  const content = toMarkdown(writable(tree), WRITING)
  return `${frontMatter(reading, modified)}\n${content}`
}

function frontMatter(reading: StoredReading, modified: string): string {
  const { title, description, canonical, language, structuredTypes: types } = reading
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

/** Returns null if it is not a link that may be followed. */
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
    math: (_state, node) => formula(node),
    dialog: flow,
    menu: defaultHandlers.ul!,
    search: flow,
    button: (state, node) => [text(' '), ...(state.all(node) as PhrasingContent[]), text(' ')],
    // Emphasis for machines only.
    u: all,
    mark: all,
    var: all,
    input: (_state, node) => field(node),
    select: (_state, node) => choices(node),
    summary: term,
    dl: flow,
    dt: term,
    dd: definition,
    pre: code,
    table: (state, node) => table(state, node),
    td: cell,
    th: cell,
  }
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
  const value = (attribute(node, 'alttext') ?? (tex && lineOf(tex)) ?? lineOf(node)).trim()
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

function choices(node: Element): PhrasingContent | undefined {
  const options = findAll(node, ({ tagName }) => tagName === 'option')
  const labels = options.map((one) => attribute(one, 'label') ?? lineOf(one))
  return labels.length === 0 ? undefined : text(` ${labels.join(', ')} `)
}

/** `**term**`, of a definition or of `details`. */
const term: Handle = (_state, node) => {
  const words = lineOf(node)
  if (words === '') return undefined
  return { type: 'paragraph', children: [{ type: 'strong', children: [text(words)] }] }
}

/** Marks paragraphs that follow on the line below. */
const DEFINITION = {}

/** `: text` */
const definition: Handle = (state, node) => {
  const blocks = state.toFlow(state.all(node))
  const [first] = blocks
  if (first?.type === 'paragraph') {
    first.children.unshift(text(': '))
    first.data = DEFINITION
  }
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
  const clamped = (span: unknown) => Math.min(Number(span) || 1, SPAN_LIMIT)
  const properties = {
    colSpan: clamped(node.properties['colSpan']),
    rowSpan: clamped(node.properties['rowSpan']),
  }
  const made = defaultHandlers.td!(state, { ...node, properties }) as TableCell
  const children = inline(made.children)
  const isInk = (one: PhrasingContent) => one.type !== 'text' || one.value.trim() !== ''
  const shown = children.slice(children.findIndex(isInk), children.findLastIndex(isInk) + 1)
  const first = shown[0]
  const last = shown.at(-1)
  if (first?.type === 'text') first.value = first.value.trimStart()
  if (last?.type === 'text') last.value = last.value.trimEnd()
  return { ...made, children: shown } as ReturnType<Handle>
}

/** Blocks of a cell in one line. */
function inline(nodes: readonly RootContent[]): PhrasingContent[] {
  return nodes.flatMap((node): PhrasingContent[] => {
    if (node.type === 'break') return [text(' ')]
    const inner = 'children' in node ? inline(node.children) : []
    if (phrasing(node)) return ['children' in node ? ({ ...node, children: inner } as PhrasingContent) : node]
    if (node.type === 'code') inner.push({ type: 'inlineCode', value: node.value.replace(/\s+/g, ' ') })
    return [text(' '), ...inner, text(' ')]
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
      const before = wordsOf(children[at - 1]).at(-1) ?? ' '
      const after = wordsOf(children[at + 1])[0] ?? ' '
      const isWord = /^[\p{L}\p{N}]/u.test(words) && /[\p{L}\p{N}]$/u.test(words)
      const isAlone = !/[\p{L}\p{N}]/u.test(before) && !/[\p{L}\p{N}]/u.test(after)
      if (isWord || (isAlone && /^\S(?:.*\S)?$/s.test(words))) kept.push(child)
      else kept.push(...child.children)
    } else {
      kept.push(child)
    }
  }
  return { ...node, children: kept }
}

function wordsOf(node: Nodes | undefined): string {
  return toPlain(node, { includeImageAlt: false })
}

const WRITING: Options = {
  bullet: '-',
  rule: '-',
  resourceLink: true,
  join: [(left, right) => (left.type === 'paragraph' && right.data === DEFINITION ? 0 : undefined)],
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
