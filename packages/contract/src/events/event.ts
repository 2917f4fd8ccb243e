import type { DomainName, PagePath } from '../ids.ts'

/** Tells clients what to read again, with single numbers. Never contains content of pages. */
export type LiveEvent =
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
  /** A page was stored or purged. `path` is null for several pages. */
  | { event: 'pages'; data: { domain: DomainName; path: PagePath | null } }
  /** Jobs of a domain; `warming`: a warm will queue more. */
  | { event: 'warm'; data: { domain: DomainName; queued: number; running: number; warming: boolean } }
  | { event: 'quota'; data: { domain: DomainName; renders_used: number; monthly_render_limit: number } }
  | { event: 'visits'; data: { domain: DomainName } }
  | {
      event: 'domain'
      data: { domain: DomainName; is_active: boolean; certificate_ends_at: string | null }
    }
  /** Opened, changed or resolved. */
  | { event: 'incident'; data: { id: number; domain: DomainName; kind: string; state: 'open' | 'resolved' } }
  | { event: 'account'; data: Record<never, never> }
  /** Ended jobs of all accounts, which only operators see. */
  | { event: 'fleet'; data: { jobs_ended: number } }
  | { event: 'hello'; data: Record<never, never> }
  /** Events may have been missed: read everything again. */
  | { event: 'reread'; data: Record<never, never> }
  /** The last event: access ended (`access`), or the node shuts down (`node`; reconnect). */
  | { event: 'end'; data: { reason: 'access' | 'node' } }

export const HELLO: LiveEvent = { event: 'hello', data: {} }
export const REREAD: LiveEvent = { event: 'reread', data: {} }

/** Server-sent event (HTML standard, 9.2.6). JSON has no line breaks. */
export function frameOf({ event, data }: LiveEvent, id: string): string {
  return `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}
