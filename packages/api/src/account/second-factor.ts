import {
  addPasskeyAnswer,
  addPasskeyBody,
  confirmSessionBody,
  confirmTotpBody,
  getSecondFactorAnswer,
  giveSecondFactorBody,
  passkeyAnswer,
  passkeyToAddAnswer,
  passkeyToAskAnswer,
  policyAnswer,
  recoveryCodesAnswer,
  renamePasskeyBody,
  secretParams,
  signInAnswer,
  signInByPasskeyBody,
  startTotpAnswer,
  updatePolicyBody,
} from '@prepaint/contract/api/account.ts'
import { AppError, invalidField } from '@prepaint/contract/errors.ts'
import type { PersonId } from '@prepaint/contract/ids.ts'
import { updatePolicy } from '@prepaint/service/accounts/policy.ts'
import { countedAttempt } from '@prepaint/service/accounts/sign-in/attempts.ts'
import { acceptInvitation } from '@prepaint/service/accounts/sign-in/links.ts'
import {
  addPasskey,
  checkPasskey,
  listPasskeys,
  passkeyToAdd,
  passkeyToAsk,
  removePasskey,
  renamePasskey,
  siteOf,
} from '@prepaint/service/accounts/sign-in/passkeys.ts'
import { checkOwnPassword } from '@prepaint/service/accounts/sign-in/passwords.ts'
import {
  accountsThatRequire,
  confirmTotp,
  countedCode,
  countRecoveryCodes,
  removeTotp,
  renewRecoveryCodes,
  startTotp,
  takeRecoveryCode,
  takeTotp,
} from '@prepaint/service/accounts/sign-in/second-factor.ts'
import { confirmSession, recordOfPerson, type Session } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { endStep, takeStep } from '@prepaint/service/accounts/sign-in/steps.ts'
import { type FactorChange, writeNotice } from '@prepaint/service/mail/notice.ts'
import { confirmNeeded, confirmWays, memberCaller } from '../http/access.ts'
import { type ApiApp, type ApiOptions, type ApiParts, clientOf, numberFrom } from '../http/app.ts'
import { emptyResponse, jsonResponse } from '../http/responses.ts'
import { accountRoutes, personRoutes } from '../http/routes.ts'
import { checkSameSite } from '../http/session-access.ts'
import { Entrance } from './entering.ts'

const TAG = 'Signing in'
const CODE_LIMITS = '10 wrong codes of a person in 15 minutes, and 30 in 24 hours, are refused with 429.'

