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

/** The record of a render, for a person. */
export function explanation(outcome: string, record: RenderRecord): string {
  const { phases, capture, requests, troubles, consoleErrors, htmlBytes } = record
  const listed = (lines: readonly string[], count: number) => [
    ...lines.map((line) => `  ${onOneLine(line)}`),
    ...(count > lines.length ? [`  and ${count - lines.length} more`] : []),
  ]
  return [
    fields([
      ['outcome', outcome],
      ['taken because', capture === null ? 'it was not taken' : `${capture}: ${CAPTURE_TEXTS[capture]}`],
      ['size', htmlBytes === null ? '-' : `${htmlBytes} bytes`],
      [
        'requests',
        `${requests.made} made, ${requests.blocked} of them blocked, ${requests.failed} failed; ${requests.spared} pictures not downloaded`,
      ],
      ['console errors', String(consoleErrors.count)],
    ]),
    '',
    'after ms',
    ...PHASES.map((phase) => `${String(phases[phase] ?? '-').padStart(8)}  ${PHASE_TEXTS[phase]}`),
    ...(troubles.length === 0 ? [] : ['', 'blocked and failed requests']),
    ...listed(
      troubles.map(({ url, kind, reason }) => `${kind}: ${url} (${reason})`),
      requests.blocked + requests.failed,
    ),
    ...(consoleErrors.count === 0 ? [] : ['', 'errors on the console']),
    ...listed(consoleErrors.texts, consoleErrors.count),
  ].join('\n')
}

/** What a page says must not move a person's cursor. */
function onOneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
}
