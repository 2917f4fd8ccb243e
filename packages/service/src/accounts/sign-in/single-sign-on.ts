/** Single sign-on of the installation: OpenID Connect, with the provider that the operator has chosen. */
import { AppError } from '@prepaint/contract/errors.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { Configuration, IDToken } from 'openid-client'
import { parseEmail } from '../email.ts'

export type SsoSettings = {
  issuer: string
  clientId: string
  clientSecret: string
  /** What the dashboard calls the provider. */
  name: string
  /** Its members are operators. If it is null, sign-ins change no operator. */
  operatorGroup: string | null
  /** No passwords and no passkeys. */
  isOnly: boolean
}

/** The path to which the provider sends browsers back. */
export const SSO_CALLBACK = '/sign-in/sso/callback'

/** What the return of a browser is checked against. Only the database and the provider's address have them. */
export type SsoSecrets = { state: string; nonce: string; verifier: string }

/** What the provider says of who has signed in. */
export type SsoClaims = {
  issuer: string
  /** The provider's name of the person, which never changes. */
  subject: string
  /** In lower case. Null: the provider does not say that it has verified it. */
  email: string | null
  groups: readonly string[]
  /** When the person last proved to the provider who it is, in milliseconds. Null: the provider does not say it. */
  authenticatedAtMs: number | null
}

/**
 * A provider that is asked with `max_age` must say when the person proved who it is (`auth_time`; OpenID Connect Core 1.0, sections
 * 2 and 3.1.2.1). Within so long it asks nobody anew.
 */
const TIME_IS_TOLD_SECONDS = 30 * 86_400

const KNOWN_MS = 3_600_000
const TIMEOUT_SECONDS = 10

/** Loads the library at its first use. */
const openIdClient = () => import('openid-client')

/** Talks to the provider. */
export class SingleSignOn {
  readonly settings: SsoSettings
  readonly #redirectUri: string
  readonly #clock: Clock
  readonly #log: Log
  #known: { configuration: Configuration; atMs: number } | null = null
  #discovering: Promise<Configuration> | null = null
  /** The secret goes in the body instead of the `Authorization` header. */
  #sendsSecretInBody = false

  constructor(settings: SsoSettings, publicUrl: string, clock: Clock, log: Log) {
    this.settings = settings
    this.#redirectUri = publicUrl + SSO_CALLBACK
    this.#clock = clock
    this.#log = log
  }

  /** Asks the provider for its endpoints. Throws why it does not give them. */
  async check(): Promise<void> {
    await this.#discover()
  }

  /**
   * Returns the address where a browser signs in. `isConfirmation`: also if it is signed in there already. Throws
   * `provider_not_reached`.
   */
  async begin({ isConfirmation }: { isConfirmation: boolean }): Promise<SsoSecrets & { url: string }> {
    const openId = await openIdClient()
    const configuration = await this.#configuration()
    const secrets = {
      state: openId.randomState(),
      nonce: openId.randomNonce(),
      verifier: openId.randomPKCECodeVerifier(),
    }
    const parameters = new URLSearchParams({
      redirect_uri: this.#redirectUri,
      scope: this.#scopeOf(configuration),
      state: secrets.state,
      nonce: secrets.nonce,
      code_challenge: await openId.calculatePKCECodeChallenge(secrets.verifier),
      code_challenge_method: 'S256',
    })
    parameters.set('max_age', String(isConfirmation ? 0 : TIME_IS_TOLD_SECONDS))
    if (isConfirmation) parameters.set('prompt', 'login')
    return { ...secrets, url: openId.buildAuthorizationUrl(configuration, parameters).href }
  }

