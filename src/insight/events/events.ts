import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { stillAllowed } from '../../accounts/access.ts'
import type { PlanCatalogue } from '../../accounts/plans.ts'
import type { Clock } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { JOB_DONE_CHANNEL } from '../../queue/jobs/job.ts'
import { WARM_CHANNEL, WARM_MOVED_CHANNEL } from '../../queue/warm/warm.ts'
import { INVALIDATE_CHANNEL, type Notifications } from '../../store/invalidation.ts'
import { VISITED_CHANNEL } from '../../store/last-visits.ts'
import { REREAD } from './event.ts'
import { createGathering, type Gathered } from './gathering.ts'
import { readEvents } from './read-events.ts'
import {
  createStreams,
  type OpenStream,
  type Sink,
  STREAM_LIMITS,
  type StreamLimits,
  type Subscriber,
} from './streams.ts'

/** Payload: an account of which a session has ended, a key was revoked, or plan, role or suspension changed. */
const ACCESS_ENDED_CHANNEL = 'access_ended'

export type EventTimes = {
  /** Notifications are gathered for so long: what comes in a burst is read and told once. */
  gatherMs: number
  beatMs: number
}

/** Of more at a time nobody reads each; and so a burst never fills the room that a quick reader is given. */
const TOLD_AT_ONCE = 100

const TIMES: EventTimes = { gatherMs: 250, beatMs: 15_000 }

export type Events = {
  /**
   * Sends to the sink of `begin` what happens to the subscriber's account from now on, until
   * its access or this node ends. Throws `too_many_streams`, and
   * `events_unavailable` when this node has too many or hears nothing itself.
   */
  subscribe(subscriber: Subscriber, begin: () => Sink, resumed: boolean): void
  readonly open: number
  /** Ends all streams; none is opened any more. */
  close(): void
}

/**
 * Live figures: what the one listener connection of this node hears, put into
 * words for those who watch. While nobody does, nothing is gathered and
 * nothing asked of the database.
 */
export function createEvents(deps: {
  pool: pg.Pool
  plans: PlanCatalogue
  listener: Notifications
  clock: Clock
  log: Log
  limits?: StreamLimits
  times?: EventTimes
}): Events {
  const { pool, plans, listener, clock, log, times = TIMES } = deps
  const streams = createStreams(randomBytes(6).toString('hex'), deps.limits ?? STREAM_LIMITS)
  const gathering = createGathering()
  let gatherTimer: NodeJS.Timeout | null = null
  let isReading = false
  let closed = false

  const heard = (take: (payload: string) => void) => (payload: string) => {
    if (streams.count === 0) return
    take(payload)
    plan()
  }
  listener.on(JOB_DONE_CHANNEL, heard(gathering.job))
  listener.on(INVALIDATE_CHANNEL, heard(gathering.invalidation))
  listener.on(WARM_CHANNEL, heard(gathering.warm))
  listener.on(WARM_MOVED_CHANNEL, heard(gathering.warm))
  listener.on(VISITED_CHANNEL, heard(gathering.visited))
  listener.on(ACCESS_ENDED_CHANNEL, (account) => {
    void check(streams.all().filter(({ subscriber }) => String(subscriber.account) === account))
  })
  // Who listens to a node that hears nothing is better told so: he asks again, here or elsewhere.
  listener.onLost(() => endAll(streams.all(), 'node'))

  const beating = setInterval(() => {
    streams.beat()
    void check(streams.all())
  }, times.beatMs)
  beating.unref()

  return {
    subscribe(subscriber, begin, resumed) {
      if (closed || !listener.connected) throw new AppError('events_unavailable')
      // What was heard before is of no account to whoever comes now.
      if (streams.count === 0) gathering.take()
      const opened = streams.open(subscriber, begin, resumed)
      if (opened === 'account-full') throw new AppError('too_many_streams')
      if (opened === 'node-full') throw new AppError('events_unavailable')
    },
    get open() {
      return streams.count
    },
    close() {
      closed = true
      clearInterval(beating)
      if (gatherTimer !== null) clearTimeout(gatherTimer)
      endAll(streams.all(), 'node')
    },
  }

  function plan(): void {
    if (closed || isReading || gatherTimer !== null) return
    gatherTimer = setTimeout(() => {
      gatherTimer = null
      isReading = true
      void tell(gathering.take()).finally(() => {
        isReading = false
        if (streams.count > 0 && gathering.pending()) plan()
      })
    }, times.gatherMs)
    gatherTimer.unref()
  }

  async function tell(gathered: Gathered): Promise<void> {
    const { jobsEnded: jobs_ended, overflown } = gathered
    if (jobs_ended > 0) streams.send({ event: 'fleet', data: { jobs_ended } }, ({ fleet }) => fleet)
    try {
      if (overflown) return streams.send(REREAD, () => true)
      const view = { plans, nowMs: clock.nowMs() }
      const found = Map.groupBy(
        await readEvents(pool, streams.accounts(), gathered, view),
        (each) => each.account,
      )
      for (const [account, owned] of found) {
        const told = owned.length > TOLD_AT_ONCE ? [REREAD] : owned.map(({ event }) => event)
        for (const event of told) streams.send(event, (subscriber) => subscriber.account === account)
      }
    } catch (error) {
      log.warn({ err: error }, 'what has happened could not be read; those who listen read all anew')
      streams.send(REREAD, () => true)
    }
  }

  /** Ends those whose access has ended. When that cannot be found out, the next beat asks again. */
  async function check(asked: readonly OpenStream[]): Promise<void> {
    if (asked.length === 0) return
    try {
      const subscribers = asked.map(({ subscriber }) => subscriber)
      const isAllowed = await stillAllowed(pool, plans, subscribers, clock.nowMs())
      endAll(
        asked.filter(({ subscriber }) => !isAllowed(subscriber)),
        'access',
      )
    } catch (error) {
      log.warn({ err: error }, 'it could not be checked who may still listen')
    }
  }

  function endAll(ended: readonly OpenStream[], reason: 'access' | 'node'): void {
    for (const stream of ended) streams.end(stream, reason)
  }
}
