import { createHash, createSign, generateKeyPairSync, randomUUID } from 'node:crypto'
import type http from 'node:http'
import { text } from 'node:stream/consumers'
import { serve } from './loopback.ts'

// A provider of single sign-on (OpenID Connect) on loopback, whose answers a test can spoil. Its sign-in page is the test itself.

export type IdClaims = Record<string, unknown> & { sub: string }

/** What the test says of the person who signed in, and what is wrong with the answer. */
export type Issue = {
  /** Where the browser was sent. */
  startUrl: string
  claims: IdClaims
  /** These claims are only told by the userinfo endpoint. */
  userinfo?: Record<string, unknown>
  /** Another one than the published key signs. */
  isForged?: boolean
  header?: Record<string, unknown>
}

export const CLIENT = { id: 'prepaint', secret: 's3cret/with+signs' }

type Code = Issue & { challenge: string; nonce: string; isUsed: boolean }

const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

export async function startIdentityProvider() {
  const keys = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const others = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const codes = new Map<string, Code>()
  const tokens = new Map<string, Code>()
  const provider = {
    issuer: '',
    /** How the client proves that it is the client. */
    auth: 'client_secret_basic' as 'client_secret_basic' | 'client_secret_post',
    scopes: ['openid', 'email', 'groups'] as string[],
    isAway: false,
    /** What was asked, but for discovery and keys. */
    asked: [] as string[],
    issue,
    close: async () => {},
  }

  /** Returns the code that the browser brings back. */
  function issue(given: Issue): string {
    const { searchParams } = new URL(given.startUrl)
    const code = randomUUID()
    codes.set(code, {
      ...given,
      challenge: searchParams.get('code_challenge') ?? '',
      nonce: searchParams.get('nonce') ?? '',
      isUsed: false,
    })
    return code
  }

  function idTokenOf({ claims, nonce, isForged = false, header = {} }: Code): string {
    const now = Math.floor(Date.now() / 1_000)
    const payload = { iss: provider.issuer, aud: CLIENT.id, iat: now, exp: now + 300, nonce, ...claims }
    const signed = `${base64url({ alg: 'RS256', kid: 'one', ...header })}.${base64url(payload)}`
    const key = isForged ? others.privateKey : keys.privateKey
    return `${signed}.${createSign('sha256').update(signed).sign(key).toString('base64url')}`
  }

  function isClient(request: http.IncomingMessage, form: URLSearchParams): boolean {
    const basic = `Basic ${Buffer.from(`${CLIENT.id}:${encodeURIComponent(CLIENT.secret)}`).toString('base64')}`
    if (provider.auth === 'client_secret_basic') return request.headers.authorization === basic
    return form.get('client_id') === CLIENT.id && form.get('client_secret') === CLIENT.secret
  }

  async function tokensFor(request: http.IncomingMessage): Promise<[number, object]> {
    const form = new URLSearchParams(await text(request))
    if (!isClient(request, form)) return [401, { error: 'invalid_client' }]
    const code = codes.get(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (code === undefined || code.isUsed || code.challenge !== challenge)
      return [400, { error: 'invalid_grant' }]
    code.isUsed = true
    const accessToken = randomUUID()
    tokens.set(accessToken, code)
    return [
      200,
      { access_token: accessToken, token_type: 'Bearer', expires_in: 60, id_token: idTokenOf(code) },
    ]
  }

  async function answer(request: http.IncomingMessage): Promise<[number, object]> {
    if (provider.isAway) return [503, {}]
    if (request.url === '/.well-known/openid-configuration') {
      return [
        200,
        {
          issuer: provider.issuer,
          authorization_endpoint: `${provider.issuer}/auth`,
          token_endpoint: `${provider.issuer}/token`,
          userinfo_endpoint: `${provider.issuer}/userinfo`,
          jwks_uri: `${provider.issuer}/keys`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256'],
          authorization_response_iss_parameter_supported: true,
          scopes_supported: provider.scopes,
        },
      ]
    }
    if (request.url === '/keys') {
      const key = keys.publicKey.export({ format: 'jwk' })
      return [200, { keys: [{ ...key, kid: 'one', use: 'sig', alg: 'RS256' }] }]
    }
    provider.asked.push(`${request.method} ${request.url}`)
    if (request.url === '/token') return tokensFor(request)
    const code = tokens.get(request.headers.authorization?.replace('Bearer ', '') ?? '')
    if (request.url === '/userinfo' && code !== undefined) {
      return [200, { sub: code.claims.sub, ...code.userinfo }]
    }
    return [404, {}]
  }

  const server = await serve((request, response) => {
    void answer(request).then(([status, body]) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
  })
  provider.issuer = server.url
  provider.close = server.close
  return provider
}
