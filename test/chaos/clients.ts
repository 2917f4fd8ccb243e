import { setTimeout as delay } from 'node:timers/promises'
import { runJson } from '../support/command-line.ts'
import { edgeRequest, GOOGLEBOT, PERSON } from '../support/edge-request.ts'
import type { NodeProcess } from '../support/node-process.ts'
import { callApi } from '../support/tenant.ts'
import { type DomainEntry, faultOf, type Ledger } from './ledger.ts'
import { pick, type Random, seededRandom } from './seeded-random.ts'
import { HOSTILE, shownIn, type VersionOrigin } from './version-origin.ts'

export type Stage = {
  node: NodeProcess
  /** Something was killed and is not whole again: requests may be refused. */
  disturbed: boolean
  readonly email: string
  readonly key: string
  readonly origin: VersionOrigin
  readonly ledger: Ledger
  /** How much longer than a second what was changed at one node may take to reach the others here. */
  readonly graceMs?: number
}

export type Client = (stage: Stage) => Promise<void>

const PATHS = ['/', '/a', '/b', '/c/d']
const LIVE_DOMAINS = 6
/** Between two changes of one client: purging faster than a page renders, nothing would ever be stored. */
const CHANGE_EVERY_MS = 150
const KEYS = 3

/** Two that change domains, two crawlers and one with keys. How fast one is does not change what another does. */
export function usualClients(random: Random): Client[] {
  const own = () => seededRandom(Math.floor(random() * 2 ** 32))
  const crawlers = [crawlClient(own()), crawlClient(own())]
  return [domainClient(1, own()), domainClient(2, own()), ...crawlers, keyClient(own())]
}

/** Registers, deletes and purges domains; no other client changes these. */
function domainClient(number: number, random: Random): Client {
  const own: DomainEntry[] = []
  let made = 0
  return async (stage) => {
    const there = own.filter(({ standing }) => standing === 'there')
    if (there.length < 2 || (there.length < LIVE_DOMAINS && random() < 0.3)) {
      made += 1
      const domain: DomainEntry = {
        ...{ name: `site${made}.client${number}.example`, standing: 'unsure', purges: [], purgedMs: 0 },
        rendered: new Map(),
      }
      own.push(domain)
      stage.ledger.domains.push(domain)
      await register(stage, domain)
    } else if (there.length > 3 && random() < 0.2) {
      await remove(stage, pick(random, there))
    } else {
      await purge(stage, pick(random, there))
    }
    await delay(CHANGE_EVERY_MS)
  }
}

/** Asks for pages as a crawler and checks each answer against what has been acknowledged. */
function crawlClient(random: Random): Client {
  return async (stage) => {
    const { ledger } = stage
    const domain = await anyDomain(stage, random)
    if (domain === null) return
    const path = pick(random, PATHS)
    const begunMs = performance.now()
    const answer = await ask(stage, domain, path, GOOGLEBOT)
    if (answer === null) return
    ledger.counts.crawled += 1
    if (!['rendered', 'hit', 'stale'].includes(answer.verdict)) return
    const fault = faultOf(domain, path, shownIn(answer.body.toString()), begunMs)
    if (fault !== null) ledger.violations.push(`${fault} (${answer.verdict})`)
    if (answer.verdict === 'rendered' && domain.purgedMs < begunMs)
      domain.rendered.set(path, performance.now())
  }
}

/** A person and a crawler on pages of which there is no end, hostile pages, and now and then a warm run. */
export function wanderer(random: Random): Client {
  return async (stage) => {
    const { counts } = stage.ledger
    const domain = await anyDomain(stage, random)
    if (domain === null) return
    for (let n = 0; n < 10; n++) {
      if ((await ask(stage, domain, `/q/${random()}`, PERSON)) !== null) counts.persons += 1
    }
    await ask(stage, domain, `/q/${random()}`, GOOGLEBOT)
    if (random() < 0.2) {
      const answer = await ask(stage, domain, pick(random, Object.keys(HOSTILE)), GOOGLEBOT)
      if (answer !== null) counts.hostile += 1
    }
    if (random() < 0.05) {
      const path = `/api/domains/${domain.name}/warm`
      await statusOf(stage.node, stage.key, { method: 'POST', path, body: { which: 'all' } })
    }
  }
}

