/**
 * No form, variant or encoding of a page is served for another: random requests at two nodes, by the fast lane, by Node's
 * parser and by HTTP/2, while settings change, pages are purged and time passes. A model that shares no code with the edge
 * says what each answer is made of. FORMS_SEED repeats a run, FORMS_STEPS lengthens it.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { it } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { DomainName } from '@prepaint/contract/ids.ts'
import type { Form } from '@prepaint/contract/outcome/form.ts'
import type { PageVariant } from '@prepaint/contract/page/page-id.ts'
import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import { updateDomain } from '@prepaint/service/sites/domain-changes.ts'
import { pick, seededRandom } from '../../../../test/chaos/seeded-random.ts'
import {
  type Answer,
  FACEBOOK,
  GOOGLEBOT,
  GPTBOT,
  openEdge,
  PERSON,
  path,
} from '../../../../test/support/edge.ts'
import type { UnreadOutcome } from '../../../../test/support/outcome.ts'
import type { ClaimedJob } from '../../../pages/src/queue/jobs/claim.ts'

const SEED = Number(process.env['FORMS_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))
const STEPS = Number(process.env['FORMS_STEPS'] ?? 350)

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
/** Compared at red.example: whether phones differ. Where nothing was, the domain's finding counts. */
const COMPARED: Partial<Record<Path, boolean>> = {
  ...{ '/': true, '/a?b=1': false, '/same': false, '/moved': false },
}

type Settings = {
  devices: 'one' | 'both' | 'auto'
  markdown: 'on' | 'off'
  cards: 'on' | 'off'
  crawlers: { remove: string[]; add: { pattern: string; category: 'social' }[] }
  categories: { other?: 'pass' }
}
const FIRST: Settings = {
  ...{ devices: 'both', markdown: 'on', cards: 'on', crawlers: { remove: [], add: [] }, categories: {} },
}
const CHOICES: { [Name in keyof Settings]: readonly Settings[Name][] } = {
  devices: ['one', 'both', 'auto', 'auto'],
  markdown: ['on', 'on', 'on', 'off'],
  cards: ['on', 'on', 'off'],
  crawlers: [FIRST.crawlers, { remove: ['googlebot'], add: [{ pattern: 'links/', category: 'social' }] }],
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
  { accept: 'text/markdown', isMarkdown: true },
  { accept: 'text/html, text/markdown', isMarkdown: false },
  { accept: 'text/markdown;q=0.5, */*;q=0.8', isMarkdown: false },
  { accept: 'text/markdown, text/html, */*', isMarkdown: true },
  { accept: ['text/html;q=0.5', 'text/markdown'], isMarkdown: true },
]

const ENCODINGS: readonly { accepts: string | undefined; encoding: Encoding }[] = [
  { accepts: 'gzip, deflate, br', encoding: 'br' },
  { accepts: 'br;q=0.5, gzip', encoding: 'gzip' },
  { accepts: undefined, encoding: 'identity' },
]

/** One render. Both devices of `same` have the same HTML until it is purged. */
type Stored = { key: string; variant: PageVariant; version: number; atMs: number }
const siteOf = () => ({
  settings: { ...FIRST } as Settings,
  stored: new Map<string, Stored>(),
  purges: 0,
})
const sites = { 'red.example': siteOf(), 'blue.example': siteOf() }
let versions = 0
/** Of this step. */
let made: Stored[] = []

function markOf(host: string, path: string, variant: string, version: number): string {
  const kind = PATHS[path as Path]
  return `«${host} ${path} ${kind === 'same' ? `purged ${version}` : `${variant} ${version}`}»`
}

