import { z } from 'zod'

import { AppError } from '../errors.ts'

const emailSchema = z.email().max(254)

/** An e-mail address as it is stored (lower case), or null if it is not one. */
export function parseEmail(raw: string): string | null {
  const parsed = emailSchema.safeParse(raw.trim().toLowerCase())
  return parsed.success ? parsed.data : null
}

/** An e-mail address as it is stored. Throws `invalid_field`. */
export function emailOf(raw: string): string {
  const email = parseEmail(raw)
  if (email === null) throw new AppError('invalid_field', { word: 'email must be an e-mail address' })
  return email
}
