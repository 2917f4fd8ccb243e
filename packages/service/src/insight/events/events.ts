import { randomBytes } from 'node:crypto'
import { AppError } from '@prepaint/contract/errors.ts'
import { type LiveEvent, REREAD } from '@prepaint/contract/events/event.ts'
import type { DomainId } from '@prepaint/contract/ids.ts'
import { JOB_DONE_CHANNEL } from '@prepaint/contract/outcome/job.ts'
import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import type { SharePart } from '@prepaint/contract/share-parts.ts'
import { WARM_CHANNEL, WARM_MOVED_CHANNEL } from '@prepaint/pages/queue/warm/warm.ts'
import { VISITED_CHANNEL } from '@prepaint/pages/store/visited-notices.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { INVALIDATE_CHANNEL, type Notifications } from '@prepaint/runtime/invalidation.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { stillAllowed } from '../../accounts/access.ts'
import { INCIDENT_CHANNEL } from '../../notifications/incidents/incidents.ts'
import { type Gathered, Gathering } from './gathering.ts'
import { readEvents } from './read-events.ts'
import {
  type OpenStream,
  type Sink,
  STREAM_LIMITS,
  type StreamLimits,
  Streams,
  type Subscriber,
} from './streams.ts'

/** The payload is an account or `person <id>` whose access may have ended (packages/service/src/accounts/functions.sql). */
const ACCESS_ENDED_CHANNEL = 'access_ended'

export type EventTimes = {
  /** Changes are read this long after the first one. */
  gatherMs: number
  /** Time between comments that keep streams open. */
  beatMs: number
}

/** A larger burst becomes one `reread`, to protect the streams' buffers. */
const SENT_AT_ONCE = 100

const TIMES: EventTimes = { gatherMs: 250, beatMs: 15_000 }

type EventOptions = { plans: PlanCatalogue; limits?: StreamLimits; times?: EventTimes }

/** Live updates from this node's notifications. Without subscribers it reads nothing from the database. */
export class Events {
  readonly #pool: pg.Pool
  readonly #listener: Notifications
  readonly #clock: Clock
  readonly #log: Log
  readonly #plans: PlanCatalogue
  readonly #times: EventTimes
  readonly #streams: Streams
  readonly #gathering = new Gathering()
  readonly #beating: NodeJS.Timeout
  #gatherTimer: NodeJS.Timeout | null = null
  #isReading = false
  #isClosed = false

