import { setTimeout as delay } from 'node:timers/promises'
import type { Fleet } from '../support/fleet.ts'
import type { NodeProcess } from '../support/node-process.ts'
import { type Stage, usualClients } from './clients.ts'
import { openLedger, reckon } from './ledger.ts'
import { pick, type Random, seededRandom } from './seeded-random.ts'
import type { VersionOrigin } from './version-origin.ts'

/** A busy machine hands a notification to a process later than a quiet one. */
const GRACE_MS = 4_000
const ENOUGH_WITHIN_MS = 60_000

/**
 * Kills nodes of a fleet with signal 9 at random moments and starts them again, while clients use those that run; at the
 * end everything that was acknowledged has to be true, and each job done once.
 */
export async function fleetRun(
  fleet: Fleet,
  owner: { email: string; key: string },
  options: {
    seed: number
    seconds: number
    /** On a busy machine it goes on until more than so many changes were acknowledged, up to a minute. */
    acknowledged?: number
    origin: VersionOrigin
    say(line: string): void
  },
) {
  const { seed, seconds, acknowledged = -1, origin, say } = options
  const random = seededRandom(seed)
  const ledger = openLedger()
  const endMs = performance.now() + seconds * 1_000
  let isBroken = false
  const isEnough = () =>
    ledger.counts.acknowledged > acknowledged || performance.now() > endMs + ENOUGH_WITHIN_MS
  const isOver = () => isBroken || (performance.now() > endMs && isEnough())
  let kills = 0
  const stage: Stage = {
    ...{ disturbed: false, email: owner.email, key: owner.key, origin, ledger, graceMs: GRACE_MS },
    get node() {
      return anyNode(fleet, random)
    },
  }
  const clients = usualClients(random).map(async (client) => {
    while (!isOver()) await client(stage)
  })
  while (!isOver()) {
    await delay(200 + random() * 1_500)
    const victim = pick(random, fleet.members)
    await victim.process.kill()
    kills++
    await delay(random() * 1_000)
    await victim.start().catch(async (error: unknown) => {
      isBroken = true
      await Promise.allSettled(clients)
      throw error
    })
    say(`killed a node, ready again after ${Math.round(victim.process.readyMs)} ms`)
  }
  await Promise.all(clients)
  const violations = [
    ...ledger.violations,
    ...(await reckon(ledger, anyNode(fleet, random), owner.key, Number.NEGATIVE_INFINITY)),
    ...(await countedTwice(fleet)),
  ]
  return { violations, counts: { ...ledger.counts, kills } }
}

function anyNode({ members }: Fleet, random: Random): NodeProcess {
  const running = members.filter(({ process }) => process.running)
  return pick(random, running.length === 0 ? members : running).process
}

/** Renders that were counted more or less often than jobs ended with one. */
async function countedTwice({ pool }: Fleet): Promise<string[]> {
  const { rows } = await pool.query<{ name: string; renders: number; jobs: number }>(
    `select d.custom_domain as name, coalesce(c.renders, 0) as renders, coalesce(j.jobs, 0) as jobs
       from domain d
       left join (select domain_id, sum(renders)::int as renders from render_count group by 1) c on c.domain_id = d.id
       left join (select domain_id, count(*)::int as jobs from every_job
                   where state = 'done' and outcome = 'rendered' group by 1) j on j.domain_id = d.id
      where coalesce(c.renders, 0) <> coalesce(j.jobs, 0)`,
  )
  return rows.map(({ name, renders, jobs }) => `${name}: ${renders} renders counted, ${jobs} jobs done`)
}
