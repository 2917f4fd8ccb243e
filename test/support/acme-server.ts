import { createHash, createPublicKey, type KeyObject, randomBytes, verify } from 'node:crypto'
import { once } from 'node:events'
import type http from 'node:http'
import https from 'node:https'
import { text } from 'node:stream/consumers'
import tls from 'node:tls'
import { readDer } from '@prepaint/runtime/der.ts'
import { alpnDigest } from '../../packages/service/src/certificates/acme/alpn-certificate.ts'
import { createTestCa } from './certificate-authority.ts'
import { edgeRequest } from './edge-request.ts'
import { listening } from './loopback.ts'

// A small ACME server (RFC 8555, 8737, 9773) that verifies proofs and fails on request. Pebble tests the same client.

export type TestAcme = {
  directoryUrl: string
  ca: string
  /** PEM, verifies issued certificates. */
  root(): Promise<string>
  close(): Promise<void>
}

type Fault = 'away' | 'rate-limited' | 'no-nonce' | 'nonces' | 'replaced-already' | 'not-his'

type Header = { alg: string; nonce: string; url: string; jwk?: Record<string, string>; kid?: string }
type Order = { name: string; status: string; token: string; error?: unknown; certificate?: string }
type Reply = { status: number; body?: unknown; headers?: Record<string, string> }

