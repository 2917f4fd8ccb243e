import http from 'node:http'

import type { CheckReadiness } from '../src/api/routes/readiness.ts'

/** In the place of the API on a node without that role: `GET /readyz`, and 404 for all else. */
export function createReadinessServer(checkReadiness: CheckReadiness): http.Server {
  return http.createServer((req, res) => {
    const send = (status: number, body: unknown) => {
      res.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
      res.end(JSON.stringify(body))
    }
    if (req.url !== '/readyz') return send(404, { error: 'Not found' })
    checkReadiness().then(
      (found) => send(found.ready ? 200 : 503, found),
      () => res.destroy(),
    )
  })
}
