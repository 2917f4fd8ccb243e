import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { type AccountId, wholeAccount } from '@prepaint/contract/ids.ts'
import { parseDomainName } from '@prepaint/contract/settings/domain-name.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { deletePages } from '@prepaint/pages/store/purge.ts'
import { databaseNow, transaction } from '@prepaint/postgres/transaction.ts'
import { createLog } from '@prepaint/runtime/log.ts'
import { createAccount, findAccountsByEmail } from '@prepaint/service/accounts/accounts.ts'
import { createKey, listKeys, revokeKey } from '@prepaint/service/accounts/keys.ts'
import { findContact } from '@prepaint/service/accounts/persons.ts'
import { setPassword } from '@prepaint/service/accounts/sign-in/passwords.ts'
import { createDomain, updateDomain } from '@prepaint/service/sites/domain-changes.ts'
import { findOwnedDomain } from '@prepaint/service/sites/domains.ts'
import ipaddr from 'ipaddr.js'
import type pg from 'pg'
import { startShop } from '../../examples/shop/server.ts'
import { type Commands, defineCommand, type Result } from '../command-line/command.ts'
import { parseCountOption } from '../command-line/options.ts'
import { startUnlessStopped, watchForShutdown } from '../node/shutdown.ts'
import { startNode } from '../node/start-node.ts'
import type { Config } from '../settings/config.ts'
import { startBadOrigins } from './demo/origins.ts'
import { MOST_SITES, prepareSites, type SiteInTrouble } from './demo/sites.ts'
import { type Addresses, asCurl, DEMO_DOMAIN, DEMO_STEPS, runSteps, summary } from './demo/steps.ts'
import { isFree } from './doctor/services.ts'

const demo = defineCommand({
  options: {
    check: { value: null, text: 'run the commands instead of printing them, and report the results' },
    sites: {
      value: 'NUMBER',
      text: `${MOST_SITES} at most, of ten clients and three of them in trouble, instead of the shop alone`,
    },
  },
  async run({ check, sites }, { config, json, say }) {
    const count = sites === null ? 1 : parseCountOption('sites', sites, MOST_SITES)
    const shutdown = watchForShutdown(config)
    const demo = await startUnlessStopped(shutdown, (signal) => startDemo(config, count, say, signal))
    if (demo === null) return null
    try {
      if (check) return await checked(demo.addresses)
      const answer = introduction(demo, path.join(config.dataDir, 'demo'))
      process.stdout.write(`${json ? JSON.stringify(answer.json) : answer.text}\n`)
      await shutdown.requested
      return null
    } finally {
      await demo.close()
    }
  },
})

type Demo = {
  addresses: Addresses
  shopUrl: string
  password: string
  sites: number
  inTrouble: SiteInTrouble[]
  close(): Promise<void>
}

