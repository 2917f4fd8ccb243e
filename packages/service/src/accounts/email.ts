import { invalidField } from '@prepaint/contract/errors.ts'
import { z } from 'zod'

const emailSchema = z.email().max(254)

/** Returns the address in lower case, or null if it is none. */
export function parseEmail(raw: string): string | null {
  const parsed = emailSchema.safeParse(raw.trim().toLowerCase())
  return parsed.success ? parsed.data : null
}

/** Returns the address in lower case. Throws `invalid_field` if it is none. */
export function emailOf(raw: string): string {
  const email = parseEmail(raw)
  if (email === null) throw invalidField(['email'], 'must be an e-mail address')
  return email
}
