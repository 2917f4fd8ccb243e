import { isIP } from 'node:net'
import { unreachable } from '@prepaint/contract/errors.ts'
import type { DomainName, PagePath } from '@prepaint/contract/ids.ts'
import { FORMS } from '@prepaint/contract/outcome/form.ts'
import type { RenderOutcome } from '@prepaint/contract/outcome/outcome.ts'
import { PHASES, type Phase, type Rendering, type RenderRecord } from '@prepaint/contract/outcome/record.ts'
import { PAGE_VARIANTS, type PageVariant } from '@prepaint/contract/page/page-id.ts'
import { normalisePath } from '@prepaint/contract/page/path.ts'
import { visitorFor } from '@prepaint/contract/settings/devices.ts'
import { startEngine } from '@prepaint/engine'
import { checkOriginUrl, createAddressGuard } from '@prepaint/outbound'
import { convert } from '@prepaint/pages/forms/convert.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { identityOf } from '@prepaint/runtime/identity.ts'
import { createLog } from '@prepaint/runtime/log.ts'
import {
  CommandError,
  type Commands,
  defineCommand,
  type Surroundings,
  UsageError,
} from '../command-line/command.ts'
import { parseChoiceOption } from '../command-line/options.ts'
import { fields } from '../command-line/output.ts'
import { watchForShutdown } from '../node/shutdown.ts'

const DNS_TIMEOUT_MS = 5_000

/** Name of a page whose site is given by IP address. */
const NAME_FOR_ADDRESS = 'page.localhost'

const render = defineCommand({
  options: {
    explain: { value: null, text: 'explain the render instead of printing the page' },
    form: { value: 'FORM', text: 'html (default), markdown or card' },
    variant: { value: 'V', text: 'desktop (default) or mobile: the device to render for' },
  },
  operand: { name: 'URL', text: 'the page; http or https' },
  async run({ explain, ...values }, around, url) {
    const form = parseChoiceOption('form', values.form ?? 'html', FORMS)
    const variant = parseChoiceOption('variant', values.variant ?? 'desktop', PAGE_VARIANTS)
    const page = await pageAt(url, around)
    const begunMs = systemClock.nowMs()
    const { outcome, record } = await renderOnce(page, variant, around)
    const { kind, ...details } = withoutReadings(outcome)
    const endedMs = systemClock.nowMs()
    const found = { url, outcome: kind, ms: endedMs - begunMs, ...details }
    const json = explain ? { ...found, ended_at: new Date(endedMs).toISOString(), record } : found
    const result = { kind, details: outcomeDetails(outcome) }
    const explained = explain && record !== null ? explanation(result, record, endedMs) : ''
    if (outcome.kind === 'rendered' || outcome.kind === 'site-error') {
      if (outcome.kind === 'site-error' && !around.json)
        around.say(
          `prepaint: the page reports status ${outcome.status}: a crawler gets it, but it is not stored`,
        )
      if (form === 'html') return { json, text: explain ? explained : outcome.html }
      const changedAt = new Date(endedMs).toISOString()
      const pageUrl = `https://${page.customDomain}${page.path}`
      const { html, reading } = outcome
      const { text } = convert({ form, html, url: pageUrl, reading, changedAt, textChange: null })
      return { json: { ...json, form, text }, text: explain ? explained : text }
    }
    const reason = reasonOf(outcome)
    if (!around.json) around.say(`prepaint: no page: ${reason}`)
    return { json: { ...json, error: reason }, text: explained, exitCode: 1 }
  },
})

/** Scripts get the outcome as it is documented. What the page says is in its HTML. */
export function withoutReadings(outcome: RenderOutcome): Pick<RenderOutcome, 'kind'> {
  if (outcome.kind === 'rendered' || outcome.kind === 'site-error') {
    const { reading: _, ...page } = outcome
    return page
  }
  if (outcome.kind === 'incomplete' && outcome.page !== null) {
    const { reading: _, ...page } = outcome.page
    const told = { ...outcome, page }
    return told
  }
  return outcome
}

