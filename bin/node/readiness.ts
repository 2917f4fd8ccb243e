import http from 'node:http'
import { checkOperator } from '@prepaint/api/http/session-access.ts'
import type {
  CheckEdge,
  CheckReadiness,
  EdgeReadiness,
  Readiness,
  ReadMetrics,
} from '@prepaint/api/service/health.ts'
import { publicError } from '@prepaint/contract/errors.ts'
import { within } from '@prepaint/runtime/within.ts'
import type { BrowserState } from '@prepaint/service/insight/fleet/node.ts'

/** What `Availability` knows of the database. */
type DatabaseState = { readonly isAway: boolean; readonly db: { query(sql: string): Promise<unknown> } }

const DATABASE_TIMEOUT_MS = 2_000

/** `renderer` is null on a node that does not render. */
export async function checkReadiness(
  database: DatabaseState,
  renderer: { readonly healthy: boolean } | null,
  isDraining: boolean,
): Promise<Readiness> {
  const browser = browserState(renderer)
  const isThere = !database.isAway && (await responds(database.db))
  return {
    ready: !isDraining && isThere && browser !== 'broken',
    state: isDraining ? 'draining' : 'serving',
    database: isThere ? 'ok' : 'unreachable',
    browser,
  }
}

/** The domains that the edge knows without PostgreSQL. */
type KnownDomains = { inMemory: number; inSnapshot: number }

/** People are served from memory or the snapshot while PostgreSQL is away. */
export function checkEdge(isAway: boolean, known: KnownDomains, isDraining: boolean): EdgeReadiness {
  let domains: EdgeReadiness['domains'] = 'none'
  if (!isAway || known.inMemory > 0) domains = 'memory'
  else if (known.inSnapshot > 0) domains = 'snapshot'
  return {
    ready: !isDraining && domains !== 'none',
    state: isDraining ? 'draining' : 'serving',
    database: isAway ? 'unreachable' : 'ok',
    domains,
  }
}

export function browserState(renderer: { readonly healthy: boolean } | null): BrowserState {
  if (renderer === null) return 'none'
  return renderer.healthy ? 'ok' : 'broken'
}

function responds(db: DatabaseState['db']): Promise<boolean> {
  const response = db.query('select').then(
    () => true,
    () => false,
  )
  return within(DATABASE_TIMEOUT_MS, response, false)
}

/** The server of a node without the API: it knows `GET /healthz`, `/readyz`, with an edge `/readyz/edge`, and `/metrics`. */
export function createReadinessServer(
  readReadiness: CheckReadiness,
  readEdge: CheckEdge | null,
  readMetrics: ReadMetrics,
  metricsToken: string | null,
): http.Server {
  return http.createServer((req, res) => {
    answer(req, res, readReadiness, readEdge, readMetrics, metricsToken).catch((error: unknown) => {
      const { status, body } = publicError(error)
      if (res.headersSent) res.destroy()
      else sendJson(res, status, body)
    })
  })
}

async function answer(
  req: http.IncomingMessage,
  res: http.ServerResponse,
  readReadiness: CheckReadiness,
  readEdge: CheckEdge | null,
  readMetrics: ReadMetrics,
  metricsToken: string | null,
): Promise<void> {
  switch (req.url) {
    case '/healthz':
      return sendJson(res, 200, { status: 'ok' })
    case '/readyz': {
      const found = await readReadiness()
      return sendJson(res, found.ready ? 200 : 503, found)
    }
    case '/readyz/edge': {
      if (readEdge === null) return sendJson(res, 404, { error: 'Not found' })
      const found = readEdge()
      return sendJson(res, found.ready ? 200 : 503, found)
    }
    case '/metrics': {
      checkOperator(req, metricsToken)
      const { body, type } = await readMetrics()
      res.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' })
      res.end(body)
      return
    }
    default:
      return sendJson(res, 404, { error: 'Not found' })
  }
}

function sendJson(res: http.ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  res.end(JSON.stringify(body))
}