/** The second step of a sign-in, sign-in by passkey, and proving again who somebody is. */
export function signInSteps(app: ApiApp, parts: ApiParts, options: ApiOptions): void {
  const add = personRoutes(app, TAG)
  const entrance = new Entrance(parts, options)
  const notices = new Notices(parts)
  const { clock, pool, readClient, vault } = parts
  const { plans, publicUrl } = options

  app.route({
    method: 'POST',
    url: '/api/session/second-factor',
    config: {
      access: 'open',
      refuses: [
        'wrong_code',
        'sign_in_again',
        'link_not_found',
        'wrong_credentials',
        'account_suspended',
        'account_exists',
        'member_limit',
        'passkeys_need_host',
        'cross_site',
        'too_many_failures',
        'database_unavailable',
      ],
    },
    schema: {
      operationId: 'giveSecondFactor',
      tags: [TAG],
      summary: 'The second step of a sign-in: a code, a recovery code, or a passkey; sets the session cookie',
      description: `The token lasts for 5 minutes and 5 tries. ${CODE_LIMITS}`,
      body: giveSecondFactorBody,
      response: { 200: jsonResponse('The account and the person that is signed in', signInAnswer) },
    },
    handler: async (request, reply) => {
      checkSameSite(request)
      const { token, code, recovery_code: recoveryCode, response } = request.body
      if (code === undefined && recoveryCode === undefined && response === undefined) {
        throw invalidField(['code'], 'is required')
      }
      const site = response === undefined ? null : siteOf(publicUrl, request)
      const nowMs = clock.nowMs()
      const { person, passwordHash, linkHash } = await takeStep(pool, token, nowMs)
      const isRight = await countedCode(pool, person, nowMs, async () => {
        if (site !== null)
          return isPasskeyOf(person, () => checkPasskey(pool, site, { token: null, response }, nowMs))
        if (code !== undefined) return takeTotp(pool, vault, person, code, nowMs)
        return takeRecoveryCode(pool, person, recoveryCode ?? '')
      })
      if (!isRight) {
        const details = { at: 'second factor' }
        await recordOfPerson(pool, person, { action: 'sign_in.failed', details, isActor: true })
        throw new AppError('wrong_code')
      }
      await endStep(pool, token)
      const usedRecoveryCode = site === null && code === undefined
      if (usedRecoveryCode) await notices.send(request, person, { kind: 'recovery_code_used' })
      const account = linkHash === null ? null : await acceptInvitation(pool, plans, linkHash, person, nowMs)
      const how = { person, passwordHash, account, way: 'password', hasSecondFactor: true } as const
      return entrance.enter(request, reply, how)
    },
  })

  app.route({
    method: 'POST',
    url: '/api/session/passkey/options',
    config: {
      access: 'open',
      isOwnWay: true,
      refuses: ['cross_site', 'passkeys_need_host', 'database_unavailable'],
    },
    schema: {
      operationId: 'askForPasskey',
      tags: [TAG],
      summary: 'What a browser needs to sign with a passkey; for 5 minutes',
      description:
        'It takes no address and tells nothing about anybody: the browser knows whose passkeys it has.',
      response: { 200: jsonResponse('Options for `navigator.credentials.get`', passkeyToAskAnswer) },
    },
    handler: async (request) => {
      checkSameSite(request)
      const { token, options } = await passkeyToAsk(pool, siteOf(publicUrl, request), clock.nowMs())
      return { token, options: { ...options } }
    },
  })

  app.route({
    method: 'POST',
    url: '/api/session/passkey',
    config: {
      access: 'open',
      isOwnWay: true,
      refuses: [
        'passkey_not_accepted',
        'passkeys_need_host',
        'account_suspended',
        'cross_site',
        'database_unavailable',
      ],
    },
    schema: {
      operationId: 'signInByPasskey',
      tags: [TAG],
      summary: 'Sign in by a passkey, which counts as both factors: sets the session cookie',
      body: signInByPasskeyBody,
      response: { 200: jsonResponse('The account and the person that is signed in', signInAnswer) },
    },
    handler: async (request, reply) => {
      checkSameSite(request)
      const person = await checkPasskey(pool, siteOf(publicUrl, request), request.body, clock.nowMs())
      const how = {
        person,
        passwordHash: null,
        account: null,
        way: 'passkey',
        hasSecondFactor: true,
      } as const
      return entrance.enter(request, reply, how)
    },
  })

  add('POST', '/api/session/confirm', 'confirmSession', {
    summary: 'Prove again that it is you, before something dangerous',
    description: `By the password, or by a second factor if you have one. ${CODE_LIMITS}`,
    body: confirmSessionBody,
    response: { 204: emptyResponse('Confirmed') },
    refuses: [
      'wrong_password',
      'wrong_confirm_code',
      'confirm_passkey_not_accepted',
      'confirm_needed',
      'passkeys_need_host',
      'too_many_failures',
    ],
    handler: async (session, request, reply) => {
      const { password, code, token, response } = request.body
      const nowMs = clock.nowMs()
      const ways = confirmWays(session)
      if (code !== undefined && ways.includes('totp')) await checkCode(session, code, nowMs)
      else if (token !== undefined && response !== undefined && ways.includes('passkey')) {
        const site = siteOf(publicUrl, request)
        const isOwn = await isPasskeyOf(session.person, () =>
          checkPasskey(pool, site, { token, response }, nowMs),
        )
        if (!isOwn) throw new AppError('confirm_passkey_not_accepted')
      } else if (password !== undefined && ways.includes('password')) {
        const attempt = { email: session.email, address: clientOf(readClient, request).address }
        await countedAttempt(pool, attempt, nowMs, 'wrong_password', () =>
          checkOwnPassword(pool, session.person, password),
        )
      } else throw confirmNeeded(session)
      await confirmSession(pool, session, nowMs)
      return reply.code(204).send(null)
    },
  })

  async function checkCode({ person }: Session, code: string, nowMs: number): Promise<void> {
    const isRight = await countedCode(pool, person, nowMs, () => takeTotp(pool, vault, person, code, nowMs))
    if (isRight) return
    await recordOfPerson(pool, person, { action: 'sign_in.failed', details: { at: 'confirmation' } })
    throw new AppError('wrong_confirm_code')
  }
}

