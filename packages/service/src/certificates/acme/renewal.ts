import { X509Certificate } from 'node:crypto'
import { retryAfterMs } from '@prepaint/outbound'
import { type DerValue, readDer } from '@prepaint/runtime/der.ts'
import { z } from 'zod'
import { type AcmeSession, parsed } from './session.ts'

const windowSchema = z.object({
  suggestedWindow: z.object({
    start: z.iso.datetime({ offset: true }),
    end: z.iso.datetime({ offset: true }),
  }),
})

export type RenewalInfo = { startMs: number; endMs: number; askAgainMs: number }

const ASK_AGAIN_MS = { least: 3_600_000, usual: 6 * 3_600_000, most: 86_400_000 }

/** RFC 9773, section 4. Null: not supported. Rejects with AcmeProblem. */
export async function renewalInfo(
  session: AcmeSession,
  chain: string,
  nowMs: number,
  signal: AbortSignal,
): Promise<RenewalInfo | null> {
  const { renewalInfo: base } = await session.directory(signal)
  const id = certificateId(chain)
  if (base === undefined || id === null) return null
  const answer = await session.get(`${base.replace(/\/$/, '')}/${id}`, signal)
  const { suggestedWindow } = parsed(windowSchema, answer, 'renewal information')
  const [startMs, endMs] = [Date.parse(suggestedWindow.start), Date.parse(suggestedWindow.end)]
  const wanted = retryAfterMs(answer.headers['retry-after'], nowMs) ?? ASK_AGAIN_MS.usual
  return {
    startMs,
    endMs: Math.max(startMs, endMs),
    askAgainMs: Math.min(Math.max(wanted, ASK_AGAIN_MS.least), ASK_AGAIN_MS.most),
  }
}

/** RFC 9773, section 4.1. Null: the certificate has no authority key id. */
export function certificateId(chain: string): string | null {
  try {
    const [whole] = readDer(new X509Certificate(chain).raw)
    const [signedPart] = readDer(whole!.content)
    const fields = readDer(signedPart!.content)
    const serial = fields.find(({ tag }) => tag === 0x02)
    const extensions = fields.find(({ tag }) => tag === 0xa3)
    const keyId = extensions === undefined ? null : authorityKeyId(extensions)
    if (keyId === null || serial === undefined) return null
    return `${keyId.toString('base64url')}.${serial.content.toString('base64url')}`
  } catch {
    return null
  }
}

const AUTHORITY_KEY_IDENTIFIER = Buffer.from('0603551d23', 'hex')

function authorityKeyId(extensions: DerValue): Buffer | null {
  const [list] = readDer(extensions.content)
  for (const extension of readDer(list!.content)) {
    const parts = readDer(extension.content)
    if (!parts[0]?.whole.equals(AUTHORITY_KEY_IDENTIFIER)) continue
    const [sequence] = readDer(parts.at(-1)!.content)
    return readDer(sequence!.content).find(({ tag }) => tag === 0x80)?.content ?? null
  }
  return null
}

export type Random = () => number

/** Share of the lifetime, reserved for failed attempts. */
const LEFT_AT_RENEWAL = 1 / 3
const JITTER = 1 / 30

/** At a third of the lifetime left, or up to a thirtieth earlier. */
export function renewalMs(
  { notBeforeMs, notAfterMs }: { notBeforeMs: number; notAfterMs: number },
  random: Random,
): number {
  const lifetimeMs = notAfterMs - notBeforeMs
  return Math.round(notAfterMs - lifetimeMs * (LEFT_AT_RENEWAL + JITTER * random()))
}

/** A random time in the CA's window; now if the window is over (RFC 9773, section 4.2). */
export function suggestedMs({ startMs, endMs }: RenewalInfo, random: Random): number {
  return Math.round(startMs + (endMs - startMs) * random())
}