async function anyDomain({ ledger }: Stage, random: Random): Promise<DomainEntry | null> {
  const known = ledger.domains.filter(({ standing }) => standing === 'there')
  return known.length === 0 ? delay(20, null) : pick(random, known)
}

/** Null: the domain is gone by now, or the connection broke. Unless something was killed, no other connection breaks, and all other answers are 200. */
async function ask(stage: Stage, domain: DomainEntry, path: string, userAgent: string) {
  const { ledger, disturbed, node } = stage
  const asking = edgeRequest(node.edge, { host: domain.name, path, userAgent })
  const answer = await asking.catch((error: Error) => error)
  const isCalm = !disturbed && !stage.disturbed && domain.standing === 'there'
  if (answer instanceof Error) {
    ledger.counts.broken += 1
    if (isCalm && !node.killed) ledger.violations.push(`${domain.name}${path}: ${answer.message}`)
    return delay(20, null)
  }
  if (domain.standing !== 'there') return null
  if (answer.status !== 200 && isCalm)
    ledger.violations.push(`${domain.name}${path}: ${answer.status} ${answer.verdict}`)
  return answer
}

/** Makes and revokes keys by the command line beside the node, as an operator does. */
function keyClient(random: Random): Client {
  return async ({ ledger, node, email }) => {
    const live = ledger.keys.filter(({ standing }) => standing === 'there')
    if (live.length < KEYS) {
      const args = ['key', 'create', '--email', email, '--name', `key ${ledger.keys.length}`]
      const { code, json } = await runJson(args, node.settings)
      if (!acknowledge(ledger, code === 0)) return
      const { id, key } = json as { id: number; key: string }
      return void ledger.keys.push({ id, key, standing: 'there' })
    }
    const entry = pick(random, live)
    entry.standing = 'unsure'
    const { code } = await runJson(['key', 'revoke', '--id', String(entry.id)], node.settings)
    if (acknowledge(ledger, code === 0)) entry.standing = 'gone'
  }
}

async function register({ node, key, origin, ledger }: Stage, domain: DomainEntry): Promise<void> {
  const body = { custom_domain: domain.name, origin_url: origin.url }
  const status = await statusOf(node, key, { method: 'POST', path: '/api/domains', body })
  if (acknowledge(ledger, status === 201)) domain.standing = 'there'
}

async function remove({ node, key, ledger }: Stage, domain: DomainEntry): Promise<void> {
  domain.standing = 'unsure'
  const status = await statusOf(node, key, { method: 'DELETE', path: `/api/domains/${domain.name}` })
  if (acknowledge(ledger, status === 200)) domain.standing = 'gone'
}

async function purge({ node, key, origin, ledger, graceMs = 0 }: Stage, domain: DomainEntry): Promise<void> {
  const version = origin.change()
  const body = { domain: domain.name }
  const status = await statusOf(node, key, { method: 'POST', path: '/api/cache/purge', body })
  // Broken off or not: what was rendered before may be gone.
  const atMs = performance.now()
  domain.purgedMs = atMs
  for (const [path, renderedMs] of domain.rendered) if (renderedMs <= atMs) domain.rendered.delete(path)
  if (acknowledge(ledger, status === 200)) domain.purges.push({ version, atMs: atMs + graceMs })
}

/** The status of a call with the key; 0 when the connection breaks. */
export function statusOf(
  node: NodeProcess,
  key: string,
  call: Parameters<typeof callApi>[2] = { method: 'GET', path: '/api/domains' },
): Promise<number> {
  return callApi(node, key, call).then(
    ({ status }) => status,
    () => 0,
  )
}

function acknowledge(ledger: Ledger, yes: boolean): boolean {
  ledger.counts[yes ? 'acknowledged' : 'broken'] += 1
  return yes
}
