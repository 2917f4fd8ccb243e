import { z } from 'zod'

const emailSchema = z.email().max(254)

/** An e-mail address in the one spelling that is stored (lower case), or null for what is none. */
export function parseEmail(raw: string): string | null {
  const parsed = emailSchema.safeParse(raw.trim().toLowerCase())
  return parsed.success ? parsed.data : null
}
