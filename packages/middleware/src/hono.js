import { Asking } from './index.js'

/** A middleware for Hono: `app.use(prepaint({ ... }))`, before all routes. */
export function prepaint(options) {
  const asking = new Asking(options, 'PrepaintHono')
  return async (c, next) => {
    const page = asking.mayBeForUs(c.req.raw) ? await asking.page(c.req.raw) : null
    if (page !== null) return page
    await next()
    return undefined
  }
}