function outcomeDetails(outcome: RenderOutcome): string[] {
  if ('html' in outcome) {
    return [`status ${outcome.status}`, ...outcome.headers.map(([name, value]) => `${name}: ${value}`)]
  }
  return outcome.kind === 'redirect' ? [`status ${outcome.status}`, `to ${outcome.location}`] : []
}

type Page = { customDomain: DomainName; originUrl: string; path: PagePath }

async function pageAt(raw: string, { config }: Surroundings): Promise<Page> {
  const url = URL.parse(raw)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(`URL must begin with http:// or https://, got "${raw}"`)
  }
  const guard = createAddressGuard(config.allowedPrivateOrigins)
  const check = await checkOriginUrl(url.origin, guard, { timeoutMs: DNS_TIMEOUT_MS })
  if (!check.ok) throw new CommandError(`${url.origin}: ${check.reason}.${allowHint(url)}`)
  const path = normalisePath(url.pathname + url.search)
  if (path === null) throw new CommandError(`${raw}: the path is too long or not one that a page can have`)
  const host = url.hostname.replace(/\.$/, '')
  const isAddress = isIP(host.replace(/^\[|\]$/g, '')) !== 0
  return {
    customDomain: (isAddress ? NAME_FOR_ADDRESS : host) as DomainName,
    originUrl: check.originUrl,
    path,
  }
}

function allowHint(url: URL): string {
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isV6 = isIP(host) === 6
  const v4 = isIP(host) === 4 ? host : '127.0.0.1'
  const range = isV6 ? `[${host}/128]:${port}` : `${v4}/32:${port}`
  return ` If the site is yours, allow its address: PREPAINT_ALLOW_PRIVATE_ORIGINS=${range} (CIDR:port)`
}

async function renderOnce(
  page: Page,
  variant: PageVariant,
  { config, say }: Surroundings,
): Promise<Rendering> {
  // Errors only: stdout is the page.
  const log = createLog(config.logLevel === 'info' ? 'error' : config.logLevel)
  const { chromium, timeoutMs, requireSandbox } = config.render
  const shutdown = watchForShutdown(config)
  const stop = new AbortController()
  void shutdown.requested.then(() => stop.abort())
  const engine = await startEngine({
    chromium,
    dataDir: config.dataDir,
    slots: 1,
    timeoutMs,
    requireSandbox,
    identity: identityOf(config),
    allowedPrivateOrigins: config.allowedPrivateOrigins,
    log,
    onLongStep: say,
  })
  try {
    return await engine.render({ ...page, visitor: visitorFor(variant), signal: stop.signal })
  } finally {
    await engine.close()
    shutdown.unwatch()
  }
}

function reasonOf(outcome: Exclude<RenderOutcome, { kind: 'rendered' | 'site-error' }>): string {
  switch (outcome.kind) {
    case 'redirect':
      return `it redirects (${outcome.status}) to ${outcome.location}`
    case 'not-html':
      return `the origin answers ${outcome.contentType}, not HTML`
    case 'origin-error':
      return `the origin answers with the error ${outcome.status}`
    case 'origin-unreachable':
      return `the origin cannot be reached: ${outcome.reason}`
    case 'timed-out':
      if (outcome.afterMs === 0) return 'it keeps reloading itself'
      return `it was not finished after ${outcome.afterMs} ms${outcome.reason === undefined ? '' : `: ${outcome.reason}`}`
    case 'incomplete':
      return `it is incomplete: ${outcome.reason}`
    case 'blank':
      return 'it has no text, image or field'
    case 'challenge':
      return `${outcome.mark} shows a bot challenge`
    case 'error-page':
      return `it is only an error message (${outcome.mark})`
    case 'too-large':
      return `it exceeds a limit for pages: ${outcome.what}`
    case 'crashed':
      return `the browser crashed: ${outcome.reason}`
    case 'aborted':
      return 'it was stopped'
    default:
      return unreachable(outcome)
  }
}

