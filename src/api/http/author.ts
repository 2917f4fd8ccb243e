import type { FastifyRequest } from 'fastify'
import { keyName } from '../../accounts/keys.ts'
import type { Queryable } from '../../db/transaction.ts'
import { callerOf } from './access.ts'

/** As versions name it: an e-mail address, or `key <name>`. */
export async function authorOf(db: Queryable, request: FastifyRequest): Promise<string> {
  const { session, keyId, account } = callerOf(request)
  return session === null ? `key ${await keyName(db, account, keyId)}` : session.email
}
