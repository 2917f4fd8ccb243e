/** Passkeys (WebAuthn). A passkey counts as both factors: the authenticator has verified its user. */
import { AppError } from '@prepaint/contract/errors.ts'
import type { PersonId } from '@prepaint/contract/ids.ts'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import type pg from 'pg'
import { lockPerson } from '../persons.ts'
import { createSecret, hashSecret, isSecret, parseSecretName } from '../secrets.ts'
import { dropUnneededCodes, hasSecondFactor, readFactors, replaceRecoveryCodes } from './second-factor.ts'
import { endOtherSessions, recordOfPerson, type Session } from './sessions.ts'

const PASSKEY_LIMIT = 20
const CHALLENGE_MS = 5 * 60_000

export type Passkey = { id: number; name: string; created_at: string; last_used_at: string | null }

type PasskeyRow = { id: number; name: string; created_at: Date; last_used_at: Date | null }

const FIELDS = 'id, name, created_at, last_used_at'

/** Where passkeys are good for: a host name (the relying party), and the origin of the dashboard. */
export type Site = { rpId: string; origin: string }

/**
 * The site of a dashboard: the host of the public URL, or `localhost`. Throws `passkeys_need_host` for an address, which
 * browsers do not accept.
 */
export function siteOf(publicUrl: string | null, request: { protocol: string; host: string }): Site {
  const { hostname, origin } = new URL(publicUrl ?? `${request.protocol}://${request.host}`)
  const isAddress = /^[\d.]+$/.test(hostname) || hostname.startsWith('[')
  const isKnown = publicUrl !== null || hostname === 'localhost'
  if (isAddress || !isKnown) throw new AppError('passkeys_need_host')
  return { rpId: hostname, origin }
}

export async function listPasskeys(db: Queryable, person: PersonId): Promise<Passkey[]> {
  const { rows } = await db.query<PasskeyRow>(
    `select ${FIELDS} from passkey where person_id = $1 order by id`,
    [person],
  )
  return rows.map(toPasskey)
}

/** Loads the library at its first use. */
const webAuthn = () => import('@simplewebauthn/server')

