import type { DomainId, DomainName } from '../../ids.ts'
import { STORED } from '../../queue/jobs/job.ts'

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
  /** Visits of search crawlers in the last 24 hours, and in the same hours one to four weeks before; null: too new. */
  search: readonly number[] | null
}

export type Facts = {
  nowMs: number
  domain: { id: DomainId; name: DomainName }
  /** Those that tell something: at most 50, newest first. */
  renders: readonly Render[]
  usual: Usual
  quota: { used: number; limit: number }
  certificate: { failures: number; reason: string | null; endsMs: number | null }
  /** `lostMs`: first look since the name led here that did not; `lostAgainMs`: one at least three minutes later. */
  dns: { lostMs: number | null; lostAgainMs: number | null; state: string | null }
  /** The node's own requests. */
  origin: { goodMs: number | null; badMs: number | null }
}

const UNREACHABLE = ['origin-unreachable', 'timed-out']
export const FAILING: readonly string[] = [
  ...UNREACHABLE,
  ...['origin-error', 'site-error', 'blank', 'error-page', 'too-large', 'crashed', 'redirect-loop'],
]
const GOOD = [...STORED, 'redirect', 'not-html', 'no-store']

type Ended = { outcome: string }
export const isUnreachable = ({ outcome }: Ended): boolean => UNREACHABLE.includes(outcome)
export const isFailing = ({ outcome }: Ended): boolean => FAILING.includes(outcome)
export const isGood = ({ outcome }: Ended): boolean => GOOD.includes(outcome)
/** Says something about the site: neither over quota nor aborted, and no page that never was. */
export const isTelling = (render: Ended): boolean =>
  isFailing(render) || isGood(render) || render.outcome === 'challenge' || render.outcome === 'shrunk'