async function render({ page, customDomain: host }: ClaimedJob): Promise<UnreadOutcome> {
  const { path, variant } = page as { path: string; variant: PageVariant }
  const kind = PATHS[path as Path]
  if (kind === 'phones fail' && variant === 'mobile') return { kind: 'timed-out', afterMs: 1 }
  const site = sites[host as Host]
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

/** As often as they are taken. */
const LANES = ['fast', 'fast', 'parser', 'http2'] as const

type Asked = {
  host: Host
  path: Path
  who: (typeof AGENTS)[number]
  accept: (typeof ACCEPTS)[number]
  encoding: (typeof ENCODINGS)[number]
  method: 'GET' | 'HEAD'
  lane: (typeof LANES)[number]
  at: 0 | 1
  hasCookie: boolean
  tags: string[]
}

/** What an answer is made of. */
type Wanted =
  | { verdict: string; from: null }
  | { verdict: 'hit' | 'stale' | 'rendered'; from: Stored; form: Form }

const HOUR_MS = 3_600_000

/** `stored`: before the request. `rendered`: while it waited. */
function wantedOf(
  { host, path, who, accept, hasCookie }: Asked,
  stored: Map<string, Stored>,
  rendered?: Stored,
): Wanted {
  const { settings } = sites[host]
  const kind = PATHS[path]
  const pass = (why: string): Wanted => ({ verdict: `pass; ${why}`, from: null })
  const isSocial = who.is === 'social' || (who.is === 'links/' && settings.crawlers.add.length > 0)
  const isCrawler =
    isSocial || who.is === 'ai' || (who.is === 'googlebot' && settings.crawlers.remove.length === 0)
  const wantsMarkdown = settings.markdown === 'on' && accept.isMarkdown
  if (!isCrawler && !wantsMarkdown) return pass('not-a-crawler')
  if (!isCrawler && settings.categories.other === 'pass') return pass('category')
  if (!isCrawler && hasCookie) return pass('cookie')
  const form = wantsMarkdown ? 'markdown' : isSocial && settings.cards === 'on' ? 'card' : 'html'
  const isApart = host === 'red.example' && COMPARED[path] !== false
  const areApart = settings.devices === 'both' || (settings.devices === 'auto' && isApart)
  const variant = who.isPhone && areApart ? 'mobile' : 'desktop'
  const give = (verdict: 'hit' | 'stale' | 'rendered', from: Stored): Wanted =>
    form === 'markdown' && kind === 'own-markdown' ? pass('own-markdown') : { verdict, from, form }
  const ageMs = (found: Stored) => edge.nowMs() - found.atMs
  const freshMs = (kind === 'missing' ? 1 : 24) * HOUR_MS
  const staleMs = kind === 'missing' ? freshMs : 8 * 24 * HOUR_MS
  const known = stored.get(`${path} ${variant}`)
  if (known !== undefined && ageMs(known) < staleMs)
    return give(ageMs(known) < freshMs ? 'hit' : 'stale', known)
  if (rendered?.key === `${path} ${variant}`) return give('rendered', rendered)
  assert.deepEqual([kind, variant], ['phones fail', 'mobile'], 'nothing was rendered')
  const desktop = stored.get(`${path} desktop`)
  if (desktop === undefined || ageMs(desktop) >= 30 * 24 * HOUR_MS) return pass('timed-out')
  return give(ageMs(desktop) < freshMs ? 'hit' : 'stale', desktop)
}

/** Of everything that was seen, by what it is made of. */
const tagsOf = new Map<string, { etag: string; length: string }>()
const namesOf = new Map<string, string>()

function check(asked: Asked, { headers, verdict, status, body }: Answer, wanted: Wanted): void {
  const { host, path, method, encoding: chosen } = asked
  const { encoding } = chosen
  const { settings, purges } = sites[host]
  const isOn = settings.markdown === 'on'
  const vary = `${isOn ? 'Accept, ' : ''}Accept-Encoding, User-Agent`
  assert.deepEqual([verdict, headers.vary], [wanted.verdict, vary])
  const named = (...names: string[]) => names.map((name) => headers[name])
  if (wanted.from === null) {
    assert.equal(String(body), method === 'HEAD' ? '' : `the origin ${edge.origin.slice(7)} ${path}`)
    const ours = named('x-prepaint-variant', 'x-prepaint-form', 'cache-status', 'etag', 'link')
    assert.deepEqual(new Set(ours), new Set([undefined]))
    return
  }
  const { form, from } = wanted
  const { variant, version } = from
  const kind = PATHS[path]
  const isRedirect = kind === 'redirect'
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

const story: string[] = []

type Case = [stored: Map<string, Stored>, rendered?: Stored]

/** Of several sent together each may be the one that is answered first. */
function checkAny(asked: Asked, answer: Answer, before: Map<string, Stored>, isAlone: boolean): void {
  story.push(JSON.stringify({ ...asked, got: answer.verdict }))
  const cases: Case[] = [[before], ...made.map((one): Case => [before, one])]
  if (!isAlone) cases.push(...made.map((one): Case => [new Map(before).set(one.key, one)]))
  const errors: Error[] = []
  for (const one of cases) {
    try {
      check(asked, answer, wantedOf(asked, ...one))
      return
    } catch (error) {
      errors.push(error as Error)
    }
  }
  const cause = errors.at(isAlone ? -1 : 0)!
  const told = [JSON.stringify(answer.headers), ...story.slice(-15)].join('\n')
  throw new Error(`seed ${SEED}: ${cause.message}\n${told}`, { cause })
}

/** Requests that the fast lane did not answer. */
let parsed = 0
for (const { server } of NODES) server.on('request', () => parsed++)

const random = seededRandom(SEED)
const chance = (share: number) => random() < share
/** Both nodes know all that was changed. */
const settle = async () => {
  await edge.told()
  await Promise.all(NODES.map((node) => node.settled()))
}

async function changeSetting(host: Host): Promise<string> {
  const site = sites[host]
  const name = chance(0.4) ? 'devices' : pick(random, Object.keys(CHOICES) as (keyof Settings)[])
  const settings = { [name]: pick<unknown>(random, CHOICES[name]) } as Partial<Settings>
  const options = { plans: PLANS, nowMs: edge.nowMs() }
  await updateDomain(edge.pool, edge.account, host as DomainName, { settings } as never, options)
  if (settings.devices === 'one' && site.settings.devices !== 'one') {
    for (const { key, variant } of [...site.stored.values()])
      if (variant === 'mobile') site.stored.delete(key)
  }
  Object.assign(site.settings, settings)
  return `${host}: ${JSON.stringify(settings)}`
}

async function purge(host: Host, page: string | null): Promise<string> {
  const site = sites[host]
  const what = page === null ? ({ kind: 'all' } as const) : ({ kind: 'path', path: path(page) } as const)
  await edge.purge(what, host === 'red.example' ? edge.red : edge.blue)
  site.purges++
  for (const key of [...site.stored.keys()]) {
    if (page === null || key.startsWith(`${page} `) || key.startsWith('/moved ')) site.stored.delete(key)
  }
  return `${host}: purged ${page ?? 'all'}`
}

async function change(): Promise<string> {
  const host = pick(random, HOSTS)
  const what = Math.floor(random() * 18)
  if (what < 8) return changeSetting(host)
  if (what < 13) return purge(host, what === 8 ? null : pick(random, Object.keys(PATHS)))
  if (what < 15) {
    pick(random, NODES).emptyMemory()
    return 'memory is empty'
  }
  if (what < 17) {
    await edge.work()
    return 'a job of the queue'
  }
  const hours = pick(random, [2, 25, 9 * 24])
  edge.wait(hours * HOUR_MS)
  return `${hours} hours later`
}

function randomRequest(host: Host, path: Path): Asked {
  const tags = [...namesOf].flatMap(([tag, name]) => (name.startsWith(`${host} ${path} `) ? [tag] : []))
  const sent = chance(0.35) && tags.length > 0 ? [pick(random, tags.slice(-6))] : []
  if (sent.length > 0 && chance(0.3)) sent.push(pick(random, [...tags, '"other"', `W/${pick(random, tags)}`]))
  else if (chance(0.05)) sent.splice(0, 1, '*')
  return {
    ...{ host, path, tags: sent, at: chance(0.5) ? 0 : 1, lane: pick(random, LANES) },
    who: pick(random, chance(0.15) ? AGENTS : AGENTS.filter(({ is }) => is !== 'person')),
    accept: pick(random, ACCEPTS),
    encoding: pick(random, ENCODINGS),
    method: chance(0.2) ? 'HEAD' : 'GET',
    hasCookie: chance(0.05),
  }
}

it(`random requests for all forms, seed ${SEED}`, async (t) => {
  const sessions = NODES.map((node) => node.session(t))
  t.after(() => other.close())
  await edge.pool.query(
    `insert into device_page (domain_id, path, checked_at, differences)
     select $1, path, now(), case when differs then '{text}'::text[] else '{}' end from unnest($2::text[], $3::boolean[]) as x (path, differs)`,
    [edge.red, Object.keys(COMPARED), Object.values(COMPARED)],
  )
  for (const host of HOSTS) await edge.settings({ devices: 'both', cards: 'on' }, host)

  async function send({ host, path, method, lane, at, who, ...asked }: Asked): Promise<Answer> {
    const { agent } = who
    const { accept } = asked.accept
    const { accepts } = asked.encoding
    const headers = {
      ...(accept !== undefined && { accept }),
      ...(accepts !== undefined && { 'accept-encoding': accepts }),
      ...(asked.hasCookie && { cookie: 'a=b' }),
      ...(asked.tags.length > 0 && { 'if-none-match': asked.tags.join(', ') }),
      // Anything that the fast lane leaves to the parser.
      ...(lane === 'parser' && { 'keep-alive': '1' }),
    }
    if (lane !== 'http2') return NODES[at].ask(path, { host, agent, method, headers })
    const named = { ':path': path, ':method': method, ':authority': host, 'user-agent': agent }
    const stream = sessions[at]!.request({ ...named, ...headers })
    const [got] = (await once(stream, 'response')) as [Answer['headers']]
    const body = Buffer.concat(await stream.toArray())
    const status = Number(got[':status'])
    return { status, headers: got, rawHeaders: [], body, verdict: String(got['x-prepaint']) }
  }

  async function exchange(requests: readonly Asked[]): Promise<Answer> {
    const before = new Map(sites[requests[0]!.host].stored)
    made = []
    const answers = await Promise.all(requests.map(send))
    for (const [at, asked] of requests.entries()) checkAny(asked, answers[at]!, before, requests.length === 1)
    if (made.length > 0) await settle()
    return answers[0]!
  }

  // Each form of each variant once; then as hits, by each lane.
  let fast = 0
  for (const lane of LANES) {
    for (const who of AGENTS) {
      for (const accept of ACCEPTS.slice(0, 2)) {
        const parsedBefore = parsed
        const usual = { host: 'red.example', path: '/', method: 'GET', at: 0, hasCookie: false } as const
        const { verdict } = await exchange([
          { ...usual, tags: [], who, accept, lane, encoding: ENCODINGS[0]! },
        ])
        if (lane === 'fast' && verdict === 'hit') fast += Number(parsed === parsedBefore)
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
