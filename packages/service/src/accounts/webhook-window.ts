import type { DomainId } from '@prepaint/contract/ids.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'

/** Per domain and window, over all tokens and nodes. */
export const WEBHOOK_WINDOW_REQUESTS = 10
export const WEBHOOK_WINDOW_MS = 3_600_000

type WindowVerdict = { allowed: true } | { allowed: false; retryAfterSeconds: number }

/** False: refused, which does not extend the window. One statement, so concurrent requests are counted right. */
export async function countWebhookRequest(
  db: Queryable,
  domain: DomainId,
  nowMs: number,
): Promise<WindowVerdict> {
  const { rows } = await db.query<{ started_at: Date; requests: number }>({
    name: 'count-webhook-request',
    text: `
      insert into webhook_window as w (domain_id, started_at, requests) values ($1, $2, 1)
      on conflict (domain_id) do update set
        started_at = case when w.started_at <= $3 then $2 else w.started_at end,
        requests = case when w.started_at <= $3 then 1 else least(w.requests, $4::int) + 1 end
      returning started_at, requests`,
    values: [domain, new Date(nowMs), new Date(nowMs - WEBHOOK_WINDOW_MS), WEBHOOK_WINDOW_REQUESTS],
  })
  const { started_at: startedAt, requests } = rows[0]!
  if (requests <= WEBHOOK_WINDOW_REQUESTS) return { allowed: true }
  const leftMs = startedAt.getTime() + WEBHOOK_WINDOW_MS - nowMs
  return { allowed: false, retryAfterSeconds: Math.max(1, Math.ceil(leftMs / 1_000)) }
}
