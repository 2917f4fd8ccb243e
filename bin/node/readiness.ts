import http from 'node:http'
import { checkOperator } from '../../src/api/http/session-access.ts'
import type { CheckReadiness, Readiness, ReadMetrics } from '../../src/api/service/health.ts'
import { publicError } from '../../src/errors.ts'

/** The pool, as far as this needs it. */
type Asked = { query(sql: string): Promise<unknown> }

const DATABASE_WITHIN_MS = 2_000

/**
 * Asks the database and looks at the browser each time, so that what a load
 * balancer hears is true now. `isDraining`: the node has been asked to end.
 */
export function createReadinessCheck(deps: {
  pool: Asked
  /** null: this node does not render. */
  renderer: { readonly healthy: boolean } | null
  isDraining(): boolean
}): CheckReadiness {
  return async () => {
    const browser = deps.renderer === null ? 'none' : deps.renderer.healthy ? 'ok' : 'broken'
    const database = (await answers(deps.pool)) ? 'ok' : 'unreachable'
    const state: Readiness['state'] = deps.isDraining() ? 'draining' : 'serving'
    return {
      ready: state === 'serving' && database === 'ok' && browser !== 'broken',
      state,
      database,
      browser,
    }
  }
}

async function answers(pool: Asked): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), DATABASE_WITHIN_MS)
  try {
    return await Promise.race([
      pool.query('select').then(
        () => true,
        () => false,
      ),
      late,
    ])
  } finally {
    clearTimeout(timer)
  }
}

/** In the place of the API on a node without that role: `GET /healthz`, `GET /readyz` and `GET /metrics`, and 404 for all else. */
export function createReadinessServer(
  checkReadiness: CheckReadiness,
  readMetrics: ReadMetrics,
  metricsToken: string | null,
): http.Server {
  return http.createServer((req, res) => {
    const send = (status: number, body: unknown) => {
      res.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
      res.end(JSON.stringify(body))
    }
    const answer = async () => {
      if (req.url === '/healthz') send(200, { status: 'ok' })
      else if (req.url === '/readyz') {
        const found = await checkReadiness()
        send(found.ready ? 200 : 503, found)
      } else if (req.url === '/metrics') {
        checkOperator(req, metricsToken)
        const { body, type } = await readMetrics()
        res.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' })
        res.end(body)
      } else send(404, { error: 'Not found' })
    }
    answer().catch((error: unknown) => {
      const { status, body } = publicError(error)
      if (res.headersSent) res.destroy()
      else send(status, body)
    })
  })
}
