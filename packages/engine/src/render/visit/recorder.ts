import { createHash } from 'node:crypto'
import type { RenderOutcome } from '@prepaint/contract/outcome/outcome.ts'
import type {
  CaptureReason,
  Phase,
  Rendering,
  RenderRecord,
  Trouble,
} from '@prepaint/contract/outcome/record.ts'
import { GATEWAY_HEADER } from '@prepaint/outbound/headers'
import type { Protocol } from 'devtools-protocol'
import type { CdpListeners } from '../browser/cdp.ts'

export const TROUBLES_LIMIT = 20
export const CONSOLE_ERRORS_LIMIT = 10
const TROUBLE_URL_LIMIT_CHARS = 300
const TEXT_LIMIT_CHARS = 500
const MOVED_LIMIT_CHARS = 2_400

export class Recorder {
  readonly #nowMs: () => number
  readonly #beganMs: number
  readonly #record: RenderRecord = {
    phases: { slot: null, tab: null, navigate: null, firstResponse: null, settled: null, snapshot: null },
    capture: null,
    requests: { made: 0, spared: 0, blocked: 0, failed: 0 },
    troubles: [],
    consoleErrors: { count: 0, texts: [] },
    htmlBytes: null,
  }
  readonly #urls = new Map<string, string>()
  readonly #application = new Application()
  #movedTo: string | null = null

  constructor(nowMs: () => number, beganMs: number = nowMs()) {
    this.#nowMs = nowMs
    this.#beganMs = beganMs
  }

  reached(phase: Phase): void {
    this.#record.phases[phase] ??= Math.round(this.#nowMs() - this.#beganMs)
  }

  missed(requests: readonly { url: string; ageMs: number }[]): void {
    for (const { url, ageMs } of requests)
      this.#note(url, 'missing', `no answer within ${Math.round(ageMs)} ms`)
  }

  /** The document was read without a browser. */
  readWithoutBrowser(): void {
    this.reached('firstResponse')
    this.reached('snapshot')
    this.#record.requests.made = 1
  }

  captured(why: CaptureReason): void {
    this.#record.capture = why
    this.reached('settled')
  }

  get soFar(): Pick<RenderRecord, 'requests' | 'troubles' | 'consoleErrors'> {
    return this.#record
  }

  explain(outcome: RenderOutcome, preloaded = 0): Rendering {
    const record = this.#record
    record.requests.preloaded = preloaded
    if (record.phases.tab !== null) this.reached('snapshot')
    const page = outcome.kind === 'incomplete' ? outcome.page : 'html' in outcome ? outcome : null
    if (page !== null) record.htmlBytes = Buffer.byteLength(page.html)
    if (outcome.kind === 'rendered' && outcome.changed !== undefined) record.rule = outcome.changed.changes
    if (outcome.kind !== 'rendered' || outcome.isStatic) return { outcome, record }
    const [application, movedTo] = [this.#application.name(), this.#movedTo]
    return { outcome: { ...outcome, application, movedTo }, record }
  }

  listeners(mainFrameId: string, blockedBy: (url: string) => string | null = () => null): CdpListeners {
    const isMain = (frameId: string | undefined) => frameId === mainFrameId
    return {
      'Network.requestWillBeSent': ({ requestId, frameId, type, initiator, request: { url } }) => {
        if (!/^https?:/i.test(url)) return
        if (isMain(frameId) && initiator.type === 'parser') this.#application.requested(type, url)
        if (type === 'Image') {
          this.#record.requests.spared++
          return
        }
        this.#record.requests.made++
        this.#urls.set(requestId, url)
        if (type === 'Document' && isMain(frameId)) this.reached('navigate')
      },
      'Page.navigatedWithinDocument': ({ frameId, url }) => {
        if (isMain(frameId)) this.#movedTo = url.slice(0, MOVED_LIMIT_CHARS)
      },
      'Network.responseReceived': ({ requestId, type, frameId, response }) => {
        if (type === 'Document' && isMain(frameId)) return this.reached('firstResponse')
        const refused = refusalOf(response.headers)
        if (refused !== null) this.#trouble(requestId, 'blocked', refused)
        else if (response.status >= 400) this.#trouble(requestId, 'failed', `status ${response.status}`)
      },
      'Network.loadingFinished': ({ requestId }) => void this.#urls.delete(requestId),
      'Network.loadingFailed': ({ requestId, type, errorText, canceled, blockedReason }) => {
        if (blockedReason === 'inspector')
          this.#trouble(requestId, 'blocked', 'its host is on the list of blocked hosts')
        else if (blockedReason === 'csp' && type === 'Font') this.#trouble(requestId, 'blocked', 'not needed')
        else if (blockedReason !== undefined)
          this.#trouble(requestId, 'blocked', `by the browser: ${blockedReason}`)
        else if (canceled !== true && errorText !== 'net::ERR_ABORTED') {
          const list = blockedBy(this.#urls.get(requestId) ?? '')
          if (list === null) this.#trouble(requestId, 'failed', errorText)
          else this.#trouble(requestId, 'blocked', `by the rule of this path: ${list}`)
        }
      },
      'Runtime.consoleAPICalled': ({ type, args }) => {
        if (type === 'error' || type === 'assert') this.#consoleError(args.map(textOf).join(' '))
      },
      'Runtime.exceptionThrown': ({ exceptionDetails: { text, exception } }) =>
        this.#consoleError(`${text} ${exception === undefined ? '' : textOf(exception)}`),
    }
  }

  #trouble(requestId: string, kind: Trouble['kind'], reason: string): void {
    const url = this.#urls.get(requestId)
    if (url === undefined) return
    // Once for each request: an error status and a broken body are one problem.
    this.#urls.delete(requestId)
    this.#note(url, kind, reason)
  }

  #note(url: string, kind: Trouble['kind'], reason: string): void {
    const { requests, troubles } = this.#record
    requests[kind] = (requests[kind] ?? 0) + 1
    if (troubles.length === TROUBLES_LIMIT) return
    const texts = { url: storable(url, TROUBLE_URL_LIMIT_CHARS), reason: storable(reason, TEXT_LIMIT_CHARS) }
    troubles.push({ kind, ...texts })
  }

  #consoleError(text: string): void {
    const { consoleErrors } = this.#record
    consoleErrors.count++
    if (consoleErrors.texts.length < CONSOLE_ERRORS_LIMIT)
      consoleErrors.texts.push(storable(text, TEXT_LIMIT_CHARS))
  }
}

