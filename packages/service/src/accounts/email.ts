import { invalidField } from '@prepaint/contract/errors.ts'
import { z } from 'zod'

const emailSchema = z.email().max(254)

export function parseEmail(raw: string): string | null {
  const parsed = emailSchema.safeParse(raw.trim().toLowerCase())
  return parsed.success ? parsed.data : null
}

/** Lower-cased. Throws `invalid_field`. */
export function emailOf(raw: string): string {
  const email = parseEmail(raw)
  if (email === null) throw invalidField(['email'], 'must be an e-mail address')
  return email
}
