import type { DomainName, PagePath } from '../../ids.ts'

/** What a client should read again; single numbers are included. No event has content of pages. */
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
  /** Jobs of a domain; `warming`: a warm will queue more. */
  | { event: 'warm'; data: { domain: DomainName; queued: number; running: number; warming: boolean } }
  | { event: 'quota'; data: { domain: DomainName; renders_used: number; monthly_render_limit: number } }
  /** Visits were counted, some seconds ago. */
  | { event: 'visits'; data: { domain: DomainName } }
  /** A domain was added or changed, or has another certificate. */
  | {
      event: 'domain'
      data: { domain: DomainName; is_active: boolean; certificate_ends_at: string | null }
    }
  /** The plan changed, or a domain was deleted. */
  | { event: 'account'; data: Record<never, never> }
  /** For operators: ended jobs of all accounts. */
  | { event: 'fleet'; data: { jobs_ended: number } }
  /** The stream has begun. */
  | { event: 'hello'; data: Record<never, never> }
  /** Events may have been missed: read everything again. */
  | { event: 'reread'; data: Record<never, never> }
  /** The last one: `access` (signed out, revoked, expired) or `node` (shutting down; reconnect). */
  | { event: 'end'; data: { reason: 'access' | 'node' } }

export const HELLO: LiveEvent = { event: 'hello', data: {} }
export const REREAD: LiveEvent = { event: 'reread', data: {} }

/** Server-sent event (HTML standard, 9.2.6). JSON has no line breaks. */
export function frameOf({ event, data }: LiveEvent, id: string): string {
  return `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}
