/** Requests to a CA. */
import assert from 'node:assert/strict'
import https from 'node:https'
import { after, it } from 'node:test'
import { createTestCa } from '../../../../../test/support/certificate-authority.ts'
import { listening } from '../../../../../test/support/loopback.ts'
import { AcmeProblem, problemFrom } from './problem.ts'
import { Transport } from './transport.ts'

const LIMIT_BYTES = 1_000
const ca = createTestCa()
const { chain, key } = ca.leaf({ names: ['localhost'] })
const server = https.createServer({ cert: chain, key }, (req, res) => {
  if (req.url === '/silent') return
  if (req.url === '/elsewhere') res.writeHead(302, { location: 'https://localhost/' })
  res.end('x'.repeat(Number(req.url?.slice(1)) || 0))
})
const base = `https://localhost:${await listening(server)}`
after(() => {
  server.closeAllConnections()
  server.close()
})
const options = { userAgent: 'test', timeoutMs: 10_000, limitBytes: LIMIT_BYTES, ca: ca.certificate }
type Options = ConstructorParameters<typeof Transport>[0]
const { signal } = new AbortController()
const get = (path: string, given: Options = options) =>
  new Transport(given).send({ method: 'GET', url: path.includes(':') ? path : base + path, signal })
const unreachable = (words: RegExp) => (error: Error) =>
  error instanceof AcmeProblem && error.kind === 'unreachable' && words.test(error.message)

it('answers are taken up to the limit and not one byte past it', async () => {
  assert.equal((await get(`/${LIMIT_BYTES}`)).body.length, LIMIT_BYTES)
  await assert.rejects(get(`/${LIMIT_BYTES + 1}`), unreachable(/more than 1000 bytes/))
})

it('silence ends, a wrong certificate too, and redirects are not followed', async () => {
  const silent = get('/silent', { ...options, timeoutMs: 500 })
  await assert.rejects(silent, unreachable(/no answer within 0.5 s/))
  const withoutRoot = { userAgent: 'test', timeoutMs: 10_000 }
  await assert.rejects(get('/0', withoutRoot), unreachable(/certificate/))
  assert.equal((await get('/elsewhere')).status, 302)
})

it('owners are not told where the CA of the operator stands', async () => {
  const refused = unreachable(/^the CA cannot be reached: ECONNREFUSED$/)
  await assert.rejects(get('https://127.0.0.1:1/'), refused)
})

it('an address of a CA that is not https is refused', async () => {
  for (const url of ['http://localhost:1/', 'file:///etc/passwd', 'https:///', 'data:,x']) {
    await assert.rejects(get(url), AcmeProblem, url)
  }
})

it('what a CA says is wrong is one line of at most 300 characters, of a kind', () => {
  const detail = `no\r\n\u202eproof ${'x'.repeat(400)}`
  const problem = problemFrom({ type: 'urn:ietf:params:acme:error:unauthorized', detail }, 'otherwise')
  assert.equal(problem.kind, 'unauthorized')
  assert.match(problem.message, /^no proof x+$/)
  assert.equal(problem.message.length, 300)
  for (const nothing of [null, 'text', { type: 7, detail: 8 }]) {
    const unknown = problemFrom(nothing, 'otherwise')
    assert.deepEqual([unknown.kind, unknown.message], ['unknown', 'otherwise'])
  }
  assert.equal(new AcmeProblem('unknown', 'ended as \0\nx').message, 'ended as x')
})