/** What a browser needs to make a passkey. Throws `passkey_limit`. */
export async function passkeyToAdd(
  db: Queryable,
  site: Site,
  { person, email, name }: Session,
  nowMs: number,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { rows } = await db.query<{ id: Buffer; transports: string[] }>(
    'select credential_id as id, transports from passkey where person_id = $1',
    [person],
  )
  if (rows.length >= PASSKEY_LIMIT) throw new AppError('passkey_limit')
  const { generateRegistrationOptions } = await webAuthn()
  const options = await generateRegistrationOptions({
    rpName: 'Prepaint',
    rpID: site.rpId,
    userName: email,
    userDisplayName: name ?? email,
    // The same for all passkeys of a person, and no address: authenticators may show it to others.
    userID: new TextEncoder().encode(`person ${person}`),
    timeout: CHALLENGE_MS,
    excludeCredentials: rows.map(({ id, transports }) => ({ id: id.toString('base64url'), transports })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
  await keepChallenge(db, options.challenge, person, nowMs)
  return options
}

/**
 * Adds the passkey that a browser made, and ends all other sessions. Returns recovery codes with the first factor. Throws
 * `passkey_not_accepted`, `passkey_limit` and `invalid_field`.
 */
export async function addPasskey(
  pool: pg.Pool,
  site: Site,
  session: Session,
  asked: { name: string; response: unknown },
  nowMs: number,
): Promise<{ passkey: Passkey; recoveryCodes: string[] | null }> {
  const name = parseSecretName(asked.name)
  const { person } = session
  const response = asked.response as RegistrationResponseJSON
  const challenge = challengeIn(response)
  await takeChallenge(pool, challenge, { person, token: null }, nowMs)
  const credential = await verifyNew(site, response, challenge)
  return transaction(pool, async (client) => {
    await lockPerson(client, person)
    const isFirst = !hasSecondFactor(await readFactors(client, person))
    const { rows: counted } = await client.query<{ count: number }>(
      'select count(*)::int as count from passkey where person_id = $1',
      [person],
    )
    if (counted[0]!.count >= PASSKEY_LIMIT) throw new AppError('passkey_limit')
    const { rows } = await client.query<PasskeyRow>(
      `insert into passkey (person_id, credential_id, public_key, counter, transports, name, created_at)
       values ($1, $2, $3, $4, $5, $6, $7) on conflict (credential_id) do nothing returning ${FIELDS}`,
      [
        person,
        Buffer.from(credential.id, 'base64url'),
        Buffer.from(credential.publicKey),
        credential.counter,
        credential.transports ?? [],
        name,
        new Date(nowMs),
      ],
    )
    if (rows[0] === undefined) throw new AppError('passkey_not_accepted')
    await recordOfPerson(client, person, {
      action: 'person.second_factor_added',
      details: { kind: 'passkey', name },
    })
    await endOtherSessions(client, session)
    return {
      passkey: toPasskey(rows[0]),
      recoveryCodes: isFirst ? await replaceRecoveryCodes(client, person) : null,
    }
  })
}

async function verifyNew(site: Site, response: RegistrationResponseJSON, challenge: string) {
  const { verifyRegistrationResponse } = await webAuthn()
  try {
    const { registrationInfo } = await verifyRegistrationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: site.origin,
      expectedRPID: site.rpId,
      requireUserVerification: true,
    })
    if (registrationInfo !== undefined) return registrationInfo.credential
  } catch (cause) {
    throw new AppError('passkey_not_accepted', { cause })
  }
  throw new AppError('passkey_not_accepted')
}

/** Throws `passkey_not_found` and `invalid_field`. */
export async function renamePasskey(
  db: Queryable,
  person: PersonId,
  id: number,
  rawName: string,
): Promise<Passkey> {
  const name = parseSecretName(rawName)
  const { rows } = await db.query<PasskeyRow>(
    `update passkey set name = $3 where person_id = $1 and id = $2::bigint returning ${FIELDS}`,
    [person, id, name],
  )
  if (rows[0] === undefined) throw new AppError('passkey_not_found')
  return toPasskey(rows[0])
}

/** Removes the passkey, and the recovery codes with the last factor. Returns its name. Throws `passkey_not_found`. */
export async function removePasskey(pool: pg.Pool, person: PersonId, id: number): Promise<string> {
  return transaction(pool, async (client) => {
    await lockPerson(client, person)
    const { rows } = await client.query<{ name: string }>(
      'delete from passkey where person_id = $1 and id = $2::bigint returning name',
      [person, id],
    )
    if (rows[0] === undefined) throw new AppError('passkey_not_found')
    await dropUnneededCodes(client, person)
    await recordOfPerson(client, person, {
      action: 'person.second_factor_removed',
      details: { kind: 'passkey', name: rows[0].name },
    })
    return rows[0].name
  })
}

/** What a browser needs to sign with a passkey. It tells nothing about anybody: the browser knows whose passkeys it has. */
export async function passkeyToAsk(
  db: Queryable,
  site: Site,
  nowMs: number,
): Promise<{ token: string; options: PublicKeyCredentialRequestOptionsJSON }> {
  const { generateAuthenticationOptions } = await webAuthn()
  const options = await generateAuthenticationOptions({
    rpID: site.rpId,
    timeout: CHALLENGE_MS,
    userVerification: 'required',
  })
  return { token: await keepChallenge(db, options.challenge, null, nowMs), options }
}

/**
 * Returns whose passkey signed. `token`: of `passkeyToAsk`; null: one of its challenges, whichever, where another secret stands for the
 * caller. Throws `passkey_not_accepted`.
 */
export async function checkPasskey(
  pool: pg.Pool,
  site: Site,
  { token, response: raw }: { token: string | null; response: unknown },
  nowMs: number,
): Promise<PersonId> {
  const response = raw as AuthenticationResponseJSON
  const challenge = challengeIn(response)
  await takeChallenge(pool, challenge, { person: null, token }, nowMs)
  const { rows } = await pool.query<{
    id: number
    person: PersonId
    key: Buffer
    counter: string
    transports: string[]
  }>(
    `select id, person_id as person, public_key as key, counter, transports from passkey where credential_id = $1`,
    [Buffer.from(response.id, 'base64url')],
  )
  const passkey = rows[0]
  if (passkey === undefined) throw new AppError('passkey_not_accepted')
  const counter = await verifySigned(site, response, challenge, {
    id: response.id,
    publicKey: Uint8Array.from(passkey.key),
    counter: Number(passkey.counter),
    transports: passkey.transports,
  })
  // Of two uses of a copied authenticator, one has a counter that was seen. Most passkeys always say 0.
  const { rowCount } = await pool.query(
    `update passkey set counter = $3, last_used_at = $4 where id = $1 and person_id = $2 and ($3 = 0 or counter < $3)`,
    [passkey.id, passkey.person, counter, new Date(nowMs)],
  )
  if (rowCount === 0) throw new AppError('passkey_not_accepted')
  return passkey.person
}

type Credential = { id: string; publicKey: Uint8Array<ArrayBuffer>; counter: number; transports: string[] }

async function verifySigned(
  site: Site,
  response: AuthenticationResponseJSON,
  challenge: string,
  credential: Credential,
): Promise<number> {
  const { verifyAuthenticationResponse } = await webAuthn()
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: site.origin,
      expectedRPID: site.rpId,
      credential,
      requireUserVerification: true,
    })
    if (verified) return authenticationInfo.newCounter
  } catch (cause) {
    throw new AppError('passkey_not_accepted', { cause })
  }
  throw new AppError('passkey_not_accepted')
}

