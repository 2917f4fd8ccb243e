import type { secondFactorAwaitedAnswer, signInAnswer } from '@prepaint/contract/api/account.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId, PersonId } from '@prepaint/contract/ids.ts'
import { whyNoSession } from '@prepaint/service/accounts/sign-in/passwords.ts'
import { hasSecondFactor, readFactors } from '@prepaint/service/accounts/sign-in/second-factor.ts'
import {
  isSuspended,
  type Session,
  startSession,
  takeSession,
  type Way,
} from '@prepaint/service/accounts/sign-in/sessions.ts'
import { beginStep } from '@prepaint/service/accounts/sign-in/steps.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { type ApiOptions, type ApiParts, clientOf } from '../http/app.ts'
import { sessionToken, setSessionCookie } from '../http/session-access.ts'
import { me } from './me.ts'

/** Who has proved a password. `link`: the hash of an invitation that is accepted with the second factor. */
type PasswordProved = {
  person: PersonId
  passwordHash: string
  account: AccountId | null
  link: Buffer | null
}

/** Who has proved who it is, and how. */
type Entering = {
  person: PersonId
  passwordHash: string | null
  account: AccountId | null
  way: Way
  hasSecondFactor: boolean
  /** When the person proved who it is, if not now. */
  provedAtMs?: number | null
}

/** Signs people in, once they have proved who they are. */
export class Entrance {
  readonly #parts: ApiParts
  readonly #options: ApiOptions

  constructor(parts: ApiParts, options: ApiOptions) {
    this.#parts = parts
    this.#options = options
  }

  /** The session of a request to a route that takes one, but needs none. */
  async sessionOf(request: FastifyRequest, reply: FastifyReply): Promise<Session | null> {
    const { clock, pool } = this.#parts
    const { publicUrl } = this.#options
    const token = sessionToken(request, publicUrl)
    if (token === undefined) return null
    const found = await takeSession(pool, token, clock.nowMs())
    if (found === null) return null
    if (found.renewed) setSessionCookie(reply, publicUrl, token)
    return found.session
  }

  /** The password was right: asks for the second factor of a person who has one (202). Throws `account_suspended`. */
  async enterByPassword(
    request: FastifyRequest,
    reply: FastifyReply,
    { person, passwordHash, account, link }: PasswordProved,
  ): Promise<z.input<typeof signInAnswer> | z.input<typeof secondFactorAwaitedAnswer>> {
    const { clock, pool } = this.#parts
    if (!hasSecondFactor(await readFactors(pool, person))) {
      return this.enter(request, reply, {
        person,
        passwordHash,
        account,
        way: 'password',
        hasSecondFactor: false,
      })
    }
    if (await isSuspended(pool, person)) throw new AppError('account_suspended')
    void reply.code(202)
    return {
      second_factor: await beginStep(pool, { person, passwordHash, linkHash: link }, clock.nowMs()),
    }
  }

  /** Sets the cookie of a new session. Throws `account_suspended` and `wrong_credentials`. */
  async enter(
    request: FastifyRequest,
    reply: FastifyReply,
    entering: Entering,
  ): Promise<z.input<typeof signInAnswer>> {
    const { pool } = this.#parts
    const session = await this.start(request, reply, entering)
    if (session === null) throw await whyNoSession(pool, entering.person)
    return me(pool, session, this.#options.plans)
  }

  /**
   * As `enter`, but returns the session, or null without a cookie: all accounts of the person are suspended, or its password has
   * changed.
   */
  async start(
    request: FastifyRequest,
    reply: FastifyReply,
    { person, ...how }: Entering,
  ): Promise<Session | null> {
    const { clock, pool, readClient } = this.#parts
    const started = await startSession(pool, person, clientOf(readClient, request), clock.nowMs(), how)
    if (started === null) return null
    setSessionCookie(reply, this.#options.publicUrl, started.token)
    return started.session
  }
}