const PHASE_TEXTS: Record<Phase, string> = {
  slot: 'waiting for a slot',
  tab: 'opening a clean tab',
  navigate: 'requesting the page',
  firstResponse: 'waiting for the response',
  settled: 'scripts and requests',
  snapshot: 'snapshot',
}

const CAPTURE_TEXTS: Record<NonNullable<RenderRecord['capture']>, string> = {
  'ready-signal': 'when the page reported that it was ready',
  budget: 'when all timers had run',
  idle: 'when no request or script was running, except streams',
  cap: 'when the time limit was reached',
  deadline: 'shortly before the crawler stopped waiting',
}

const BAR_CHARS = 24

export function explanation(
  outcome: { kind: string; details: readonly string[] },
  record: RenderRecord,
  endedAtMs: number,
): string {
  const { capture, requests, troubles, consoleErrors, htmlBytes } = record
  const trouble = requests.blocked + requests.failed + (requests.missing ?? 0)
  return [
    fields([
      ['outcome', [outcome.kind, ...outcome.details].join(', ')],
      ['captured', capture === null ? 'no' : `${CAPTURE_TEXTS[capture]} (${capture})`],
      ['size', htmlBytes === null ? 'no page' : sizeOf(htmlBytes)],
      [
        'requests',
        `${requests.made} sent, of these ${requests.blocked} blocked, ${requests.failed} failed` +
          (requests.missing ? `, ${requests.missing} without an answer` : '') +
          (requests.preloaded ? `, ${requests.preloaded} sent ahead of the page` : '') +
          (requests.spared === 0 ? '' : `; ${counted(requests.spared, 'image')} not downloaded`),
      ],
      ['console', consoleErrors.count === 0 ? 'no errors' : counted(consoleErrors.count, 'error')],
      ['ended', new Date(endedAtMs).toISOString()],
    ]),
    '',
    ...phaseLines(record.phases),
    ...section(
      'blocked, failed and unanswered requests',
      troubles.map(({ url, kind, reason }) => `${kind} ${url} (${reason})`),
      trouble,
    ),
    ...section('console errors', consoleErrors.texts, consoleErrors.count),
  ].join('\n')
}

function phaseLines(phases: RenderRecord['phases']): string[] {
  let beforeMs = 0
  const steps = PHASES.map((phase) => {
    const atMs = phases[phase]
    const tookMs = atMs === null ? null : atMs - beforeMs
    beforeMs = atMs ?? beforeMs
    return { text: PHASE_TEXTS[phase], atMs, tookMs }
  })
  const longestMs = Math.max(1, ...steps.map(({ tookMs }) => tookMs ?? 0))
  const width = Math.max(...steps.map(({ text }) => text.length))
  const column = (ms: number | null) => String(ms ?? '-').padStart(8)
  return [
    '  end ms took ms',
    ...steps.map(({ text, atMs, tookMs }) => {
      const bar = '#'.repeat(Math.round(((tookMs ?? 0) / longestMs) * BAR_CHARS))
      return `${column(atMs)}${column(tookMs)}  ${text.padEnd(width)}  ${bar}`.trimEnd()
    }),
  ]
}

function section(heading: string, lines: readonly string[], count: number): string[] {
  if (count === 0) return []
  const more = count > lines.length ? [`  and ${count - lines.length} more`] : []
  return ['', heading, ...lines.map((line) => `  ${onOneLine(line)}`), ...more]
}

function sizeOf(bytes: number): string {
  const inFull = `${bytes.toLocaleString('en-US')} bytes`
  return bytes < 10_000 ? inFull : `${Math.round(bytes / 1_000).toLocaleString('en-US')} kB (${inFull})`
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** A page's text must not move the operator's cursor. */
function onOneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').replace(/\p{Cf}/gu, '?')
}

export const commands: Commands = {
  render: render,
}
