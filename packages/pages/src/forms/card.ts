import type { Element } from 'hast'
import { mainContent } from './main-content.ts'
import { attribute, find, type Head, isCanonical, lineOf, readPage } from './page-tree.ts'

export const CARD_LIMIT_BYTES = 32_768
export const CARD_VALUE_CHARS = 4_096

/** After title, description and canonical, in this order. */
const METAS = [
  /^(?:og|twitter):/i,
  /^article:/i,
  /^product:/i,
  /^fb:/i,
  /^al:/i,
  /^theme-color$/i,
  /^robots$/i,
]
const ICON = /(?:^| )(?:icon|apple-touch-icon(?:-precomposed)?|mask-icon)(?: |$)/i

/** What link previews read of a page, in at most 32 KiB: nothing is invented. */
export function pageCard(html: string, url: string): { text: string; head: Head } {
  const page = readPage(html, url)
  const metas = (named: RegExp) =>
    page.tags.filter(
      (one) =>
        one.tagName === 'meta' && named.test(attribute(one, 'property') ?? attribute(one, 'name') ?? ''),
    )
  const links = (name: 'rel' | 'type', value: RegExp) =>
    page.tags.filter((one) => one.tagName === 'link' && value.test(attribute(one, name) ?? ''))
  const tags = [
    ...page.tags.filter(({ tagName }) => tagName === 'title').slice(0, 1),
    ...metas(/^description$/i).slice(0, 1),
    ...page.tags.filter((one) => one.tagName === 'link' && isCanonical(one)).slice(0, 1),
    ...METAS.flatMap(metas),
    ...links('type', /\boembed\b/i),
    ...links('rel', ICON),
  ]
  const { base, language } = page.head
  const head = tags.flatMap((one) => written(one, base === url ? null : base))
  const paragraph = find(mainContent(page), (one) => one.tagName === 'p' && lineOf(one) !== '')
  // Left out first: the last.
  const parts = [...head, bodyText('h1', page.firstH1), bodyText('p', paragraph)]
  const lang = language === null || !isShort(language) ? '' : ` lang="${escaped(language)}"`
  const write = () =>
    `<!DOCTYPE html>\n<html${lang}><head><meta charset="utf-8">${parts.slice(0, head.length).join('')}</head><body>${parts.slice(head.length).join('')}</body></html>\n`
  let bytes = Buffer.byteLength(write())
  while (bytes > CARD_LIMIT_BYTES) bytes -= Buffer.byteLength(parts.pop()!)
  return { text: write(), head: page.head }
}

const ATTRIBUTES = ['property', 'name', 'content', 'rel', 'type', 'sizes', 'media', 'title', 'href'] as const

/** None, if a value is too long or data. `base`: of the page, if links need one, because a card has none. */
function written(one: Element, base: string | null): string[] {
  const line = lineOf(one)
  if (one.tagName === 'title') return line === '' || !isShort(line) ? [] : [`<title>${escaped(line)}</title>`]
  const values = ATTRIBUTES.flatMap((name): [string, string][] => {
    const value = one.properties[name]
    const text = Array.isArray(value) ? value.join(' ') : value
    if (typeof text !== 'string') return []
    return [[name, name === 'href' && base !== null ? (URL.parse(text, base)?.href ?? text) : text]]
  })
  if (values.some(([, value]) => !isShort(value) || /^\s*data:/i.test(value))) return []
  return [`<${one.tagName}${values.map(([name, value]) => ` ${name}="${escaped(value)}"`).join('')}>`]
}

function bodyText(name: 'h1' | 'p', element: Element | null): string {
  const text = element === null ? '' : lineOf(element)
  return text === '' || !isShort(text) ? '' : `<${name}>${escaped(text)}</${name}>`
}

function isShort(text: string): boolean {
  return text.length <= CARD_VALUE_CHARS
}

const REFERENCES: Record<string, string> = { '&': '&amp;', '"': '&quot;', '<': '&lt;', '>': '&gt;' }

function escaped(text: string): string {
  return text.replace(/[&"<>]/g, (char) => REFERENCES[char]!)
}
