import { Asking, sendTo } from './index.js'

/** A middleware for Koa. Put it first. */
export function prepaint(options) {
  const asking = new Asking(options, 'PrepaintKoa', { needsSite: true })
  return async (ctx, next) => {
    const page = await asking.pageFor(ctx.req, ctx.originalUrl)
    if (page === null) return next()
    ctx.respond = false
    await sendTo(ctx.res, page)
  }
}
