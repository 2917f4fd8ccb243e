import type { EdgeRequest, EdgeResponse } from './exchange.ts'

/** The path of proofs (RFC 8555, section 8.3). */
const PREFIX = '/.well-known/acme-challenge/'
const TOKEN = /^[\w-]{22,255}$/

/** Returns the proof for a host (lower case, no port) and token, or null if they are not ours. */
export type FindChallenge = (host: string, token: string) => Promise<string | null>

/** Runs before all other checks. Unknown tokens pass on: origins may order their own certificates. */
export function createChallengeAnswer(find: FindChallenge | null) {
  return (req: EdgeRequest, res: EdgeResponse, goOn: () => void): void => {
    const token = tokenOf(req)
    if (find === null || token === null) {
      goOn()
      return
    }
    const answer = (proof: string | null) => {
      if (proof === null) goOn()
      else send(req, res, proof)
    }
    // Without the database, continue as usual.
    find(hostOf(req), token).then(answer, () => goOn())
  }
}

function send(req: EdgeRequest, res: EdgeResponse, proof: string): void {
  const length = String(Buffer.byteLength(proof))
  const type = 'application/octet-stream'
  res.writeHead(200, ['Content-Type', type, 'Content-Length', length, 'Cache-Control', 'no-store'])
  res.end(req.method === 'HEAD' ? undefined : proof)
}

function hostOf(req: EdgeRequest): string {
  return (req.headers.host ?? '').toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')
}

function tokenOf(req: EdgeRequest): string | null {
  const url = req.url ?? ''
  if (!url.startsWith(PREFIX) || (req.method !== 'GET' && req.method !== 'HEAD')) return null
  const token = url.slice(PREFIX.length)
  return TOKEN.test(token) ? token : null
}
