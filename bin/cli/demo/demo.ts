import path from 'node:path'

import ipaddr from 'ipaddr.js'

import { startShop } from '../../../examples/shop/server.ts'
import { DEFAULT_PLANS } from '../../../src/accounts/plans.ts'
import type { Config } from '../../../src/config.ts'
import { createLog } from '../../../src/log.ts'
import { defineCommand, type Result } from '../../command-line/command.ts'
import { startNode } from '../../node/node.ts'
import { startUnlessEnded, watchForEnding } from '../../node/shutdown.ts'
import { isFree } from '../doctor/services.ts'
import { runSteps, summary } from './check.ts'
import { type Addresses, asCurl, STEPS } from './steps.ts'
import { DEMO_DOMAIN, prepareTenant } from './tenant.ts'

export const demo = defineCommand({
  options: {
    check: { value: null, text: 'run the commands instead of printing them, and say what was seen' },
  },
  async run({ check }, { config, json, say }) {
    const ending = watchForEnding(config)
    const demo = await startUnlessEnded(ending, (signal) => startDemo({ config, say, signal }))
    if (demo === null) return null
    try {
      if (check) return await checked(demo.addresses)
      const answer = introduction(demo.addresses, demo.shopUrl)
      process.stdout.write(`${json ? JSON.stringify(answer.json) : answer.text}\n`)
      await ending.asked
      return null
    } finally {
      await demo.close()
    }
  },
})

type Demo = { addresses: Addresses; shopUrl: string; close(): Promise<void> }

async function startDemo(deps: {
  config: Config
  say(line: string): void
  signal: AbortSignal
}): Promise<Demo> {
  const { config, say, signal } = deps
  const shop = await startShop({ port: 0, onLongStep: say })
  try {
    const demoConfig = await configOfDemo(config, Number(new URL(shop.url).port))
    const log = createLog(demoConfig.logLevel)
    const node = await startNode({ config: demoConfig, log, say, signal })
    const close = () => node.close().finally(shop.close)
    try {
      const { key } = await prepareTenant(node.pool, shop.url)
      return { addresses: { edge: node.edge ?? '', api: node.api, key }, shopUrl: shop.url, close }
    } catch (error) {
      await node.close()
      throw error
    }
  } catch (error) {
    await shop.close()
    throw error
  }
}

/** A node of its own: own data, own database, the shop as the only private origin, ports that are free. */
async function configOfDemo(config: Config, shopPort: number): Promise<Config> {
  const { api, edge, logLevel } = config
  return {
    ...config,
    databaseUrl: null,
    dataDir: path.join(config.dataDir, 'demo'),
    roles: new Set(['edge', 'api', 'render']),
    plans: DEFAULT_PLANS,
    publicUrl: null,
    allowedPrivateOrigins: [{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: shopPort }],
    api: { ...api, port: (await isFree(api)) ? api.port : 0 },
    edge: { ...edge, port: (await isFree(edge)) ? edge.port : 0 },
    // What a person reads here are the commands; lines about each request would bury them.
    logLevel: logLevel === 'info' ? 'warn' : logLevel,
  }
}

async function checked(addresses: Addresses): Promise<Result> {
  const seen = await runSteps(addresses)
  const good = seen.every(({ ok }) => ok)
  return { json: { ok: good, steps: seen }, text: summary(seen), exitCode: good ? 0 : 1 }
}

function introduction(addresses: Addresses, shopUrl: string): Result {
  const { edge, api, key } = addresses
  const browser = `${edge.replace('127.0.0.1', DEMO_DOMAIN)}/`
  const commands = STEPS.map((step) => ({
    who: step.who,
    shows: step.shows,
    command: asCurl(step, addresses),
  }))
  const text = [
    '',
    `The shop itself     ${shopUrl}/`,
    `Through Prepaint    ${browser}`,
    `API and its docs    ${api}/docs`,
    `API key             ${key}`,
    '',
    'Paste these into another terminal, one after the other:',
    '',
    ...commands.flatMap(({ who, shows, command }, at) => [
      `${at + 1}. ${who}: ${shows}`,
      `   ${command}`,
      '',
    ]),
    'Ctrl-C ends the demo. "npm run demo -- --check" does all of this by itself.',
  ].join('\n')
  return { json: { event: 'ready', api, edge, domain: DEMO_DOMAIN, shop: shopUrl, key, commands }, text }
}
