import { silentLog } from '@prepaint/runtime/log.ts'
import { checkCredentials, whyNoSession } from '@prepaint/service/accounts/sign-in/passwords.ts'
import { type SessionClient, startSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import type pg from 'pg'

/** What a sign-in by password does for a person without a second factor. */
export async function signIn(
  pool: pg.Pool,
  credentials: { email: string; password: string },
  client: SessionClient,
  nowMs: number,
) {
  const { id, hash } = await checkCredentials(pool, credentials, silentLog())
  const started = await startSession(pool, id, client, nowMs, { passwordHash: hash })
  if (started === null) throw await whyNoSession(pool, id)
  return started
}