  constructor(
    pool: pg.Pool,
    listener: Notifications,
    clock: Clock,
    log: Log,
    { plans, limits = STREAM_LIMITS, times = TIMES }: EventOptions,
  ) {
    this.#pool = pool
    this.#listener = listener
    this.#clock = clock
    this.#log = log
    this.#plans = plans
    this.#times = times
    this.#streams = new Streams(randomBytes(6).toString('hex'), limits)
    this.#listen()
    this.#beating = setInterval(() => {
      this.#streams.beat()
      void this.#endRefused(this.#streams.all())
    }, times.beatMs).unref()
  }

  /** How many streams are open. */
  get open(): number {
    return this.#streams.count
  }

  /** Throws `too_many_streams`, `too_many_link_streams`, or `events_unavailable` if this node has too many streams or no notifications. */
  subscribe(subscriber: Subscriber, begin: () => Sink, resumed: boolean): void {
    if (this.#isClosed || !this.#listener.connected) throw new AppError('events_unavailable')
    // What came before the first subscriber is of no use to it.
    if (this.#streams.count === 0) this.#gathering.take()
    const opened = this.#streams.open(subscriber, begin, resumed)
    if (opened === 'account-full') throw new AppError('too_many_streams')
    if (opened === 'link-full') throw new AppError('too_many_link_streams')
    if (opened === 'node-full') throw new AppError('events_unavailable')
    this.#endInTime(subscriber)
    // The access may have ended after it was checked and before the stream could be told.
    void this.#endRefused(this.#streams.all().filter((stream) => stream.subscriber === subscriber))
  }

  /** A share link ends by itself. Others are looked at with each beat. */
  #endInTime(subscriber: Subscriber): void {
    if (!('share' in subscriber.by)) return
    // Timers may be a millisecond early.
    const inMs = Math.min(subscriber.by.endsAtMs - this.#clock.nowMs() + 10, LONGEST_TIMER_MS)
    const timer = setTimeout(() => {
      void this.#endRefused(this.#streams.all().filter((stream) => stream.subscriber === subscriber))
    }, inMs)
    timer.unref()
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#beating)
    if (this.#gatherTimer !== null) clearTimeout(this.#gatherTimer)
    this.#endAll(this.#streams.all(), 'node')
  }

  #listen(): void {
    const gathering = this.#gathering
    this.#gatherFrom(JOB_DONE_CHANNEL, (payload) => gathering.addJobs(payload))
    this.#gatherFrom(INVALIDATE_CHANNEL, (payload) => gathering.addInvalidation(payload))
    this.#gatherFrom(WARM_CHANNEL, (payload) => gathering.addWarm(payload))
    this.#gatherFrom(WARM_MOVED_CHANNEL, (payload) => gathering.addWarm(payload))
    this.#gatherFrom(INCIDENT_CHANNEL, (payload) => gathering.addIncident(payload))
    this.#gatherFrom(VISITED_CHANNEL, (payload) => gathering.addVisited(payload))
    this.#listener.on(ACCESS_ENDED_CHANNEL, (whose) => {
      const isConcerned = ({ account, person }: Subscriber) =>
        String(account) === whose || `person ${person}` === whose
      void this.#endRefused(this.#streams.all().filter(({ subscriber }) => isConcerned(subscriber)))
    })
    // Clients reconnect, here or at another node.
    this.#listener.onLost(() => this.#endAll(this.#streams.all(), 'node'))
  }

  #gatherFrom(channel: string, add: (payload: string) => void): void {
    this.#listener.on(channel, (payload) => {
      if (this.#streams.count === 0) return
      add(payload)
      this.#plan()
    })
  }

  /** Sends what was gathered after `gatherMs`, and one such batch at a time. */
  #plan(): void {
    if (this.#isClosed || this.#isReading || this.#gatherTimer !== null) return
    this.#gatherTimer = setTimeout(() => {
      this.#gatherTimer = null
      void this.#sendGathered()
    }, this.#times.gatherMs).unref()
  }

  async #sendGathered(): Promise<void> {
    this.#isReading = true
    try {
      await this.#send(this.#gathering.take())
    } catch (error) {
      this.#log.warn({ err: error }, 'events could not be read; subscribers are told to reread everything')
      this.#streams.send(REREAD, () => true)
    }
    this.#isReading = false
    if (this.#streams.count > 0 && !this.#gathering.isEmpty) this.#plan()
  }

  async #send(gathered: Gathered): Promise<void> {
    const { jobsEnded: jobs_ended, overflown } = gathered
    if (jobs_ended > 0) this.#streams.send({ event: 'fleet', data: { jobs_ended } }, ({ fleet }) => fleet)
    if (overflown) {
      this.#streams.send(REREAD, () => true)
      return
    }
    const view = { plans: this.#plans, nowMs: this.#clock.nowMs() }
    const found = await readEvents(this.#pool, this.#streams.accounts(), gathered, view)
    for (const [account, owned] of Map.groupBy(found, (event) => event.account)) {
      if (owned.length > SENT_AT_ONCE) {
        this.#streams.send(REREAD, (subscriber) => subscriber.account === account)
        continue
      }
      for (const { domain, event } of owned) {
        this.#streams.send(
          event,
          (subscriber) =>
            subscriber.account === account &&
            isWithin(subscriber, domain) &&
            mayHear(subscriber, event.event),
        )
      }
    }
  }

  /** Ends the streams whose session or key is no longer allowed. */
  async #endRefused(checked: readonly OpenStream[]): Promise<void> {
    if (checked.length === 0) return
    try {
      const subscribers = checked.map(({ subscriber }) => subscriber)
      const isAllowed = await stillAllowed(this.#pool, this.#plans, subscribers, this.#clock.nowMs())
      const refused = checked.filter(({ subscriber }) => !isAllowed(subscriber))
      this.#endAll(refused, 'access')
    } catch (error) {
      this.#log.warn({ err: error }, 'the access of event streams could not be checked')
    }
  }

  #endAll(ended: readonly OpenStream[], reason: 'access' | 'node'): void {
    for (const stream of ended) this.#streams.end(stream, reason)
  }
}

/** Longer ones would fire at once. No stream lasts so long. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** The events that only share links with a part hear. What is not listed says no more than every link shows. */
const PARTS: Partial<Record<LiveEvent['event'], SharePart>> = {
  render: 'pages',
  pages: 'pages',
  warm: 'pages',
  visits: 'traffic',
  incident: 'incidents',
}

function mayHear({ by }: Subscriber, event: LiveEvent['event']): boolean {
  const part = PARTS[event]
  return !('share' in by) || part === undefined || by.parts.includes(part)
}

function isWithin({ domains }: Subscriber, domain: DomainId | null): boolean {
  return domains === null || domain === null || domains.includes(domain)
}
