import type { Element } from 'hast'
import { toText } from 'hast-util-to-text'
import { mainContent } from './main-content.ts'
import { attribute, find, type Head, readPage, textOf } from './page-tree.ts'

export const CARD_LIMIT_BYTES = 32_768
export const CARD_VALUE_CHARS = 4_096

/** What link previews read of a page, in at most 32 KiB: nothing is invented. */
export function pageCard(html: string, url: string): { text: string; head: Head } {
  const page = readPage(html, url)
  const paragraph = find(mainContent(page), (one) => one.tagName === 'p' && textOf(one).trim() !== '')
  const tags = [...tagsInOrder(page.tags)]
  const icons = page.tags.filter((one) => isIcon(one)).flatMap(written)
  const heading = bodyText('h1', page.firstH1)
  const language = page.head.language
  const lang = language === null || !isShort(language) ? '' : ` lang="${escaped(language)}"`
  // Left out first: the last.
  const parts = [...tags, ...icons, heading, bodyText('p', paragraph)]
  const isInBody = (at: number) => at >= tags.length + icons.length
  const write = (kept: readonly string[]) => {
    const [head, body] = [kept.filter((_, at) => !isInBody(at)), kept.filter((_, at) => isInBody(at))]
    return `<!DOCTYPE html>\n<html${lang}><head><meta charset="utf-8">${head.join('')}</head><body>${body.join('')}</body></html>\n`
  }
  let bytes = Buffer.byteLength(write(parts))
  while (bytes > CARD_LIMIT_BYTES) bytes -= Buffer.byteLength(parts.pop()!)
  return { text: write(parts), head: page.head }
}

const PREFIXES = [
  /^(?:og|twitter):/i,
  /^article:/i,
  /^product:/i,
  /^fb:/i,
  /^al:/i,
  /^theme-color$/i,
  /^robots$/i,
]

function* tagsInOrder(tags: readonly Element[]): Generator<string> {
  const metas = tags.filter(({ tagName }) => tagName === 'meta')
  const links = tags.filter(({ tagName }) => tagName === 'link')
  const nameOf = (one: Element) => attribute(one, 'property') ?? attribute(one, 'name') ?? ''
  yield* tags
    .filter(({ tagName }) => tagName === 'title')
    .slice(0, 1)
    .flatMap(written)
  yield* metas
    .filter((one) => nameOf(one).toLowerCase() === 'description')
    .slice(0, 1)
    .flatMap(written)
  yield* links
    .filter((one) => relsOf(one).includes('canonical'))
    .slice(0, 1)
    .flatMap(written)
  for (const prefix of PREFIXES) yield* metas.filter((one) => prefix.test(nameOf(one))).flatMap(written)
  yield* links.filter((one) => /\boembed\b/i.test(attribute(one, 'type') ?? '')).flatMap(written)
}

function isIcon(one: Element): boolean {
  return (
    one.tagName === 'link' &&
    relsOf(one).some((rel) => /^(?:icon|apple-touch-icon(?:-precomposed)?|mask-icon)$/.test(rel))
  )
}

function relsOf(one: Element): string[] {
  return (attribute(one, 'rel') ?? '').toLowerCase().split(' ')
}

const ATTRIBUTES = {
  meta: ['property', 'name', 'content', 'media'],
  link: ['rel', 'type', 'sizes', 'media', 'title', 'href'],
} as const

/** None, if a value is too long or data. */
function written(one: Element): string[] {
  if (one.tagName === 'title') {
    const text = textOf(one).trim()
    return text === '' || !isShort(text) ? [] : [`<title>${escaped(text)}</title>`]
  }
  const names = one.tagName === 'link' ? ATTRIBUTES.link : ATTRIBUTES.meta
  const values = names.flatMap((name): [string, string][] => {
    const value = one.properties[name]
    const text = Array.isArray(value) ? value.join(' ') : value
    return typeof text === 'string' ? [[name, text]] : []
  })
  if (values.some(([, value]) => !isShort(value) || /^\s*data:/i.test(value))) return []
  return [`<${one.tagName}${values.map(([name, value]) => ` ${name}="${escaped(value)}"`).join('')}>`]
}

function bodyText(name: 'h1' | 'p', element: Element | null): string {
  const text = element === null ? '' : toText(element).replace(/\s+/g, ' ').trim()
  return text === '' || !isShort(text) ? '' : `<${name}>${escaped(text)}</${name}>`
}

function isShort(text: string): boolean {
  return text.length <= CARD_VALUE_CHARS
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('"', '&quot;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
}
