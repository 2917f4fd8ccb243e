import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import type pg from 'pg'

import type { Clock } from '../../clock.ts'
import type { Listener } from '../../db/listener.ts'
import type { Log } from '../../log.ts'
import { INVALIDATE_CHANNEL, parseInvalidation } from '../../store/invalidation.ts'
import { accountKey } from '../acme/account.ts'
import { publishChallenge, withdrawChallenges } from '../acme/challenge.ts'
import type { IssueTimes } from '../acme/issue.ts'
import { type AcmeSession, createAcmeSession } from '../acme/session.ts'
import type { Transport } from '../acme/transport.ts'
import { storeCertificate } from '../stored-certificate.ts'
import type { Vault } from '../vault/vault.ts'
import { backOffMs, renewalBackOffMs } from './back-off.ts'
import { type Errand, keepErrand, leaveErrand, takeBudget, takeErrands, whileOurs } from './order-book.ts'
import { carryErrand, type Ending, type ErrandDeps } from './order-task.ts'

export type OrderingDeps = {
  pool: pg.Pool
  listener: Pick<Listener, 'on' | 'caughtUp'>
  vault: Vault
  transport: Transport
  clock: Clock
  log: Log
  random?: () => number
  reach: ErrandDeps['reach']
}

export type OrderingOptions = {
  directoryUrl: string
  email: string | null
  /** Orders of the whole fleet. */
  perHour: number
  /** A dead node's errands are taken up after this time. */
  leaseMs?: number
  /** How often it is looked for what is due. */
  lookMs?: number
  /** Errands of this node at a time. */
  slots?: number
  times?: IssueTimes
}

export type Ordering = {
  /** Looks now for what is due. */
  wake(): void
  /** Errands under way are given back: another node takes them up at once. */
  close(): Promise<void>
}

/** A domain that was just registered is looked at after a moment: others may come with it. */
const SOON_MS = 250
/** Five minutes in all; should another node have taken the errand over by then, its lease says so. */
const STORE_TRIES = 300
const STORE_AGAIN_MS = 1_000

/**
 * Orders and renews certificates for as long as the node lives. Nodes that do
 * this share the work: a domain is at most one node's at a time, under a lease.
 * Whatever goes wrong here, what is served goes on.
 */
