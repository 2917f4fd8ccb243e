import assert from 'node:assert/strict'
import { it } from 'node:test'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { createToken } from '@prepaint/service/accounts/keys.ts'
import { pick, type Random, seededRandom } from '../../../../test/chaos/seeded-random.ts'
import { openApi, storePages } from '../../../../test/support/api.ts'
import { rawRequest } from '../../../../test/support/raw-request.ts'

// Requests that nobody would send. Whatever they hold: never a 5xx, never an
// error that is not JSON, never a word of what went wrong inside, and nothing
// of another account changes. FUZZ_SEED repeats a run, FUZZ_SECONDS lengthens it.

const SECONDS = Number(process.env['FUZZ_SECONDS'] ?? 2)
const SEED = Number(process.env['FUZZ_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))

/** Words of what went wrong inside, and secrets. */
const INSIDE = /node_modules|\.ts:\d|\bat \w+ \(|pp_live_|pp_wh_|syntax error|invalid byte/i

const api = await openApi()
const owner = await api.account()
const domain = await api.domain(owner, 'shop.example.com')
await storePages(api, domain.id, ['/', '/a'])
const { token } = await createToken(api.pool, owner.id, domain.name, 'cms', DEFAULT_PLANS)

// Proves interface "All bodies are JSON.", interface 7/1
it(`random requests, seed ${SEED}`, async () => {
  const bystander = await api.account()
  const untouched = await api.domain(bystander, 'bystander.example.com')
  await storePages(api, untouched.id, ['/', '/kept'])
  const random = seededRandom(SEED)
  const seen = new Map<number, number>()

  // Bounded by time; only the tests' own clock stands still.
  const endMs = Date.now() + SECONDS * 1_000
  let sent = 0
  while (Date.now() < endMs || sent < 100) {
    const requests = Array.from({ length: 10 }, () => randomRequest(random))
    const answers = await Promise.all(requests.map(send))
    for (const [at, answer] of answers.entries()) {
      if (answer === null) continue
      const { status, headers, text } = answer
      const about = `seed ${SEED}, ${JSON.stringify(requests[at]).slice(0, 400)} → ${status} ${text.slice(0, 200)}`
      // Here nobody tells of events.
      const isAway = status === 503 && text.includes('Live updates are not available now')
      const isRefusedFront = headers['x-prerender-reject-reason'] === 'domain-not-registered'
      assert(status < 500 || isAway || isRefusedFront, about)
      // What fronts are refused with has no body.
      const isOfFront = headers['x-prerender-requestid'] !== undefined
      if (isOfFront) assert.equal(text, status === 200 ? text : '', about)
      else if (status >= 400 && requests[at]!.method !== 'HEAD') {
        assert.match(headers['content-type'] ?? '', /^application\/json/, about)
        assert.equal(typeof (JSON.parse(text) as { error: unknown }).error, 'string', about)
        assert.doesNotMatch(text, INSIDE, about)
      }
      seen.set(status, (seen.get(status) ?? 0) + 1)
    }
    sent += requests.length
    // The window of the webhook would hide what lies behind it.
    await api.pool.query('delete from rate')
  }

  // A run that only ever met the first check would prove nothing.
  for (const status of [200, 400, 401, 404, 405])
    assert(seen.has(status), `no ${status} in ${JSON.stringify([...seen])}`)
  assert.equal((await api.get('/api/domains', owner.key)).status, 200)
  assert.deepEqual((await api.get('/api/cache/stats', bystander.key)).body, { totalKeys: 2, domainCount: 1 })
})

type FuzzRequest = { method: string; path: string; headers: Record<string, string>; body: Buffer | null }

/** Null: it was not read to its end, and has no answer. */
async function send({ body, headers, ...request }: FuzzRequest) {
  const length = body === null ? {} : { 'content-length': String(body.length) }
  try {
    return await rawRequest(api.url, { ...request, headers: { ...headers, ...length } }, body ?? undefined)
  } catch (error) {
    // A body that is not read to its end may end the connection instead of being answered.
    if (/ECONNRESET|EPIPE/.test((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  }
}

const below = (random: Random, limit: number) => Math.floor(random() * limit)

const WORDS =
  '/ /a shop.example.com 🔑 /é 例え.テスト ../../etc/passwd /%2e%2e/%2f %00 % /%c3%28 * // " $1 <script> __proto__ http://127.0.0.1 null -1'
const STRINGS = [
  ...WORDS.split(' '),
  ...['', ' ', 'a\0b', '\ud800', "' or 1=1 --", '\r\nX-Evil: 1', '\u202e', `/${'é'.repeat(5_000)}`],
]
const VALUES = [...STRINGS, null, true, 0, -1, 1.5, 1e21, 2 ** 53, [], {}]
const FIELDS =
  'domain path paths custom_domain origin_url is_active settings urls all fresh_seconds query rules __proto__ x'
const METHODS = 'GET HEAD POST PUT PATCH DELETE OPTIONS TRACE PROPFIND'
const HEADERS = 'x-forwarded-for accept range if-match cookie content-type x-api-key authorization'

function randomValue(random: Random, depth = 0): unknown {
  if (depth > 3 || random() < 0.5) return pick(random, VALUES)
  const length = pick(random, [0, 1, 2, 4, 21, 1_001])
  if (random() < 0.5) return Array.from({ length }, () => pick(random, VALUES))
  const entry = () => [pick(random, FIELDS.split(' ')), randomValue(random, depth + 1)]
  return Object.fromEntries(Array.from({ length: below(random, 5) }, entry))
}

function randomRequest(random: Random): FuzzRequest {
  const { method, url } = pick(random, api.contract.operations)
  const path = url.replace(/\{\w+\}/, () => encodeForPath(random, pick(random, STRINGS)))
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (random() < 0.85) headers['x-api-key'] = owner.key
  if (random() < 0.5) headers['authorization'] = `Bearer ${token}`
  // What node:http agrees to send.
  const sendable = pick(random, STRINGS).replace(/[^\t\x20-\x7e\x80-\xff]/g, '?')
  if (random() < 0.2) headers[pick(random, HEADERS.split(' '))] = sendable
  const suffix = pick(random, ['//', '%00', '%', ';x', 'x'.repeat(65_536), `?${encodeForPath(random, '🔑')}`])
  return {
    method: random() < 0.85 ? method : pick(random, METHODS.split(' ')),
    path: random() < 0.1 ? path + suffix : path,
    headers,
    body: random() < 0.15 ? null : randomBody(random),
  }
}

function randomBody(random: Random): Buffer {
  const value = randomValue(random)
  const isNamed = typeof value === 'object' && random() < 0.8
  const text = Buffer.from(JSON.stringify(isNamed ? { domain: 'shop.example.com', ...value } : value))
  // Cut, or with one byte of it changed.
  if (random() < 0.1) return text.subarray(0, below(random, text.length + 1))
  if (random() < 0.1) text[below(random, text.length)] = below(random, 256)
  return text
}

/** Mostly as a client would encode it, sometimes as no client should. */
function encodeForPath(random: Random, text: string): string {
  if (random() < 0.8) return encodeURIComponent(text.toWellFormed())
  return text.replace(/[^\x21-\x7e]/g, '%EF%BF')
}
