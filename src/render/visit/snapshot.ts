import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { RuleChange } from '../../rules/schema.ts'
import type { CdpSession } from '../browser/cdp.ts'
import type { PageLimits, RuleChanges } from '../outcome.ts'

type Html = {
  kind: 'html'
  html: string
  /** No visible text, no image, no field. */
  blank: boolean
  /** As written in `prerender-status-code` or `render:status_code`. */
  statusCode: string | null
  /** As written in `prerender-header` and `render:header`. */
  headers: string[]
  changed?: { html: string; changes: PageChanges }
}

type PageChanges = Pick<RuleChanges, 'removed' | 'consent' | 'head'>

export type Snapshot =
  | Html
  | { kind: 'too-large'; what: 'elements' | 'snapshot-bytes' }
  | { kind: 'not-html' }

type Taken =
  | Exclude<Snapshot, Html>
  | (Omit<Html, 'html' | 'changed'> & {
      html: AsciiText
      changed?: { html: AsciiText | null; changes: PageChanges }
    })

/** A named world is made once in each process. Unnamed ones are never freed: +0.7 ms for every earlier render. */
export const WORLD = 'prepaint'

const SCRIPT = ['snapshot.js', 'rule.js']
  .map((file) => readFileSync(path.join(import.meta.dirname, '../in-page', file), 'utf8'))
  .join('\n')

/** Made by tools/block-lists.ts, with its source. */
const CONSENT = JSON.parse(readFileSync(path.join(import.meta.dirname, 'consent.json'), 'utf8')) as {
  selectors: string[]
}

/** Alters the document: call last. `world`: ours, if Chromium has already made it. */
export async function takeSnapshot(
  session: CdpSession,
  frameId: string,
  { elements, snapshotBytes }: Pick<PageLimits, 'elements' | 'snapshotBytes'>,
  world?: number,
  change: RuleChange | null = null,
): Promise<Snapshot> {
  const asked = change && {
    remove: change.remove ?? [],
    consent: change.consent === true ? CONSENT.selectors : null,
    head: change.head ?? {},
  }
  const evaluate = (contextId: number) =>
    session.send('Runtime.evaluate', {
      expression: `(() => {${AS_ASCII}${SCRIPT}\nreturn takeSnapshot(${snapshotBytes}, ${elements}, ${JSON.stringify(asked)})})()`,
      contextId,
      returnByValue: true,
    })
  const { result, exceptionDetails } = await evaluate(world ?? (await makeWorld(session, frameId)))
  if (exceptionDetails !== undefined) {
    throw new Error(`snapshot: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`)
  }
  const taken = result.value as Taken
  if (taken.kind !== 'html') return taken
  const { changed, ...whole } = taken
  const html = readAscii(taken.html)
  const changedHtml = changed?.html ? readAscii(changed.html) : html
  const snapshot = { ...whole, html, ...(changed && { changed: { ...changed, html: changedHtml } }) }
  const isTooLarge = [html, changedHtml].some((each) => Buffer.byteLength(each) > snapshotBytes)
  return isTooLarge ? { kind: 'too-large', what: 'snapshot-bytes' } : snapshot
}

export async function makeWorld(session: CdpSession, frameId: string): Promise<number> {
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