/** Tells whether the passkey that `check` accepts is the person's. */
async function isPasskeyOf(person: PersonId, check: () => Promise<PersonId>): Promise<boolean> {
  try {
    return (await check()) === person
  } catch (error) {
    if (error instanceof AppError && error.code === 'passkey_not_accepted') return false
    throw error
  }
}

/** What a person sets up besides a password. */
export function secondFactor(app: ApiApp, parts: ApiParts, { publicUrl }: ApiOptions): void {
  const add = personRoutes(app, TAG)
  const notices = new Notices(parts)
  const { clock, pool, vault } = parts
  const idOf = (request: { params: { id: string } }) => numberFrom(request.params.id, 'passkey_not_found')

  add('GET', '/api/second-factor', 'getSecondFactor', {
    summary: 'What you have set up besides a password',
    response: { 200: jsonResponse('Authenticator app, passkeys, recovery codes', getSecondFactorAnswer) },
    handler: async ({ person, factors }) => ({
      totp: factors.totp,
      passkeys: await listPasskeys(pool, person),
      recovery_codes_left: await countRecoveryCodes(pool, person),
      required_by: await accountsThatRequire(pool, person),
    }),
  })

  add('POST', '/api/second-factor/totp', 'startTotp', {
    summary: 'Make the secret of an authenticator app; it counts once a code has confirmed it',
    isOwnWay: true,
    isFresh: true,
    response: { 200: jsonResponse('The secret, shown only once', startTotpAnswer) },
    refuses: ['second_factor_exists', 'secrets_unavailable'],
    handler: (session) => startTotp(pool, vault, session, clock.nowMs()),
  })

  add('POST', '/api/second-factor/totp/confirm', 'confirmTotp', {
    summary: 'Confirm the authenticator app by a code of it; other sessions end',
    isOwnWay: true,
    description: CODE_LIMITS,
    body: confirmTotpBody,
    response: { 200: jsonResponse('Recovery codes, shown only once', recoveryCodesAnswer) },
    refuses: ['wrong_new_code', 'second_factor_exists', 'too_many_failures'],
    handler: async (session, request) => {
      const codes = await confirmTotp(pool, vault, session, request.body.code, clock.nowMs())
      await notices.send(request, session.person, { kind: 'totp_added' })
      return { recovery_codes: codes }
    },
  })

  add('DELETE', '/api/second-factor/totp', 'removeTotp', {
    summary: 'Remove the authenticator app',
    isFresh: true,
    response: { 204: emptyResponse('Removed') },
    handler: async ({ person }, request, reply) => {
      if (await removeTotp(pool, person)) await notices.send(request, person, { kind: 'totp_removed' })
      return reply.code(204).send(null)
    },
  })

  add('POST', '/api/second-factor/recovery-codes', 'renewRecoveryCodes', {
    summary: 'Make ten new recovery codes; those of before are gone',
    isOwnWay: true,
    isFresh: true,
    response: { 200: jsonResponse('Recovery codes, shown only once', recoveryCodesAnswer) },
    refuses: ['no_second_factor'],
    handler: async ({ person }, request) => {
      const codes = await renewRecoveryCodes(pool, person)
      await notices.send(request, person, { kind: 'recovery_codes_renewed' })
      return { recovery_codes: codes }
    },
  })

  add('POST', '/api/passkeys/options', 'startPasskey', {
    summary: 'What a browser needs to make a passkey; for 5 minutes',
    isOwnWay: true,
    isFresh: true,
    response: { 200: jsonResponse('Options for `navigator.credentials.create`', passkeyToAddAnswer) },
    refuses: ['passkey_limit', 'passkeys_need_host'],
    handler: async (session, request) => {
      const options = await passkeyToAdd(pool, siteOf(publicUrl, request), session, clock.nowMs())
      return { options: { ...options } }
    },
  })

  add('POST', '/api/passkeys', 'addPasskey', {
    summary: 'Add the passkey that the browser made; other sessions end',
    isOwnWay: true,
    body: addPasskeyBody,
    response: {
      201: jsonResponse('The passkey, and recovery codes with the first factor', addPasskeyAnswer),
    },
    refuses: ['passkey_not_accepted', 'passkey_limit', 'passkeys_need_host'],
    handler: async (session, request, reply) => {
      const site = siteOf(publicUrl, request)
      const { passkey, recoveryCodes } = await addPasskey(pool, site, session, request.body, clock.nowMs())
      await notices.send(request, session.person, { kind: 'passkey_added', name: passkey.name })
      return reply
        .code(201)
        .send(recoveryCodes === null ? { passkey } : { passkey, recovery_codes: recoveryCodes })
    },
  })

  add('PUT', '/api/passkeys/:id', 'renamePasskey', {
    summary: 'Rename a passkey',
    params: secretParams,
    body: renamePasskeyBody,
    response: { 200: jsonResponse('The passkey', passkeyAnswer) },
    refuses: ['passkey_not_found'],
    handler: async ({ person }, request) => ({
      passkey: await renamePasskey(pool, person, idOf(request), request.body.name),
    }),
  })

  add('DELETE', '/api/passkeys/:id', 'removePasskey', {
    summary: 'Remove a passkey',
    params: secretParams,
    isFresh: true,
    response: { 204: emptyResponse('Removed') },
    refuses: ['passkey_not_found'],
    handler: async ({ person }, request, reply) => {
      const name = await removePasskey(pool, person, idOf(request))
      await notices.send(request, person, { kind: 'passkey_removed', name })
      return reply.code(204).send(null)
    },
  })
}

