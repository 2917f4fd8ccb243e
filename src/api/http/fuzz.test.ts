import assert from 'node:assert/strict'
import http from 'node:http'
import { after, before, it } from 'node:test'
import { startTestApi, storePages, type TestAccount, type TestApi } from '../../../test/support/api.ts'
import { createToken } from '../../accounts/keys.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'

// Requests that nobody would send. Whatever they hold: never a 5xx, never an
// error that is not JSON, never a word of what went wrong inside, and nothing
// of another account changes. FUZZ_SEED repeats a run, FUZZ_SECONDS lengthens it.

const SECONDS = Number(process.env['FUZZ_SECONDS'] ?? 4)
const SEED = Number(process.env['FUZZ_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))

let api: TestApi
let owner: TestAccount
let token: string
before(async () => {
  api = await startTestApi()
  owner = await api.account()
  const domain = await api.domain(owner, 'shop.example.com')
  await storePages(api, domain.id, ['/', '/a'])
  token = (await createToken(api.pool, owner.id, domain.name, 'cms', DEFAULT_PLANS)).token
})
after(() => api.close())

// Proves interface "All bodies are JSON.", interface 7/1
it(`random requests, seed ${SEED}`, async () => {
  const bystander = await api.account()
  const untouched = await api.domain(bystander, 'bystander.example.com')
  await storePages(api, untouched.id, ['/', '/kept'])
  const random = createRandom(SEED)
  const seen = new Map<number, number>()

  // Bounded by time; only the tests' own clock stands still.
  const endMs = Date.now() + SECONDS * 1_000
  let sent = 0
  while (Date.now() < endMs || sent < 100) {
    const requests = Array.from({ length: 10 }, () => randomRequest(random))
    const answers = await Promise.all(requests.map(send))
    for (const [index, answer] of answers.entries()) {
      if (answer === null) continue
      const about = `seed ${SEED}, ${JSON.stringify(requests[index]).slice(0, 400)} → ${answer.status} ${answer.text.slice(0, 200)}`
      // Here nobody tells of events.
      const isAway = answer.status === 503 && answer.text.includes('Live updates are not available now')
      assert(answer.status < 500 || isAway, about)
      if (answer.status >= 400 && requests[index]!.method !== 'HEAD') {
        assert.match(answer.type, /^application\/json/, about)
        assert.equal(typeof (JSON.parse(answer.text) as { error: unknown }).error, 'string', about)
        assert.doesNotMatch(
          answer.text,
          /node_modules|\.ts:\d|\bat \w+ \(|pp_live_|pp_wh_|syntax error|invalid byte/i,
          about,
        )
      }
      seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1)
    }
    sent += requests.length
    // The window of the webhook would hide what lies behind it.
    await api.pool.query('delete from webhook_window')
  }

  // A run that only ever met the first check would prove nothing.
  for (const status of [200, 400, 401, 404, 405])
    assert(seen.has(status), `no ${status} in ${JSON.stringify([...seen])}`)
  assert.equal((await api.get('/api/domains', owner.key)).status, 200)
  assert.deepEqual((await api.get('/api/cache/stats', bystander.key)).body, { totalKeys: 2, domainCount: 1 })
})

type FuzzRequest = { method: string; path: string; headers: Record<string, string>; body: Buffer | null }
type Random = ReturnType<typeof createRandom>

function send({ method, path, headers, body }: FuzzRequest) {
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number
    type: string
    text: string
  } | null>()
  const length = body === null ? {} : { 'content-length': String(body.length) }
  const request = http.request(
    api.url,
    { method, path, headers: { ...headers, ...length } },
    async (response) => {
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += String(chunk)
      resolve({ status: response.statusCode!, type: response.headers['content-type'] ?? '', text })
    },
  )
  // Headers too large to be read to the end may end the connection instead of being answered. Whether
  // they were those of a HEAD is not known then either: the answer has a body, of which its parser complains.
  const unread = method === 'HEAD' ? /ECONNRESET|EPIPE|HPE_CLOSED_CONNECTION/ : /ECONNRESET|EPIPE/
  request.on('error', (error: NodeJS.ErrnoException) =>
    unread.test(error.code ?? '') ? resolve(null) : reject(error),
  )
  request.end(body ?? undefined)
  return promise
}

/** mulberry32: small, and the same everywhere. */
function createRandom(seed: number) {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    chance: (probability: number) => next() < probability,
    below: (limit: number) => Math.floor(next() * limit),
    pick: <T>(from: readonly T[]): T => from[Math.floor(next() * from.length)]!,
  }
}

