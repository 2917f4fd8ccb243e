import { createHash } from 'node:crypto'
import type { Protocol } from 'devtools-protocol'
import { GATEWAY_HEADER } from '../../outbound/headers.ts'
import type { CdpListeners } from '../browser/cdp.ts'
import type { RenderOutcome } from '../outcome.ts'
import type { CaptureReason, Phase, Rendering, RenderRecord, Trouble } from '../record.ts'

export const TROUBLES_LIMIT = 20
export const CONSOLE_ERRORS_LIMIT = 10
const TROUBLE_URL_LIMIT_CHARS = 300
const TEXT_LIMIT_CHARS = 500
/** As long as a stored path may be, with its host. */
const MOVED_LIMIT_CHARS = 2_400

/** Writes the record of one render, beside it: nothing here decides anything. */
export type Recorder = {
  /** Only the first time counts. */
  reached(phase: Phase): void
  captured(why: CaptureReason): void
  /** What the record wants to hear of the page whose main frame this is. */
  listeners(mainFrameId: string): CdpListeners
  /** The record ends with the outcome. `preloaded`: as the gateway has counted. */
  explain(outcome: RenderOutcome, preloaded?: number): Rendering
}

export function createRecorder(nowMs: () => number): Recorder {
  const beganMs = nowMs()
  const record: RenderRecord = {
    phases: { slot: null, tab: null, navigate: null, firstResponse: null, settled: null, snapshot: null },
    capture: null,
    requests: { made: 0, spared: 0, blocked: 0, failed: 0 },
    troubles: [],
    consoleErrors: { count: 0, texts: [] },
    htmlBytes: null,
  }
  const { phases, requests, troubles, consoleErrors } = record
  const urls = new Map<string, string>()
  const application = createApplication()
  let movedTo: string | null = null

  const reached = (phase: Phase) => {
    phases[phase] ??= Math.round(nowMs() - beganMs)
  }
  const trouble = (requestId: string, kind: Trouble['kind'], reason: string) => {
    const url = urls.get(requestId)
    if (url === undefined) return
    // Once for each request: an error status and a broken body are one trouble.
    urls.delete(requestId)
    requests[kind]++
    if (troubles.length < TROUBLES_LIMIT) {
      troubles.push({
        url: kept(url, TROUBLE_URL_LIMIT_CHARS),
        kind,
        reason: kept(reason, TEXT_LIMIT_CHARS),
      })
    }
  }
  const consoleError = (text: string) => {
    consoleErrors.count++
    if (consoleErrors.texts.length < CONSOLE_ERRORS_LIMIT)
      consoleErrors.texts.push(kept(text, TEXT_LIMIT_CHARS))
  }

  const listeners = (mainFrameId: string): CdpListeners => ({
    'Network.requestWillBeSent': ({ requestId, frameId, type, initiator, request: { url } }) => {
      if (!/^https?:/i.test(url)) return
      if (frameId === mainFrameId && initiator.type === 'parser') application.requested(type, url)
      if (type === 'Image') {
        requests.spared++
        return
      }
      requests.made++
      urls.set(requestId, url)
      if (type === 'Document' && frameId === mainFrameId) reached('navigate')
    },
    'Page.navigatedWithinDocument': ({ frameId, url }) => {
      if (frameId === mainFrameId) movedTo = url.slice(0, MOVED_LIMIT_CHARS)
    },
    'Network.responseReceived': ({ requestId, type, frameId, response }) => {
      if (type === 'Document' && frameId === mainFrameId) return reached('firstResponse')
      const refused = refusalOf(response.headers)
      if (refused !== null) trouble(requestId, 'blocked', refused)
      else if (response.status >= 400) trouble(requestId, 'failed', `status ${response.status}`)
    },
    'Network.loadingFinished': ({ requestId }) => void urls.delete(requestId),
    'Network.loadingFailed': ({ requestId, type, errorText, canceled, blockedReason }) => {
      if (blockedReason === 'inspector')
        trouble(requestId, 'blocked', 'its host is on the list of blocked hosts')
      else if (blockedReason === 'csp' && type === 'Font') trouble(requestId, 'blocked', 'not needed')
      else if (blockedReason !== undefined) trouble(requestId, 'blocked', `by the browser: ${blockedReason}`)
      else if (canceled !== true && errorText !== 'net::ERR_ABORTED') trouble(requestId, 'failed', errorText)
    },
    'Runtime.consoleAPICalled': ({ type, args }) => {
      if (type === 'error' || type === 'assert') consoleError(args.map(textOf).join(' '))
    },
    'Runtime.exceptionThrown': ({ exceptionDetails: { text, exception } }) =>
      consoleError(`${text} ${exception === undefined ? '' : textOf(exception)}`),
  })

  return {
    reached,
    listeners,
    captured(why) {
      record.capture = why
      reached('settled')
    },
    explain(outcome, preloaded = 0) {
      requests.preloaded = preloaded
      if (phases.tab !== null) reached('snapshot')
      if ('html' in outcome) record.htmlBytes = Buffer.byteLength(outcome.html)
      if (outcome.kind !== 'rendered') return { outcome, record }
      return { outcome: { ...outcome, application: application.name(), movedTo }, record }
    },
  }
}

/** All hear every event, in their order. */
export function allHear(all: readonly CdpListeners[]): CdpListeners {
  const merged: Record<string, (params: never) => void> = {}
  for (const listeners of all) {
    for (const [event, hear] of Object.entries(listeners) as [string, (params: never) => void][]) {
      const before = merged[event]
      merged[event] =
        before === undefined
          ? hear
          : (params) => {
              before(params)
              hear(params)
            }
    }
  }
  return merged
}

/** Why the gateway did not fetch it, if so. */
function refusalOf(headers: Protocol.Network.Headers): string | null {
  const name = Object.keys(headers).find((header) => header.toLowerCase() === GATEWAY_HEADER)
  return name === undefined ? null : String(headers[name])
}

function textOf({ type, value, description }: Protocol.Runtime.RemoteObject): string {
  if (description !== undefined) return description.slice(0, TEXT_LIMIT_CHARS)
  return value === undefined ? type : String(value).slice(0, TEXT_LIMIT_CHARS)
}

/** As PostgreSQL can store it: no NUL, no half characters. */
function kept(text: string, limitChars: number): string {
  return text.slice(0, limitChars).replaceAll('\0', '').toWellFormed().trim()
}

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
