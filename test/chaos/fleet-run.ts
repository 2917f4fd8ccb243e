import { setTimeout as delay } from 'node:timers/promises'
import { edgeRequest, GOOGLEBOT } from '../support/edge-request.ts'
import type { Fleet } from '../support/fleet.ts'
import type { NodeProcess } from '../support/node-process.ts'
import { type Stage, usualClients } from './clients.ts'
import { type Ledger, openLedger, reckon } from './ledger.ts'
import { pick, type Random, seededRandom } from './seeded-random.ts'
import type { VersionOrigin } from './version-origin.ts'

/** What a customer is limited to, whichever node he asks. */
type Limited = { domain: string; token: string; renders: number; requestsAnHour: number }

/** A busy machine hands a notification to a process later than a quiet one. */
const GRACE_MS = 4_000
const LIMIT_WITHIN_SECONDS = 60

/**
 * Kills nodes of a fleet with signal 9 at random moments, one after the other, and starts them again, while clients use
 * whichever nodes run; at the end everything that was acknowledged has to be true, no limit overrun, and each job done
 * once. Clients only ever ask nodes that run: what those answer must be in order although others die.
 */
export async function fleetRun(
  fleet: Fleet,
  owner: { email: string; key: string; limited: Limited },
  options: {
    seed: number
    seconds: number
    /** On a busy machine it goes on until more than so many changes were acknowledged, up to a minute. */
    acknowledged?: number
    origin: VersionOrigin
    say(line: string): void
  },
): Promise<{ violations: string[]; counts: Ledger['counts'] & { kills: number; limited: number } }> {
  const { seed, seconds, acknowledged = -1, origin, say } = options
  const random = seededRandom(seed)
  const ledger = openLedger()
  const [isLate, isTooLate] = [endAfter(seconds), endAfter(seconds + LIMIT_WITHIN_SECONDS)]
  let isBroken = false
  const isEnough = () => ledger.counts.acknowledged > acknowledged || isTooLate()
  const isOver = () => isBroken || (isLate() && isEnough())
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
  const pressing = press(fleet, owner.limited, random, isOver)
  while (!isOver()) {
    await delay(200 + random() * 1_500)
    const victim = pick(random, fleet.members)
    await victim.process.kill()
    kills++
    await delay(random() * 1_000)
    await victim.start().catch(async (error: unknown) => {
      isBroken = true
      await Promise.allSettled([...clients, pressing])
      throw error
    })
    say(`killed a node, ready again after ${Math.round(victim.process.readyMs)} ms`)
  }
  await Promise.all(clients)
  const limited = await pressing
  const wrong = [
    ...ledger.violations,
    ...(await reckon(ledger, anyNode(fleet, random), owner.key, Number.NEGATIVE_INFINITY)),
    ...(await countedTwice(fleet)),
    ...(await overrun(fleet, owner.limited, limited)),
  ]
  return { violations: wrong, counts: { ...ledger.counts, kills, limited: limited.rendered } }
}

function endAfter(seconds: number): () => boolean {
  const endMs = performance.now() + seconds * 1_000
  return () => performance.now() > endMs
}

function anyNode({ members }: Fleet, random: Random): NodeProcess {
  const running = members.filter(({ process }) => process.running)
  return pick(random, running.length === 0 ? members : running).process
}

type Pressed = { rendered: number; accepted: number }

/** Asks for more than is allowed, at all nodes at once. */
async function press(
  fleet: Fleet,
  { domain, token }: Limited,
  random: Random,
  isOver: () => boolean,
): Promise<Pressed> {
  const seen = { rendered: 0, accepted: 0 }
  let asked = 0
  let refused = false
  const giveUp = endAfter(LIMIT_WITHIN_SECONDS)
  const crawlOn = async () => {
    // A limit that was not reached shows nothing.
    while (!isOver() || (!refused && !giveUp() && anyNode(fleet, random).running)) {
      const request = { host: domain, path: `/limited/${asked++}`, userAgent: GOOGLEBOT }
      const answer = await edgeRequest(anyNode(fleet, random).edge, request).catch(() => null)
      if (answer?.verdict === 'rendered') seen.rendered++
      refused ||= answer?.verdict === 'pass; over-quota'
      await delay(50)
    }
  }
  const hookOn = async () => {
    while (!isOver()) {
      const answer = await refresh(anyNode(fleet, random), token).catch(() => null)
      if (answer !== null && answer.status !== 429) seen.accepted++
      await delay(100)
    }
  }
  await Promise.all([crawlOn(), crawlOn(), hookOn()])
  return seen
}

/** A webhook that fails validation: it counts in the window, and uses up no renders. */
export async function refresh({ api }: NodeProcess, token: string) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ urls: ['no path'] })
  const answer = await fetch(`${api}/api/webhook/refresh`, { method: 'POST', headers, body })
  // Its node may be killed in the middle of it.
  await answer.arrayBuffer().catch(() => {})
  return { status: answer.status, retryAfter: Number(answer.headers.get('retry-after')) }
}

/** Renders that were counted more or less often than jobs ended with one. */
async function countedTwice({ pool }: Fleet): Promise<string[]> {
  const { rows } = await pool.query<{ name: string; renders: number; jobs: number }>(
    `select d.custom_domain as name, coalesce(c.renders, 0) as renders, coalesce(j.jobs, 0) as jobs
       from domain d
       left join (select domain_id, sum(renders)::int as renders from render_count group by 1) c on c.domain_id = d.id
       left join (select domain_id, count(*)::int as jobs from job
                   where state = 'done' and outcome = 'rendered' group by 1) j on j.domain_id = d.id
      where coalesce(c.renders, 0) <> coalesce(j.jobs, 0)`,
  )
  return rows.map(({ name, renders, jobs }) => `${name}: ${renders} renders counted, ${jobs} jobs done`)
}

async function overrun({ pool }: Fleet, limited: Limited, seen: Pressed): Promise<string[]> {
  const { rows } = await pool.query<{ renders: number }>(
    'select renders from render_count c join domain d on d.id = c.domain_id where d.custom_domain = $1',
    [limited.domain],
  )
  const renders = Math.floor(limited.renders * 1.2)
  const most: [what: string, found: number, allowed: number][] = [
    ['renders counted', rows[0]?.renders ?? 0, renders],
    ['renders given', seen.rendered, renders],
    ['webhook requests accepted', seen.accepted, limited.requestsAnHour],
  ]
  return most.flatMap(([what, found, allowed]) =>
    found > allowed ? [`${found} ${what} of at most ${allowed}`] : [],
  )
}
