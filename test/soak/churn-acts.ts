import { pick, type Random } from '../chaos/seeded-random.ts'
import { runJson } from '../support/command-line.ts'
import { edgeRequest, GOOGLEBOT, PERSON } from '../support/edge-request.ts'
import type { NodeProcess } from '../support/node-process.ts'
import { callApi } from '../support/tenant.ts'
import { SITEMAP_PAGES } from './churn-origin.ts'

/** Of a churn run. */
export type Churn = {
  node: NodeProcess
  key: string
  email: string
  originUrl: string
  random: Random
  /** Live domains, the oldest first. */
  domains: string[]
  counts: Record<string, number>
  /** What should not have been. */
  findings: string[]
}

const DOMAINS = 10
const PAGES = 40
let made = 0

/** What the clients of a node do, and how often as compared with each other. */
const ACTS: readonly { weight: number; act(churn: Churn): Promise<void> }[] = [
  { weight: 30, act: (churn) => visit(churn, GOOGLEBOT, `/p/${number(churn, PAGES)}`) },
  { weight: 10, act: (churn) => visit(churn, GOOGLEBOT, `/q/${number(churn, 1e6)}`) },
  { weight: 40, act: (churn) => visit(churn, PERSON, `/p/${number(churn, PAGES)}`) },
  { weight: 1, act: (churn) => visit(churn, GOOGLEBOT, '/sitemap.xml') },
  { weight: 3, act: (churn) => post(churn, 'purge', { path: `/p/${number(churn, PAGES)}` }) },
  { weight: 1, act: (churn) => post(churn, 'purge', { path: '/q/*' }) },
  { weight: 3, act: (churn) => post(churn, 'refresh', { paths: [`/p/${number(churn, SITEMAP_PAGES)}`] }) },
  { weight: 1, act: (churn) => renew(churn) },
  { weight: 0.3, act: (churn) => warm(churn) },
  { weight: 0.1, act: (churn) => renewKey(churn) },
]

/** One thing, chosen at random. */
export async function actOnce(churn: Churn): Promise<void> {
  while (churn.domains.length < DOMAINS) await register(churn)
  let at = churn.random() * ACTS.reduce((sum, { weight }) => sum + weight, 0)
  const chosen = ACTS.find(({ weight }) => {
    at -= weight
    return at <= 0
  })
  const [found, there] = [churn.findings.length, new Set(churn.domains)]
  await (chosen ?? ACTS[0]!).act(churn).catch((error: Error) => churn.findings.push(error.message))
  // Another client has deleted a domain meanwhile: what was asked of it may have been refused.
  const gone = [...there].filter((name) => !churn.domains.includes(name))
  const excused = (words: string) => gone.some((name) => words.includes(name))
  churn.findings.push(...churn.findings.splice(found).filter((words) => !excused(words)))
}

function number({ random }: Churn, below: number): number {
  return Math.floor(random() * below)
}

function count({ counts }: Churn, what: string): void {
  counts[what] = (counts[what] ?? 0) + 1
}

async function visit(churn: Churn, userAgent: string, path: string): Promise<void> {
  const host = pick(churn.random, churn.domains)
  const { status, verdict } = await edgeRequest(churn.node.edge, { host, path, userAgent })
  count(churn, userAgent === PERSON ? 'person' : (verdict.split(';', 1)[0] ?? ''))
  if (status !== 200) churn.findings.push(`${host}${path}: ${status} ${verdict}`)
}

async function api(churn: Churn, call: Parameters<typeof callApi>[2], wanted: number): Promise<void> {
  const { status, body } = await callApi(churn.node, churn.key, call)
  if (status !== wanted) churn.findings.push(`${call.method} ${call.path}: ${status} ${JSON.stringify(body)}`)
}

async function post(churn: Churn, what: 'purge' | 'refresh', more: object): Promise<void> {
  count(churn, what)
  const body = { domain: pick(churn.random, churn.domains), ...more }
  await api(churn, { method: 'POST', path: `/api/cache/${what}`, body }, 200)
}

async function register(churn: Churn): Promise<void> {
  const name = `shop-${++made}.example`
  const body = { custom_domain: name, origin_url: churn.originUrl }
  await api(churn, { method: 'POST', path: '/api/domains', body }, 201)
  churn.domains.push(name)
  count(churn, 'registered')
}

/** The oldest domain goes, with its jobs under way; a new one comes. */
async function renew(churn: Churn): Promise<void> {
  const oldest = churn.domains.shift()
  if (oldest !== undefined) await api(churn, { method: 'DELETE', path: `/api/domains/${oldest}` }, 200)
  await register(churn)
}

async function warm(churn: Churn): Promise<void> {
  count(churn, 'warm')
  await command(churn, ['cache', 'warm', '--domain', pick(churn.random, churn.domains)])
}

async function renewKey(churn: Churn): Promise<void> {
  count(churn, 'key')
  const json = await command(churn, ['key', 'create', '--email', churn.email, '--name', 'another'])
  await command(churn, ['key', 'revoke', '--id', String(json['id'])])
}

async function command(churn: Churn, args: string[]): Promise<Record<string, unknown>> {
  const { code, json } = await runJson(args, churn.node.settings)
  if (code !== 0) churn.findings.push(`${args.join(' ')}: ${JSON.stringify(json)}`)
  return json
}