export function startOrdering(deps: OrderingDeps, options: OrderingOptions): Ordering {
  const { pool, listener, vault, transport, clock, log, random = Math.random, reach } = deps
  const { directoryUrl, email, perHour, leaseMs = 60_000, lookMs = 15_000, slots = 4, times } = options
  const closing = new AbortController()
  const running = new Set<Promise<void>>()
  let looking: Promise<void> | null = null
  let again = false
  let session: Promise<AcmeSession> | null = null

  const errandDeps: ErrandDeps = {
    clock,
    log,
    random,
    reach,
    session: () => {
      session ??= accountKey(pool, vault, directoryUrl, clock.nowMs())
        .then((key) => createAcmeSession(key, { directoryUrl, email, transport, nowMs: () => clock.nowMs() }))
        .catch((error: unknown) => {
          session = null
          throw error
        })
      return session
    },
    takeBudget: (account) => takeBudget(pool, { perHour, account, nowMs: clock.nowMs() }),
    publish: async (domain, challenge) => {
      await publishChallenge(pool, domain, challenge)
      await listener.caughtUp()
    },
    ...(times !== undefined && { times }),
  }

  const timer = setInterval(wake, lookMs)
  let soon: NodeJS.Timeout | undefined
  listener.on(INVALIDATE_CHANNEL, (payload) => {
    if (parseInvalidation(payload).kind !== 'host' || closing.signal.aborted) return
    soon ??= setTimeout(() => {
      soon = undefined
      wake()
    }, SOON_MS)
  })

  function wake(): void {
    again = true
    looking ??= look().finally(() => {
      looking = null
    })
  }

  async function look(): Promise<void> {
    while (again && running.size < slots && !closing.signal.aborted) {
      again = false
      try {
        const limit = slots - running.size
        // Another one each time: what is left of an errand that was lost must not count for the next.
        const lease = randomUUID()
        const errands = await takeErrands(pool, { lease, leaseMs, limit, nowMs: clock.nowMs() })
        for (const errand of errands) begin(errand)
        again ||= errands.length > 0
      } catch (error) {
        log.warn({ err: error }, 'it could not be looked which certificates are due')
      }
    }
  }

  function begin(errand: Errand): void {
    const run = attend(errand)
      .catch((error: unknown) => {
        log.warn({ err: error, domain: errand.domain.name }, 'the end of an order could not be stored')
      })
      .finally(() => {
        running.delete(run)
        wake()
      })
    running.add(run)
  }

  async function attend(errand: Errand): Promise<void> {
    const lost = new AbortController()
    const renewing = setInterval(() => {
      keepErrand(pool, errand, leaseMs).then(
        (ours) => {
          if (!ours) lost.abort(new Error('the lease is lost'))
        },
        // The database is away: the lease runs on, and the end of the errand says whether it held.
        () => {},
      )
    }, leaseMs / 3)
    let given = false
    try {
      const signal = AbortSignal.any([closing.signal, lost.signal])
      const ending = await carryErrand(errandDeps, errand, signal).catch((): null => null)
      if (ending !== null) await conclude(errand, ending)
      else if (!lost.signal.aborted) {
        // First of all: whoever takes the errand up publishes proofs of his own.
        await withdraw(errand)
        await giveBack(errand)
        given = true
      }
    } finally {
      clearInterval(renewing)
      if (!given && !lost.signal.aborted) await withdraw(errand)
    }
  }

  async function conclude(errand: Errand, ending: Ending): Promise<void> {
    const { domain } = errand
    const nowMs = clock.nowMs()
    if (ending.kind === 'issued') {
      const { certificate, ...when } = ending
      const stored = await patiently(domain, () =>
        whileOurs(pool, errand, (client) =>
          storeCertificate(client, vault, domain, 'acme', certificate, when),
        ),
      )
      if (stored) log.info({ domain: domain.name, until: certificate.notAfterMs }, 'certificate in use')
      return
    }
    if (ending.kind === 'later') return leaveErrand(pool, errand, ending)

    const { failure, reason, wantedMs } = ending
    const waitMs = backOffMs(failure, errand.failures + 1, random, wantedMs)
    const leftMs = errand.current === null ? null : errand.current.notAfterMs - nowMs
    const nextAtMs = nowMs + (leftMs === null ? waitMs : renewalBackOffMs(waitMs, leftMs, wantedMs))
    log.warn({ domain: domain.name, failure, reason, next: nextAtMs }, 'no new certificate')
    await leaveErrand(pool, errand, { kind: 'failed', nextAtMs, reason, nowMs })
  }

  /** What the CA has issued counts against its limits: it is not lost to a database that is away for a moment. */
  async function patiently<T>({ name }: Errand['domain'], store: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await store()
      } catch (error) {
        if (tries === STORE_TRIES || closing.signal.aborted) throw error
        log.warn({ err: error, domain: name }, 'a new certificate could not be stored yet')
        await sleep(STORE_AGAIN_MS, undefined, { signal: closing.signal }).catch(() => {})
      }
    }
  }

  async function withdraw({ domain }: Errand): Promise<void> {
    await withdrawChallenges(pool, domain).catch(() => {})
  }

  async function giveBack(errand: Errand): Promise<void> {
    await leaveErrand(pool, errand, { kind: 'later', nextAtMs: clock.nowMs() })
  }

  // Before the first look: with a CA that is new to us, more is due.
  const ready = errandDeps.session().then(wake, (error: unknown) => {
    log.error({ err: error }, 'there is no account at the CA yet')
    wake()
  })
  return {
    wake,
    async close() {
      closing.abort(new Error('the node ends'))
      clearInterval(timer)
      clearTimeout(soon)
      await ready
      await looking
      await Promise.all(running)
    },
  }
}
