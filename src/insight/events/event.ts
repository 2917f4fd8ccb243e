import type { DomainName, PagePath } from '../../ids.ts'

/**
 * What may have changed for whoever listens. None carries what a page holds:
 * it says what to read again, and where that is one figure, the figure.
 */
export type LiveEvent =
  /** A job has ended. */
  | {
      event: 'render'
      data: {
        domain: DomainName
        path: PagePath
        priority: 'live' | 'refresh' | 'warm'
        state: 'done' | 'failed' | 'cancelled'
        outcome: string | null
      }
    }
  /** Pages were stored or purged; `path` null: more than one. */
  | { event: 'pages'; data: { domain: DomainName; path: PagePath | null } }
  /** Where the jobs of a domain stand; `warming`: a full warm will queue more. */
  | { event: 'warm'; data: { domain: DomainName; queued: number; running: number; warming: boolean } }
  | { event: 'quota'; data: { domain: DomainName; renders_used: number; monthly_render_limit: number } }
  /** Visits were counted, or who asked last for a page was noted: some seconds after they came. */
  | { event: 'visits'; data: { domain: DomainName } }
  /** A domain was added or changed, or has another certificate. */
  | {
      event: 'domain'
      data: { domain: DomainName; is_active: boolean; certificate_ends_at: string | null }
    }
  /** The account's plan has changed, or a domain of its was deleted. */
  | { event: 'account'; data: Record<never, never> }
  /** For operators: so many jobs of all accounts have ended. */
  | { event: 'fleet'; data: { jobs_ended: number } }
  /** The stream stands. */
  | { event: 'hello'; data: Record<never, never> }
  /** Something may have been missed: whatever was read is to be read again. */
  | { event: 'reread'; data: Record<never, never> }
  /** The last one: `access` (signed out, revoked, expired), or `node` (it ends; another answers). */
  | { event: 'end'; data: { reason: 'access' | 'node' } }

export const HELLO: LiveEvent = { event: 'hello', data: {} }
export const REREAD: LiveEvent = { event: 'reread', data: {} }

/** As it goes over the wire (HTML standard, 9.2.6). JSON has no line breaks of its own. */
export function frameOf({ event, data }: LiveEvent, id: string): string {
  return `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}
