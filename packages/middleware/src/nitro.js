import { Asking } from './index.js'

/** For `server/middleware/` of Nuxt and Nitro: the page, or undefined, with which Nitro goes on. */
export function prepaint(options) {
  const asking = new Asking(options, 'PrepaintNitro', { needsSite: true })
  const handler = async (event) => {
    const page = await asking.pageFor(event.node.req, event.node.req.originalUrl ?? event.path)
    return page ?? undefined
  }
  // As `defineEventHandler` marks its handlers.
  handler.__is_handler__ = true
  return handler
}