/** What an account asks of its members. */
export function policy(app: ApiApp, { caughtUp, pool }: ApiParts): void {
  const add = accountRoutes(app, 'Members')

  add('PUT', '/api/account/policy', 'updatePolicy', {
    summary:
      'Say whether members need a second factor, and how old their sessions may be; what is absent stays',
    description:
      'In effect from the next request of each member on. Sessions by single sign-on need no second factor.',
    body: updatePolicyBody,
    response: { 200: jsonResponse('The policy', policyAnswer) },
    refuses: ['own_factor_missing'],
    handler: async ({ account }, request) => {
      const { session, member } = memberCaller(request)
      const changed = await updatePolicy(pool, account, { member: member.member, session }, request.body)
      await caughtUp()
      return { policy: changed }
    },
  })
}

/** Tells people by e-mail what became of their ways to sign in. */
class Notices {
  readonly #parts: ApiParts

  constructor(parts: ApiParts) {
    this.#parts = parts
  }

  /** Sends nothing without e-mail. The answer does not wait for the letter. */
  async send(request: Parameters<typeof clientOf>[1], person: PersonId, change: FactorChange): Promise<void> {
    const { clock, mailer, pool, readClient } = this.#parts
    if (mailer === null) return
    const { rows } = await pool.query<{ email: string }>('select email from person where id = $1', [person])
    if (rows[0] === undefined) return
    const { address } = clientOf(readClient, request)
    void mailer.send(writeNotice(rows[0].email, change, { atMs: clock.nowMs(), address }))
  }
}
