import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { CdpSession } from '../browser/cdp.ts'
import type { PageLimits } from '../outcome.ts'

type Html = {
  kind: 'html'
  html: string
  /** No visible text, no image, no field. */
  blank: boolean
  /** As written in `prerender-status-code` or `render:status_code`. */
  statusCode: string | null
  /** As written in `prerender-header` and `render:header`. */
  headers: string[]
}

export type Snapshot =
  | Html
  | { kind: 'too-large'; what: 'elements' | 'snapshot-bytes' }
  | { kind: 'not-html' }

type Taken = Exclude<Snapshot, Html> | (Omit<Html, 'html'> & { html: AsciiText })

/** A named world is made once in each process. Unnamed ones are never freed: +0.7 ms for every earlier render. */
export const WORLD = 'prepaint'

const SCRIPT = readFileSync(path.join(import.meta.dirname, '../in-page', 'snapshot.js'), 'utf8')

/** Alters the document: call last. `world`: ours, if Chromium has already made it. */
export async function takeSnapshot(
  session: CdpSession,
  frameId: string,
  { elements, snapshotBytes }: Pick<PageLimits, 'elements' | 'snapshotBytes'>,
  world?: number,
): Promise<Snapshot> {
  const evaluate = (contextId: number) =>
    session.send('Runtime.evaluate', {
      expression: `(() => {${AS_ASCII}${SCRIPT}\nreturn takeSnapshot(${snapshotBytes}, ${elements})})()`,
      contextId,
      returnByValue: true,
    })
  const { result, exceptionDetails } = await evaluate(world ?? (await makeWorld(session, frameId)))
  if (exceptionDetails !== undefined) {
    throw new Error(`snapshot: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`)
  }
  const taken = result.value as Taken
  if (taken.kind !== 'html') return taken
  const snapshot = { ...taken, html: readAscii(taken.html) }
  const isTooLarge = Buffer.byteLength(snapshot.html) > snapshotBytes
  return isTooLarge ? { kind: 'too-large', what: 'snapshot-bytes' } : snapshot
}

async function makeWorld(session: CdpSession, frameId: string): Promise<number> {
  const named = { frameId, worldName: WORLD }
  return (await session.send('Page.createIsolatedWorld', named)).executionContextId
}

export type AsciiText = { form: 'plain' | 'escaped' | 'base64'; text: string }

export const AS_ASCII = readFileSync(path.join(import.meta.dirname, '../in-page', 'as-ascii.js'), 'utf8')

/** Half a surrogate pair may have become U+FFFD, as in UTF-8. */
export function readAscii({ form, text }: AsciiText): string {
  if (form === 'base64') return Buffer.from(text, 'base64').toString('utf8')
  if (form === 'plain') return text
  return text.replace(/\x7f([0-9a-f]{4})/g, (_escape, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
}
