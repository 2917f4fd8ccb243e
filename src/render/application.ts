import { createHash } from 'node:crypto'

/** More than any page of an application has; what comes after them is left out. */
export const FILES_LIMIT = 500
/** A build is told by the beginning of an address. */
export const URL_LIMIT_CHARS = 1_000

/**
 * Names the build of the application that a page was made by: the scripts and
 * style sheets that its document asks for itself. A single-page application
 * sends one document for all its addresses, so all its pages have the same name
 * until it is deployed anew.
 */
export function createApplication() {
  const files = new Set<string>()
  return {
    /** Of the main document, by its markup and not by a script. `type`: as Chromium calls it. */
    requested(type: string | undefined, url: string): void {
      if ((type === 'Script' || type === 'Stylesheet') && files.size < FILES_LIMIT)
        files.add(url.slice(0, URL_LIMIT_CHARS))
    },
    /** null: it asks for none, as a page with its scripts inside it does. */
    name(): string | null {
      if (files.size === 0) return null
      return createHash('sha256')
        .update([...files].sort().join('\n'))
        .digest('base64url')
        .slice(0, 16)
    },
  }
}