/** `count`: how many sites there are, with the shop. */
async function startDemo(
  config: Config,
  count: number,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<Demo> {
  const shop = await startShop({ port: 0, onLongStep: say })
  const bad = await startBadOrigins(shop.url)
  const closeOrigins = () => Promise.all([shop.close(), bad.close()])
  try {
    const demoConfig = await configOfDemo(config, [Number(new URL(shop.url).port), ...bad.ports])
    const log = createLog(demoConfig.logLevel)
    const node = await startNode({ config: demoConfig, log, say, signal, invitesOperator: false })
    const close = async () => {
      await node.close().finally(closeOrigins)
    }
    try {
      const { pool } = node
      const nowMs = (await databaseNow(pool)).getTime()
      const { account, key, password } = await prepareTenant(pool, shop.url, nowMs)
      const { api, edge } = node.addresses
      const edgeUrl = edge ?? ''
      let inTrouble: SiteInTrouble[] = []
      if (count > 1) {
        say(`Preparing ${count} sites with visits of the last months (takes a minute the first time) ...`)
        inTrouble = await prepareSites(count - 1, {
          pool,
          account,
          shopUrl: shop.url,
          bad,
          edgeUrl,
          nowMs,
          log,
        })
      }
      const addresses = { edge: edgeUrl, api, key }
      return { addresses, shopUrl: shop.url, password, sites: count, inTrouble, close }
    } catch (error) {
      await node.close()
      throw error
    }
  } catch (error) {
    await closeOrigins()
    throw error
  }
}

/** Incidents open after seconds instead of minutes. */
const NOTIFY_SPEED = 20

/** Own data directory and database, free ports, and the demo's own servers as private origins beside those of the operator. */
async function configOfDemo(config: Config, originPorts: readonly number[]): Promise<Config> {
  const { api, edge, logLevel } = config
  return {
    ...config,
    databaseUrl: null,
    dataDir: path.join(config.dataDir, 'demo'),
    roles: new Set(['edge', 'api', 'render']),
    plans: DEFAULT_PLANS,
    publicUrl: null,
    allowedPrivateOrigins: [
      ...config.allowedPrivateOrigins,
      ...originPorts.map((port) => ({ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port })),
    ],
    notifySpeed: Math.max(config.notifySpeed, NOTIFY_SPEED),
    api: { ...api, port: (await isFree(api)) ? api.port : 0 },
    edge: { ...edge, port: (await isFree(edge)) ? edge.port : 0 },
    // Request logs would bury the commands, and so would those of sites in trouble.
    logLevel: logLevel === 'info' ? 'error' : logLevel,
  }
}

async function checked(addresses: Addresses): Promise<Result> {
  const seen = await runSteps(addresses)
  const good = seen.every(({ ok }) => ok)
  return { json: { ok: good, steps: seen }, text: summary(seen), exitCode: good ? 0 : 1 }
}

function introduction({ addresses, shopUrl, password, sites, inTrouble }: Demo, dataDir: string): Result {
  const { edge, api, key } = addresses
  const browser = `${edge.replace('127.0.0.1', DEMO_DOMAIN)}/`
  const commands = DEMO_STEPS.map((step) => ({
    who: step.who,
    shows: step.shows,
    command: asCurl(step, addresses),
  }))
  const text = [
    '',
    `The shop itself     ${shopUrl}/`,
    `Through Prepaint    ${browser}`,
    `Dashboard           ${api} as ${EMAIL}, password ${password} (an operator, who sees nodes and the queue, too)`,
    `API documentation   ${api}/docs`,
    `API key             ${key}`,
    `Data                ${dataDir}`,
    '',
    ...aboutSites(sites, inTrouble, api),
    'Paste these into another terminal, one after the other:',
    '',
    ...commands.flatMap(({ who, shows, command }, at) => [
      `${at + 1}. ${who}: ${shows}`,
      `   ${command}`,
      '',
    ]),
    'Ctrl-C stops the demo. "npx --no prepaint demo --check" runs all of these.',
  ].join('\n')
  const json = { event: 'ready', api, edge, domain: DEMO_DOMAIN, shop: shopUrl, key, email: EMAIL, password }
  return { json: { ...json, sites, in_trouble: inTrouble, commands }, text }
}

function aboutSites(sites: number, inTrouble: readonly SiteInTrouble[], api: string): string[] {
  if (sites === 1) return []
  const width = Math.max(0, ...inTrouble.map(({ name }) => name.length))
  return [
    `${sites} sites, most of them with visits and renders of two whole months and this one. In trouble within a minute:`,
    ...inTrouble.map(({ name, trouble }) => `  ${name.padEnd(width)}  ${trouble}`),
    `Look at all of them: ${api}/domains, ${api}/incidents and ${api}/reports.`,
    '',
  ]
}

const EMAIL = 'demo@shop.example'
const NAME = 'Lumen Agency'
const PLAN = 'agency_plus'

/** Reuses an earlier account and domain; makes a new password, revokes keys and purges pages, so the first request is a miss. */
async function prepareTenant(
  pool: pg.Pool,
  originUrl: string,
  nowMs: number,
): Promise<{ account: AccountId; key: string; password: string }> {
  const view = { plans: DEFAULT_PLANS, nowMs }
  const account = await accountOfDemo(pool)

  const parsed = parseDomainName(DEMO_DOMAIN)
  if (!parsed.ok) throw new Error(`${DEMO_DOMAIN} ${parsed.reason}`)
  const known = await findOwnedDomain(pool, wholeAccount(account), parsed.name)
  if (known === null) {
    await createDomain(pool, account, { name: parsed.name, originUrl, proof: 'off' }, view)
  } else {
    await updateDomain(pool, account, parsed.name, { originUrl, isActive: true }, view)
    await transaction(pool, (client) => deletePages(client, known.id, { kind: 'all' }, 'purge'))
  }

  for (const key of await listKeys(pool, account, nowMs)) {
    if (key.state === 'active') await revokeKey(pool, account, key.id, nowMs)
  }
  const password = randomBytes(12).toString('base64url')
  await setPassword(pool, (await findContact(pool, account)).id, password)
  const { key } = await createKey(pool, account, { name: 'demo', expiresAt: null }, view)
  return { account, key, password }
}

async function accountOfDemo(pool: pg.Pool): Promise<AccountId> {
  const [known] = await findAccountsByEmail(pool, EMAIL)
  if (known !== undefined) return known.id
  const account = { email: EMAIL, name: NAME, plan: PLAN, password: null, isOperator: true }
  return (await createAccount(pool, DEFAULT_PLANS, account)).id
}

export const commands: Commands = {
  demo: demo,
}
