import { attributeOf, scanHtml } from '@prepaint/contract/reading/scan-html.ts'
import { namesPoll } from '../time/request-history.ts'

/** Beside its content, so much text is a page, whoever wrote it. */
const LONG_CHARS = 1_000
/** What scripts have written to a page of at least this length is content. */
const SHORT_CHARS = 100

/** Around the content of a page; they are there before it. */
const FRAME = new Set(['header', 'nav', 'footer', 'aside'])
const WAITING_CLASS = /(?:^|[\s_-])(?:skeleton|spinner|loading|loader|shimmer|preloader)(?:$|[\s_-])/i
const WAITING_TEXT =
  /^(?:loading|please wait|just a moment|one moment|fetching|laden|lade|wird geladen|bitte warten|chargement|cargando|caricamento|carregando)\b[^.!?]{0,40}(?:…|\.{3})?$/i
const HIDDEN_STYLE = /display:\s*none|visibility:\s*hidden/i

type Unanswered = { url: string; isSuspected: boolean; isCode: boolean }

/**
 * Returns whether a page is content although requests are still unanswered: they are long polls then, and nothing
 * shows that it waits for them. A crawler gets it as a whole page; the render that follows can wait longer.
 */
export function standsAlone(
  html: string,
  unanswered: readonly Unanswered[],
  { hasScriptText }: { hasScriptText: boolean },
): boolean {
  const { chars, isWaiting } = readContent(html)
  if (isWaiting) return false
  if (unanswered.every(isProbablyPoll)) return true
  return chars >= (hasScriptText ? SHORT_CHARS : LONG_CHARS)
}

function isProbablyPoll({ url, isSuspected, isCode }: Unanswered): boolean {
  return !isCode && (isSuspected || namesPoll(url))
}

/** Counts the characters of text outside of headers, menus and footers. */
function readContent(html: string): { chars: number; isWaiting: boolean } {
  let chars = 0
  let isWaiting = false
  let framesAround = 0
  scanHtml(html, {
    text(text) {
      const shown = text.trim()
      if (shown === '') return
      if (WAITING_TEXT.test(shown)) isWaiting = true
      if (framesAround === 0) chars += shown.length
    },
    open(name, tag) {
      if (FRAME.has(name)) framesAround++
      if (saysWaiting(name, tag)) isWaiting = true
    },
    close(name) {
      if (FRAME.has(name)) framesAround--
    },
    raw() {},
  })
  return { chars, isWaiting }
}

function saysWaiting(name: string, tag: string): boolean {
  const isHidden = attributeOf(tag, 'hidden') !== null || HIDDEN_STYLE.test(attributeOf(tag, 'style') ?? '')
  if (isHidden) return false
  if (attributeOf(tag, 'aria-busy') === 'true') return true
  if (name === 'progress') return attributeOf(tag, 'value') === null
  if (attributeOf(tag, 'role') === 'progressbar') return attributeOf(tag, 'aria-valuenow') === null
  return WAITING_CLASS.test(attributeOf(tag, 'class') ?? '')
}
