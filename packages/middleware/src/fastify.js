import { Asking, sendTo } from './index.js'

/** A plugin for Fastify: `app.register(prepaint({ ... }))`, or `app.register(prepaint, { ... })`. */
export function prepaint(first, options) {
  if (typeof first?.addHook === 'function') return addTo(first, options)
  const asking = new Asking(first, 'PrepaintFastify', { needsSite: true })
  return forWholeServer(async (app) => addHook(app, asking))
}
forWholeServer(prepaint)

async function addTo(app, options) {
  addHook(app, new Asking(options, 'PrepaintFastify', { needsSite: true }))
}

function addHook(app, asking) {
  app.addHook('onRequest', async (request, reply) => {
    const page = await asking.pageFor(request.raw, request.originalUrl ?? request.raw.url)
    if (page === null) return
    reply.hijack()
    await sendTo(reply.raw, page)
  })
}

/** Without it, the hook would see the plugin's own routes only. */
function forWholeServer(plugin) {
  plugin[Symbol.for('skip-override')] = true
  return plugin
}
