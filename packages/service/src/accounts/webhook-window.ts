import { Rate } from '@prepaint/postgres/rates'

/** Requests of a domain in a window, over all tokens and nodes. */
export const WEBHOOK_WINDOW_REQUESTS = 10
export const WEBHOOK_WINDOW_MS = 3_600_000

/** Counts requests to `domain <id>`. A refused one does not extend the window. */
export const WEBHOOK_RATE = new Rate({
  what: 'webhook',
  most: WEBHOOK_WINDOW_REQUESTS,
  withinMs: WEBHOOK_WINDOW_MS,
  window: 'fixed',
})