export function mergeListeners(all: readonly CdpListeners[]): CdpListeners {
  const merged: Record<string, (params: never) => void> = {}
  for (const listeners of all) {
    for (const [event, listener] of Object.entries(listeners) as [string, (params: never) => void][]) {
      const before = merged[event]
      merged[event] =
        before === undefined
          ? listener
          : (params) => {
              before(params)
              listener(params)
            }
    }
  }
  return merged
}

function refusalOf(headers: Protocol.Network.Headers): string | null {
  const name = Object.keys(headers).find((header) => header.toLowerCase() === GATEWAY_HEADER)
  return name === undefined ? null : String(headers[name])
}

function textOf({ type, value, description }: Protocol.Runtime.RemoteObject): string {
  if (description !== undefined) return description.slice(0, TEXT_LIMIT_CHARS)
  return value === undefined ? type : String(value).slice(0, TEXT_LIMIT_CHARS)
}

/** PostgreSQL stores neither NUL nor half surrogate pairs. */
function storable(text: string, limitChars: number): string {
  return text.slice(0, limitChars).replaceAll('\0', '').toWellFormed().trim()
}

const FILES_LIMIT = 500
const FILE_URL_LIMIT_CHARS = 1_000

/** Names the application's build, by its scripts and style sheets. */
export class Application {
  readonly #files = new Set<string>()

  requested(type: string | undefined, url: string): void {
    if ((type === 'Script' || type === 'Stylesheet') && this.#files.size < FILES_LIMIT)
      this.#files.add(url.slice(0, FILE_URL_LIMIT_CHARS))
  }

  name(): string | null {
    if (this.#files.size === 0) return null
    const files = [...this.#files].sort().join('\n')
    return createHash('sha256').update(files).digest('base64url').slice(0, 16)
  }
}