export async function startTestAcme(ports: { http: number; tls: number }) {
  const authority = createTestCa('Prepaint test ACME')
  const own = authority.leaf({ names: ['localhost'] })
  const nonces = new Set<string>()
  const accounts = new Map<string, KeyObject>()
  const orders: Order[] = []

  const server = https.createServer({ cert: own.chain, key: own.key }, (req, res) => {
    void answer(req).then(({ status, body, headers }) => {
      const type = status >= 400 ? 'application/problem+json' : 'application/json'
      res.writeHead(status, { ...nonceFor(req), 'content-type': type, ...headers })
      res.end(typeof body === 'string' ? body : JSON.stringify(body ?? {}))
    })
  })
  const base = `https://localhost:${await listening(server)}`

  const acme = {
    directoryUrl: `${base}/dir`,
    ca: authority.certificate,
    root: async () => authority.certificate,
    orders: [] as string[],
    replaced: [] as string[],
    fault: null as Fault | null,
    retryAfter: '7200',
    beforeJudging: async () => {},
    lifetimeMs: 90 * 86_400_000,
    /** Renewal window of all certificates; null: the middle of their life. */
    window: null as { start: Date; end: Date } | null,
    async close() {
      server.closeAllConnections()
      server.close()
    },
  }

  async function answer(req: http.IncomingMessage): Promise<Reply> {
    const sent = await text(req)
    if (acme.fault === 'away') return { status: 503, body: {}, headers: { 'retry-after': '7' } }
    const path = req.url ?? ''
    if (path === '/dir') {
      const at = (name: string) => `${base}/${name}`
      const urls = { newNonce: at('nonce'), newAccount: at('account'), newOrder: at('order') }
      return { status: 200, body: { ...urls, renewalInfo: at('renewal') } }
    }
    if (path === '/nonce') {
      if (acme.fault === 'no-nonce') return { status: 503, headers: { 'retry-after': acme.retryAfter } }
      return { status: 200 }
    }
    if (path.startsWith('/renewal/')) return renewal(path.slice('/renewal/'.length))
    const said = read(sent, base + path)
    return 'status' in said ? said : route(path, said.payload, said.key)
  }

  /** Responses to GET need no nonce (RFC 8555, section 7.2). */
  function nonceFor({ method, url }: http.IncomingMessage): Record<string, string> {
    if (method === 'GET' || (acme.fault === 'no-nonce' && url === '/nonce')) return {}
    const nonce = randomBytes(16).toString('base64url')
    nonces.add(nonce)
    return { 'replay-nonce': nonce }
  }

  function renewal(id: string): Reply {
    if (!id.startsWith(`${authority.authorityKeyId.toString('base64url')}.`)) return problem('malformed', id)
    const middle = new Date(Date.now() + acme.lifetimeMs / 2)
    return { status: 200, body: { suggestedWindow: acme.window ?? { start: middle, end: middle } } }
  }

  /** RFC 8555, section 6: signature, nonce, address. */
  function read(body: string, url: string): { payload: Record<string, unknown>; key: KeyObject } | Reply {
    const jws = JSON.parse(body) as { protected: string; payload: string; signature: string }
    const header = JSON.parse(Buffer.from(jws.protected, 'base64url').toString()) as Header
    const known = header.jwk === undefined ? accounts.get(header.kid ?? '') : null
    if (known === undefined) return problem('accountDoesNotExist', 'who are you?')
    const key = known ?? createPublicKey({ key: header.jwk!, format: 'jwk' })
    const signed = Buffer.from(`${jws.protected}.${jws.payload}`)
    const signature = Buffer.from(jws.signature, 'base64url')
    if (header.alg !== 'ES256' || header.url !== url) return problem('malformed', 'header')
    if (!verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, signature)) {
      return problem('malformed', 'signature')
    }
    if (!nonces.delete(header.nonce) || acme.fault === 'nonces') return problem('badNonce', 'stale')
    const payload = jws.payload === '' ? '{}' : Buffer.from(jws.payload, 'base64url').toString()
    return { payload: JSON.parse(payload) as Record<string, unknown>, key }
  }

  async function route(path: string, payload: Record<string, unknown>, key: KeyObject): Promise<Reply> {
    const [, what, id] = path.split('/')
    if (what === 'account') {
      const kid = `${base}/account/${thumbprint(key)}`
      const status = accounts.has(kid) ? 200 : 201
      accounts.set(kid, key)
      return { status, body: { status: 'valid', contact: payload['contact'] }, headers: { location: kid } }
    }
    if (what === 'order' && id === undefined) {
      if (acme.fault === 'rate-limited') {
        const headers = { 'retry-after': acme.retryAfter }
        return { ...problem('rateLimited', 'too many certificates'), headers }
      }
      if (payload['replaces'] !== undefined) {
        if (acme.fault === 'replaced-already') return problem('alreadyReplaced', 'it has been replaced')
        if (acme.fault === 'not-his') return problem('unauthorized', 'another account requested it')
      }
      const [identifier] = payload['identifiers'] as { value: string }[]
      const token = randomBytes(24).toString('base64url')
      orders.push({ name: identifier!.value, status: 'pending', token })
      acme.orders.push(identifier!.value)
      if (typeof payload['replaces'] === 'string') acme.replaced.push(payload['replaces'])
      const at = orders.length - 1
      return { status: 201, body: view(at), headers: { location: `${base}/order/${at}` } }
    }
    const order = orders[Number(id)]
    if (order === undefined) return problem('malformed', path)
    switch (what) {
      case 'order':
        return { status: 200, body: view(Number(id)) }
      case 'authz':
        return { status: 200, body: authorization(Number(id)) }
      case 'http-01':
      case 'tls-alpn-01':
        void judge(order, what, `${order.token}.${thumbprint(key)}`)
        return { status: 200, body: {} }
      case 'finalize':
        if (order.status !== 'ready') return problem('orderNotReady', order.status)
        order.certificate = issue(order.name, Buffer.from(String(payload['csr']), 'base64url'))
        order.status = 'valid'
        return { status: 200, body: view(Number(id)) }
      case 'certificate':
        return { status: 200, body: order.certificate ?? '' }
      default:
        return problem('malformed', path)
    }
  }

  function view(at: number): unknown {
    const { status, error } = orders[at]!
    const certificate = status === 'valid' ? `${base}/certificate/${at}` : undefined
    const urls = { authorizations: [`${base}/authz/${at}`], finalize: `${base}/finalize/${at}`, certificate }
    return { status, error, ...urls }
  }

  function authorization(at: number): unknown {
    const { status, token, error } = orders[at]!
    const kinds = ['http-01', 'tls-alpn-01']
    const challenges = kinds.map((type) => ({ type, url: `${base}/${type}/${at}`, token, error }))
    return { status: status === 'ready' ? 'valid' : status, challenges }
  }

  async function judge(order: Order, kind: 'http-01' | 'tls-alpn-01', expected: string): Promise<void> {
    await acme.beforeJudging()
    const proven = await (kind === 'http-01' ? askPlain : askTls)(order, expected).catch(() => false)
    order.status = proven ? 'ready' : 'invalid'
    if (!proven) {
      order.error = { type: 'urn:ietf:params:acme:error:unauthorized', detail: `no proof by ${kind}` }
    }
  }

  async function askPlain({ name, token }: Order, expected: string): Promise<boolean> {
    const asked = { host: name, path: `/.well-known/acme-challenge/${token}`, userAgent: 'acme' }
    const { status, body } = await edgeRequest(`http://127.0.0.1:${ports.http}`, asked)
    return status === 200 && body.toString() === expected
  }

  /** RFC 8737, section 3. */
  async function askTls({ name }: Order, expected: string): Promise<boolean> {
    const asked = { servername: name, ALPNProtocols: ['acme-tls/1'], rejectUnauthorized: false }
    const socket = tls.connect({ host: '127.0.0.1', port: ports.tls, ...asked })
    await once(socket, 'secureConnect')
    const { raw, subjectaltname } = socket.getPeerCertificate()
    const extension = Buffer.from('06082b0601050507011f0101ff04220420', 'hex')
    const identifier = Buffer.concat([extension, alpnDigest(expected)])
    const good = socket.alpnProtocol === 'acme-tls/1' && subjectaltname === `DNS:${name}`
    socket.destroy()
    return good && raw.includes(identifier)
  }

  /** PKCS #10: signed by its own key, for the ordered name. */
  function issue(name: string, csr: Buffer): string {
    const [whole] = readDer(csr)
    const [signed, , signature] = readDer(whole!.content)
    const spki = readDer(signed!.content)[2]!.whole
    const publicKey = createPublicKey({ key: spki, type: 'spki', format: 'der' })
    if (!verify('sha256', signed!.whole, publicKey, signature!.content.subarray(1))) return 'bad signature'
    if (!signed!.whole.includes(Buffer.from(name))) return 'another name'
    const notBeforeMs = Math.floor(Date.now() / 1_000) * 1_000
    const notAfterMs = notBeforeMs + acme.lifetimeMs
    return authority.leaf({ names: [name], publicKey, notBeforeMs, notAfterMs }).certificate
  }

  return acme
}

function problem(kind: string, detail: string): Reply {
  return { status: 400, body: { type: `urn:ietf:params:acme:error:${kind}`, detail } }
}

function thumbprint(key: KeyObject): string {
  const { crv, kty, x, y } = key.export({ format: 'jwk' })
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url')
}
