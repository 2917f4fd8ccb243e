import http from 'node:http'

import { explained, type ListenWhere } from '../listen.ts'
import { type Finding, ok, problem } from './finding.ts'

const ANSWER_WITHIN_MS = 2_000

/** Free, or taken by a node of ours that answers there. */
export async function portFree(where: ListenWhere): Promise<Finding> {
  const name = `port ${where.port} (${where.setting}_PORT)`
  if (where.port === 0) return ok(`${where.setting}_PORT`, 'a free one will be taken')
  const error = await tryToListen(where)
  if (error === null) return ok(name, `free on ${where.host}`)
  if (error.code === 'EADDRINUSE' && (await isNode(where))) return ok(name, 'a running node answers there')
  return problem(name, `cannot be opened (${error.code})`, explained(error, where).message)
}

export async function isFree(where: { host: string; port: number }): Promise<boolean> {
  return (await tryToListen(where)) === null
}

function tryToListen({ host, port }: { host: string; port: number }): Promise<NodeJS.ErrnoException | null> {
  const server = http.createServer()
  return new Promise((resolve) => {
    server.once('error', resolve)
    server.listen({ host, port }, () => server.close(() => resolve(null)))
  })
}

/** The API answers /readyz; the edge, to a host that nobody registered, with its own 404. */
export async function isNode({ host, port, setting }: ListenWhere): Promise<boolean> {
  const at = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  try {
    const answer = await fetch(`http://${at}:${port}/readyz`, {
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    })
    return setting === 'PREPAINT_API' ? answer.status < 600 : answer.headers.has('x-prepaint')
  } catch {
    return false
  }
}
