import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { until as untilWithin } from '../support/condition.ts'
import { clearDataDir, makeDataDir } from '../support/data-dir.ts'
import { edgeRequest, GOOGLEBOT } from '../support/edge-request.ts'
import { startNodeProcess } from '../support/node-process.ts'
import { processesOf } from '../support/processes.ts'
import { openAccount } from '../support/tenant.ts'
import { type Stage, usualClients, wanderer } from './clients.ts'
import { type Ledger, openLedger, reckon } from './ledger.ts'
import { pick, type Random, seededRandom } from './seeded-random.ts'
import { startVersionOrigin } from './version-origin.ts'

const until = <T>(what: string, probe: () => T | Promise<T>) => untilWithin(what, probe, 60_000)
const EMAIL = 'chaos@example.com'
const TARGETS = ['node', 'chromium', 'postgres'] as const
type Target = (typeof TARGETS)[number]

/**
 * Kills processes of a node with signal 9 at random moments while clients use it, and holds the node to everything it
 * acknowledged. `isEnough`: on a busy machine clients go on after the last kill until it holds, for a minute at most.
 */
export async function crashRun(options: {
  seed: number
  kills: number
  isEnough?(counts: Ledger['counts']): boolean
  say(line: string): void
}) {
  const { seed, kills, isEnough = () => true, say } = options
  const random = seededRandom(seed)
  const dataDir = makeDataDir()
  const origin = await startVersionOrigin()
  const ledger = openLedger()
  const { violations, counts } = ledger
  const leaked: string[] = []
  try {
    const node = await startNodeProcess(dataDir)
    const { key } = await openAccount(node, { email: EMAIL, plan: 'enterprise' })
    const stage: Stage = { node, disturbed: false, email: EMAIL, key, origin, ledger }
    const crowd = startClients(stage, random)
    for (let at = 0; at < kills; at++) {
      await delay(300 + random() * 2_000)
      await crash(stage, TARGETS[at % TARGETS.length]!, { dataDir, random, crowd, say })
    }
    await until('enough has been done', () => isEnough(counts)).catch(() => say('too little was done'))
    await crowd.pause()
    const status = await stage.node.stop()
    if (status !== 0) violations.push(`the node ended with status ${status} when asked to end`)
    const profiles = path.join(dataDir, 'browsers')
    if (existsSync(profiles)) leaked.push(...readdirSync(profiles).map((name) => `profile ${name}`))
  } finally {
    leaked.push(...(await clearDataDir(dataDir)))
    await origin.close()
  }
  return { violations, counts, leaked }
}

type Crowd = ReturnType<typeof startClients>
type Around = { dataDir: string; random: Random; crowd: Crowd; say(line: string): void }

async function crash(stage: Stage, target: Target, { dataDir, random, crowd, say }: Around): Promise<void> {
  const { ledger } = stage
  stage.disturbed = true
  const crashedMs = performance.now()
  const victim = killOne(target, dataDir, stage.node.pid, random)
  say(`killed of ${target}: ${victim ?? 'nothing, it was being replaced'}`)

  if (target === 'node') {
    await stage.node.kill()
    // Its successor meets what is left of it.
    stage.node = await startNodeProcess(dataDir)
    say(`ready again after ${Math.round(stage.node.readyMs)} ms`)
  } else if (!stage.node.running) {
    ledger.violations.push(`the node ended when ${victim} was killed: ${stage.node.log().slice(-500)}`)
    stage.node = await startNodeProcess(dataDir)
  }

  await crowd.pause()
  await whole(stage)
  say(`whole again after ${Math.round(performance.now() - crashedMs)} ms`)
  const wrong = await reckon(ledger, stage.node, stage.key, crashedMs)
  ledger.violations.push(...wrong.map((words) => `after a kill of ${target}: ${words}`))
  stage.disturbed = false
  crowd.resume()
}

/** Ready by its own word, and a page that nobody asked for yet is rendered. */
async function whole({ ledger, node }: Stage): Promise<void> {
  const domain = ledger.domains.find(({ standing }) => standing === 'there')
  await until('the node is whole again', async () => {
    if ((await fetch(`${node.api}/readyz`)).status !== 200) return false
    if (domain === undefined) return true
    const path = `/whole?${performance.now()}`
    const answer = await edgeRequest(node.edge, { host: domain.name, path, userAgent: GOOGLEBOT })
    return answer.verdict === 'rendered'
  }).catch((error: Error) => ledger.violations.push(`${error.message}; log: ${node.log().slice(-1500)}`))
}

/** Clients side by side; `pause` settles when each has finished what it was doing. */
function startClients(stage: Stage, random: Random) {
  const clients = [...usualClients(random), wanderer(random)]
  let open = true
  let idle: Promise<unknown>
  const resume = () => {
    open = true
    const working = clients.map(async (client) => {
      while (open) await client(stage)
    })
    idle = Promise.all(working).catch((error: unknown) =>
      stage.ledger.violations.push(`a client failed: ${String(error)}`),
    )
  }
  const pause = async () => {
    open = false
    await idle
  }
  resume()
  return { pause, resume }
}

/** Kills any one process of the kind with signal 9; returns what it was, null when there was none. */
function killOne(target: Target, dataDir: string, nodePid: number, random: Random): string | null {
  const pattern = target === 'postgres' ? /(^|\/)postgres\b/ : /chrom/
  const victims = processesOf(dataDir).filter(({ pid, command }) =>
    target === 'node' ? pid === nodePid : pid !== nodePid && pattern.test(command.split(' ')[0] ?? ''),
  )
  if (victims.length === 0) return null
  const victim = pick(random, victims)
  try {
    process.kill(victim.pid, 'SIGKILL')
  } catch {
    return null // It ended by itself between the look and the shot.
  }
  return `${victim.pid} ${victim.command.slice(0, 80)}`
}
