import type { FastifyRequest } from 'fastify'

import type { From } from '../accounts/sign-in.ts'
import { clientBlock, type ReadClient } from '../client-address.ts'

/** A list of sessions shows no more of it. */
const USER_AGENT_CHARS = 300

/** From where somebody signs in: by his /64 where he has IPv6, as he has all of it. */
export function fromOf(readClient: ReadClient, request: FastifyRequest): From {
  const { address } = readClient(request.raw)
  return {
    address: address === '' ? '' : clientBlock(address),
    userAgent: (request.headers['user-agent'] ?? '').slice(0, USER_AGENT_CHARS),
  }
}
