/** A process that asks gently, beside a flood: as a person, and as a crawler of another customer's site. */
import { once } from 'node:events'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { GOOGLEBOT, PERSON } from '../support/edge-request.ts'

export type ProbeTask = {
  port: number
  /** The site that is looked after. */
  host: string
  /** Its stored pages. */
  paths: readonly string[]
  /** Misses are asked for, too, one after the other. */
  hasMisses: boolean
  seconds: number
  /** A request without an answer after this time has failed; a miss after three times as long. */
  failAfterMs: number
}

/** Times are milliseconds. */
export type Probed = {
  people: number[]
  hits: number[]
  misses: number[]
  /** Requests without an answer in time, or with an error of ours. */
  failed: string[]
  /** How stored pages were answered. */
  verdicts: Record<string, number>
}

const EVERY_MS = 100
const MISS_EVERY_MS = 2_000

process.on('message', async (task: ProbeTask) => {
  process.send!(await probe(task))
})

async function probe(task: ProbeTask): Promise<Probed> {
  const { port, host, paths, hasMisses, seconds, failAfterMs } = task
  const found: Probed = { people: [], hits: [], misses: [], failed: [], verdicts: {} }
  const person = new http.Agent({ keepAlive: true })
  const crawler = new http.Agent({ keepAlive: true })
  const endMs = performance.now() + seconds * 1_000
  const asked: Promise<void>[] = []

  const ask = async (
    times: number[],
    path: string,
    how: { agent: http.Agent; localAddress: string; userAgent: string; withinMs: number },
  ): Promise<string> => {
    const { agent, localAddress, userAgent, withinMs } = how
    const beganMs = performance.now()
    const headers = { host, 'user-agent': userAgent, 'accept-encoding': 'br' }
    const req = http.get({ port, host: '127.0.0.1', localAddress, agent, path, headers })
    req.setTimeout(withinMs, () => req.destroy(new Error('no answer in time')))
    try {
      const [res] = (await once(req, 'response')) as [http.IncomingMessage]
      await once(res.resume(), 'end')
      times.push(performance.now() - beganMs)
      if (res.statusCode !== 200) found.failed.push(`${path}: ${res.statusCode}`)
      return String(res.headers['x-prepaint'] ?? '')
    } catch (error) {
      times.push(performance.now() - beganMs)
      found.failed.push(`${path}: ${(error as Error).message}`)
      return 'failed'
    }
  }
  const miss = async () => {
    for (let number = 0; hasMisses && performance.now() < endMs; number++) {
      const how = { agent: crawler, localAddress: '127.0.0.4', userAgent: GOOGLEBOT }
      await ask(found.misses, `/miss-${process.pid}-${number}`, { ...how, withinMs: 3 * failAfterMs })
      await sleep(MISS_EVERY_MS)
    }
  }
  const missing = miss()
  for (let round = 0; performance.now() < endMs; round++) {
    const how = { withinMs: failAfterMs }
    asked.push(
      ask(found.people, '/', { ...how, agent: person, localAddress: '127.0.0.3', userAgent: PERSON }).then(
        () => {},
      ),
      ask(found.hits, paths[round % paths.length]!, {
        ...how,
        agent: crawler,
        localAddress: '127.0.0.4',
        userAgent: GOOGLEBOT,
      }).then((verdict) => {
        found.verdicts[verdict] = (found.verdicts[verdict] ?? 0) + 1
      }),
    )
    await sleep(EVERY_MS)
  }
  await Promise.all([...asked, missing])
  person.destroy()
  crawler.destroy()
  return found
}
