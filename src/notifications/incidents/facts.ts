import type { AccountId, DomainId, DomainName } from '../../ids.ts'

/** An ended render of the last 24 hours. */
export type Render = { path: string; outcome: string; detail: string | null; atMs: number }

/** What is usual for a domain; read every few minutes. */
export type Usual = {
  /** Renders by outcome, of seven days. */
  outcomes: Record<string, number>
  /** Median characters of text of the pages rendered in the last 24 hours; null: fewer than five. */
  textNow: number | null
  /** The same at the end of earlier days. */
  texts: Record<string, number>
  /** Counted renders a day, of the seven days before today. */
  rendersADay: number
  /** Visits of search crawlers in the last 24 hours, and in the same hours one to four weeks before. */
  search: { now: number; weeks: number[] } | null
}

export type Facts = {
  nowMs: number
  domain: { id: DomainId; account: AccountId; name: DomainName }
  /** At most 50, newest first. */
  renders: readonly Render[]
  usual: Usual
  quota: { used: number; limit: number }
  certificate: { failures: number; reason: string | null; endsMs: number | null }
  /** `lostMs`: first look that did not lead here; `lostAgainMs`: one at least three minutes later. */
  dns: { ledHere: boolean; lostMs: number | null; lostAgainMs: number | null; state: string | null }
  /** The node's own requests. */
  origin: { goodMs: number | null; badMs: number | null }
}

const UNREACHABLE = new Set(['origin-unreachable', 'timed-out'])
const FAILING = new Set([
  ...UNREACHABLE,
  ...['origin-error', 'site-error', 'blank', 'error-page', 'too-large', 'crashed', 'redirect-loop'],
])
const GOOD = new Set(['rendered', 'redirect', 'not-html', 'no-store'])

export const isUnreachable = ({ outcome }: { outcome: string }): boolean => UNREACHABLE.has(outcome)
export const isFailing = ({ outcome }: { outcome: string }): boolean => FAILING.has(outcome)
export const isGood = ({ outcome }: { outcome: string }): boolean => GOOD.has(outcome)
/** Says something about the site: neither over quota nor aborted, and no page that never was. */
export const isTelling = (render: { outcome: string }): boolean =>
  isFailing(render) || isGood(render) || render.outcome === 'challenge' || render.outcome === 'shrunk'
