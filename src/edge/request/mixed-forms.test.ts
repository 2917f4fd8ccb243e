/**
 * No form, variant or encoding of a page is served for another: random requests at two nodes, by the fast lane, by Node's
 * parser and by HTTP/2, while settings change, pages are purged and time passes. A model that shares no code with the edge
 * says what each answer is made of. FORMS_SEED repeats a run, FORMS_STEPS lengthens it.
 */
import assert from 'node:assert/strict'
import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { it } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { pick, seededRandom } from '../../../test/chaos/seeded-random.ts'
import { type Answer, FACEBOOK, GOOGLEBOT, GPTBOT, openEdge, PERSON } from '../../../test/support/edge.ts'
import type { PlanCatalogue } from '../../accounts/plans.ts'
import type { DomainName, PagePath } from '../../ids.ts'
import type { ClaimedJob } from '../../queue/jobs/claim.ts'
import type { RenderOutcome } from '../../render/outcome.ts'
import { updateDomain } from '../../sites/domain-changes.ts'

const SEED = Number(process.env['FORMS_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))
const STEPS = Number(process.env['FORMS_STEPS'] ?? 350)

type Variant = 'desktop' | 'mobile'
type Form = 'html' | 'markdown' | 'card'
type Encoding = 'br' | 'gzip' | 'identity'

/** What the site is. `same`: for both devices. `phones fail`: cannot be rendered for phones. */
const PATHS = {
  '/': 'page',
  '/a?b=1': 'page',
  '/same': 'same',
  '/moved': 'redirect',
  '/missing': 'missing',
  '/own': 'own-markdown',
  '/sad': 'phones fail',
} as const
type Path = keyof typeof PATHS
const HOSTS = ['red.example', 'blue.example'] as const
type Host = (typeof HOSTS)[number]
/** Compared at red.example; where none was, the domain's finding counts. */
const COMPARED: Partial<Record<Path, 'alike' | 'different'>> = {
  ...{ '/': 'different', '/a?b=1': 'alike', '/same': 'alike', '/moved': 'alike' },
}

type Settings = {
  devices: 'one' | 'both' | 'auto'
  markdown: 'on' | 'off'
  cards: 'on' | 'off'
  crawlers: { remove: string[]; add: { pattern: string; category: 'social' }[] }
  categories: { other?: 'pass' }
}
const CHOICES: { [Name in keyof Settings]: readonly Settings[Name][] } = {
  devices: ['one', 'both', 'auto', 'auto'],
  markdown: ['on', 'on', 'on', 'off'],
  cards: ['on', 'on', 'off'],
  crawlers: [
    { remove: [], add: [] },
    { remove: ['googlebot'], add: [{ pattern: 'links/', category: 'social' }] },
  ],
  categories: [{}, {}, {}, { other: 'pass' }],
}

const AGENTS = [
  { agent: PERSON, is: 'person', isPhone: false },
  { agent: `${PERSON} Mobile`, is: 'person', isPhone: true },
  { agent: 'some-agent/1.0', is: 'tool', isPhone: false },
  { agent: 'some-agent/1.0 (Android)', is: 'tool', isPhone: true },
  { agent: GOOGLEBOT, is: 'googlebot', isPhone: false },
  { agent: `${GOOGLEBOT} Mobile`, is: 'googlebot', isPhone: true },
  { agent: GPTBOT, is: 'ai', isPhone: false },
  { agent: FACEBOOK, is: 'social', isPhone: false },
  { agent: `${FACEBOOK} Android`, is: 'social', isPhone: true },
  { agent: 'Links/2 (mobile, android)', is: 'links/', isPhone: false },
] as const

const ACCEPTS: readonly { accept: string | string[] | undefined; isMarkdown: boolean }[] = [
  { accept: undefined, isMarkdown: false },
  { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', isMarkdown: false },
  { accept: 'text/html, text/markdown', isMarkdown: false },
  { accept: 'text/markdown;q=0.5, */*;q=0.8', isMarkdown: false },
  { accept: 'text/markdown', isMarkdown: true },
  { accept: 'text/markdown, text/html, */*', isMarkdown: true },
  { accept: 'Text/HTML;q=0.5, TEXT/MARKDOWN', isMarkdown: true },
  { accept: ['text/html;q=0.5', 'text/markdown'], isMarkdown: true },
]

const ENCODINGS: readonly { accepts: string | undefined; encoding: Encoding }[] = [
  { accepts: undefined, encoding: 'identity' },
  { accepts: 'identity', encoding: 'identity' },
  { accepts: 'gzip', encoding: 'gzip' },
  { accepts: 'br;q=0.5, gzip', encoding: 'gzip' },
  { accepts: 'gzip, deflate, br', encoding: 'br' },
]

/** One render. Both devices of `same` have the same HTML until it is purged. */
type Stored = { key: string; variant: Variant; version: number; atMs: number }
type Site = { settings: Settings; stored: Map<string, Stored>; purges: number }
const sites = new Map<Host, Site>(
  HOSTS.map((host) => {
    const settings: Settings = {
      ...{ devices: 'both', markdown: 'on', cards: 'on', crawlers: { remove: [], add: [] }, categories: {} },
    }
    return [host, { settings, stored: new Map(), purges: 0 }]
  }),
)
let versions = 0
/** Of this step. */
let made: Stored[] = []

function markOf(host: string, path: string, variant: string, version: number): string {
  const kind = PATHS[path as Path]
  return `«${host} ${path} ${kind === 'same' ? `purged ${version}` : `${variant} ${version}`}»`
}

async function render({ page, customDomain: host }: ClaimedJob): Promise<RenderOutcome> {
  const { path, variant } = page as { path: string; variant: Variant }
  const kind = PATHS[path as Path]
  if (kind === 'phones fail' && variant === 'mobile') return { kind: 'timed-out', afterMs: 1 }
  const site = sites.get(host as Host)!
  // No two renders end in the same millisecond.
  edge.wait(1)
  const version = kind === 'same' ? site.purges : ++versions
  const stored = { key: `${path} ${variant}`, variant, version, atMs: edge.nowMs() }
  site.stored.set(stored.key, stored)
  made.push(stored)
  if (kind === 'redirect') {
    return { kind: 'redirect', status: 301, location: `https://${host}/to/${variant}/${version}` }
  }
  const mark = markOf(host, path, variant, version)
  const own = kind === 'own-markdown' ? '<link rel="alternate" type="text/markdown" href="/own.md">' : ''
  const html = `<!DOCTYPE html><html><head><meta charset="utf-8"><title>A page</title><meta property="og:title" content="${mark}">${own}</head><body><nav>only in HTML ${mark}</nav><main><h1>Head</h1><p>${mark}</p><p>not on cards</p></main></body></html>`
  return { kind: 'rendered', status: kind === 'missing' ? 404 : 200, headers: [], html }
}

const edge = await openEdge({
  ...{ tls: true, conversionMs: 60_000, render },
  origin: (req, res) => res.end(`the origin ${req.headers.host} ${req.url}`),
})
const other = await edge.node()
const NODES = [edge, other] as const

type Asked = {
  host: Host
  path: Path
  who: (typeof AGENTS)[number]
  accept: (typeof ACCEPTS)[number]
  encoding: (typeof ENCODINGS)[number]
  method: 'GET' | 'HEAD'
  lane: 'fast' | 'parser' | 'http2'
  at: 0 | 1
  hasCookie: boolean
  tags: string[]
}

/** What an answer is made of. */
type Wanted =
  | { verdict: string; from: 'origin' }
  | { verdict: 'hit' | 'stale' | 'rendered'; from: Stored; form: Form; isRedirect: boolean }

const HOUR_MS = 3_600_000

/** `stored`: before the request. `rendered`: while it waited. */
function wantedOf(
  { host, path, who, accept, hasCookie }: Asked,
  stored: Map<string, Stored>,
  rendered?: Stored,
): Wanted {
  const { settings } = sites.get(host)!
  const kind = PATHS[path]
  const pass = (why: string): Wanted => ({ verdict: `pass; ${why}`, from: 'origin' })
  const isSocial = who.is === 'social' || (who.is === 'links/' && settings.crawlers.add.length > 0)
  const isCrawler =
    isSocial || who.is === 'ai' || (who.is === 'googlebot' && settings.crawlers.remove.length === 0)
  const wantsMarkdown = settings.markdown === 'on' && accept.isMarkdown
  if (!isCrawler && !wantsMarkdown) return pass('not-a-crawler')
  if (!isCrawler && settings.categories.other === 'pass') return pass('category')
  if (!isCrawler && hasCookie) return pass('cookie')
  const form = wantsMarkdown ? 'markdown' : isSocial && settings.cards === 'on' ? 'card' : 'html'
  const hasFinding = host === 'red.example'
  const areApart =
    settings.devices === 'both' || (settings.devices === 'auto' && hasFinding && COMPARED[path] !== 'alike')
  const variant = who.isPhone && areApart ? 'mobile' : 'desktop'
  const give = (verdict: 'hit' | 'stale' | 'rendered', from: Stored): Wanted =>
    form === 'markdown' && kind === 'own-markdown'
      ? pass('own-markdown')
      : { verdict, from, form, isRedirect: kind === 'redirect' }
  const usable = (found: Stored | undefined) => {
    if (found === undefined) return null
    const ageMs = edge.nowMs() - found.atMs
    if (ageMs < (kind === 'missing' ? HOUR_MS : 24 * HOUR_MS)) return give('hit', found)
    return kind !== 'missing' && ageMs < 8 * 24 * HOUR_MS ? give('stale', found) : null
  }
  const known = usable(stored.get(`${path} ${variant}`))
  if (known !== null) return known
  if (rendered?.key === `${path} ${variant}`) return give('rendered', rendered)
  assert.deepEqual([kind, variant], ['phones fail', 'mobile'], 'nothing was rendered')
  const desktop = stored.get(`${path} desktop`)
  const ageMs = edge.nowMs() - (desktop?.atMs ?? 0)
  if (desktop === undefined || ageMs >= 30 * 24 * HOUR_MS) return pass('timed-out')
  return give(ageMs < 24 * HOUR_MS ? 'hit' : 'stale', desktop)
}

/** Of everything that was seen, by what it is made of. */
const tagsOf = new Map<string, { etag: string; length: string }>()
const namesOf = new Map<string, string>()

function check(asked: Asked, { headers, verdict, status, body }: Answer, wanted: Wanted): void {
  const { host, path, method, encoding: chosen } = asked
  const { encoding } = chosen
  const { settings, purges } = sites.get(host)!
  const isOn = settings.markdown === 'on'
  const vary = `${isOn ? 'Accept, ' : ''}Accept-Encoding, User-Agent`
  assert.deepEqual([verdict, headers.vary], [wanted.verdict, vary])
  const named = (...names: string[]) => names.map((name) => headers[name])
  if (wanted.from === 'origin') {
    assert.equal(String(body), method === 'HEAD' ? '' : `the origin ${edge.origin.slice(7)} ${path}`)
    const ours = named('x-prepaint-variant', 'x-prepaint-form', 'cache-status', 'etag', 'link')
    assert.deepEqual(new Set(ours), new Set([undefined]))
    return
  }
  const { form, from, isRedirect } = wanted
  const { variant, version } = from
  const kind = PATHS[path]
  assert.deepEqual(named('x-prepaint-variant', 'x-prepaint-form'), [
    ...[variant, form === 'card' && !isRedirect ? 'card' : undefined],
  ])
  const cacheStatus = { hit: /; hit; ttl=\d+$/, stale: /; hit; ttl=-\d+$/, rendered: /; fwd=miss; stored$/ }
  assert.match(String(headers['cache-status']), cacheStatus[wanted.verdict])
  if (isRedirect) {
    assert.deepEqual([status, headers.etag], [301, undefined])
    assert.equal(String(headers.location).replace(/^https:..[^/]*/, ''), `/to/${variant}/${version}`)
    return
  }

  const etag = String(headers.etag)
  const name = `${host} ${path} ${variant} ${form} ${encoding}`
  assert.equal(namesOf.get(etag) ?? name, name, 'the ETag of another representation')
  namesOf.set(etag, name)
  const representation = `${name} ${version} ${purges}`
  const known = tagsOf.get(representation)
  assert.equal(etag, known?.etag ?? etag)
  const isKnown =
    kind !== 'missing' && asked.tags.some((tag) => tag === '*' || tag.replace(/^W\//, '') === etag)
  assert.equal(status, isKnown ? 304 : kind === 'missing' ? 404 : 200)
  if (isKnown) {
    assert.equal(body.length, 0)
    return
  }
  const isMarkdown = form === 'markdown'
  const hasAlternate = form === 'html' && isOn && kind !== 'missing' && kind !== 'own-markdown'
  const rel = isMarkdown ? 'rel="canonical"' : hasAlternate ? 'rel="alternate"; type="text/markdown"' : null
  const length = known?.length ?? String(headers['content-length'])
  assert.deepEqual(named('content-type', 'content-encoding', 'link', 'content-length'), [
    `text/${isMarkdown ? 'markdown' : 'html'}; charset=utf-8`,
    encoding === 'identity' ? undefined : encoding,
    rel === null ? undefined : `<https://${host}${path}>; ${rel}`,
    length,
  ])
  assert.equal(body.length, method === 'HEAD' ? 0 : Number(length))
  if (method === 'HEAD') return
  const unpacked = { br: brotliDecompressSync, gzip: gunzipSync, identity: (same: Buffer) => same }
  const text = String(unpacked[encoding](body))
  const marks = { html: 3, markdown: 1, card: 2 }[form]
  const mark = markOf(host, path, variant, version)
  assert.deepEqual(text.match(/«[^»]*»/g), Array<string>(marks).fill(mark))
  const shown = {
    html: /^<!DOCTYPE html>.*<nav>only in HTML.*not on cards/,
    markdown: /^---\ntitle: "A page"\n(?!.*only in HTML).*not on cards/s,
    card: /^<!DOCTYPE html>\n<html><head>(?!.*(?:only in HTML|not on cards))/,
  }
  assert.match(text, shown[form])
  tagsOf.set(representation, { etag, length })
}

/** Of several sent together each may be the one that is answered first. */
function checkAny(asked: Asked, answer: Answer, before: Map<string, Stored>, isAlone: boolean): void {
  const cases: [Map<string, Stored>, Stored?][] = [
    [before],
    ...made.map((one) => [before, one] as [Map<string, Stored>, Stored]),
  ]
  if (!isAlone) cases.push(...made.map((one) => [new Map(before).set(one.key, one)] as [Map<string, Stored>]))
  const errors: Error[] = []
  for (const one of cases) {
    try {
      check(asked, answer, wantedOf(asked, ...one))
      return
    } catch (error) {
      errors.push(error as Error)
    }
  }
  throw errors.at(isAlone ? -1 : 0)!
}

/** Requests that the fast lane did not answer. */
let parsed = 0
let fast = 0
subscribe('http.server.request.start', (message) => {
  const { server } = message as { server: unknown }
  if (server === edge.server || server === other.server) parsed++
})

it(`random requests for all forms, seed ${SEED}`, async (t) => {
  const random = seededRandom(SEED)
  const chance = (share: number) => random() < share
  const sessions = NODES.map((node) => node.session(t))
  t.after(() => other.close())
  await edge.pool.query(
    `insert into device_page (domain_id, path, checked_at, differences)
     select $1, path, now(), case when differs then '{text}'::text[] else '{}' end from unnest($2::text[], $3::boolean[]) as x (path, differs)`,
    [edge.red, Object.keys(COMPARED), Object.values(COMPARED).map((finding) => finding === 'different')],
  )

  const settings = { devices: 'both', cards: 'on' }
  for (const host of HOSTS) await edge.settings(settings, host)

  async function send(asked: Asked): Promise<Answer> {
    const { host, path, method, lane, at } = asked
    const { accept } = asked.accept
    const { accepts } = asked.encoding
    const headers = {
      ...(accept !== undefined && { accept }),
      ...(accepts !== undefined && { 'accept-encoding': accepts }),
      ...(asked.hasCookie && { cookie: 'a=b' }),
      ...(asked.tags.length > 0 && { 'if-none-match': asked.tags.join(', ') }),
    }
    const { agent } = asked.who
    if (lane !== 'http2') {
      const connection = lane === 'fast' ? {} : { 'keep-alive': '1' }
      return NODES[at].ask(path, { host, agent, method, headers: { ...headers, ...connection } })
    }
    const stream = sessions[at]!.request({
      ...{ ':path': path, ':method': method, ':authority': host, 'user-agent': agent },
      ...headers,
    })
    const [got] = (await once(stream, 'response')) as [Answer['headers']]
    const body = Buffer.concat(await stream.toArray())
    const status = Number(got[':status'])
    return { status, headers: got, rawHeaders: [], body, verdict: String(got['x-prepaint']) }
  }

  function randomRequest(host: Host, path: Path): Asked {
    const tags = [...namesOf].flatMap(([tag, name]) => (name.startsWith(`${host} ${path} `) ? [tag] : []))
    const sent = chance(0.35) && tags.length > 0 ? [pick(random, tags.slice(-6))] : []
    if (sent.length > 0 && chance(0.3))
      sent.push(pick(random, [...tags, '"other"', `W/${pick(random, tags)}`]))
    else if (chance(0.05)) sent.splice(0, 1, '*')
    const lane = pick(random, ['fast', 'fast', 'parser', 'http2'] as const)
    return {
      ...{ host, path, lane, tags: sent, at: chance(0.5) ? 0 : 1 },
      who: pick(random, chance(0.15) ? AGENTS : AGENTS.filter(({ is }) => is !== 'person')),
      accept: pick(random, ACCEPTS),
      encoding: pick(random, ENCODINGS),
      method: chance(0.2) ? 'HEAD' : 'GET',
      hasCookie: chance(0.05),
    }
  }

  /** Both nodes know all that was changed. */
  async function settle(): Promise<void> {
    const heard = NODES.map(({ listener }, at) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      listener.on(`told_${at}_${settled}`, () => resolve())
      return listener.settled().then(() => promise)
    })
    for (const { listener } of NODES) await listener.settled()
    for (const at of NODES.keys())
      await edge.pool.query(`select pg_notify($1, '')`, [`told_${at}_${settled}`])
    settled++
    await Promise.all(heard)
  }
  let settled = 0

  async function change(): Promise<string> {
    const host = pick(random, HOSTS)
    const site = sites.get(host)!
    const usual = ['settings', 'settings', 'settings', 'settings', 'page', 'page', 'forget', 'work']
    const what = pick(random, [...usual, ...usual, 'all', 'time'])
    switch (what) {
      case 'settings': {
        const name = chance(0.4) ? 'devices' : pick(random, Object.keys(CHOICES) as (keyof Settings)[])
        const value = pick<unknown>(random, CHOICES[name])
        const changed = { [name]: value } as Partial<Settings>
        await updateDomain(edge.pool, edge.account, host as DomainName, { settings: changed } as never, {
          plans: PLANS,
          nowMs: edge.nowMs(),
        })
        if (changed.devices === 'one' && site.settings.devices !== 'one') {
          for (const [key, { variant }] of site.stored) {
            if (variant === 'mobile') site.stored.delete(key)
          }
        }
        Object.assign(site.settings, changed)
        return `${host}: ${JSON.stringify(changed)}`
      }
      case 'page':
      case 'all': {
        const path = pick(random, Object.keys(PATHS))
        const kind =
          what === 'all' ? ({ kind: 'all' } as const) : ({ kind: 'path', path: path as PagePath } as const)
        await edge.purge(kind, host === 'red.example' ? edge.red : edge.blue)
        site.purges++
        for (const key of [...site.stored.keys()]) {
          const isRedirect = key.startsWith('/moved ')
          if (what === 'all' || key.startsWith(`${path} `) || isRedirect) site.stored.delete(key)
        }
        return `${host}: purged ${what === 'all' ? 'all' : path}`
      }
      case 'forget':
        for (const { held } of [pick(random, NODES).edge]) {
          for (const one of held) one.invalidate({ kind: 'everything' })
        }
        return 'memory is empty'
      case 'time': {
        const hours = pick(random, [2, 25, 9 * 24])
        edge.wait(hours * HOUR_MS)
        return `${hours} hours later`
      }
      default:
        await edge.work()
        return 'a job of the queue'
    }
  }

  const story: string[] = []
  async function exchange(requests: readonly Asked[]): Promise<void> {
    const before = new Map(sites.get(requests[0]!.host)!.stored)
    made = []
    const answers = await Promise.all(requests.map(send))
    for (const [at, asked] of requests.entries()) {
      const answer = answers[at]!
      story.push(JSON.stringify({ ...asked, got: answer.verdict }))
      try {
        checkAny(asked, answer, before, requests.length === 1)
      } catch (error) {
        const told = [JSON.stringify(answer.headers), ...story.slice(-15)].join('\n')
        throw new Error(`seed ${SEED}: ${(error as Error).message}\n${told}`, { cause: error })
      }
    }
    if (made.length > 0) await settle()
  }

  // Each form of each variant once; then as hits, by each lane.
  for (const lane of ['fast', 'fast', 'parser', 'http2'] as const) {
    for (const who of AGENTS) {
      for (const accept of [ACCEPTS[0]!, ACCEPTS[4]!]) {
        const parsedBefore = parsed
        const usual = { host: 'red.example', path: '/', method: 'GET', at: 0, hasCookie: false } as const
        await exchange([{ ...usual, tags: [], who, accept, lane, encoding: ENCODINGS[4]! }])
        if (lane === 'fast' && story.at(-1)!.endsWith('"hit"}')) fast += Number(parsed === parsedBefore)
      }
    }
  }
  assert(fast >= 16, `${fast} hits by the fast lane`)

  let [host, path]: [Host, Path] = ['red.example', '/']
  for (let step = 0; step < STEPS; step++) {
    if (chance(0.12)) {
      story.push(await change())
      await settle()
    }
    if (chance(0.3)) [host, path] = [pick(random, HOSTS), pick(random, Object.keys(PATHS) as Path[])]
    await exchange(Array.from({ length: chance(0.3) ? 3 : 1 }, () => randomRequest(host, path)))
  }
})

const PLANS: PlanCatalogue = {
  starter: { site_limit: 2, monthly_render_limit: 1_000_000, api_keys: false, webhooks: false },
}