const STRINGS = [
  '',
  ' ',
  '/',
  '/a',
  'shop.example.com',
  'SHOP.example.com.',
  'new.example.com',
  '\0',
  'a\0b',
  '/\0',
  '\ud800',
  '/\udfff',
  '🔑',
  '/é',
  '例え.テスト',
  '../../etc/passwd',
  '/../..',
  '/%2e%2e/%2f',
  '%00',
  '%',
  '%zz',
  '/%c3%28',
  '*',
  '/*',
  '//',
  '//x',
  '\\',
  '"',
  "' or 1=1 --",
  '$1',
  '{}',
  '#{x}',
  '<script>',
  '__proto__',
  'constructor',
  'http://origin.example.com',
  'http://127.0.0.1',
  'http://[::1]:80',
  'https://origin.example.com:99999',
  'javascript:x',
  'null',
  'true',
  '-1',
  '1e999',
  'NaN',
  '2026-01-01',
  'x'.repeat(300),
  `/${'x'.repeat(3_000)}`,
  `/${'é'.repeat(5_000)}`,
  '\r\nX-Evil: 1',
  '\u202e',
  '\ufeff/',
] as const

const KEYS = [
  'domain',
  'path',
  'paths',
  'custom_domain',
  'origin_url',
  'is_active',
  'settings',
  'urls',
  'all',
  'fresh_seconds',
  'query',
  'rules',
  '__proto__',
  'x',
] as const

function randomValue(random: Random, depth = 0): unknown {
  switch (random.below(depth > 3 ? 5 : 8)) {
    case 0:
      return random.pick([null, true, false])
    case 1:
      return random.pick([0, -0, 1, -1, 1.5, 1e21, 2 ** 53, -(2 ** 63)])
    case 2:
    case 3:
    case 4:
      return random.pick(STRINGS)
    case 5:
      return Array.from({ length: random.pick([0, 1, 2, 20, 21, 1_000, 1_001]) }, () => random.pick(STRINGS))
    case 6:
      return Array.from({ length: random.below(4) }, () => randomValue(random, depth + 1))
    default:
      return randomObject(random, depth + 1)
  }
}

function randomObject(random: Random, depth = 0): Record<string, unknown> {
  return Object.fromEntries(
    Array.from({ length: random.below(5) }, () => [random.pick(KEYS), randomValue(random, depth)]),
  )
}

function randomRequest(random: Random): FuzzRequest {
  const { method, url } = random.pick(api.contract.operations)
  const path = url.replace(/\{\w+\}/, () => encodeForPath(random, random.pick(STRINGS)))
  const headers: Record<string, string> = {}
  if (random.chance(0.85))
    headers['x-api-key'] = random.chance(0.9) ? owner.key : headerText(random.pick(STRINGS))
  if (random.chance(0.6))
    headers['authorization'] = `Bearer ${random.chance(0.9) ? token : headerText(random.pick(STRINGS))}`
  if (random.chance(0.9))
    headers['content-type'] = random.chance(0.9) ? 'application/json' : headerText(random.pick(STRINGS))
  if (random.chance(0.1))
    headers[random.pick(['x-forwarded-for', 'accept', 'range', 'if-match', 'cookie'])] = headerText(
      random.pick(STRINGS),
    )
  if (random.chance(0.02)) headers['x-filler'] = 'x'.repeat(random.pick([16_384, 65_536, 131_072]))
  const query = random.chance(0.1) ? `?${encodeForPath(random, random.pick(STRINGS))}` : ''
  const suffix = random.chance(0.05)
    ? random.pick(['/', '//', '/x', '%00', '%', ';x', '.json', 'x'.repeat(65_536)])
    : ''
  return {
    method: random.chance(0.85)
      ? method
      : random.pick(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']),
    path: path + suffix + query,
    headers,
    body: randomBody(random),
  }
}

function randomBody(random: Random): Buffer | null {
  if (random.chance(0.15)) return null
  const value = random.chance(0.8)
    ? { domain: 'shop.example.com', ...randomObject(random) }
    : randomValue(random)
  const text = Buffer.from(JSON.stringify(value) ?? '')
  // Cut, or with one byte of it changed.
  if (random.chance(0.1)) return text.subarray(0, random.below(text.length + 1))
  if (random.chance(0.1) && text.length > 0) text[random.below(text.length)] = random.below(256)
  return text
}

/** Mostly as a client would encode it, sometimes as no client should. */
function encodeForPath(random: Random, text: string): string {
  if (random.chance(0.8)) return encodeURIComponent(text.toWellFormed())
  return text.replace(/[^\x21-\x7e]/g, '%EF%BF')
}

/** What node:http agrees to send in a header. */
function headerText(text: string): string {
  return text.replace(/[^\t\x20-\x7e\x80-\xff]/g, '?')
}
