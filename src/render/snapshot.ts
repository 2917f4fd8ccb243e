import { readFileSync } from 'node:fs'
import path from 'node:path'

import type { CdpSession } from './cdp.ts'

/** What the page says of itself, or why there is nothing to keep. */
export type Snapshot =
  | {
      kind: 'html'
      html: string
      /** No text that can be seen, no picture, no field. */
      blank: boolean
      /** Contents of `prerender-status-code` or `render:status_code`, as written. */
      statusCode: string | null
      /** Contents of `prerender-header` and `render:header`, as written. */
      headers: string[]
    }
  | { kind: 'too-large'; bytes: number }
  | { kind: 'not-html' }

/** Far above any honest page; the database and every crawler refuse larger ones anyway. */
export const SNAPSHOT_LIMIT_BYTES = 16 * 1024 * 1024

/** One name, one world for each page's process. Without a name each call makes a world that is never freed: +0.7 ms for every render before. */
const WORLD = 'prepaint'

const SCRIPT = readFileSync(path.join(import.meta.dirname, 'in-page', 'snapshot.js'), 'utf8')

/** Serialises the document of a frame. The document is altered: this is the last thing done with it. */
export async function takeSnapshot(session: CdpSession, frameId: string): Promise<Snapshot> {
  // A world of its own: the page cannot have changed the functions that the script uses.
  const { executionContextId } = await session.send('Page.createIsolatedWorld', {
    frameId,
    worldName: WORLD,
  })
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
    expression: `${SCRIPT}\ntakeSnapshot(${SNAPSHOT_LIMIT_BYTES})`,
    contextId: executionContextId,
    returnByValue: true,
  })
  if (exceptionDetails !== undefined) {
    throw new Error(`snapshot: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`)
  }
  const snapshot = result.value as Snapshot
  if (snapshot.kind !== 'html') return snapshot
  const bytes = Buffer.byteLength(snapshot.html)
  return bytes > SNAPSHOT_LIMIT_BYTES ? { kind: 'too-large', bytes } : snapshot
}
