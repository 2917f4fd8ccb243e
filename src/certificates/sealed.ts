import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

import type { MasterKeys } from './master-key.ts'

/**
 * What a sealed value is, byte by byte: version (1), id of the master key (8),
 * nonce (12), tag (16), then the secret under AES-256-GCM. `purpose` is bound
 * into the tag: a value that is moved to another row does not open there.
 */
const VERSION = 1
const HEAD_BYTES = 9
const NONCE_BYTES = 12
const TAG_BYTES = 16

export function seal(keys: MasterKeys, purpose: string, secret: Buffer): Buffer {
  const [{ id, key }] = keys
  const head = Buffer.concat([Buffer.of(VERSION), Buffer.from(id, 'hex')])
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(bound(head, purpose))
  const body = Buffer.concat([cipher.update(secret), cipher.final()])
  return Buffer.concat([head, nonce, cipher.getAuthTag(), body])
}

/** Throws SealError when it was sealed with a key that we do not have, for another purpose, or was changed. */
export function unseal(keys: MasterKeys, purpose: string, sealed: Buffer): Buffer {
  if (sealed.length < HEAD_BYTES + NONCE_BYTES + TAG_BYTES || sealed[0] !== VERSION) {
    throw new SealError('this is nothing sealed that this version knows')
  }
  const head = sealed.subarray(0, HEAD_BYTES)
  const id = head.subarray(1).toString('hex')
  const known = keys.find((each) => each.id === id)
  if (known === undefined) throw new SealError(`it is sealed with another master key (${id})`)
  const [nonce, tag, body] = parts(sealed.subarray(HEAD_BYTES))
  const cipher = createDecipheriv('aes-256-gcm', known.key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(bound(head, purpose)).setAuthTag(tag)
  try {
    return Buffer.concat([cipher.update(body), cipher.final()])
  } catch (cause) {
    throw new SealError('it was changed, or sealed for another purpose', { cause })
  }
}

export class SealError extends Error {
  override name = 'SealError'
}

function parts(rest: Buffer): [nonce: Buffer, tag: Buffer, body: Buffer] {
  const bodyAt = NONCE_BYTES + TAG_BYTES
  return [rest.subarray(0, NONCE_BYTES), rest.subarray(NONCE_BYTES, bodyAt), rest.subarray(bodyAt)]
}

function bound(head: Buffer, purpose: string): Buffer {
  return Buffer.concat([head, Buffer.from(purpose)])
}
