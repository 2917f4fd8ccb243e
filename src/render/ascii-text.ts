import { readFileSync } from 'node:fs'
import path from 'node:path'

/** A text as `AS_ASCII` writes it. */
export type AsciiText = { form: 'plain' | 'escaped' | 'base64'; text: string }

/** Defines `asAscii` in the page. */
export const AS_ASCII = readFileSync(path.join(import.meta.dirname, 'in-page', 'as-ascii.js'), 'utf8')

/** The text again; half a pair of surrogates may have become U+FFFD, as it does in UTF-8. */
export function readAscii({ form, text }: AsciiText): string {
  if (form === 'base64') return Buffer.from(text, 'base64').toString('utf8')
  if (form === 'plain') return text
  return text.replace(/\x7f([0-9a-f]{4})/g, (_escape, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
}
