import { randomBytes } from 'node:crypto'
import { AppError } from '@prepaint/contract/errors.ts'
import { REREAD } from '@prepaint/contract/events/event.ts'
import { JOB_DONE_CHANNEL } from '@prepaint/contract/outcome/job.ts'
import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import { WARM_CHANNEL, WARM_MOVED_CHANNEL } from '@prepaint/pages/queue/warm/warm.ts'
import { VISITED_CHANNEL } from '@prepaint/pages/store/last-visits.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { INVALIDATE_CHANNEL, type Notifications } from '@prepaint/runtime/invalidation.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { stillAllowed } from '../../accounts/access.ts'
import { INCIDENT_CHANNEL } from '../../notifications/incidents/incidents.ts'
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

/** Payload: an account that lost a session or key, or whose plan, role or suspension changed (packages/service/src/accounts/functions.sql). */
const ACCESS_ENDED_CHANNEL = 'access_ended'

export type EventTimes = {
  gatherMs: number
  beatMs: number
}

/** A larger burst becomes one `reread`, to protect the streams' buffers. */
const SENT_AT_ONCE = 100

const TIMES: EventTimes = { gatherMs: 250, beatMs: 15_000 }

export type Events = {
  /** Throws `too_many_streams`, or `events_unavailable` if this node has too many streams or no notifications. */
  subscribe(subscriber: Subscriber, begin: () => Sink, resumed: boolean): void
  readonly open: number
  close(): void
}

/** Live updates from this node's notifications. Without subscribers it reads nothing from the database. */
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

  const whileOpen = (take: (payload: string) => void) => (payload: string) => {
    if (streams.count === 0) return
    take(payload)
    plan()
  }
  listener.on(JOB_DONE_CHANNEL, whileOpen(gathering.job))
  listener.on(INVALIDATE_CHANNEL, whileOpen(gathering.invalidation))
  listener.on(WARM_CHANNEL, whileOpen(gathering.warm))
  listener.on(WARM_MOVED_CHANNEL, whileOpen(gathering.warm))
  listener.on(INCIDENT_CHANNEL, whileOpen(gathering.incident))
  listener.on(VISITED_CHANNEL, whileOpen(gathering.visited))
  listener.on(ACCESS_ENDED_CHANNEL, (account) => {
    void check(streams.all().filter(({ subscriber }) => String(subscriber.account) === account))
  })
  // Clients reconnect, here or at another node.
  listener.onLost(() => endAll(streams.all(), 'node'))

  const beating = setInterval(() => {
    streams.beat()
    void check(streams.all())
  }, times.beatMs).unref()

  return {
    subscribe(subscriber, begin, resumed) {
      if (closed || !listener.connected) throw new AppError('events_unavailable')
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
      void send(gathering.take()).finally(() => {
        isReading = false
        if (streams.count > 0 && gathering.pending()) plan()
      })
    }, times.gatherMs).unref()
  }

  async function send(gathered: Gathered): Promise<void> {
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
        const sent = owned.length > SENT_AT_ONCE ? [REREAD] : owned.map(({ event }) => event)
        for (const event of sent) streams.send(event, (subscriber) => subscriber.account === account)
      }
    } catch (error) {
      log.warn({ err: error }, 'events could not be read; subscribers are told to reread everything')
      streams.send(REREAD, () => true)
    }
  }

  async function check(checked: readonly OpenStream[]): Promise<void> {
    if (checked.length === 0) return
    try {
      const subscribers = checked.map(({ subscriber }) => subscriber)
      const isAllowed = await stillAllowed(pool, plans, subscribers, clock.nowMs())
      endAll(
        checked.filter(({ subscriber }) => !isAllowed(subscriber)),
        'access',
      )
    } catch (error) {
      log.warn({ err: error }, 'the access of event streams could not be checked')
    }
  }

  function endAll(ended: readonly OpenStream[], reason: 'access' | 'node'): void {
    for (const stream of ended) streams.end(stream, reason)
  }
}
