import { Asking, sendTo } from './index.js'

/** A middleware for Express, Connect, Polka and `node:http`. Put it before sessions, logs and static files. */
export function prepaint(options) {
  const asking = new Asking(options, 'PrepaintExpress', { needsSite: true })
  return (req, res, next) => {
    asking.pageFor(req, req.originalUrl ?? req.url).then((page) => {
      if (page === null) next()
      else if (!res.headersSent) sendTo(res, page)
    })
  }
}
