import type pg from 'pg'

import { AppError } from '../../errors.ts'
import type { AccountId } from '../../ids.ts'
import type { Log } from '../../log.ts'
import { checkedPassword, type Role } from '../accounts.ts'
import { hashPassword, PASSWORD_MAX_CHARS, PASSWORD_MIN_CHARS, verifyPassword } from './password-hash.ts'

/** Somebody who is signed in to the dashboard. */
export type Session = {
  id: number
  account: AccountId
  email: string
  plan: string
  role: Role
}

/** A session, and the `Set-Cookie` lines that the browser must get with the answer. */
export type SignedIn = { session: Session; cookies: string[] }

/** From where somebody signs in, for the list of his sessions. */
export type From = { address: string; userAgent: string }

export type SignIn = {
  /** Throws `wrong_credentials`; takes the same time whether or not there is such an account. */
  signIn(credentials: { email: string; password: string }, from: From): Promise<SignedIn>
  /** Without a password: for whoever came by a link that let him in. */
  admit(account: AccountId, from: From): Promise<SignedIn>
  /** By the header `Cookie`; null: nobody is signed in. Cookies are there when the session was made longer. */
  read(cookie: string | undefined): Promise<SignedIn | null>
  /** Ends the session, and gives the lines that take the cookie away. */
  signOut(cookie: string | undefined): Promise<string[]>
  /** Ends all other sessions and gives this one a new token. Throws `wrong_password`, `invalid_field`. */
  changePassword(cookie: string, passwords: { current: string; next: string }): Promise<string[]>
}

const DAY_SECONDS = 86_400
/** A session ends when it was not used for so long. */
export const IDLE_DAYS = 7
/** And then in any case. */
export const SESSION_DAYS = 30

/** The header, seen by nobody else, in which the address of the client reaches the library. */
const ADDRESS_HEADER = 'x-prepaint-client'

/**
 * Signing in by e-mail and password. Sessions, cookies and their signatures are
 * better-auth's; its tables are ours (migration 0014). `secret` signs the
 * cookies and is the same on every node. `secure`: the dashboard is reached by
 * https, and the cookie is never sent otherwise.
 */
export function createSignIn(deps: {
  pool: pg.Pool
  log: Log
  secret(): Promise<string>
  secure: boolean
  baseUrl: string
}): SignIn {
  let loaded: Promise<Loaded> | undefined
  // With the first who signs in: a third of a second that no start waits for. What fails is tried again.
  const load = () => {
    loaded ??= loadLibrary(deps)
    loaded.catch(() => {
      loaded = undefined
    })
    return loaded
  }

  return {
    async signIn({ email, password }, from) {
      const { auth } = await load()
      return admitted(() =>
        auth.api.signInEmail({ body: { email, password }, headers: headersOf(from), returnHeaders: true }),
      )
    },

    async admit(account, from) {
      const { auth, secret } = await load()
      const { internalAdapter } = await auth.$context
      const made = await internalAdapter.createSession(String(account), false, {
        ipAddress: from.address,
        userAgent: from.userAgent,
      })
      const cookies = [await signedCookie(secret, made.token)]
      return { ...(await mustRead(cookies)), cookies }
    },

    read,

    async signOut(cookie) {
      const { auth } = await load()
      const { headers } = await auth.api.signOut({ headers: cookieHeaders(cookie), returnHeaders: true })
      return headers.getSetCookie()
    },

    async changePassword(cookie, { current, next }) {
      const { auth } = await load()
      try {
        const { headers } = await auth.api.changePassword({
          body: { currentPassword: current, newPassword: checkedPassword(next), revokeOtherSessions: true },
          headers: cookieHeaders(cookie),
          returnHeaders: true,
        })
        return headers.getSetCookie()
      } catch (error) {
        if (isRefusal(error)) throw new AppError('wrong_password')
        throw error
      }
    },
  }

  async function admitted(signIn: () => Promise<{ headers: Headers }>): Promise<SignedIn> {
    try {
      const { headers } = await signIn()
      const cookies = headers.getSetCookie()
      return { ...(await mustRead(cookies)), cookies }
    } catch (error) {
      if (isRefusal(error)) throw new AppError('wrong_credentials')
      throw error
    }
  }

  async function read(cookie: string | undefined): Promise<SignedIn | null> {
    if (cookie === undefined || !cookie.includes(cookieName(deps.secure))) return null
    const { auth } = await load()
    const { headers, response } = await auth.api.getSession({
      headers: cookieHeaders(cookie),
      returnHeaders: true,
    })
    if (response === null) return null
    const { session, user } = response
    if (user.suspendedAt != null) throw new AppError('account_suspended')
    const ageMs = session.expiresAt.getTime() - IDLE_DAYS * DAY_SECONDS * 1_000 - session.createdAt.getTime()
    if (ageMs > SESSION_DAYS * DAY_SECONDS * 1_000) return null
    return {
      session: {
        id: Number(session.id),
        account: Number(user.id) as AccountId,
        email: user.email,
        plan: user.plan,
        role: user.role === 'operator' ? 'operator' : 'owner',
      },
      cookies: headers.getSetCookie(),
    }
  }

  async function mustRead(cookies: readonly string[]): Promise<SignedIn> {
    const read_ = await read(cookies.map((line) => line.split(';', 1)[0]).join('; '))
    if (read_ === null) throw new Error('a session that was just made is not there')
    return read_
  }

  /** As the library sets it: the token, a dot, and its HMAC. */
  async function signedCookie(secret: string, token: string): Promise<string> {
    const key = await crypto.subtle.importKey(
      'raw',
      new TextEncoder().encode(secret),
      { name: 'HMAC', hash: 'SHA-256' },
      false,
      ['sign'],
    )
    const mac = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(token))
    const value = encodeURIComponent(`${token}.${Buffer.from(mac).toString('base64')}`)
    const secure = deps.secure ? '; Secure' : ''
    return `${cookieName(deps.secure)}=${value}; Max-Age=${IDLE_DAYS * DAY_SECONDS}; Path=/; HttpOnly; SameSite=Strict${secure}`
  }
}