  /**
   * Checks what a browser brought back in the query `search`. `signedInWithinMs`: the person must have signed in there so short a
   * time ago. Returns why there are no claims; `away`: the provider did not answer.
   */
  async finish(
    search: string,
    { state, nonce, verifier }: SsoSecrets,
    { signedInWithinMs }: { signedInWithinMs: number | null },
  ): Promise<SsoClaims | 'denied' | 'provider' | 'away'> {
    const openId = await openIdClient()
    try {
      const configuration = await this.#configuration()
      const url = new URL(this.#redirectUri + search)
      const tokens = await this.#exchange(() =>
        openId.authorizationCodeGrant(configuration, url, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
          // The library allows clocks to differ by 30 seconds.
          maxAge: signedInWithinMs === null ? undefined : Math.ceil(signedInWithinMs / 1_000),
        }),
      )
      const claims = tokens.claims()!
      const { email, email_verified: isVerified } = await emailClaims(
        configuration,
        claims,
        tokens.access_token,
      )
      return {
        issuer: claims.iss,
        subject: claims.sub,
        email: typeof email === 'string' && isVerified === true ? parseEmail(email) : null,
        groups: this.#groupsOf(claims),
        authenticatedAtMs: claims.auth_time === undefined ? null : claims.auth_time * 1_000,
      }
    } catch (error) {
      if (error instanceof openId.AuthorizationResponseError && error.error === 'access_denied')
        return 'denied'
      this.#log.warn({ reason: reasonOf(error) }, 'a sign-in by the provider of single sign-on failed')
      return isProviderAway(error) ? 'away' : 'provider'
    }
  }

  /** Providers take the secret in the way that the client was registered with, which discovery does not tell. */
  async #exchange<T>(grant: () => Promise<T>): Promise<T> {
    const wasInBody = this.#sendsSecretInBody
    try {
      return await grant()
    } catch (error) {
      if (!(await isClientRefused(error))) throw error
      this.#sendsSecretInBody = !wasInBody
      // The code is still good: the client was refused before it was looked at.
      return grant()
    }
  }

  #scopeOf(configuration: Configuration): string {
    const scopes = ['openid', 'email']
    const isListed = configuration.serverMetadata().scopes_supported?.includes('groups') === true
    if (this.settings.operatorGroup !== null && isListed) scopes.push('groups')
    return scopes.join(' ')
  }

  #groupsOf({ groups }: IDToken): string[] {
    if (Array.isArray(groups)) return groups.filter((group) => typeof group === 'string')
    if (typeof groups === 'string') return [groups]
    if (this.settings.operatorGroup !== null)
      this.#log.warn({}, 'the ID token has no claim "groups": who signs in is no operator')
    return []
  }

  /** Asks again once an hour. Throws `provider_not_reached`. */
  async #configuration(): Promise<Configuration> {
    const nowMs = this.#clock.nowMs()
    if (this.#known !== null && nowMs - this.#known.atMs < KNOWN_MS) return this.#known.configuration
    try {
      this.#discovering ??= this.#discover().finally(() => {
        this.#discovering = null
      })
      const configuration = await this.#discovering
      this.#known = { configuration, atMs: nowMs }
      return configuration
    } catch (cause) {
      this.#log.warn({ reason: reasonOf(cause) }, 'the provider of single sign-on cannot be asked')
      throw new AppError('provider_not_reached', { cause })
    }
  }

  async #discover(): Promise<Configuration> {
    const openId = await openIdClient()
    const { issuer, clientId, clientSecret } = this.settings
    const inHeader = openId.ClientSecretBasic(clientSecret)
    const inBody = openId.ClientSecretPost(clientSecret)
    const execute = [openId.enableNonRepudiationChecks]
    // Settings accept http on loopback only.
    if (issuer.startsWith('http:')) execute.push(openId.allowInsecureRequests)
    const configuration = await openId.discovery(
      new URL(issuer),
      clientId,
      clientSecret,
      (...request) => (this.#sendsSecretInBody ? inBody : inHeader)(...request),
      { execute, timeout: TIMEOUT_SECONDS },
    )
    const methods = configuration.serverMetadata().token_endpoint_auth_methods_supported
    // Without a list, it is the header.
    this.#sendsSecretInBody = methods !== undefined && !methods.includes('client_secret_basic')
    return configuration
  }
}

type EmailClaims = { email?: unknown; email_verified?: unknown }

/** Some providers leave the address out of the ID token. */
async function emailClaims(
  configuration: Configuration,
  claims: IDToken,
  accessToken: string,
): Promise<EmailClaims> {
  const { email, email_verified } = claims
  const hasBoth = email !== undefined && email_verified !== undefined
  if (hasBoth || configuration.serverMetadata().userinfo_endpoint === undefined)
    return { email, email_verified }
  const openId = await openIdClient()
  // Checks that it is about the same person.
  return openId.fetchUserInfo(configuration, accessToken, claims.sub)
}

async function isClientRefused(error: unknown): Promise<boolean> {
  const openId = await openIdClient()
  if (error instanceof openId.ResponseBodyError) return error.error === 'invalid_client'
  return error instanceof openId.WWWAuthenticateChallengeError && error.status === 401
}

/** Nothing answered in time, or a gateway in place of the provider. */
function isProviderAway(error: unknown): boolean {
  if (error instanceof AppError) return error.code === 'provider_not_reached'
  if (!(error instanceof Error)) return false
  if (error instanceof TypeError) return error.message === 'fetch failed'
  if ('code' in error && error.code === 'OAUTH_TIMEOUT') return true
  // The library gives the answer as the cause.
  return error.cause instanceof Response && error.cause.status >= 500
}

/** For the log, without claims, codes and tokens. */
export function reasonOf(error: unknown): string {
  const reasons: string[] = []
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const { error: code, error_description: description } = at as {
      error?: unknown
      error_description?: unknown
    }
    const words = [at.message, code, description].filter((word) => typeof word === 'string' && word !== '')
    reasons.push(words.join(', '))
  }
  return reasons.join(': ')
}
