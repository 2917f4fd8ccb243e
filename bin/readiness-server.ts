import http from 'node:http'

import { checkOperator } from '../src/api/operator-check.ts'
import type { ReadMetrics } from '../src/api/routes/metrics.ts'
import type { CheckReadiness } from '../src/api/routes/readiness.ts'
import { publicError } from '../src/errors.ts'

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