/** `__Host-`: browsers take it only over https, for this very host and for all its paths. */
export function cookieName(secure: boolean): string {
  return secure ? '__Host-prepaint-session' : 'prepaint-session'
}

type Loaded = Awaited<ReturnType<typeof loadLibrary>>

async function loadLibrary(deps: Parameters<typeof createSignIn>[0]) {
  const { pool, log, secure, baseUrl } = deps
  const secret = await deps.secret()
  const { betterAuth } = await import('better-auth')
  const auth = betterAuth({
    database: pool,
    baseURL: baseUrl,
    secret,
    telemetry: { enabled: false },
    logger: { level: 'error', log: (_level, message, ...more) => log.error({ more }, message) },
    user: {
      modelName: 'account',
      fields: { emailVerified: 'email_verified', createdAt: 'created_at', updatedAt: 'updated_at' },
      additionalFields: {
        plan: { type: 'string', required: true, input: false },
        role: { type: 'string', required: true, input: false },
        suspendedAt: { type: 'date', required: false, input: false, fieldName: 'suspended_at' },
      },
    },
    account: {
      modelName: 'sign_in_method',
      fields: {
        userId: 'account_id',
        providerId: 'provider',
        accountId: 'provider_account',
        accessToken: 'access_token',
        refreshToken: 'refresh_token',
        idToken: 'id_token',
        accessTokenExpiresAt: 'access_token_expires_at',
        refreshTokenExpiresAt: 'refresh_token_expires_at',
        createdAt: 'created_at',
        updatedAt: 'updated_at',
      },
    },
    session: {
      modelName: 'sign_in_session',
      fields: {
        userId: 'account_id',
        expiresAt: 'expires_at',
        ipAddress: 'ip_address',
        userAgent: 'user_agent',
        createdAt: 'created_at',
        updatedAt: 'updated_at',
      },
      expiresIn: IDLE_DAYS * DAY_SECONDS,
      updateAge: DAY_SECONDS,
      // Whether a session is fresh enough for something is asked by password, each time.
      freshAge: 0,
    },
    verification: {
      modelName: 'sign_in_check',
      fields: { expiresAt: 'expires_at', createdAt: 'created_at', updatedAt: 'updated_at' },
    },
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: PASSWORD_MIN_CHARS,
      maxPasswordLength: PASSWORD_MAX_CHARS,
      password: {
        hash: hashPassword,
        verify: ({ hash, password }) => verifyPassword(password, hash),
      },
    },
    advanced: {
      database: { generateId: 'serial' },
      ipAddress: { ipAddressHeaders: [ADDRESS_HEADER] },
      cookies: { session_token: { name: cookieName(secure) } },
      defaultCookieAttributes: { httpOnly: true, sameSite: 'strict', path: '/', secure },
      useSecureCookies: false,
    },
  })
  return { auth, secret }
}

function headersOf({ address, userAgent }: From): Headers {
  return new Headers({ [ADDRESS_HEADER]: address, 'user-agent': userAgent })
}

function cookieHeaders(cookie: string | undefined): Headers {
  return new Headers(cookie === undefined ? {} : { cookie })
}

/** The library's own errors have the status of an answer. */
function isRefusal(error: unknown): boolean {
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined
  return typeof status === 'number' && status < 500
}
