import { PHASES, type Phase, type RenderRecord } from '../src/render/record.ts'
import { fields } from './table.ts'

const PHASE_TEXTS: Record<Phase, string> = {
  slot: 'a slot was free',
  tab: 'a clean tab was there',
  navigate: 'the page was asked for',
  firstResponse: 'its first answer came',
  settled: 'nothing more was waited for',
  snapshot: 'the outcome was there',
}

const CAPTURE_TEXTS: Record<NonNullable<RenderRecord['capture']>, string> = {
  'ready-signal': 'the page said that it was ready',
  budget: 'its virtual time was used up and nothing was pending',
  idle: 'only streams or requests that never end were left',
  cap: 'it always found something more to do',
}

/** The longest phase has so many. */
const BAR_CHARS = 24

/**
 * The record of a render, for a person. `outcome`: its name, and what there is
 * to say about it. `endedAtMs`: since the Unix epoch.
 */
export function explanation(
  outcome: { kind: string; details: readonly string[] },
  record: RenderRecord,
  endedAtMs: number,
): string {
  const { capture, requests, troubles, consoleErrors, htmlBytes } = record
  const trouble = requests.blocked + requests.failed
  return [
    fields([
      ['outcome', [outcome.kind, ...outcome.details].join(', ')],
      ['taken because', capture === null ? 'it was not taken' : `${capture}: ${CAPTURE_TEXTS[capture]}`],
      ['size', htmlBytes === null ? 'there is no page' : sizeOf(htmlBytes)],
      [
        'requests',
        `${requests.made} made, of them ${requests.blocked} blocked and ${requests.failed} failed` +
          (requests.preloaded ? `, ${requests.preloaded} sent ahead` : '') +
          (requests.spared === 0 ? '' : `; ${counted(requests.spared, 'picture')} not downloaded`),
      ],
      ['console', consoleErrors.count === 0 ? 'no errors' : counted(consoleErrors.count, 'error')],
      ['ended', new Date(endedAtMs).toISOString()],
    ]),
    '',
    ...phaseLines(record.phases),
    ...section(
      'blocked and failed requests',
      troubles.map(({ url, kind, reason }) => `${kind} ${url} (${reason})`),
      trouble,
    ),
    ...section('errors on the console', consoleErrors.texts, consoleErrors.count),
  ].join('\n')
}

/** When each phase was reached, and how long it took from the one before that was. */
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
    '   at ms    took',
    ...steps.map(({ text, atMs, tookMs }) => {
      const bar = '#'.repeat(Math.round(((tookMs ?? 0) / longestMs) * BAR_CHARS))
      return `${column(atMs)}${column(tookMs)}  ${text.padEnd(width)}  ${bar}`.trimEnd()
    }),
  ]
}

/** `lines`: the first of `count`. */
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

/** What a page says must not move a person's cursor. */
function onOneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').replace(/\p{Cf}/gu, '?')
}
