import { createHash } from 'node:crypto'

/** What a page of ours may load: the one style sheet in it, named by its hash, and nothing else. */
export function pagePolicy(style: string): string {
  const hash = createHash('sha256').update(style).digest('base64')
  return `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
}
