import { createHash } from 'node:crypto'

/** Returns an entity tag without quotes; equal content has an equal one. */
export function etagOf(html: string | Buffer): string {
  return createHash('sha256').update(html).digest('base64url').slice(0, 22)
}
