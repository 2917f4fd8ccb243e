import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { PageLimits, RuleChanges } from '@prepaint/contract/outcome/outcome.ts'
import type { RuleChange } from '@prepaint/contract/rules/schema.ts'
import type { CdpSession } from '../browser/cdp.ts'

type Html = {
  kind: 'html'
  html: string
  /** No visible text, no image, no field. */
  blank: boolean
  /** Without anything that can run, apart from frames and custom elements. */
  unscripted: boolean
  /** As written in `prerender-status-code` or `render:status_code`. */
  statusCode: string | null
  /** As written in `prerender-header` and `render:header`. */
  headers: string[]
  changed?: { html: string; changes: PageChanges }
}

type PageChanges = Omit<RuleChanges, 'rule' | 'headers'>

type NoPage = { kind: 'too-large'; what: 'elements' | 'snapshot-bytes' } | { kind: 'not-html' }
export type Snapshot = Html | NoPage
type Taken = NoPage | (Omit<Html, 'html' | 'changed'> & { html: AsciiText; changes: PageChanges | null })

/** A named world is made once in each process. Unnamed ones are never freed: +0.7 ms for every earlier render. */
export const WORLD = 'prepaint'

const SCRIPT = ['snapshot.js', 'rule.js']
  .map((file) => readFileSync(path.join(import.meta.dirname, '../in-page', file), 'utf8'))
  .join('\n')

/** Comments that only the scripts of frameworks read, or that a parser would end early. */
export const MARKER =
  /^(?:\s*|\[[!?-]?|\]|\/?\$[?!s~]?|\/?&|[#/]|v-if|v-for|teleport (?:start|end)|(?:ng-)?container|ngetn|ngtns|bindings=.*|\?lit\$.*|\/?lit-part.*|\/?q[vs](?: .*)?)$|^-?>|--!?>|--!?$|<!--/s

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
  const mark = randomBytes(8).toString('hex')
  const asked = change && {
    mark,
    remove: change.remove ?? [],
    consent: change.consent === true ? CONSENT.selectors : null,
    head: change.head ?? {},
  }
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
    expression: `(() => {${AS_ASCII}${SCRIPT}\nreturn takeSnapshot(${snapshotBytes}, ${elements}, ${MARKER}, ${JSON.stringify(asked)})})()`,
    contextId: world ?? (await makeWorld(session, frameId)),
    returnByValue: true,
  })
  if (exceptionDetails !== undefined)
    throw new Error(`snapshot: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`)
  const taken = result.value as Taken
  if (taken.kind !== 'html') return taken
  const { changes, html: ascii, ...whole } = taken
  const [html, changed] = unmarked(readAscii(ascii), mark)
  if (Math.max(Buffer.byteLength(html), Buffer.byteLength(changed)) > snapshotBytes)
    return { kind: 'too-large', what: 'snapshot-bytes' }
  const snapshot: Html = { ...whole, html }
  if (changes !== null) snapshot.changed = { html: changed, changes }
  return snapshot
}

/** The page as it was and as the rule wants it (packages/engine/src/render/in-page/rule.js). */
function unmarked(text: string, mark: string): [before: string, after: string] {
  const open: string[] = []
  let before = ''
  let after = ''
  for (const [at, piece] of text.split(new RegExp(`<!--([-+/])${mark}-->`)).entries()) {
    if (at % 2 === 0) {
      if (!open.includes('+')) before += piece
      if (!open.includes('-')) after += piece
    } else if (piece === '/') open.pop()
    else open.push(piece)
  }
  return [before, after]
}

export async function makeWorld(session: CdpSession, frameId: string): Promise<number> {
  const named = { frameId, worldName: WORLD }
  return (await session.send('Page.createIsolatedWorld', named)).executionContextId
}

type AsciiText = { form: 'plain' | 'escaped' | 'base64'; text: string }

const AS_ASCII = readFileSync(path.join(import.meta.dirname, '../in-page', 'as-ascii.js'), 'utf8')

/** Half a surrogate pair may have become U+FFFD, as in UTF-8. */
function readAscii({ form, text }: AsciiText): string {
  if (form === 'base64') return Buffer.from(text, 'base64').toString('utf8')
  if (form === 'plain') return text
  return text.replace(/\x7f([0-9a-f]{4})/g, (_escape, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
}