async function keepChallenge(
  db: Queryable,
  challenge: string,
  person: PersonId | null,
  nowMs: number,
): Promise<string> {
  const { raw, hash } = createSecret('pp_pk_')
  await db.query(
    'insert into passkey_challenge (challenge, token_hash, person_id, expires_at) values ($1, $2, $3, $4)',
    [Buffer.from(challenge, 'base64url'), hash, person, new Date(nowMs + CHALLENGE_MS)],
  )
  return raw
}

/** Uses up a challenge. Throws `passkey_not_accepted` if it is none, too old, used, or for something else. */
async function takeChallenge(
  db: Queryable,
  challenge: string,
  { person, token }: { person: PersonId | null; token: string | null },
  nowMs: number,
): Promise<void> {
  if (token !== null && !isSecret('pp_pk_', token)) throw new AppError('passkey_not_accepted')
  const { rowCount } = await db.query(
    `delete from passkey_challenge where challenge = $1 and expires_at > $2 and person_id is not distinct from $3
        and ($4::bytea is null or token_hash = $4)`,
    [Buffer.from(challenge, 'base64url'), new Date(nowMs), person, token === null ? null : hashSecret(token)],
  )
  if (rowCount === 0) throw new AppError('passkey_not_accepted')
}

/** The challenge that a response says it signed. Throws `passkey_not_accepted` for what is no response. */
function challengeIn(response: { id?: unknown; response?: { clientDataJSON?: unknown } }): string {
  const said = response?.response?.clientDataJSON
  if (typeof said !== 'string' || typeof response.id !== 'string') throw new AppError('passkey_not_accepted')
  try {
    const { challenge } = JSON.parse(Buffer.from(said, 'base64url').toString()) as { challenge?: unknown }
    if (typeof challenge === 'string') return challenge
  } catch (cause) {
    throw new AppError('passkey_not_accepted', { cause })
  }
  throw new AppError('passkey_not_accepted')
}

function toPasskey(row: PasskeyRow): Passkey {
  return {
    id: row.id,
    name: row.name,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? null,
  }
}
