import type { JobOutcome } from './job.ts'

/** What a render ended as, for people: within a sentence, or behind a path and a colon. */
const WORDS: Record<JobOutcome, string> = {
  rendered: 'rendered',
  static: 'stored as it came, without a browser',
  incomplete: 'not complete in time',
  redirect: 'a redirect',
  'not-html': 'not an HTML page',
  'origin-error': 'the server answered with an error',
  'site-error': 'the page says that it is an error',
  'origin-unreachable': 'the server could not be reached',
  'timed-out': 'not ready in time',
  blank: 'a blank page',
  challenge: 'a bot challenge',
  'error-page': 'an error text with the status of success',
  'too-large': 'too large',
  crashed: 'the browser crashed',
  aborted: 'stopped (the browser was closed)',
  shrunk: 'far less text than before',
  'no-store': 'the server forbids storing it',
  'soft-404': 'a page for missing pages',
  probed: 'the page for missing pages was looked at',
  tried: 'tried under other rules',
  'redirect-loop': 'redirects in circles',
  'over-quota': 'the renders of the month are used up',
  'domain-gone': 'the site was deleted',
  'domain-inactive': 'the site is paused',
  cancelled: 'cancelled',
}

/** Empty if the detail says no more than the outcome, as `unreachable` of `origin-unreachable`. */
export function detailWords(outcome: string, detail: string | null): string {
  return detail === null || outcome.includes(detail) ? '' : detail
}

/** An outcome that this version does not know is spelled in words. */
export function outcomeWords(outcome: string): string {
  return WORDS[outcome as JobOutcome] ?? outcome.replaceAll('-', ' ')
}
