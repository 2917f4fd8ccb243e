import http from 'node:http'
import { checkOperator } from '@prepaint/api/http/session-access.ts'
import type { CheckReadiness, Readiness, ReadMetrics } from '@prepaint/api/service/health.ts'
import { publicError } from '@prepaint/contract/errors.ts'
import { within } from '@prepaint/runtime/within.ts'
import { browserState } from './wire-fleet.ts'

type Pool = { query(sql: string): Promise<unknown> }

const DATABASE_TIMEOUT_MS = 2_000

/** `renderer` is null on a node that does not render. */
export function createReadinessCheck(
  pool: Pool,
  renderer: { readonly healthy: boolean } | null,
  isDraining: () => boolean,
): CheckReadiness {
  return async () => {
    const browser = browserState(renderer)
    const database = (await responds(pool)) ? 'ok' : 'unreachable'
    const state: Readiness['state'] = isDraining() ? 'draining' : 'serving'
    return {
      ready: state === 'serving' && database === 'ok' && browser !== 'broken',
      state,
      database,
      browser,
    }
  }
}

function responds(pool: Pool): Promise<boolean> {
  const response = pool.query('select').then(
    () => true,
    () => false,
  )
  return within(DATABASE_TIMEOUT_MS, response, false)
}

/** The server of a node without the API: it knows `GET /healthz`, `GET /readyz` and `GET /metrics`. */
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
