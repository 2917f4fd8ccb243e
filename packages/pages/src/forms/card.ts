import type { Element } from 'hast'
import type { StoredReading } from '../store/stored-reading.ts'
import { mainContent } from './main-content.ts'
import { attribute, find, lineOf, readTree } from './page-tree.ts'

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
const CANONICAL = /(?:^| )canonical(?: |$)/i
const ICON = /(?:^| )(?:icon|apple-touch-icon(?:-precomposed)?|mask-icon)(?: |$)/i

/** Returns what link previews read of a page at `url`, in at most 32 KiB. Nothing is invented. */
export function pageCard(html: string, url: string, reading: StoredReading): string {
  const page = readTree(html)
  const named = (name: string) => page.tags.filter(({ tagName }) => tagName === name)
  const metas = (pattern: RegExp) =>
    named('meta').filter((tag) => pattern.test(attribute(tag, 'property') ?? attribute(tag, 'name') ?? ''))
  const links = (name: 'rel' | 'type', pattern: RegExp) =>
    named('link').filter((tag) => pattern.test(attribute(tag, name) ?? ''))
  const isCanonical = (tag: Element) => {
    const href = URL.parse(attribute(tag, 'href') ?? '', reading.base ?? url)?.href
    return href !== undefined && href === reading.canonical
  }
  const tags = [
    ...named('title').slice(0, 1),
    ...metas(/^description$/i).slice(0, 1),
    ...links('rel', CANONICAL).filter(isCanonical).slice(0, 1),
    ...METAS.flatMap(metas),
    ...links('type', /\boembed\b/i),
    ...links('rel', ICON),
  ]
  // A card has no base of its own.
  const head = tags.flatMap((tag) => written(tag, reading.base))
  const paragraph = find(mainContent(page), (element) => element.tagName === 'p' && lineOf(element) !== '')
  // The last parts are left out first.
  const parts = [...head, bodyText('h1', page.firstH1), bodyText('p', paragraph)]
  const { language } = reading
  const lang = language === null || !isShort(language) ? '' : ` lang="${escaped(language)}"`
  const write = () =>
    `<!DOCTYPE html>\n<html${lang}><head><meta charset="utf-8">${parts.slice(0, head.length).join('')}</head><body>${parts.slice(head.length).join('')}</body></html>\n`
  let bytes = Buffer.byteLength(write())
  while (bytes > CARD_LIMIT_BYTES) bytes -= Buffer.byteLength(parts.pop()!)
  return write()
}

const ATTRIBUTES = ['property', 'name', 'content', 'rel', 'type', 'sizes', 'media', 'title', 'href'] as const

/**
 * Writes a tag, or nothing if a value is too long or data. `base` is that of the page, if links need one, because a card has none.
 */
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
